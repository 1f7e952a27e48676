//! The monitor: a sleeping worker that gets up every few milliseconds to see whether another
//! worker is stalled.
//!
//! It remembers of each worker how many polls there were, and of the inject queue how
//! many tasks were taken. When it looks again, and there is a task and the number is the
//! same, then the worker is stalled: its thread is blocked, or its task takes long. The
//! monitor gets up to work, and takes the task. It also wakes the tasks whose time has come
//! in such a worker's timers.

use std::time::{Duration, Instant};

use super::core::Local;
use super::shared::Shared;

/// How long it is from one look to the next, at first.
const FIRST: Duration = Duration::from_millis(1);
/// Each time that the monitor finds nothing this doubles, up to here.
const LAST: Duration = Duration::from_millis(4);

/// What the monitor saw when it looked last.
pub(super) struct Seen {
    /// How many polls each worker had made.
    polls: Box<[u64]>,
    /// How many tasks had been taken from the inject queue.
    taken: usize,
    /// When to look next, and how long that is after the last look. `None` when this worker
    /// is not the monitor.
    next: Option<(Instant, Duration)>,
}

impl Seen {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            polls: vec![u64::MAX; workers].into(),
            taken: usize::MAX,
            next: None,
        }
    }

    fn remember(&mut self, shared: &Shared) {
        for (polls, core) in self.polls.iter_mut().zip(shared.cores.iter()) {
            *polls = core.counters.polls.get();
        }
        self.taken = shared.inject.taken();
    }
}

/// A worker that goes to sleep begins anew.
pub(super) fn reset(local: &Local) {
    local.seen.borrow_mut().next = None;
}

/// When the worker at `index`, which asks, has to look next, if it is the monitor.
pub(super) fn next_look(shared: &Shared, index: usize) -> Option<Instant> {
    let mut seen = shared.cores[index].local.seen.borrow_mut();
    if !shared.idle.is_monitor(index) {
        seen.next = None;
        return None;
    }
    if let Some((next, _)) = seen.next {
        return Some(next);
    }
    seen.remember(shared);
    let next = Instant::now() + FIRST;
    seen.next = Some((next, FIRST));
    Some(next)
}

/// Whether it is time for the monitor to look. The time of the next look is set.
pub(super) fn is_time_to_look(local: &Local) -> bool {
    let mut seen = local.seen.borrow_mut();
    let Some((next, pause)) = seen.next else {
        return false;
    };
    let now = Instant::now();
    if now < next {
        return false;
    }
    let pause = (pause * 2).min(LAST);
    seen.next = Some((now + pause, pause));
    true
}

/// Looks at all queues, and at the timers of stalled workers. Whether one of those has
/// something that this worker, at `index`, can do.
pub(super) fn look(shared: &Shared, index: usize) -> bool {
    let local = &shared.cores[index].local;
    let mut found = !shared.inject.is_empty() && shared.inject.taken() == local.seen.borrow().taken;
    for (other, core) in shared.cores.iter().enumerate() {
        let polls = local.seen.borrow().polls[other];
        if other == index || core.counters.polls.get() != polls {
            continue;
        }
        if core.has_tasks() {
            local.reclaims.set(true);
            found = true;
        }
        if let Some(wheels) = &shared.common().time {
            // The tasks that this wakes are ready on this thread.
            _ = wheels.turn_if_due(other);
        }
    }
    local.seen.borrow_mut().remember(shared);
    found
}
