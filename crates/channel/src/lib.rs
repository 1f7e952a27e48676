//! Channels. Every end can be used from a task and from a thread.

pub mod broadcast;
pub mod mpmc;
pub mod mpsc;
pub mod oneshot;
#[cfg(not(loom))]
mod recycle;
pub mod watch;
