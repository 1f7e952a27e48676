//! The files below ours: the system's, or in a simulation those of a host.
//!
//! This is the only place where the two differ. Without the feature `sim` the types and functions here are the standard
//! library's. With it, a file that a task of a simulated host opens is one of its disk (`simulation/`), and all others are
//! the system's.

#[cfg(feature = "sim")]
mod either;
#[cfg(not(feature = "sim"))]
mod system;

#[cfg(feature = "sim")]
pub(crate) use either::*;
#[cfg(not(feature = "sim"))]
pub(crate) use system::*;
