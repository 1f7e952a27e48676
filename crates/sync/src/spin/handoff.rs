//! Waiting for the other side of a channel.
//!
//! Both sides need each other's work, and there are often more of them than processors. A
//! thread then waits for a turn in which others fill or empty the buffer. So it yields
//! soon, and a number of times instead of for a time: what passes meanwhile is not lost,
//! but spent by the peers.

use super::{pause, yield_to_peers};
use crate::processors::processors;

/// The first pause, in `spin_loop` hints. A shorter one would take the cache line away
/// from a peer that is about to write there.
const SHORTEST: u32 = 8;
/// A pause longer than this takes as long as a yield.
const LONGEST: u32 = 32;
/// How often a thread yields before it sleeps. Each peer that is ready has had several
/// turns by then.
const YIELDS: u32 = 64;

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
        Self {
            pause: if ends <= processors() {
                SHORTEST
            } else {
                LONGEST
            },
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
            yield_to_peers()
        }
    }
}
