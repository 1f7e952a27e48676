//! Polls that take too long, for
//! [`Builder::on_worker_stalled`](crate::runtime::Builder::on_worker_stalled).
//!
//! | file | contents |
//! |---|---|
//! | `polling.rs` | the task that a worker polls, and since when |
//! | `watch.rs` | the thread that reads that, and calls the user's function |

pub mod polling;
#[cfg(not(loom))]
mod watch;

#[cfg(not(loom))]
pub use watch::StalledWorker;
#[cfg(not(loom))]
pub(crate) use watch::{StallCallback, Stalls};
