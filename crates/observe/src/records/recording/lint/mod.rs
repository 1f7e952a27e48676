//! The recorder of `blitz lint`: in which order locks are taken, which guards are held while their task is
//! suspended, which polls block, and what becomes of waits, permits and channels. It records what happens;
//! `blitz-io-inspect` judges it.
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
//! | lines at which a poll blocks, a guard is kept, and the like | `edges.rs` | 4,096 of each kind |
//! | locks of readers with writers, and writers of each | `writes.rs` | 16,384, and 8 |
//! | futures to which something was handed, by their wakers | `handed.rs` | 65,536 |
//! | semaphores with forgotten or added permits | `permits.rs` | 4,096 |
//! | channels without a limit, of which a thread looks at one in 1,024 sends | `growth.rs` | 4,096 |
//! | events, with the lines at which tasks wait for them | `waits.rs` | 4,096, and 64 tasks of each |
//! | tasks with a request | `requests.rs` | 65,536 |
//! | tasks that were left when a runtime ended | `leaks.rs` | 4,096 |
//!
//! Entries for which there is no room are counted, and the report has their number.
//!
//! # Recursion
//!
//! The recorder allocates, and the program's allocator may use locks of this library. A thread that is in the
//! recorder records nothing: each point borrows the state of the thread, or else does nothing (`local.rs`). The
//! recorder's own locks are those of the standard library, and it calls no code of the program while it holds
//! one.

mod delay;
mod edges;
mod file;
mod frames;
mod growth;
mod handed;
mod held;
mod leaks;
mod local;
mod lock;
mod panics;
mod permits;
mod points;
mod requests;
mod steps;
mod waits;
mod writes;

pub(super) use frames::Polled;
pub use leaks::leaked;
pub(super) use lock::Lock;
pub(super) use points::{
    acquired, blocked, channel_ends, forgot, hand_over_ended, handed_over, may_block,
    permits_taken, poll_begins, poll_ends, refilled, released, request_begins, request_ends,
    request_entered, request_left, sent, slept, wait_begins, wait_ends, woken,
};

use super::at_exit;
use super::switch::Recorder;

/// The variable of the environment with the folder for the files.
const FOLDER: &str = "BLITZ_LINT";

/// Returns `true` if the recorder is on, as far as a point has asked the environment.
#[must_use]
pub fn is_on() -> bool {
    Recorder::Lint.is_on()
}

/// Returns `true` if the environment asks for the recorder, which then writes its file at the exit.
pub(super) fn is_asked() -> bool {
    let folder = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty());
    let is_asked = folder
        .is_some_and(|folder| at_exit::write(Recorder::Lint, folder, "blitzlint", file::text));
    if is_asked {
        panics::watch();
    }
    is_asked
}
