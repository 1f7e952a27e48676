//! The attributes, and the macros that wait for several futures in one task.
//!
//! The macros parse with `macro_rules!`, that is with the compiler's own parser, and leave
//! the generating of code to `blitz-macros`.

mod join;
mod pin;
mod select;
pub mod support;
mod try_join;

#[cfg(feature = "rt")]
pub use blitz_macros::{main, test};
// They report that there is no runtime to start.
#[cfg(not(feature = "rt"))]
pub use blitz_macros::{main_without_runtime as main, test_without_runtime as test};
