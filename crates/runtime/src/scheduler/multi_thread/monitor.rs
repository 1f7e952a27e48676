//! The monitor: a sleeping worker that gets up every few milliseconds to see whether another
//! worker is stalled.
//!
//! It remembers of each worker how many polls there were, and of the inject queue how
//! many tasks were taken. When it looks again, and there is a task and the number is the
//! same, then the worker is stalled: its thread is blocked, or its task takes long. The
//! monitor gets up to work, and takes the task. It also wakes the tasks whose time has come
//! in such a worker's timers, and those whose events have happened in its driver.
//!
//! When no worker has polled since the last look, no task is queued, and no stalled worker has
//! sources of events, there is nothing to find until a worker goes on. So the monitor looks
//! less and less often, and says so
//! ([`Idle::doze`](super::idle::Idle::doze)): a push then calls it. It still looks when the
//! next timer of another worker is due.

use std::time::{Duration, Instant};

use super::shared::Shared;

/// How long it is from one look to the next, at first.
const FIRST: Duration = Duration::from_millis(1);
/// Each time that the monitor finds nothing this doubles, up to here.
const LAST: Duration = Duration::from_millis(4);
/// And up to here while all is quiet, so that the looks cost next to nothing.
const LAST_DOZING: Duration = Duration::from_millis(256);

/// What the monitor saw when it looked last.
pub(super) struct Seen {
    /// How many polls each worker had made.
    polls: Box<[u64]>,
    /// How many tasks had been taken from the inject queue.
    taken: usize,
    /// When to look next. `None` when this worker is not the monitor.
    next: Option<Instant>,
    /// How long that is after the last look, but for timers.
    pause: Duration,
}

impl Seen {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            polls: vec![u64::MAX; workers].into(),
            taken: usize::MAX,
            next: None,
            pause: FIRST,
        }
    }

    /// A worker that goes to sleep begins anew.
    pub(super) fn reset(&mut self) {
        self.next = None;
    }

    fn remember(&mut self, shared: &Shared) {
        for (polls, core) in self.polls.iter_mut().zip(shared.cores.iter()) {
            *polls = core.counters.polls.get();
        }
        self.taken = shared.inject.taken();
    }

    /// Sets the time of the next look.
    fn schedule(&mut self, shared: &Shared, pause: Duration) {
        self.pause = pause;
        let mut next = Instant::now() + pause;
        if let (Some(wheels), true) = (&shared.common().time, pause > LAST) {
            let timers = (0..shared.workers()).filter_map(|worker| wheels.earliest(worker));
            next = timers.fold(next, Instant::min);
        }
        self.next = Some(next);
    }

    /// When the worker at `index`, whose this is, has to look next, if it is the monitor.
    pub(super) fn next_look(&mut self, shared: &Shared, index: usize) -> Option<Instant> {
        if !shared.idle.is_monitor(index) {
            self.next = None;
        } else if self.next.is_none() {
            self.remember(shared);
            self.schedule(shared, FIRST);
        } else if self.pause > LAST && !shared.idle.is_dozing() {
            // It was called, because there is something to see.
            self.schedule(shared, FIRST);
        }
        self.next
    }

    /// If it is time, looks at all queues, and at the timers of stalled workers. What it has
    /// found; `None` if it is not time.
    pub(super) fn look(&mut self, shared: &Shared, index: usize) -> Option<Found> {
        if self.next.is_none_or(|next| Instant::now() < next) {
            return None;
        }
        let injected = !shared.inject.is_empty();
        let mut found = Found {
            work: injected && shared.inject.taken() == self.taken,
            claimed: false,
        };
        let mut is_quiet = !injected;
        for (other, core) in shared.cores.iter().enumerate() {
            if other == index {
                continue;
            }
            let has_tasks = core.has_tasks();
            if core.counters.polls.get() != self.polls[other] {
                is_quiet = false;
                continue;
            }
            is_quiet &= !has_tasks;
            found.work |= has_tasks;
            found.claimed |= has_tasks;
            // The tasks that this and the timers wake are ready on this thread. A worker that
            // sleeps sees its events itself.
            if shared.idle.was_called(other) && core.driver.has_sources() {
                is_quiet = false;
                core.driver.poll();
            }
            if let Some(wheels) = &shared.common().time {
                _ = wheels.turn_if_due(other);
            }
        }
        self.remember(shared);
        let is_dozing = is_quiet && self.pause >= LAST && shared.idle.doze(index);
        let most = if is_dozing { LAST_DOZING } else { LAST };
        self.schedule(shared, (self.pause * 2).min(most));
        Some(found)
    }
}

/// What stalled workers have.
pub(super) struct Found {
    /// There is something to do.
    pub(super) work: bool,
    /// Some of it may have been claimed.
    pub(super) claimed: bool,
}
