//! Selectively uniform random walk (SURW).
//!
//! A walk that chooses each thread with a probability in proportion to the calls it has left samples all
//! orders of independent threads uniformly. This one does so for the calls on shared objects only, and
//! lets the others come as they like: it draws which thread makes the next such call, and holds back all
//! other threads that have reached one. If all that can run are held back, it draws again.
//!
//! The objects that count and the calls of each thread come from an earlier run of the program
//! (`profile` of the library). The number of a thread includes the calls of the threads that it starts,
//! until it starts them. If no object is shared, all calls count.
//!
//! Source: Huan Zhao, Dylan Wolff, Umang Mathur and Abhik Roychoudhury, "Selectively Uniform Concurrency
//! Testing", ASPLOS 2025.

use crate::shared::random::Random;
use crate::shared::region::kind;

/// State of the strategy.
#[derive(Debug, Default)]
pub struct Surw {
    /// Calls that count and are left, by thread number.
    weights: Vec<u32>,
    /// Shared objects, ascending. Empty: all calls count.
    shared: Vec<u64>,
    /// The thread that makes the next call that counts.
    intended: Option<u32>,
    /// Threads that have reached a call that counts, and are not the intended one.
    postponed: Vec<u32>,
}

impl Surw {
    /// Creates the state from the numbers of an earlier run.
    pub fn new(weights: &[u32], shared: &[u64]) -> Surw {
        Surw {
            weights: weights.to_vec(),
            shared: shared.to_vec(),
            intended: None,
            postponed: vec![],
        }
    }

    /// Returns `true` if a call on this object counts.
    pub fn counts(&self, object: u64) -> bool {
        self.shared.is_empty() || self.shared.binary_search(&object).is_ok()
    }

    fn weight(&mut self, thread: u32) -> &mut u32 {
        let at = thread as usize;
        if self.weights.len() <= at {
            self.weights.resize(at + 1, 0);
        }
        &mut self.weights[at]
    }

    /// A thread has started another one, which takes its calls with it.
    pub fn started(&mut self, random: &mut Random, parent: u32, child: u32) {
        let of_child = *self.weight(child);
        let all = *self.weight(parent);
        if self.intended == Some(parent) && random.below(u64::from(all.max(1))) < of_child.into() {
            self.intended = Some(child);
        }
        *self.weight(parent) = all.saturating_sub(of_child);
    }

    /// The thread executes its pending call without a choice: no other one can run.
    pub fn alone(&mut self, thread: u32, object: u64) {
        if self.counts(object) {
            let weight = self.weight(thread);
            *weight = weight.saturating_sub(1);
            self.draw_again();
        }
    }

    fn draw_again(&mut self) {
        self.intended = None;
        self.postponed.clear();
    }

    /// Returns an index into `threads`. `pending` returns the object of a thread's pending call.
    pub fn pick(
        &mut self,
        random: &mut Random,
        kind: u16,
        threads: &[u32],
        pending: impl Fn(u32) -> u64,
    ) -> usize {
        // A thread that yields may wait for one that is held back.
        if kind == kind::YIELD {
            self.draw_again();
        }
        loop {
            let is_open = |at: &usize| !self.postponed.contains(&threads[*at]);
            let open: Vec<usize> = (0..threads.len()).filter(is_open).collect();
            if open.is_empty() {
                self.draw_again();
                continue;
            }
            let at = open[random.below(open.len() as u64) as usize];
            let thread = threads[at];
            if !self.counts(pending(thread)) {
                return at;
            }
            let weight = self.weight(thread);
            *weight = (*weight).max(1);
            let intended = match self.intended {
                Some(intended) => intended,
                None => self.draw(random, threads),
            };
            self.intended = Some(intended);
            if thread == intended {
                *self.weight(thread) -= 1;
                self.draw_again();
                return at;
            }
            self.postponed.push(thread);
        }
    }

    /// Draws a thread by the calls it has left. One of them has some.
    fn draw(&mut self, random: &mut Random, threads: &[u32]) -> u32 {
        let all: u64 = threads.iter().map(|id| u64::from(*self.weight(*id))).sum();
        let mut left = random.below(all.max(1));
        for id in threads {
            let weight = u64::from(*self.weight(*id));
            if left < weight {
                return *id;
            }
            left -= weight;
        }
        threads[0]
    }
}
