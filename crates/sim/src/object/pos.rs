//! Partial order sampling (POS).
//!
//! Each pending call has a random priority, and the highest one is executed next. Then the pending calls of
//! other threads on the same object get new priorities, and so does the thread's next call. So each order
//! of two calls on the same object has a fair chance, however many calls on other objects come before: a
//! call is the last of `n` independent ones with probability `1/n`, where a random walk has `1/2^n`.
//!
//! Source: Xinhao Yuan, Junfeng Yang and Ronghui Gu, "Partial Order Aware Concurrency Sampling", CAV 2018.

use crate::shared::random::Random;
use crate::shared::region::NOTHING;

/// State of the strategy.
#[derive(Debug, Default)]
pub struct Pos {
    /// Priorities of the pending calls by thread number; 0 is drawn when it is needed.
    priorities: Vec<u64>,
}

impl Pos {
    /// The thread has reached another call.
    pub fn arrived(&mut self, thread: u32) {
        if let Some(priority) = self.priorities.get_mut(thread as usize) {
            *priority = 0;
        }
    }

    /// Returns an index into `threads`. `pending` returns the object of a thread's pending call.
    pub fn pick(
        &mut self,
        random: &mut Random,
        threads: &[u32],
        pending: impl Fn(u32) -> u64,
    ) -> usize {
        let mut best = 0;
        for at in 1..threads.len() {
            if self.priority(random, threads[at]) > self.priority(random, threads[best]) {
                best = at;
            }
        }
        let object = pending(threads[best]);
        for other in threads {
            if object != NOTHING && *other != threads[best] && pending(*other) == object {
                self.arrived(*other);
            }
        }
        best
    }

    fn priority(&mut self, random: &mut Random, thread: u32) -> u64 {
        let at = thread as usize;
        if self.priorities.len() <= at {
            self.priorities.resize(at + 1, 0);
        }
        if self.priorities[at] == 0 {
            self.priorities[at] = random.next() | 1;
        }
        self.priorities[at]
    }
}
