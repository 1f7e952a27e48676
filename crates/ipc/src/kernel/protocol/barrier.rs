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
//! * *Arrive:* adds one to the arrivals. The last party begins the next generation instead,
//!   with no arrivals; that opens the barrier, and this party is the leader.
//! * *Wait* until the generation differs from that of the arrival.
//! * *Withdraw* (deadline, dropped future): subtracts one, if the generation is still the
//!   same. If not, the barrier has opened with this arrival counted, and the wait has
//!   succeeded.
//! * *Break:* the participant that finds another one dead sets `BROKEN`, before it reaps.
//!   From then on no party can arrive, and waiters of the present generation fail.
//!
//! Each is one compare-and-swap of the one word. So a process is killed before its arrival
//! or after it, and is found dead in both cases. The generation only goes up, so the word
//! never returns to an earlier state, and no participant mistakes an earlier generation for
//! the present one.
//!
//! **No party hangs.** A participant that waits for a dead party finds it dead, at its next
//! look at the latest, and breaks the barrier. If a reaper is killed after it has broken
//! the barrier and before it has reaped, the next reaper does both again.

use blitz_io_futex::atomic::Ordering;

use crate::kernel::memory::Memory;
use crate::kernel::ring::Corrupt;

const ARRIVED: u64 = (1 << 16) - 1;
const BROKEN: u64 = 1 << 16;
const GENERATION: u64 = 1 << 17;

/// The largest number of parties.
pub const MAX_PARTIES: usize = 512;

/// The barrier of a segment.
#[derive(Clone, Copy)]
pub struct Parties<'a> {
    pub memory: &'a Memory,
    pub count: usize,
}

/// The outcome of an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// It was the last one, and has opened the barrier. The caller notifies.
    Last,
    /// It has to wait for the others, in this generation.
    Early(u64),
    Broken,
}

/// The state of a generation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    Open,
    Closed,
    Broken,
}

impl Parties<'_> {
    /// Replaces the state by the result of `change`, unless that is `None`.
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

    /// Counts an arrival.
    pub fn arrive(self) -> Result<Arrival, Corrupt> {
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

    /// Returns the state of the barrier for the arrivals of `generation`.
    #[inline]
    pub fn standing(self, generation: u64) -> Standing {
        let state = self.memory.entry(0).load(Ordering::Acquire);
        if state / GENERATION != generation {
            Standing::Open
        } else if state & BROKEN != 0 {
            Standing::Broken
        } else {
            Standing::Closed
        }
    }

    /// Withdraws an arrival. Returns the state of its generation at that time: if it was
    /// open, the arrival has counted.
    pub fn withdraw(self, generation: u64) -> Standing {
        let result = self.change(|state| {
            let same = state / GENERATION == generation;
            let closed = same && state & BROKEN == 0 && state & ARRIVED != 0;
            closed.then(|| state - 1)
        });
        match result {
            Ok(_) => Standing::Closed,
            Err(state) if state / GENERATION != generation => Standing::Open,
            Err(_) => Standing::Broken,
        }
    }

    /// Breaks the barrier: a participant is dead. The caller notifies afterwards.
    pub fn break_up(self) {
        _ = self.change(|state| (state & BROKEN == 0).then_some(state | BROKEN));
    }
}
