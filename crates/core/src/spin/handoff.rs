//! Waiting for the other side of a channel.
//!
//! Both sides need each other's work, and there are often more of them than processors. A thread
//! then waits until others have filled or emptied the buffer. So it yields soon, and a number of
//! times instead of for a time: the peers use the time that passes in its yields.
//!
//! **A shared processor.** Pauses are lost time if the peer needs this very processor, as it does
//! beside busy processes. The duration of a yield shows this. A yield in which the peer ran and
//! yielded back contains the peer's yield and two switches. So it takes more than twice as long
//! as a yield that found no other thread to run. After such a yield the thread's next wait begins
//! with a yield instead of pauses.
//!
//! **Bursts.** A receiver is often faster than its sender. A receiver that looks again as soon as
//! it can takes each value alone, and fetches the cache lines that the sender is about to write.
//! So after a burst of values it leaves the sender alone for a time in proportion to their
//! number. If the sender goes on, the receiver finds a longer burst then, and the pauses grow up
//! to a limit. If not, they end with this one. A receiver that waits for single values never
//! makes them.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

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

/// How long to leave a sender alone for each value of a burst: about the cost, for both sides, of
/// a look that comes too early.
const PER_VALUE: Duration = Duration::from_nanos(50);
/// The longest pause after a burst: shorter than a sleep and its wake-up.
const LONGEST_BURST: Duration = Duration::from_micros(4);

/// The shortest yield of this process, in nanoseconds: one that found no thread to run.
static SHORTEST_YIELD: AtomicU64 = AtomicU64::new(u64::MAX);

thread_local! {
    /// Whether another thread has run in this thread's last yield.
    static SHARES_PROCESSOR: Cell<bool> = const { Cell::new(false) };
}

/// The attempts of a thread that waits for its peers, before it sleeps. To be used as
/// [`EventSpin`](super::EventSpin) is.
pub struct HandoffSpin {
    /// How long to pause before the first look, after a burst.
    burst: Duration,
    /// How long to pause next.
    pause: u32,
    /// How many yields are left.
    yields: u32,
}

impl HandoffSpin {
    /// Creates the attempts for a channel with so many ends. With fewer processors than
    /// that it yields from the beginning.
    pub fn new(ends: usize) -> Self {
        Self::after_burst(ends, 0)
    }

    /// The same for a receiver that has received so many values since it last waited.
    pub fn after_burst(ends: usize, values: u32) -> Self {
        let may_pause = ends <= processors() && !SHARES_PROCESSOR.get();
        let values = if may_pause { values } else { 0 };
        Self {
            burst: PER_VALUE
                .saturating_mul(values.saturating_sub(1))
                .min(LONGEST_BURST),
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
            pause_for(std::mem::take(&mut self.burst));
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

/// Pauses for this long, and for no time at all if it is zero.
fn pause_for(time: Duration) {
    if time.is_zero() {
        return;
    }
    let began = Instant::now();
    loop {
        pause(1);
        if began.elapsed() >= time {
            return;
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
