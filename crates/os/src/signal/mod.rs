//! Signals, as in `tokio::signal`: those of Unix in `unix`, those of Windows' console in
//! `windows`, and [`ctrl_c`] everywhere.
//!
//! On Unix the first listener for a signal puts a handler in place, which stays until the
//! process ends: from then on the signal does not do what it does by default, even if no one
//! listens any more.

mod ctrl_c;
#[cfg(unix)]
pub mod unix;
#[cfg(windows)]
pub mod windows;

pub use ctrl_c::ctrl_c;
