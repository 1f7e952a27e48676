//! The ring of completions that a driver has besides its poll: io_uring, or nothing.
//!
//! Any thread may use the [`Ring`]: it queues operations. The [`Turn`] is behind a lock of
//! the driver: it submits queued operations to the kernel, and takes completions.
//! `driver.rs` explains when.

#[cfg(io_uring)]
mod in_flight;
#[cfg(not(io_uring))]
mod none;
#[cfg(io_uring)]
mod system;

#[cfg(io_uring)]
pub use in_flight::{InFlight, Operation, is_given_up, to_result};
#[cfg(not(io_uring))]
pub use none::{Ring, Turn};
#[cfg(io_uring)]
pub use system::{Ring, Turn, probe};
