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
//!
//! When all workers sleep, the monitor stays for a while, as one of them may wake soon, and to
//! be made the monitor again would cost a wake-up each time.

use std::time::{Duration, Instant};

use super::shared::Shared;

/// How long it is from one look to the next, at first.
const FIRST: Duration = Duration::from_millis(1);
/// Each time that the monitor finds nothing this doubles, up to here.
const LAST: Duration = Duration::from_millis(4);
/// And up to here when it finds all asleep, as one of them may get up to a long task just then,
/// which is seen only by the look after the next one.
const LAST_ASLEEP: Duration = Duration::from_millis(2);
/// And up to here while all is quiet, so that the looks cost next to nothing.
const LAST_DOZING: Duration = Duration::from_millis(256);
/// For how long after the last poll that it has seen the monitor stays while all sleep: a few
/// looks, as to be made the monitor again costs about as much.
const STAYS: Duration = Duration::from_millis(8);

/// When a worker that has become the monitor just now has to know that.
pub(super) fn first_look() -> Instant {
    Instant::now() + FIRST
}

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
    dozes: bool,
    /// All slept when it looked then.
    all_slept: bool,
    /// Workers had polled when it looked then.
    polled: Option<Instant>,
}

impl Seen {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            polls: vec![u64::MAX; workers].into(),
            taken: usize::MAX,
            next: None,
            pause: FIRST,
            dozes: false,
            all_slept: false,
            polled: None,
        }
    }

    /// A worker that goes to sleep begins anew.
    pub(super) fn reset(&mut self) {
        self.next = None;
        self.polled = None;
    }

    fn remember(&mut self, shared: &Shared) {
        for (polls, core) in self.polls.iter_mut().zip(shared.cores.iter()) {
            *polls = core.counters.polls.get();
        }
        self.taken = shared.inject.taken();
    }

    /// Sets the time of the next look.
    fn schedule(&mut self, shared: &Shared, pause: Duration, dozes: bool) {
        self.pause = pause;
        self.dozes = dozes;
        let mut next = Instant::now() + pause;
        if let (Some(wheels), true) = (&shared.base.common.time, dozes) {
            let timers = (0..shared.cores.len()).filter_map(|worker| wheels.earliest(worker));
            next = timers.fold(next, Instant::min);
        }
        self.next = Some(next);
    }

    /// When the worker at `index`, whose this is, has to look next, if it is the monitor.
    pub(super) fn next_look(&mut self, shared: &Shared, index: usize) -> Option<Instant> {
        let stays = self.polled.is_some_and(|polled| polled.elapsed() < STAYS);
        if !shared.idle.is_monitor(index, stays) {
            self.reset();
        } else if self.next.is_none() {
            self.remember(shared);
            self.schedule(shared, FIRST, false);
        } else if self.dozes && !shared.idle.is_dozing() {
            // It was called, because there is something to see.
            self.schedule(shared, FIRST, false);
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
                self.polled = Some(Instant::now());
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
            if let Some(wheels) = &shared.base.common.time {
                _ = wheels.turn_if_due(other);
            }
        }
        self.remember(shared);
        let all_asleep = shared.idle.awake() == 0;
        let dozes = is_quiet && !all_asleep && self.pause >= LAST && shared.idle.doze(index);
        let most = match (dozes, all_asleep) {
            (true, _) => LAST_DOZING,
            (false, true) => LAST_ASLEEP,
            (false, false) => LAST,
        };
        let gets_up = self.all_slept && !all_asleep;
        self.all_slept = all_asleep;
        let pause = if gets_up { FIRST } else { self.pause * 2 };
        self.schedule(shared, pause.min(most), dozes);
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
