//! The parking table of `blitz-io-futex` under the name of parking_lot_core 0.9.

pub mod deadlock;
#[cfg(feature = "deadlock_detection")]
mod watched;

#[cfg(not(feature = "deadlock_detection"))]
pub use blitz_io_futex::parking::{park, unpark_all, unpark_filter, unpark_one, unpark_requeue};
#[cfg(feature = "deadlock_detection")]
pub use blitz_io_futex::parking::{unpark_all, unpark_one};
#[cfg(feature = "deadlock_detection")]
pub use watched::{park, unpark_filter, unpark_requeue};

pub use blitz_io_futex::parking::{
    DEFAULT_PARK_TOKEN, DEFAULT_UNPARK_TOKEN, FilterOp, ParkResult, ParkToken, RequeueOp,
    UnparkResult, UnparkToken,
};
pub use blitz_io_sync::thread::SpinWait;
