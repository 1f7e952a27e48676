//! The ring of completions that a driver has beside its poll: io_uring, or nothing.
//!
//! [`Ring`] is what any thread may use: it queues operations. [`Turn`] is what the holder
//! of the right to poll has: it hands what is queued to the kernel, and takes what has
//! completed. `driver.rs` says when.

#[cfg(all(target_os = "linux", not(loom)))]
mod in_flight;
#[cfg(any(not(target_os = "linux"), loom))]
mod none;
#[cfg(all(target_os = "linux", not(loom)))]
mod system;

#[cfg(all(target_os = "linux", not(loom)))]
pub use in_flight::{InFlight, Operation};
#[cfg(any(not(target_os = "linux"), loom))]
pub use none::{Ring, Turn};
#[cfg(all(target_os = "linux", not(loom)))]
pub use system::{Ring, Turn, probe};
