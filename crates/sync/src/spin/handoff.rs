//! Waiting for the other side of a channel.
//!
//! Both sides need each other's work, and there are often more of them than processors. A
//! thread then waits for a turn in which others fill or empty the buffer. So it yields
//! soon, and a number of times instead of for a time: what passes meanwhile is not lost,
//! but spent by the peers.
//!
//! **A shared processor.** Pauses are lost time if the peer needs this very processor, as it
//! does beside busy processes. A yield tells: one in which the peer ran and yielded back
//! contains the peer's yield and two switches, so it takes more than twice as long as one
//! that found no other thread to run. After such a yield the thread's next wait begins with
//! a yield instead of pauses.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{pause, timed_yield};
use crate::processors::processors;

/// The first pause, in `spin_loop` hints. A shorter one would take the cache line away
/// from a peer that is about to write there.
const SHORTEST: u32 = 8;
/// A pause longer than this takes as long as a yield.
const LONGEST: u32 = 32;
/// How often a thread yields before it sleeps. Each peer that is ready has had several
/// turns by then.
const YIELDS: u32 = 64;

/// The shortest yield of this process, in nanoseconds: one that found no thread to run.
static SHORTEST_YIELD: AtomicU64 = AtomicU64::new(u64::MAX);

thread_local! {
    /// Whether another thread has run in this thread's last yield.
    static SHARES_PROCESSOR: Cell<bool> = const { Cell::new(false) };
}

/// The attempts of a thread that waits for its peers, before it sleeps. To be used as
/// [`EventSpin`](super::EventSpin) is.
pub struct HandoffSpin {
    /// How long to pause next.
    pause: u32,
    /// How many yields are left.
    yields: u32,
}

impl HandoffSpin {
    /// Creates the attempts for a channel with so many ends. With fewer processors than
    /// that it yields from the beginning.
    pub fn new(ends: usize) -> Self {
        let may_pause = ends <= processors() && !SHARES_PROCESSOR.get();
        Self {
            pause: if may_pause { SHORTEST } else { LONGEST },
            yields: YIELDS,
        }
    }

    /// Lets a moment pass. `false` when it is time to sleep.
    #[inline]
    pub fn turn(&mut self) -> bool {
        if cfg!(loom) {
            return std::mem::replace(&mut self.yields, 0) != 0;
        }
        if self.pause < LONGEST {
            pause(self.pause);
            self.pause *= 2;
            return true;
        }
        self.yields != 0 && {
            self.yields -= 1;
            timed_yield().map(note).is_some()
        }
    }
}

/// Notes how long a yield took.
fn note(took: Duration) {
    let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
    let shortest = SHORTEST_YIELD.load(Ordering::Relaxed);
    if took < shortest {
        SHORTEST_YIELD.store(took, Ordering::Relaxed);
    }
    SHARES_PROCESSOR.set(took / 2 > shortest);
}
