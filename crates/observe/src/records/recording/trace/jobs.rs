//! The points of a fork-join pool.
//!
//! A job has a number: its address, or that of its scope. So all jobs of a scope have one number, which is another job's
//! later. A fork that no thread steals has no event: it is a call.

use super::event::{Code, Event, of_number, of_place};
use super::recorder::{is_on, record};
use crate::Kind;
use crate::records::Waiter;
use crate::records::recording::recorders;

/// The current task or thread has put a job with this number into a queue.
#[inline]
pub fn job_queued(job: usize) {
    if recorders::traces() {
        note(Code::JobQueued, job);
    }
}

/// While it lives, this thread runs a job.
#[must_use = "the job ends when the value is dropped"]
pub struct RunsJob(Option<usize>);

impl RunsJob {
    /// Begins the job with this number.
    #[inline]
    pub fn new(job: usize) -> Self {
        let is_on = recorders::traces();
        if is_on {
            note(Code::JobBegins, job);
        }
        Self(is_on.then_some(job))
    }
}

impl Drop for RunsJob {
    #[inline]
    fn drop(&mut self) {
        if let Some(job) = self.0 {
            note(Code::JobEnds, job);
        }
    }
}

/// While it lives, this thread waits for the jobs with a number, and may run others.
#[must_use = "the wait ends when the value is dropped"]
pub struct AwaitsJob(Option<usize>);

impl AwaitsJob {
    /// Begins to wait for the jobs with this number.
    #[inline]
    pub fn new(job: usize) -> Self {
        let is_on = recorders::traces();
        if is_on {
            note(Code::BlockFor, job);
        }
        Self(is_on.then_some(job))
    }
}

impl Drop for AwaitsJob {
    #[inline]
    fn drop(&mut self) {
        if let Some(job) = self.0 {
            note(Code::WaitForEnd, job);
        }
    }
}

#[cold]
#[inline(never)]
fn note(code: Code, job: usize) {
    if is_on() {
        record(Event {
            kind: Kind::ForkJoin as u8,
            target: of_number(job as u64),
            ..Event::new(code, Waiter::current().word(), of_place(None, 0))
        });
    }
}
