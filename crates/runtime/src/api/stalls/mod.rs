//! Polls that take too long, for
//! [`Builder::on_worker_stalled`](crate::runtime::Builder::on_worker_stalled).
//!
//! | file | contents |
//! |---|---|
//! | `watch.rs` | the thread that reads that, and calls the user's function |

mod watch;

pub use watch::StalledWorker;
pub(crate) use watch::{StallCallback, Stalls};
