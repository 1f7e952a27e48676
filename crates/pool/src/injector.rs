//! Jobs from outside: a queue under a lock, with a length that can be read without it.

use std::collections::VecDeque;

use blitz_futex::atomic::AtomicUsize;
use blitz_futex::atomic::Ordering::SeqCst;
use blitz_sync::internals::Lock;

use crate::job::JobRef;

pub(crate) struct Injector {
    jobs: Lock<VecDeque<JobRef>>,
    len: AtomicUsize,
}

impl Injector {
    pub(crate) fn new() -> Self {
        Self {
            jobs: Lock::new(VecDeque::new()),
            len: AtomicUsize::new(0),
        }
    }

    pub(crate) fn push(&self, job: JobRef) {
        let mut jobs = self.jobs.lock();
        jobs.push_back(job);
        self.len.store(jobs.len(), SeqCst);
    }

    pub(crate) fn pop(&self) -> Option<JobRef> {
        if self.is_empty() {
            return None;
        }
        let mut jobs = self.jobs.lock();
        let job = jobs.pop_front();
        self.len.store(jobs.len(), SeqCst);
        job
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len.load(SeqCst) == 0
    }
}
