//! Makes the scheduler of a simulation like a new one, so that the next run need not make a runtime.
//!
//! That is possible only if nothing is left of its use: no task, no timer, no thread of the pool, and no handle or
//! waker that another run could use. What a new runtime has of its own is then set back: the clock, the ticks of the
//! timers, and all counters. So a run cannot tell whether the runtime has had another one before.

use std::sync::Arc;

use super::turns::CurrentThread;

/// Number of counted references that a runtime without users has: the scheduler's, and that of its own handle.
const OWN: usize = 2;

impl CurrentThread {
    /// Makes it like a new one. Returns `false` if something is left of its use: then the runtime is good for its end
    /// only.
    pub(crate) fn restart(&self) -> bool {
        let shared = &self.shared;
        let (base, numbers) = (&shared.base, shared.base.pool.numbers());
        let is_used = Arc::strong_count(shared) != OWN
            || !base.owned.is_empty()
            || numbers.threads + numbers.queued != 0
            || !shared.set_aside.lock().is_empty();
        if is_used {
            return false;
        }
        let Some(core) = self.cell.take() else {
            return false;
        };
        // SAFETY: this thread has the core, and only shared references are made of it.
        let is_idle = unsafe { core.as_ref() }.restart(shared);
        self.cell.put_back(core);
        if !is_idle || !base.common.time.as_ref().is_none_or(|time| time.restart()) {
            return false;
        }
        shared.counters.restart();
        base.common.totals.restart();
        true
    }
}
