//! What a thread does that was not the first at a word which many want all the time.
//!
//! Whoever has the word in its cache does a step in 10 ns; each move to another
//! processor costs both ten times that. So the loser leaves the word alone: first for
//! half a microsecond, then for twice as long each time, up to about ten. From the
//! second defeat on it also lets other threads run. With more threads than processors
//! one of those may be what the winner's work is waiting for (a channel's receiver, a
//! preempted owner); with enough processors the call is a short rest like any other. A
//! rest takes some ten microseconds at most, and what other threads make of the yield;
//! [`are_many`](Defeats::are_many) says when it is time to wait in another way.
//!
//! Four threads to four through a channel without a limit: 36 ns a value became 25.

/// How often in a row this thread has been too late. See the head of this file.
#[derive(Default)]
pub struct Defeats(u32);

/// The first rest, in `spin_loop` hints of 2 to 50 ns.
const SHORTEST: u32 = 16;
/// The longest, as a power of two, times the first.
const LONGEST: u32 = 4;
/// After so many there are other ways to wait.
const MANY: u32 = 16;

impl Defeats {
    /// None so far.
    pub const fn new() -> Self {
        Self(0)
    }

    /// Rests after another one. Not at all under the model checker.
    #[cold]
    pub fn rest(&mut self) {
        if cfg!(loom) {
            return;
        }
        if self.0 != 0 {
            std::thread::yield_now();
        }
        for _ in 0..SHORTEST << self.0.min(LONGEST) {
            std::hint::spin_loop();
        }
        self.0 += 1;
    }

    /// Whether resting does not help.
    pub const fn are_many(&self) -> bool {
        self.0 >= MANY
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Defeats, MANY};

    #[test]
    fn they_become_many_and_rests_stay_short() {
        let mut defeats = Defeats::new();
        for _ in 0..MANY {
            assert!(!defeats.are_many());
            defeats.rest();
        }
        assert!(defeats.are_many());
        let began = std::time::Instant::now();
        defeats.rest();
        assert!(began.elapsed() < std::time::Duration::from_secs(1));
    }
}
