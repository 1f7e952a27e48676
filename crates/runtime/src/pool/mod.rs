//! The pool of threads for blocking work, which also run the workers.

pub mod queue;
#[cfg(not(loom))]
mod spawner;
#[cfg(all(test, target_os = "linux"))]
mod tests;
#[cfg(not(loom))]
mod threads;

#[cfg(feature = "tracing")]
pub(crate) use spawner::Demand;
#[cfg(not(loom))]
pub(crate) use spawner::{PoolRef, Spawner};
