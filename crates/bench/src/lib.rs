//! Measures blitz-io against the best other libraries, in one process.
//!
//! A [`Scenario`] is one job with its contenders: blitz-io and the peers that can do
//! it. [`runner::run`] runs them in turns, verifies the work of every iteration
//! and returns the samples. A [`Document`] holds the figures; [`report`] turns
//! it into a table, a page or a comparison with an older run.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use blitz_io_bench::{Document, Settings, runner, scenarios};
//!
//! let mut chosen = scenarios::registry();
//! chosen.retain(|scenario| scenario.id == "mutex_uncontended");
//! let settings = Settings { iterations: 2, ..Settings::QUICK };
//! let outcome = runner::run(&chosen, &settings, &AtomicBool::new(false), &mut ());
//! let document = Document::new(&outcome, &settings);
//! assert!(document.benchmarks["mutex_uncontended"].ours.ns_per_op > 0.0);
//! ```
//!
//! The `blitz` command is this library with a command line.
//!
//! Without the feature `scenarios`, which is on by default, there are no scenarios and no peers: only the
//! parts with which reports are made.

#![cfg_attr(
    not(feature = "scenarios"),
    allow(dead_code, reason = "scenarios use the rest")
)]

mod alloc;
pub mod cpu;
pub mod hog;
mod latency;
mod machine;
mod poll;
pub mod report;
pub mod runner;
#[cfg(feature = "scenarios")]
pub mod runtimes;
pub mod scenario;
#[cfg(feature = "scenarios")]
pub mod scenarios;
mod settings;
mod signal;
pub mod stats;
#[cfg(feature = "scenarios")]
pub mod tasks;
pub mod threads;
pub mod tier;
mod work;

pub use alloc::{CountingAllocator, Memory};
pub use latency::{Latency, Turns, Waits};
pub use machine::Machine;
pub use poll::poll_now;
pub use report::document::Document;
pub use runner::Outcome;
pub use scenario::{Contender, Context, Sample, Scenario};
pub use settings::{Load, Settings};
pub use work::{Section, Work};

/// The examples of the README run as tests.
#[cfg(all(doctest, feature = "scenarios"))]
#[doc = include_str!("../README.md")]
struct Readme;
