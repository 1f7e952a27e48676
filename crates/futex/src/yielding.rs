//! Gives the processor to another thread, which may be one of a model.

#[cfg(loom)]
pub use loom::thread::yield_now;
#[cfg(not(loom))]
pub use std::thread::yield_now;
