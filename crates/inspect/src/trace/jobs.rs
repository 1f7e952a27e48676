//! `Jobs`: which threads ran the jobs of a fork-join pool, and when.
//!
//! A job has the number of its scope, if it has one. So several jobs have the same number at the same time. An address
//! is used again later: the time tells such jobs apart.

use std::collections::HashMap;
use std::iter;

use super::recording::{Event, What};
use crate::snapshot::Waiter;

/// The runs with a number are searched backwards until this many have ended too early.
const MISSED: usize = 64;

/// A time in which a thread ran a job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) job: u64,
    /// The thread, or the task that it polled.
    pub(super) by: Waiter,
    pub(super) from: u64,
    pub(super) to: u64,
}

/// All jobs; see the module documentation.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    runs: Vec<Run>,
    /// The run that contains each run in the same thread.
    outer: Vec<Option<usize>>,
    /// The runs with a number, and those of a thread, in the order of their beginnings, as places in `runs`.
    of_job: HashMap<u64, Vec<usize>>,
    of_thread: HashMap<Waiter, Vec<usize>>,
    /// The runs of each thread that have not ended.
    open: HashMap<Waiter, Vec<usize>>,
    /// The times at which jobs with a number were put into a queue, with the thread or task that did so.
    queued: HashMap<u64, Vec<(u64, Waiter)>>,
}

impl Jobs {
    pub(super) fn note(&mut self, event: &Event) {
        let (at, by) = (event.at, event.waiter);
        match event.what {
            What::JobQueued { job } => self.queued.entry(job).or_default().push((at, by)),
            What::JobBegins { job } => {
                let place = self.runs.len();
                self.runs.push(Run {
                    job,
                    by,
                    from: at,
                    to: u64::MAX,
                });
                self.of_job.entry(job).or_default().push(place);
                self.of_thread.entry(by).or_default().push(place);
                let open = self.open.entry(by).or_default();
                self.outer.push(open.last().copied());
                open.push(place);
            }
            What::JobEnds { job } => {
                let open = self.open.entry(by).or_default();
                let own = open.iter().rposition(|&place| self.runs[place].job == job);
                if let Some(own) = own {
                    let place = open.remove(own);
                    self.runs[place].to = at;
                }
            }
            _ => {}
        }
    }

    /// Returns `true` if a thread has run a job with this number.
    pub(super) fn is_known(&self, job: u64) -> bool {
        self.of_job.contains_key(&job)
    }

    /// Returns the run of a job with this number that lasted longest before `before`, and ended after `after`.
    pub(super) fn last(&self, job: u64, after: u64, before: u64) -> Option<Run> {
        let runs = self.of_job.get(&job)?;
        let end = runs.partition_point(|&place| self.runs[place].from < before);
        let mut last: Option<Run> = None;
        let mut missed = 0;
        for &place in runs[..end].iter().rev() {
            let run = self.runs[place];
            if run.to <= after {
                missed += 1;
                if missed == MISSED {
                    break;
                }
            } else if last.is_none_or(|last| last.to.min(before) < run.to.min(before)) {
                last = Some(run);
            }
        }
        last
    }

    /// Returns the runs of a thread at that time, the outer ones first.
    pub(super) fn at(&self, thread: Waiter, at: u64) -> Vec<Run> {
        let runs = self.of_thread.get(&thread).map_or(&[][..], Vec::as_slice);
        let end = runs.partition_point(|&place| self.runs[place].from <= at);
        // The last one that has begun, and those that contain it.
        let last = end.checked_sub(1).map(|last| runs[last]);
        let all = iter::successors(last, |&place| self.outer[place]);
        let all = all.map(|place| self.runs[place]);
        let mut found: Vec<Run> = all.filter(|run| run.to >= at).collect();
        found.reverse();
        found
    }

    /// Returns when the job of this run was put into a queue, and by whom, if it was.
    pub(super) fn queued(&self, run: &Run) -> Option<(u64, Waiter)> {
        let queued = self.queued.get(&run.job)?;
        let after = queued.partition_point(|(at, _)| *at <= run.from);
        Some(queued[after.checked_sub(1)?])
    }
}
