//! The schedulers: one thread that calls in (`current_thread`), or workers that steal
//! from each other (`multi_thread`).

pub(crate) mod current_thread;
#[cfg(not(loom))]
mod handle;
pub(crate) mod inject;
pub(crate) mod multi_thread;
#[cfg(not(loom))]
mod reference;

#[cfg(not(loom))]
pub(crate) use handle::{Handle, with_current};
