//! Hosts, their network and their faults.

mod clocks;
mod datagrams;
mod ends;
mod faults;
#[cfg(feature = "fs")]
mod file_events;
#[cfg(feature = "fs")]
mod files;
mod injected;
mod left;
#[cfg(feature = "fs")]
mod replicated;
mod reports;
mod several;
mod shrinking;
mod streams;
mod waits;

use blitz_io::sim::Builder;

/// Returns a builder with a number of runs that a test without optimisation can do.
fn builder() -> Builder {
    Builder::new().seeds(60)
}
