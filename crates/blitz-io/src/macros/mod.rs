//! The attributes, and the macros that wait for several futures in one task.
//!
//! The macros parse with `macro_rules!`, that is with the compiler's own parser, and
//! `blitz-io-macros` generates the code.

#[cfg(feature = "macros")]
mod join;
mod pin;
#[cfg(feature = "macros")]
mod select;
#[cfg(feature = "macros")]
pub mod support;
#[cfg(feature = "macros")]
mod try_join;

#[cfg(all(feature = "macros", feature = "sim"))]
pub use blitz_io_macros::sim;
// It reports that the feature is off.
#[cfg(all(feature = "macros", not(feature = "sim")))]
#[doc(hidden)]
pub use blitz_io_macros::sim_without_feature as sim;
#[cfg(all(feature = "macros", feature = "rt"))]
pub use blitz_io_macros::{main, test};
// They report that there is no runtime to start.
#[cfg(all(feature = "macros", not(feature = "rt")))]
pub use blitz_io_macros::{main_without_runtime as main, test_without_runtime as test};
