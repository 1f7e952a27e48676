//! Runs all tasks on one thread, which is in `Runtime::block_on`.
//!
//! | file | contents |
//! |---|---|
//! | `shared.rs` | the state that all threads share: they spawn and wake through it |
//! | `task_loop.rs` | the core of the thread that runs the tasks: the queue, the loop |
//! | `pinned.rs` | tasks that stay on the thread of their first poll |
//! | `restart.rs` | the next run of a simulation |
//! | `turns.rs` | several threads in `block_on` take turns; the end of the runtime |

mod pinned;
#[cfg(feature = "sim")]
mod restart;
mod shared;
mod task_loop;
mod turns;

pub(crate) use pinned::Pinned;
pub(crate) use shared::Shared;
pub(crate) use turns::CurrentThread;
