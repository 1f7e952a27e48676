//! The ring of completions that a driver has besides its poll: io_uring, or nothing.
//!
//! [`Ring`] is what any thread may use: it queues operations. [`Turn`] belongs to the
//! holder of the right to poll: it submits queued operations to the kernel, and takes
//! completions. `driver.rs` explains when.

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
