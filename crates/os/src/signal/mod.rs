//! Signals, as in `tokio::signal`.
//!
//! The first listener for a signal puts a handler in place, which stays until the process
//! ends: from then on the signal does not do what it does by default, even if no one listens
//! any more.

mod ctrl_c;
pub mod unix;

pub use ctrl_c::ctrl_c;
