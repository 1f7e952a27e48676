//! The schedulers: one thread that calls in (`current_thread`), or workers that steal
//! from each other (`multi_thread`).

pub(crate) mod current_thread;
mod handle;
pub(crate) mod multi_thread;
mod reference;

#[cfg(feature = "sim")]
pub use handle::abort_tasks;
pub(crate) use handle::{Handle, with_current};
