//! The duration of polls, and its consequences for a worker: how often it checks the
//! inject queue, how many tasks it claims in one step (`run_queue`), and when
//! maintenance is due.

use std::cell::Cell;
use std::time::Instant;

use crate::api::metrics::nanos;
use crate::kernel::run_queue::MOST_CLAIMED;

/// The largest number of polls between two checks of the inject queue, if the user has not
/// set it.
const INTERVAL: u32 = 61;
/// The time, roughly, that the inject queue waits for such a check, in nanoseconds.
const INJECT_WAITS: u64 = 200_000;
/// The time, roughly, that the claimed tasks keep the worker busy, in nanoseconds. Waking
/// another worker for them would take as long.
const CLAIMED: u64 = 20_000;
/// Largest number of polls that are measured together.
const MOST_MEASURED: u64 = 4 * INTERVAL as u64;

/// The time of a worker's next checkpoint, and the work that is due there. Used by the
/// worker only.
pub(super) struct Tuning {
    /// Number of tasks from the last checkpoint until maintenance is due.
    until_maintenance: Cell<u32>,
    /// Number of tasks from the last checkpoint until the inject queue goes first.
    until_inject: Cell<u32>,
    event_interval: u32,
    /// Number of polls after which to check the inject queue: fewer if polls take long. Otherwise
    /// tasks from other threads would wait for ever while a worker is busy with its own.
    inject_interval: Cell<u32>,
    /// The user has set that.
    is_set: bool,
    /// The time at which the measured polls began, and the number made since.
    began: Cell<Instant>,
    polls: Cell<u32>,
    /// Number of polls that are measured together: more if polls are short, since reading the clock
    /// takes as long as some of them.
    measured: Cell<u32>,
    claimed: Cell<usize>,
}

/// The work that is due at a checkpoint.
pub(super) struct Due {
    pub(super) maintenance: bool,
    pub(super) inject: bool,
    /// Count the time that the worker was busy. Not at each checkpoint, because that reads
    /// the clock.
    pub(super) busy: bool,
}

impl Tuning {
    /// `inject_interval` is the user's setting.
    pub(super) fn new(event_interval: u32, inject_interval: Option<u32>) -> Self {
        let interval = inject_interval.unwrap_or(INTERVAL);
        Self {
            until_maintenance: Cell::new(event_interval),
            until_inject: Cell::new(interval),
            event_interval,
            inject_interval: Cell::new(interval),
            is_set: inject_interval.is_some(),
            began: Cell::new(Instant::now()),
            polls: Cell::new(0),
            measured: Cell::new(1),
            claimed: Cell::new(1),
        }
    }

    /// Returns the number of tasks that begin between the last checkpoint and the next one.
    pub(super) fn span(&self) -> u32 {
        self.until_maintenance.get().min(self.until_inject.get())
    }

    /// Returns how many tasks keep the worker busy for as long as it takes to wake another one.
    #[inline]
    pub(super) fn claimed(&self) -> usize {
        self.claimed.get()
    }

    /// Counts down to the next checkpoint, which has come, and returns the work that is due.
    pub(super) fn count_down(&self) -> Due {
        let span = self.span();
        let polls = self.polls.get() + span;
        self.polls.set(polls);
        let busy = polls >= self.measured.get();
        if busy {
            self.measure(u64::from(polls));
        }
        let is_due = |until: &Cell<u32>, interval: u32| {
            let left = until.get() - span;
            until.set(if left == 0 { interval } else { left });
            left == 0
        };
        Due {
            maintenance: is_due(&self.until_maintenance, self.event_interval),
            inject: is_due(&self.until_inject, self.inject_interval.get()),
            busy,
        }
    }

    /// So many polls have been made since the last time, or are about to be: those claimed
    /// count.
    fn measure(&self, polls: u64) {
        let now = Instant::now();
        let poll = (nanos(now - self.began.replace(now)) / polls).max(1);
        self.polls.set(0);
        self.measured
            .set((CLAIMED / poll).min(MOST_MEASURED) as u32);
        self.claimed
            .set((CLAIMED / poll).clamp(1, MOST_CLAIMED as u64) as usize);
        if !self.is_set {
            let interval = (INJECT_WAITS / poll).clamp(2, u64::from(INTERVAL));
            self.inject_interval.set(interval as u32);
        }
    }
}
