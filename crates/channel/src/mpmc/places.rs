//! Where threads wait that hand values to each other, and what that tells them.
//!
//! Two threads that both run can hand values over for a whole time slice, in half
//! the time that a switch for each value takes. So who waits looks a few times
//! before it yields. That is in vain if the other side has to run on this very
//! processor: then it yields at once.
//!
//! Threads that yield to each other stay where they are, even beside a processor
//! that has nothing to do; the system looks for one when a thread is *woken*. So
//! after 256 waits in a row at the same place a thread sleeps instead. If that has
//! not parted them, it takes twice as many until the next one does.
//!
//! All of it is a hint, and any answer is right: a thread may be moved at any time,
//! and where the system does not say on which processor a thread runs, nobody is
//! ever at the same place.

use blitz_sync::internals::{HandoffSpin, NOWHERE, current_processor};

/// After how many waits at the same place a thread sleeps, as a power of two. A
/// sleep and its wake-up take as long as ten switches.
const FEWEST: u8 = 8;
/// The same, when sleeping has not helped.
const MOST: u8 = 12;

/// Where the last thread of each side was.
pub(super) struct Places {
    of_sender: u8,
    of_receiver: u8,
    /// How many waits in a row there were at the same place.
    together: u16,
    /// How many there may be, as a power of two.
    patience: u8,
}

/// How a thread waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// Looks first, then yields, then sleeps.
    Look,
    /// Yields, then sleeps.
    Yield,
    Sleep,
}

impl Way {
    pub(super) fn spin(self) -> HandoffSpin {
        match self {
            Self::Look => HandoffSpin::new(2),
            Self::Yield => HandoffSpin::yielding(),
            Self::Sleep => HandoffSpin::none(),
        }
    }
}

impl Places {
    pub(super) fn new() -> Self {
        Self {
            of_sender: NOWHERE,
            of_receiver: NOWHERE,
            together: 0,
            patience: FEWEST,
        }
    }

    /// This thread receives, and may have to wait. If so, how.
    pub(super) fn receiver_comes(&mut self, waits: bool) -> Way {
        self.receiver_at(current_processor(), waits)
    }

    /// This thread sends, and may have to wait. If so, how.
    pub(super) fn sender_comes(&mut self, waits: bool) -> Way {
        self.sender_at(current_processor(), waits)
    }

    fn receiver_at(&mut self, here: u8, waits: bool) -> Way {
        self.of_receiver = here;
        match waits {
            true => self.way(here, self.of_sender),
            false => Way::Look,
        }
    }

    fn sender_at(&mut self, here: u8, waits: bool) -> Way {
        self.of_sender = here;
        match waits {
            true => self.way(here, self.of_receiver),
            false => Way::Look,
        }
    }

    fn way(&mut self, here: u8, there: u8) -> Way {
        if here != there || here == NOWHERE {
            self.together = 0;
            self.patience = FEWEST;
            return Way::Look;
        }
        self.together += 1;
        if self.together >> self.patience == 0 {
            return Way::Yield;
        }
        self.together = 0;
        self.patience = (self.patience + 1).min(MOST);
        Way::Sleep
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many waits at one place it takes until somebody sleeps.
    fn until_one_sleeps(places: &mut Places) -> usize {
        let ways = std::iter::from_fn(|| Some(places.receiver_at(1, true)));
        1 + ways.take_while(|way| *way != Way::Sleep).count()
    }

    #[test]
    fn who_may_be_running_is_looked_at() {
        let mut places = Places::new();
        assert_eq!(places.receiver_at(1, true), Way::Look);
        assert_eq!(places.sender_at(2, true), Way::Look);
        assert_eq!(places.receiver_at(2, true), Way::Yield);
        assert_eq!(places.sender_at(1, true), Way::Look);
    }

    #[test]
    fn nobody_is_nowhere() {
        let mut places = Places::new();
        for _ in 0..10_000 {
            assert_eq!(places.receiver_at(NOWHERE, true), Way::Look);
            assert_eq!(places.sender_at(NOWHERE, true), Way::Look);
        }
    }

    #[test]
    fn who_stays_together_sleeps_now_and_then() {
        let mut places = Places::new();
        places.sender_at(1, false);
        let counts: Vec<_> = (0..6).map(|_| until_one_sleeps(&mut places)).collect();
        assert_eq!(counts, [256, 512, 1024, 2048, 4096, 4096]);
        places.sender_at(2, true);
        places.sender_at(1, false);
        assert_eq!(until_one_sleeps(&mut places), 256);
    }
}
