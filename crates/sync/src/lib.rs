//! Primitives for threads and tasks that wait, on one small futex core.

mod deadline;
mod fences;
mod list_lock;
mod macros;
#[cfg(not(loom))]
mod mutant;
#[cfg(loom)]
pub mod mutant;
mod spin;
pub mod thread;
mod wait_queue;

/// How a lock's release is kept in order before its look at who waits:
/// `"membarrier"` where waiters make the system run the fence, and the release
/// is a plain store; `"fence"` where that could be, but the system refuses it;
/// `"sequentially consistent store"` on other systems and processors.
pub fn release_fence() -> &'static str {
    fences::way()
}

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
