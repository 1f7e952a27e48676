//! `blitz-io` under the name and the paths of Tokio 1.54.
//!
//! Items of Tokio that `blitz-io` lacks are missing here as well, so a program that needs
//! them does not compile. Items that `blitz-io` has beyond Tokio's are available, and tie a
//! program to this package.

#[cfg(feature = "fs")]
pub use blitz_io::fs;
#[cfg(feature = "macros")]
#[doc(hidden)]
pub use blitz_io::macros;
#[cfg(feature = "net")]
pub use blitz_io::net;
#[cfg(all(any(unix, windows), feature = "process"))]
pub use blitz_io::process;
#[cfg(all(any(unix, windows), feature = "signal"))]
pub use blitz_io::signal;
#[cfg(feature = "sim")]
pub use blitz_io::sim;
#[cfg(feature = "sync")]
pub use blitz_io::sync;
pub use blitz_io::{io, pin, task};
#[cfg(feature = "macros")]
pub use blitz_io::{join, select, try_join};
#[cfg(feature = "rt")]
pub use blitz_io::{runtime, spawn, task_local};
#[cfg(all(feature = "macros", feature = "rt"))]
pub use blitz_io_macros::{tokio_main as main, tokio_test as test};
// They report that there is no runtime to start.
#[cfg(all(feature = "macros", not(feature = "rt")))]
pub use blitz_io_macros::{main_without_runtime as main, test_without_runtime as test};

// It reports that the feature is off.
#[cfg(all(feature = "macros", not(feature = "sim")))]
#[doc(hidden)]
pub use blitz_io_macros::sim_without_feature as sim;

/// Empty, as in Tokio.
pub mod stream {}

#[cfg(feature = "time")]
pub use blitz_io::time;
