//! The pool of threads for blocking work, which also run the workers.

mod spawner;
#[cfg(all(test, target_os = "linux"))]
mod tests;
mod threads;

#[cfg(any(feature = "inspect", feature = "tracing"))]
pub(crate) use spawner::Demand;
pub(crate) use spawner::{PoolRef, Spawner};
