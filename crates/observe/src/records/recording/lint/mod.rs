//! The recorder of `blitz lint`: in which order locks are taken, which guards are held while their task is
//! suspended, and which polls block. It records what happens; `blitz-io-inspect` judges it.
//!
//! It is on if the environment has `BLITZ_LINT`, the path of a folder, when the process first takes a lock or
//! polls a task. When the process exits, it writes one file into that folder (`file.rs`). While it is off, each
//! of its points is the load of one byte.
//!
//! # Bounds
//!
//! | what | where | at most |
//! |---|---|---|
//! | locks that a thread, and the task that it polls, hold | `held.rs` | 64 |
//! | tasks that are suspended with a lock | `held.rs` | 65,536 |
//! | pairs of locks, taken one within the other | `edges.rs` | 16,384, and 64 of the same two lines |
//! | lines at which a poll blocks, or a guard is kept | `edges.rs` | 4,096 of each kind |
//!
//! What does not fit is counted, and the report says so.
//!
//! # Recursion
//!
//! The recorder allocates, and the program's allocator may use locks of this library. A thread that is in the
//! recorder records nothing: each point borrows the state of the thread, or else does nothing (`local.rs`). The
//! recorder's own locks are those of the standard library, and it calls no code of the program while it holds
//! one.

mod edges;
mod file;
mod frames;
mod held;
mod local;
mod lock;
mod points;

pub(super) use frames::Polled;
pub(super) use lock::Lock;
pub(super) use points::{acquired, blocked, may_block, poll_begins, poll_ends, released, slept};

use super::at_exit;
use super::switch::Recorder;

/// The variable of the environment with the folder for the files.
const FOLDER: &str = "BLITZ_LINT";

/// Returns `true` if the environment asks for the recorder, which then writes its file at the exit.
pub(super) fn is_asked() -> bool {
    let folder = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty());
    folder.is_some_and(|folder| at_exit::write(Recorder::Lint, folder, "blitzlint", file::text))
}
