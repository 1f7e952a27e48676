//! The recorder of `blitz trace`: what each thread and task did and waited for in the last moments, and which one
//! ended the wait. It records; `blitz-io-inspect` judges.
//!
//! Each thread writes into a ring of its own (`records/kernel/ring.rs`), whose oldest events are lost. So the recorder may stay on
//! for as long as the program runs. While it is off, each of its points is the load of one byte.
//!
//! It is on if
//!
//! - the environment has `BLITZ_TRACE` when the process first takes a lock or polls a task: `1`, or a folder, into
//!   which the process writes `PID.blitz` when it exits;
//! - a runtime starts it ([`start`]);
//! - `blitz trace PID` asks through the inspector's socket.
//!
//! A paused clock of a runtime adds its moves to the times of later events, so that a simulation is recorded in simulated
//! time.
//!
//! A child of a fork has the events that its parent had recorded until then.

mod delays;
mod dump;
mod event;
mod jobs;
mod messages;
mod points;
mod polls;
mod recorder;
mod requests;
mod retired;
mod rings;
mod serving;
mod spawned;
mod watch;

use super::at_exit;
use super::switch::Recorder;

pub(in crate::records::recording) use delays::Delays;
pub use jobs::{AwaitsJob, RunsJob, job_queued};
pub use messages::{awaits_processes, received, sent};
pub use points::{
    Abort, Source, Waking, aborted, advanced, ended, noted, spawned, wakes_because, woken, yielded,
};
pub(in crate::records::recording) use points::{
    acquired, child_polled, child_spawned, child_woken, note_spawn, operates, permits_added,
    permits_forgotten, permits_returned, permits_taken, released, wait_begins, wait_ends,
};
pub(in crate::records::recording) use polls::{poll_begins, poll_ends};
pub use recorder::{start, stop};
pub use requests::{Instrumented, Request, request};
pub(in crate::records::recording) use retired::retire;
pub use rings::LargeRing;
pub use serving::{keep_requests, requests};
pub use watch::{Ended, watch};

/// The variable of the environment that switches the recorder on.
const VARIABLE: &str = "BLITZ_TRACE";
/// Its value for a recording that only `blitz trace PID` reads.
const WITHOUT_FILE: &str = "1";

/// Returns `true` if the environment asks for the recorder.
pub(super) fn is_asked() -> bool {
    let Some(value) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) else {
        return false;
    };
    recorder::began();
    value == WITHOUT_FILE || at_exit::write(Recorder::Trace, value, "blitz", recording)
}

/// Returns the events that are in memory, as a file of `blitz trace` has them. No thread of the program is stopped
/// for that.
#[must_use]
pub fn recording() -> String {
    dump::text(recorder::began())
}
