//! Signals, as in `tokio::signal`: those of Unix in `unix`, those of the Windows console in
//! `windows`, and [`ctrl_c`] everywhere.
//!
//! On Unix the first listener for a signal installs a handler, which remains until the
//! process ends. From then on the signal no longer has its default effect, even if there
//! are no listeners any more.

mod ctrl_c;
#[cfg(unix)]
mod handlers;
mod listeners;
#[cfg(unix)]
mod pipe;
#[cfg(unix)]
pub mod unix;
#[cfg(windows)]
pub mod windows;

pub use ctrl_c::ctrl_c;
