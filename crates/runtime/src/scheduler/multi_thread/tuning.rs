//! How long polls take, and what follows for a worker: how often it looks at the inject
//! queue, how many tasks it claims at a time (`run_batch.rs`), and when maintenance is due.

use std::cell::Cell;
use std::time::Instant;

use super::run_batch;

/// How many polls lie between two looks at the inject queue at most, if the user has not
/// set it.
const INTERVAL: u32 = 61;
/// How long the inject queue waits for such a look, about, in nanoseconds.
const INJECT_WAITS: u64 = 200_000;
/// For how long the claimed tasks keep the worker busy, about, in nanoseconds. To wake
/// another worker for them would take as long.
const CLAIMED: u64 = 20_000;
/// How many polls are measured together at most.
const MOST_MEASURED: u64 = 4 * INTERVAL as u64;

/// Counts the tasks of one worker down to its next checkpoint. Used by the worker only.
pub(super) struct Tuning {
    /// How many tasks may begin until the next checkpoint, besides those claimed.
    remaining: Cell<u32>,
    /// What `remaining` was after the last checkpoint.
    span: Cell<u32>,
    /// After how many tasks since the last checkpoint maintenance is due.
    until_maintenance: Cell<u32>,
    /// After how many tasks since the last checkpoint the inject queue goes first.
    until_inject: Cell<u32>,
    event_interval: u32,
    poll_time: PollTime,
}

/// What is due at a checkpoint.
pub(super) struct Due {
    pub(super) maintenance: bool,
    pub(super) inject: bool,
    /// The time that the worker was busy is to be counted: not each time, as it takes a look
    /// at the clock.
    pub(super) busy: bool,
}

impl Tuning {
    /// `inject_interval` is what the user has set.
    pub(super) fn new(event_interval: u32, inject_interval: Option<u32>) -> Self {
        let poll_time = PollTime::new(inject_interval);
        let span = event_interval.min(poll_time.inject_interval.get());
        Self {
            remaining: Cell::new(span),
            span: Cell::new(span),
            until_maintenance: Cell::new(event_interval),
            until_inject: Cell::new(poll_time.inject_interval.get()),
            event_interval,
            poll_time,
        }
    }

    /// Whether it is time for a checkpoint.
    #[inline]
    pub(super) fn is_checkpoint(&self) -> bool {
        self.remaining.get() == 0
    }

    /// So many tasks begin, or are claimed. If others run between those, from the LIFO slot,
    /// or some are reclaimed, the next checkpoint is that much late or early. (A worker that
    /// shuts down has no checkpoints.)
    #[inline]
    pub(super) fn begins(&self, count: usize) {
        self.remaining
            .set(self.remaining.get().saturating_sub(count as u32));
    }

    /// How many tasks to claim: those that run before the next checkpoint, at most.
    #[inline]
    pub(super) fn most_to_claim(&self) -> usize {
        self.poll_time
            .claimed
            .get()
            .min(self.remaining.get() as usize)
    }

    /// How many tasks keep the worker busy for as long as it takes to wake another one.
    pub(super) fn claimed(&self) -> usize {
        self.poll_time.claimed.get()
    }

    /// A checkpoint has come.
    pub(super) fn count_down(&self) -> Due {
        let span = self.span.get();
        let busy = self.poll_time.polled(span);
        let is_due = |until: &Cell<u32>, interval: u32| {
            let left = until.get() - span;
            until.set(if left == 0 { interval } else { left });
            left == 0
        };
        let maintenance = is_due(&self.until_maintenance, self.event_interval);
        let inject = is_due(&self.until_inject, self.poll_time.inject_interval.get());
        let span = self.until_maintenance.get().min(self.until_inject.get());
        self.span.set(span);
        self.remaining.set(span);
        Due {
            maintenance,
            inject,
            busy,
        }
    }
}

struct PollTime {
    /// When the polls began that are measured now, and how many have been made.
    began: Cell<Instant>,
    polls: Cell<u32>,
    /// How many are measured together: of short polls more, since a look at the clock
    /// takes as long as some of them.
    measured: Cell<u32>,
    claimed: Cell<usize>,
    /// The user has set the interval.
    is_set: bool,
    /// After how many polls to look at the inject queue: fewer if they take long, or tasks
    /// from other threads would wait for ever while a worker is busy with its own.
    inject_interval: Cell<u32>,
}

impl PollTime {
    fn new(interval: Option<u32>) -> Self {
        Self {
            began: Cell::new(Instant::now()),
            polls: Cell::new(0),
            measured: Cell::new(1),
            claimed: Cell::new(1),
            is_set: interval.is_some(),
            inject_interval: Cell::new(interval.unwrap_or(INTERVAL)),
        }
    }

    /// So many polls more have been made, or are about to be: those claimed count.
    /// Whether these were measured.
    fn polled(&self, count: u32) -> bool {
        let polls = self.polls.get() + count;
        self.polls.set(polls);
        let is_time = polls >= self.measured.get();
        if is_time {
            self.measure(u64::from(polls));
        }
        is_time
    }

    fn measure(&self, polls: u64) {
        let now = Instant::now();
        let took = now - self.began.replace(now);
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let poll = (took / polls).max(1);
        self.polls.set(0);
        self.measured
            .set((CLAIMED / poll).min(MOST_MEASURED) as u32);
        self.claimed
            .set((CLAIMED / poll).clamp(1, run_batch::MAX as u64) as usize);
        if !self.is_set {
            let interval = (INJECT_WAITS / poll).clamp(2, u64::from(INTERVAL));
            self.inject_interval.set(interval as u32);
        }
    }
}
