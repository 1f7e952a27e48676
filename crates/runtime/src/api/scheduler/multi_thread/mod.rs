//! Workers, each on a thread of its own, that steal from each other.
//!
//! | file | contents |
//! |---|---|
//! | `tuning.rs` | how many of them, and how often the inject queue goes first |
//! | `worker_core.rs` | the state of a worker, whichever thread runs it |
//! | `shared.rs` | the state that all threads share |
//! | `worker.rs` | a thread with a core: the next task, the end of a poll, where a ready task goes |
//! | `progress.rs` | whether a worker makes no poll, as another one sees it |
//! | `monitor.rs` | whether another worker is stalled |
//! | `thread_inbox.rs` | an inbox, and where its owner sleeps without a core |
//! | `pinned.rs` | the scheduler of a pinned task |
//! | `search.rs` | stealing, and sleeping |
//! | `run.rs` | the threads that are workers, and the end |
//! | `hand_over.rs` | another thread acquires the core while a task blocks |

mod hand_over;
mod monitor;
mod pinned;
mod progress;
mod run;
mod search;
mod shared;
mod thread_inbox;
mod tuning;
mod worker;
mod worker_core;

pub(crate) use hand_over::{hand_over, number_here, timer_expected};
pub(crate) use pinned::Pinned;
pub(crate) use run::launch;
pub(crate) use shared::Shared;
