//! How long polls take, and what a worker makes of it: how often it looks at the inject
//! queue, and how many tasks it takes in hand (`tray.rs`).

use std::cell::Cell;
use std::time::Instant;

use super::tray;

/// How many polls lie between two looks at the inject queue at most, if the user has not
/// said.
const INTERVAL: u32 = 61;
/// How long the inject queue waits for such a look, about, in nanoseconds.
const INJECT_WAITS: u64 = 200_000;
/// For how long the tasks in hand keep the worker busy, about, in nanoseconds. To wake
/// another one for them would take as long.
const IN_HAND: u64 = 20_000;
/// How many polls are measured together at most.
const MOST_MEASURED: u64 = 4 * INTERVAL as u64;

/// See the head of this file.
pub(super) struct Pace {
    /// When the polls began that are measured now, and how many have been made.
    began: Cell<Instant>,
    polls: Cell<u32>,
    /// How many are measured together: of short polls more, since a look at the clock
    /// takes as long as some of them.
    measured: Cell<u32>,
    in_hand: Cell<usize>,
    /// Where the user has set it, it stays.
    is_set: bool,
    inject_interval: Cell<u32>,
}

impl Pace {
    /// `interval` is what the user has set.
    pub(super) fn new(interval: Option<u32>) -> Self {
        Self {
            began: Cell::new(Instant::now()),
            polls: Cell::new(0),
            measured: Cell::new(1),
            in_hand: Cell::new(1),
            is_set: interval.is_some(),
            inject_interval: Cell::new(interval.unwrap_or(INTERVAL)),
        }
    }

    /// How many tasks to have in hand at most.
    #[inline]
    pub(super) fn in_hand(&self) -> usize {
        self.in_hand.get()
    }

    /// After how many polls to look at the inject queue: fewer if they take long, or those
    /// from outside would wait for ever while a worker is busy with its own.
    pub(super) fn inject_interval(&self) -> u32 {
        self.inject_interval.get()
    }

    /// So many polls more have been made, or are about to be: those in hand count.
    pub(super) fn polled(&self, count: u32) {
        let polls = self.polls.get() + count;
        self.polls.set(polls);
        if polls >= self.measured.get() {
            self.measure(u64::from(polls));
        }
    }

    fn measure(&self, polls: u64) {
        let now = Instant::now();
        let took = now - self.began.replace(now);
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let poll = (took / polls).max(1);
        self.polls.set(0);
        self.measured
            .set((IN_HAND / poll).min(MOST_MEASURED) as u32);
        self.in_hand
            .set((IN_HAND / poll).clamp(1, tray::MOST as u64) as usize);
        if !self.is_set {
            let interval = (INJECT_WAITS / poll).clamp(2, u64::from(INTERVAL));
            self.inject_interval.set(interval as u32);
        }
    }
}
