//! `Recorder`: the recorder of `blitz trace` is on while a run is explained.
//!
//! It is the process's: other threads record, too, and only the events of the run's tasks are read. Each step has a number, which the
//! recorder has where the step begins. Of a very long run the recorder has lost the oldest events.

use std::sync::{Mutex, MutexGuard, PoisonError};

use blitz_io_observe::trace;

use crate::sim::notes::EVENTS;

/// Number of runs that are explained at this moment, and whether the recorder was off before.
static USERS: Mutex<(usize, bool)> = Mutex::new((0, false));

fn users() -> MutexGuard<'static, (usize, bool)> {
    USERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The recorder is on until this is dropped, and this thread has room for [`EVENTS`] records.
pub(in crate::sim) struct Recorder(#[expect(dead_code, reason = "it is dropped")] trace::LargeRing);

impl Recorder {
    pub(in crate::sim) fn start() -> Self {
        let mut users = users();
        if users.0 == 0 {
            users.1 = trace::start();
        }
        users.0 += 1;
        Self(trace::LargeRing::enter(EVENTS))
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let mut users = users();
        users.0 -= 1;
        if users.0 == 0 && users.1 {
            trace::stop();
        }
    }
}
