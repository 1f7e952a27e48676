//! The parts that a model takes from loom.

pub use loom::sync::atomic;
pub use loom::sync::{Mutex, MutexGuard};
pub use loom::thread::yield_now;

#[allow(
    clippy::unsafe_removed_from_name,
    reason = "outside of models it is a type of that name"
)]
pub use loom::cell::UnsafeCell as Watched;
