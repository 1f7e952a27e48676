//! A barrier: a number of parties meet, again and again.
//!
//! Entry 0 is the whole state:
//!
//! ```text
//! bits 63..17  generation: how often the barrier has opened
//! bit  16      BROKEN: a participant has died
//! bits 15..0   how many have arrived in this generation; fewer than the parties
//! ```
//!
//! * *Arrive:* one more has arrived. The last one begins the next generation instead, with
//!   nobody arrived; that opens the barrier, and this one is the leader.
//! * *Wait* until the generation is another one than that of the arrival.
//! * *Withdraw* (deadline, dropped future): one fewer, if the generation is still the same.
//!   If not, the barrier has opened with this arrival counted, and the wait has succeeded.
//! * *Break:* whoever finds a participant dead sets `BROKEN`, before it reaps. From then on
//!   nobody arrives, and waiters of the present generation fail.
//!
//! Each is one compare-and-swap of the one word, so a process is killed before or after it:
//! as one that has not arrived or as one that has, and is found dead in both cases. The
//! generation only goes up, so the word never returns to a value with fewer bits of history,
//! and one that laps another cannot be taken for one of the generation before.
//!
//! **Nobody hangs.** What waits for a party that died finds it dead, at the latest at its
//! next look, and breaks the barrier. The reaper that is killed after it has broken the
//! barrier and before it has reaped is followed by another one, which does both again.

use blitz_futex::atomic::Ordering;

use crate::memory::Memory;
use crate::mutant::{self, Mutant};
use crate::ring::Corrupt;

const ARRIVED: u64 = (1 << 16) - 1;
const BROKEN: u64 = 1 << 16;
const GENERATION: u64 = 1 << 17;

/// The largest number of parties.
#[cfg(not(loom))]
pub(crate) const MAX_PARTIES: usize = 512;

/// The barrier of a segment.
#[derive(Clone, Copy)]
pub(crate) struct Parties<'a> {
    pub(crate) memory: &'a Memory,
    pub(crate) count: usize,
}

/// The outcome of an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    /// It was the last one, and has opened the barrier. The caller notifies.
    Last,
    /// The others are waited for, in this generation.
    Early(u64),
    Broken,
}

/// How a generation stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    Open,
    Closed,
    Broken,
}

impl Parties<'_> {
    /// Changes the state as `change` says, if it says so.
    fn change(self, mut change: impl FnMut(u64) -> Option<u64>) -> Result<u64, u64> {
        let word = self.memory.entry(0);
        loop {
            let state = word.load(Ordering::Acquire);
            match change(state) {
                None => return Err(state),
                Some(new) if word.replace(state, new) => return Ok(state),
                Some(_) => {}
            }
        }
    }

    /// Arrives.
    pub(crate) fn arrive(self) -> Result<Arrival, Corrupt> {
        let parties = self.count as u64;
        let result = self.change(|state| {
            let arrived = (state & ARRIVED) + 1;
            match arrived.cmp(&parties) {
                _ if state & BROKEN != 0 => None,
                std::cmp::Ordering::Less => Some(state + 1),
                std::cmp::Ordering::Equal => {
                    Some((state & !(ARRIVED | BROKEN)).wrapping_add(GENERATION))
                }
                std::cmp::Ordering::Greater => None,
            }
        });
        match result {
            Ok(state) if (state & ARRIVED) + 1 == parties => Ok(Arrival::Last),
            Ok(state) => Ok(Arrival::Early(state / GENERATION)),
            Err(state) if state & BROKEN != 0 => Ok(Arrival::Broken),
            Err(_) => Err(Corrupt),
        }
    }

    /// Whether the barrier has opened for those who arrived in `generation`.
    #[inline]
    pub(crate) fn standing(self, generation: u64) -> Standing {
        let state = self.memory.entry(0).load(Ordering::Acquire);
        if state / GENERATION != generation {
            Standing::Open
        } else if state & BROKEN != 0 {
            Standing::Broken
        } else {
            Standing::Closed
        }
    }

    /// Takes an arrival back; how the generation stood then. If it was open, the arrival
    /// has counted.
    pub(crate) fn withdraw(self, generation: u64) -> Standing {
        let result = self.change(|state| {
            let same = state / GENERATION == generation || mutant::active(Mutant::WithdrawsBlindly);
            let closed = same && state & BROKEN == 0 && state & ARRIVED != 0;
            let fewer = match mutant::active(Mutant::TimesOutArrived) {
                true => state,
                false => state.wrapping_sub(1),
            };
            closed.then_some(fewer)
        });
        match result {
            Ok(_) => Standing::Closed,
            Err(state) if state / GENERATION != generation => Standing::Open,
            Err(_) => Standing::Broken,
        }
    }

    /// A participant is dead. The caller notifies afterwards.
    pub(crate) fn break_up(self) {
        if !mutant::active(Mutant::DeadPartyIgnored) {
            _ = self.change(|state| (state & BROKEN == 0).then_some(state | BROKEN));
        }
    }
}
