//! The ring of completions that a driver has beside its poll: io_uring, or nothing.
//!
//! [`Ring`] is what any thread may use: it queues operations. [`Turn`] is what the holder
//! of the right to poll has: it hands what is queued to the kernel, and takes what has
//! completed. `driver.rs` says when.

#[cfg(io_uring)]
mod in_flight;
#[cfg(not(io_uring))]
mod none;
#[cfg(io_uring)]
mod system;

#[cfg(io_uring)]
pub use in_flight::{InFlight, Operation};
#[cfg(not(io_uring))]
pub use none::{Ring, Turn};
#[cfg(io_uring)]
pub use system::{Ring, Turn, probe};
