//! Deterministic simulation of unchanged programs.
//!
//! A program runs with an object loaded before it, which takes over threads, locks, clocks, random
//! numbers and sockets. One thread runs at a time, and a seed decides which. So a failure that needs a
//! rare order is found by trying seeds, and happens again whenever its seed is run.
//!
//! ```no_run
//! # fn main() -> std::io::Result<()> {
//! use blitz_io_sim::{Plan, Program, Schedule, Simulator};
//!
//! let program = Program::new("target/debug/my-program", ["--once"]);
//! let mut simulator = Simulator::start(&program)?;
//! for seed in 0..1_000 {
//!     let outcome = simulator.run(&Plan::new(Schedule::Random, seed))?;
//!     if outcome.verdict.is_failure() {
//!         println!("seed {seed}: {}\n{}", outcome.verdict, outcome.report);
//!         break;
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! It runs dynamically linked programs of glibc on x86-64 Linux; elsewhere [`Simulator::start`] fails.
//! The command `blitz sim` is this library with a command line.

mod exhaustive;
mod library;
mod outcome;
mod plan;
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    allow(dead_code)
)]
mod profile;
mod program;
mod recording;
mod shared;
mod shrink;
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    path = "unsupported.rs"
)]
mod simulator;
mod trace;

pub use exhaustive::Exhaustive;
pub use library::write_library;
pub use outcome::{Outcome, Verdict};
pub use plan::{Faults, Plan, Schedule};
pub use program::Program;
pub use recording::{Choice, Event, Happening, Recording};
pub use shared::region::{Decision, Scripted};
pub use shrink::shrink;
pub use simulator::Simulator;
pub use trace::Trace;
