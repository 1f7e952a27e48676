//! Waiting for a lock.
//!
//! A thread that waits for a lock pauses for longer between two looks than other waiters do, as
//! every look takes the cache line away from the owner. It yields later, as most owners run. A
//! thread that has just been woken yields at once: the system likes to run it where its waker
//! ran, which may be the owner's processor. With one processor it sleeps at once: the owner was
//! preempted, and does not run until this thread stops.
//!
//! A thread looks as soon as a yield returns, as time has passed. Some processors take 2 ns for a
//! `spin_loop` hint and others 45. So a pause after the yield could be longer than the sections,
//! and a free lock would then wait until all threads that yield have paused.
//!
//! **Politeness.** A lock that looks free may be idle. Or its last owner is about to take it
//! again, as it did a thousand times before. Taking a lock of the second kind moves the lock and
//! its data to another processor, and every such move makes both threads wait. So a spinning
//! thread takes a lock only after it has looked free [`FREE_LOOKS`] times in a row, a pause
//! apart. A thread takes an idle lock a tenth of a microsecond later than it could, and a busy
//! one mostly when the owner has to wait for something else. The fairness of the lock bounds what
//! a thread may lose by that.

use std::time::{Duration, Instant};

use super::{pause, yield_to_peers};
use crate::processors::processors;

/// The sum of the first pauses, in `spin_loop` hints: about a microsecond.
const PAUSES: u32 = 32;
/// The pause between two later looks.
const LONG_PAUSE: u32 = 64;
/// How long a thread trusts that the owner runs: twice the cost of a sleep and a wake-up.
const TRUST_FOR: Duration = Duration::from_micros(20);
/// How long a thread pauses and yields before it sleeps.
const SPIN_FOR: Duration = Duration::from_micros(60);
/// The same where it yields from the beginning: the processor goes to whichever thread has
/// work, so this costs less than to sleep and be woken together with many readers.
const YIELD_FOR: Duration = Duration::from_micros(200);
/// How often a lock must look free in a row to be taken.
const FREE_LOOKS: u32 = 3;

/// The assumption of a waiting thread about the lock's owners.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Owners {
    /// They run, as the owners of a lock mostly do.
    Run,
    /// They may be waiting for this very processor: because this thread has just been
    /// woken here, or because they wait in their turn, for readers to leave.
    MayWait,
}

/// The attempts of a thread that waits for a lock, before it sleeps.
pub struct LockSpin {
    owners: Owners,
    /// How long to pause next.
    pause: u32,
    /// When the short pauses were over.
    began: Option<Instant>,
    /// How often in a row the lock has looked free.
    free: u32,
}

impl LockSpin {
    /// Creates the attempts for a lock with such owners.
    pub fn new(owners: Owners) -> Self {
        Self {
            owners,
            pause: match owners {
                Owners::Run => 1,
                Owners::MayWait => PAUSES,
            },
            began: None,
            free: 0,
        }
    }

    /// Lets a moment pass. `false` when it is time to sleep.
    #[inline]
    pub fn turn(&mut self) -> bool {
        if cfg!(loom) {
            return std::mem::replace(&mut self.pause, 0) != 0;
        }
        if processors() == 1 {
            return false;
        }
        if self.free != 0 {
            pause(1);
            return true;
        }
        if self.pause < PAUSES {
            pause(self.pause);
            self.pause *= 2;
            return true;
        }
        self.long_turn()
    }

    fn long_turn(&mut self) -> bool {
        let now = Instant::now();
        let spent = now - *self.began.get_or_insert(now);
        let (trust, limit) = match self.owners {
            Owners::Run => (TRUST_FOR, SPIN_FOR),
            Owners::MayWait => (Duration::ZERO, YIELD_FOR),
        };
        if spent >= limit {
            return false;
        }
        if spent >= trust && yield_to_peers() {
            return true;
        }
        // Where yields go to strangers, this thread only pauses, and soon sleeps.
        pause(LONG_PAUSE);
        spent < trust.max(TRUST_FOR)
    }

    /// Whether to take the lock, which has looked free: see the head of this file.
    #[inline]
    pub fn may_take(&mut self) -> bool {
        self.free += 1;
        self.free >= FREE_LOOKS || cfg!(loom)
    }

    /// Notes that the lock has looked taken, or was lost to another thread.
    #[inline]
    pub fn is_taken(&mut self) {
        self.free = 0;
    }
}
