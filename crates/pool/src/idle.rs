//! How long a worker looks for work before it sleeps, and which forks it finds worth a theft.

use std::hint;
use std::thread;
use std::time::{Duration, Instant};

use blitz_sync::internals::awake::awake;
use blitz_sync::internals::processors;

use crate::deque::Sight;

/// A theft costs thief and victim about this much together: the fence on the victim's
/// processor, the job's memory, and the hand-over of its result. Work that is done sooner is
/// not worth it, and forks of a fine recursion mostly are.
const WORTH_STEALING: Duration = Duration::from_micros(5);

/// How long each victim's oldest fork has been the same one.
#[derive(Debug)]
pub(crate) struct Ages {
    seen: Box<[Option<(Sight, Instant)>]>,
    now: Instant,
    next: Instant,
    /// Somebody has forked since the last look.
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

    /// Whether there were new forks, if none that was worth a theft, since this was asked. To
    /// sleep then would cost their owners a wake-up soon.
    pub(crate) fn were_new(&mut self) -> bool {
        std::mem::take(&mut self.active)
    }

    /// Whether to look at the victims now. Looking more often would take the lines that they
    /// write with every fork away from them.
    pub(crate) fn is_time(&mut self) -> bool {
        self.now = Instant::now();
        if self.now < self.next {
            return false;
        }
        self.next = self.now + WORTH_STEALING / 2;
        true
    }

    /// Whether the oldest fork of `victim` is old enough.
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
pub enum Spin {
    /// A worker looks for work for about as long as its last wait took, if that was short,
    /// and half a millisecond at most. Then it sleeps.
    #[default]
    Adaptive,
    /// A worker without work sleeps at once.
    Never,
}

/// A sleep and its wake-up cost about this much, so no shorter wait is worth a sleep.
const SHORTEST: Duration = Duration::from_micros(10);
/// Longer waits are slept through.
const LONGEST: Duration = Duration::from_micros(500);
/// A yield that took this long went to somebody else's work.
const LONG_YIELD: Duration = Duration::from_micros(30);
/// How often it looks before it yields.
const LOOKS_A_YIELD: u32 = 32;

/// A loop that takes longer than this gets more workers than there are free processors: it
/// is much longer than most loops, and less than a time slice of most systems.
pub(crate) const LATE: Duration = Duration::from_millis(1);

/// How many processors no awake worker of a runtime uses.
pub(crate) fn free_processors() -> usize {
    processors().saturating_sub(awake())
}

/// How many workers a loop has use for at first, beside its caller. The caller is one of the
/// awake workers if there are any, or takes a processor of its own.
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

    /// A wait begins.
    pub(crate) fn begin(&mut self) {
        self.began = None;
        self.looks = 0;
    }

    /// There are signs that the wait will soon be over. It counts from now.
    pub(crate) fn extend(&mut self) {
        self.began = None;
    }

    /// The wait is over: the next one is expected to be as long.
    pub(crate) fn found(&mut self) {
        let waited = self.began.map_or(Duration::ZERO, |began| began.elapsed());
        self.limit = match waited {
            long if long > LONGEST => SHORTEST,
            short => (2 * short).clamp(SHORTEST, LONGEST),
        };
    }

    /// Pauses for a moment. Returns whether to look again; if not, the worker is to sleep.
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
