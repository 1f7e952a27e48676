//! The watchman: a sleeping worker that gets up every few milliseconds to see whether
//! work stands still.
//!
//! It remembers of each worker how many polls there were, and of the inject queue how
//! much was taken. When it looks again, and there is a task and the number is the same,
//! then the worker stands still: its thread is blocked, or its task takes long. The
//! watchman gets up to work, and takes the task. It also wakes whose time has come in
//! such a worker's timers.

use std::time::{Duration, Instant};

use super::worker::Worker;

/// How long it is from one look to the next, at first.
const FIRST: Duration = Duration::from_millis(1);
/// Each time in vain it doubles up to this.
const LAST: Duration = Duration::from_millis(4);

/// What the watchman saw when it looked last.
pub(super) struct Seen {
    /// How many polls each worker had made.
    polls: Box<[u64]>,
    /// How many tasks had been taken from the inject queue.
    taken: usize,
    /// When to look next, and how long that is after the last look. `None` when not on
    /// watch.
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
}

impl Worker {
    /// Whoever goes to sleep begins anew.
    pub(super) fn begin_watch(&self) {
        self.own().seen.borrow_mut().next = None;
    }

    /// When this worker has to look next, if it is the watchman.
    pub(super) fn next_look(&self) -> Option<Instant> {
        if !self.shared.idle.watches(self.number()) {
            self.own().seen.borrow_mut().next = None;
            return None;
        }
        let next = self.own().seen.borrow().next;
        match next {
            Some((next, _)) => Some(next),
            None => {
                self.remember();
                let next = Instant::now() + FIRST;
                self.own().seen.borrow_mut().next = Some((next, FIRST));
                Some(next)
            }
        }
    }

    fn remember(&self) {
        let mut seen = self.own().seen.borrow_mut();
        let seats = self.shared.seats.iter();
        for (polls, seat) in seen.polls.iter_mut().zip(seats) {
            *polls = seat.counters.polls.get();
        }
        seen.taken = self.shared.inject.taken();
    }

    /// Whether it is time to look. The time of the next look is set.
    pub(super) fn is_time_to_look(&self) -> bool {
        let mut seen = self.own().seen.borrow_mut();
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

    /// Looks at all queues, and at the timers of those who stand still. Whether there is
    /// something that this worker can do.
    pub(super) fn look(&self) -> bool {
        let shared = &self.shared;
        let taken = self.own().seen.borrow().taken;
        let mut found = !shared.inject.is_empty() && shared.inject.taken() == taken;
        for (index, seat) in shared.seats.iter().enumerate() {
            let polls = self.own().seen.borrow().polls[index];
            if index == self.number() || seat.counters.polls.get() != polls {
                continue;
            }
            if seat.has_tasks() {
                self.own().robs.set(true);
                found = true;
            }
            if let Some(wheels) = &shared.common().time {
                // Who they wake is ready here.
                _ = wheels.turn_if_due(index);
            }
        }
        self.remember();
        found || self.seat().has_tasks()
    }
}
