//! How long a worker looks for work before it sleeps, and which forks are worth stealing.

use std::hint;
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_core::awake::awake;
use blitz_io_core::processors;

use crate::deque::Sight;

/// A theft costs thief and victim about this much together: the fence on the victim's
/// processor, the job's memory, and the hand-over of its result. A job that takes less time
/// is not worth stealing; most forks of a fine recursion take less.
const WORTH_STEALING: Duration = Duration::from_micros(5);

/// How long each victim's oldest fork has been the same one.
#[derive(Debug)]
pub(crate) struct Ages {
    seen: Box<[Option<(Sight, Instant)>]>,
    now: Instant,
    next: Instant,
    /// Whether any worker has forked since the last look.
    active: bool,
}

impl Ages {
    pub(crate) fn new(workers: usize) -> Self {
        let now = Instant::now();
        Self {
            seen: vec![None; workers].into(),
            now,
            next: now,
            active: false,
        }
    }

    /// Returns whether there were new forks since the last call, even if none was worth
    /// stealing. If a worker slept then, their owners would soon have to wake it.
    pub(crate) fn were_new(&mut self) -> bool {
        std::mem::take(&mut self.active)
    }

    /// Returns whether to look at the victims now. Looking more often would take from them
    /// the cache lines that they write with every fork.
    pub(crate) fn is_time(&mut self) -> bool {
        self.now = Instant::now();
        if self.now < self.next {
            return false;
        }
        self.next = self.now + WORTH_STEALING / 2;
        true
    }

    /// Whether the oldest fork of `victim` is old enough to be stolen.
    pub(crate) fn is_old(&mut self, victim: usize, sight: Option<Sight>) -> bool {
        let Some(sight) = sight else {
            self.seen[victim] = None;
            return false;
        };
        match self.seen[victim] {
            Some((before, since)) if before == sight => self.now - since >= WORTH_STEALING,
            _ => {
                self.seen[victim] = Some((sight, self.now));
                self.active = true;
                false
            }
        }
    }
}

/// How a pool's workers wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Spin {
    /// A worker looks for work for about as long as its last wait took, if that was short,
    /// and for at most half a millisecond. Then it sleeps.
    #[default]
    Adaptive,
    /// A worker without work sleeps at once.
    Never,
}

/// A sleep and its wake-up cost about this much, so a shorter wait is not worth a sleep.
const SHORTEST: Duration = Duration::from_micros(10);
/// A worker sleeps through waits that are longer than this.
const LONGEST: Duration = Duration::from_micros(500);
/// A yield that took this long gave the processor to other work.
const LONG_YIELD: Duration = Duration::from_micros(30);
/// How many looks come between two yields.
const LOOKS_A_YIELD: u32 = 32;

/// A loop that takes longer than this gets more workers than there are free processors. It
/// is much longer than most loops take, and less than a time slice of most systems.
pub(crate) const LATE: Duration = Duration::from_millis(1);

/// How many processors are not in use by an awake worker of a runtime.
pub(crate) fn free_processors() -> usize {
    processors().saturating_sub(awake())
}

/// How many workers a loop can use at first, in addition to its caller. The caller is one
/// of the awake workers if there are any; otherwise it takes a processor of its own.
pub(crate) fn helpers() -> usize {
    processors().saturating_sub(awake().max(1))
}

/// How long one worker spins.
#[derive(Debug)]
pub(crate) struct Patience {
    policy: Spin,
    began: Option<Instant>,
    limit: Duration,
    looks: u32,
}

impl Patience {
    pub(crate) fn new(policy: Spin) -> Self {
        Self {
            policy,
            began: None,
            limit: LONGEST,
            looks: 0,
        }
    }

    /// Starts a wait.
    pub(crate) fn begin(&mut self) {
        self.began = None;
        self.looks = 0;
    }

    /// Restarts the clock: there are signs that the wait will soon be over.
    pub(crate) fn extend(&mut self) {
        self.began = None;
    }

    /// Ends the wait. The next one is expected to take as long.
    pub(crate) fn found(&mut self) {
        let waited = self.began.map_or(Duration::ZERO, |began| began.elapsed());
        self.limit = match waited {
            long if long > LONGEST => SHORTEST,
            short => (2 * short).clamp(SHORTEST, LONGEST),
        };
    }

    /// Pauses for a moment. Returns whether to look again; if not, the worker should sleep.
    pub(crate) fn spin(&mut self) -> bool {
        if self.policy == Spin::Never {
            self.began.get_or_insert_with(Instant::now);
            return false;
        }
        let Some(began) = self.began else {
            self.began = Some(Instant::now());
            return true;
        };
        self.looks += 1;
        if self.looks % LOOKS_A_YIELD != 0 && processors() > 1 {
            for _ in 0..4 {
                hint::spin_loop();
            }
            return true;
        }
        let before = Instant::now();
        if before - began >= self.limit || free_processors() == 0 {
            return false;
        }
        thread::yield_now();
        before.elapsed() < LONG_YIELD
    }
}
