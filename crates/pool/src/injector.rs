//! Jobs from outside: a queue under a lock, with a length that can be read without the
//! lock.
//!
//! A job of a scope carries the scope's tag, so that the worker that waits for the scope
//! can take that job and no other.

use std::collections::VecDeque;

use blitz_io_core::Lock;
use blitz_io_futex::atomic::AtomicUsize;
use blitz_io_futex::atomic::Ordering::SeqCst;

use crate::job_ref::JobRef;

pub(crate) struct Injector {
    jobs: Lock<VecDeque<(usize, JobRef)>>,
    len: AtomicUsize,
}

impl Injector {
    pub(crate) fn new() -> Self {
        Self {
            jobs: Lock::new(VecDeque::new()),
            len: AtomicUsize::new(0),
        }
    }

    /// Adds a job that belongs to the scope `tag`, or to no scope (0).
    pub(crate) fn push(&self, tag: usize, job: JobRef) {
        let mut jobs = self.jobs.lock();
        jobs.push_back((tag, job));
        self.len.store(jobs.len(), SeqCst);
    }

    pub(crate) fn pop(&self) -> Option<JobRef> {
        self.take(|_| Some(0))
    }

    /// Takes the first job of the scope `tag`.
    pub(crate) fn pop_of(&self, tag: usize) -> Option<JobRef> {
        self.take(|jobs| jobs.iter().position(|&(of, _)| of == tag))
    }

    fn take(
        &self,
        which: impl FnOnce(&VecDeque<(usize, JobRef)>) -> Option<usize>,
    ) -> Option<JobRef> {
        if self.is_empty() {
            return None;
        }
        let mut jobs = self.jobs.lock();
        let index = which(&jobs)?;
        let (_, job) = jobs.remove(index)?;
        self.len.store(jobs.len(), SeqCst);
        Some(job)
    }

    /// Returns `true` if there is a job of the scope `tag`.
    pub(crate) fn has_of(&self, tag: usize) -> bool {
        !self.is_empty() && self.jobs.lock().iter().any(|&(of, _)| of == tag)
    }

    pub(crate) fn len(&self) -> usize {
        self.len.load(SeqCst)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len.load(SeqCst) == 0
    }
}
