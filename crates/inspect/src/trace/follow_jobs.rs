//! A request follows its jobs into fork-join pools.
//!
//! 1. A wait for a job, or for all jobs of a scope, names their number. The splitter goes backwards through the time: to
//!    the job that ended last, then to the last end before the beginning of that job, and so on. In between, the next job
//!    waited for a thread.
//! 2. A wait for a channel may be ended by a thread that runs a job. If the request has put that job, or one around
//!    it, into the queue, the wait is for that one.

use blitz_io_observe::Kind;

use super::cause::Category;
use super::jobs::Run;
use super::recording::{Ender, Target};
use super::split::{DEEPEST, Followed, Piece, Splitter};
use crate::snapshot::Waiter;

impl Splitter<'_> {
    /// Adds the pieces of a wait for jobs. Returns `false`, and adds nothing, if it is none.
    pub(super) fn follow_job(&self, wait: &Followed, pieces: &mut Vec<Piece>) -> bool {
        if let Some(job) = self.job_of(wait) {
            self.add_jobs(wait, job, pieces);
            return true;
        }
        let Some(run) = self.answering_job(wait) else {
            return false;
        };
        let queue = self.cause_here(Category::PoolQueue, wait.waiter);
        let ready = self.cause_here(Category::Runnable, wait.waiter);
        add_if_any(pieces, wait.piece(wait.from, run.from, queue, None));
        self.add_run(wait, &run, run.from, run.to, pieces);
        add_if_any(pieces, wait.piece(run.to, wait.to, ready, None));
        true
    }

    /// Returns the number of the job for which this is a wait.
    fn job_of(&self, wait: &Followed) -> Option<u64> {
        let of = wait.wait?;
        let kind = self.recording.kind(of.kind).0;
        match of.target {
            Target::Number(job) if kind == Some(Kind::ForkJoin) => {
                self.lives.jobs.is_known(job).then_some(job)
            }
            _ => None,
        }
    }

    fn add_jobs(&self, wait: &Followed, job: u64, pieces: &mut Vec<Piece>) {
        let mut parts = vec![];
        let mut end = wait.to;
        while end > wait.from {
            let Some(run) = self.lives.jobs.last(job, wait.from, end) else {
                break;
            };
            parts.push((run, run.from.max(wait.from), run.to.min(end)));
            // It has begun before `end`, so this ends.
            end = run.from.max(wait.from);
        }
        let queue = self.cause_here(Category::PoolQueue, wait.waiter);
        let ready = self.cause_here(Category::Runnable, wait.waiter);
        let mut at = wait.from;
        for (run, from, to) in parts.into_iter().rev() {
            add_if_any(pieces, wait.piece(at, from, queue, None));
            self.add_run(wait, &run, from, to, pieces);
            at = to;
        }
        // After the last job, the waiter is ready.
        let last = if at == wait.from { queue } else { ready };
        add_if_any(pieces, wait.piece(at, wait.to, last, None));
    }

    /// Adds what the thread of a job did in a part of the wait.
    fn add_run(&self, wait: &Followed, run: &Run, from: u64, to: u64, pieces: &mut Vec<Piece>) {
        let (from, to) = (from.max(wait.from), to.min(wait.to));
        if from >= to {
            return;
        }
        let mut parts = vec![];
        self.add(run.by, from, to, wait.depth + 1, &mut parts);
        let running = self.cause_here(Category::PoolRunning, wait.waiter);
        for piece in &mut parts {
            let is_own = piece.cause.category == Category::Running && piece.waiter == run.by;
            // A thread of a pool was spawned at no line.
            let is_lost =
                piece.cause.category == Category::PoolRunning && piece.cause.location == 0;
            if is_own || is_lost {
                piece.cause = running;
            }
        }
        pieces.append(&mut parts);
    }

    /// Returns the job of the request that has ended this wait, if one has.
    fn answering_job(&self, wait: &Followed) -> Option<Run> {
        let Ender::Waiter(by) = wait.ender else {
            return None;
        };
        let category = Category::of_kind(self.recording.kind(wait.wait?.kind).0);
        let may_be = matches!(
            category,
            Category::Channel | Category::Event | Category::Task
        );
        if !may_be || by == wait.waiter {
            return None;
        }
        let runs = self.lives.jobs.at(by, wait.to);
        runs.into_iter()
            .find(|run| self.is_own_job(run, wait.waiter, 0))
    }

    /// Returns `true` if the task, or one that works for it, has put the job into a queue for the request.
    fn is_own_job(&self, run: &Run, of: Waiter, depth: u32) -> bool {
        let Some((at, by)) = self.lives.jobs.queued(run) else {
            return false;
        };
        if at < self.since || depth > DEEPEST {
            return false;
        }
        let outer = || self.lives.jobs.at(by, at);
        by == of
            || self.is_child(by, of)
            || outer()
                .iter()
                .any(|outer| outer.from < run.from && self.is_own_job(outer, of, depth + 1))
    }
}

pub(super) fn add_if_any(pieces: &mut Vec<Piece>, piece: Piece) {
    if piece.from < piece.to {
        pieces.push(piece);
    }
}
