//! How a worker goes to sleep and gets up: the steps, in their order, on which the proof
//! in `idle.rs` rests. What a worker sees and how it parks is behind a trait, so that
//! the model checker runs these same steps.

use super::idle::{Asleep, Calls, Idle};
use super::mutant::{Mutant, active};

/// A worker, as far as sleeping goes.
pub trait Sleeper {
    /// Its number.
    fn index(&self) -> usize;

    /// Whether the inject queue has something.
    fn sees_injected(&self) -> bool;

    /// Whether the inject queue or any ring has something.
    fn sees_any(&self) -> bool;

    /// Whether its own queues have something.
    fn has_tasks(&self) -> bool;

    /// Whether the runtime is about to end.
    fn is_closed(&self) -> bool;

    /// Blocks the thread until it is unparked, a timer has fired or, if it is the
    /// monitor, it is time to look.
    fn park(&self);

    /// Whether it is the monitor and sees that another worker is stalled.
    fn sees_stalled(&self) -> bool;

    /// Unparks those that were called.
    fn call(&self, calls: Calls);
}

impl Idle {
    /// Sleeps until there is something to do. Says whether the worker counts as searching
    /// from now on, as it does if it was called.
    pub fn sleep(&self, sleeper: &impl Sleeper, searching: bool) -> bool {
        let index = sleeper.index();
        let looked_first = active(Mutant::LooksFirst).then(|| sleeper.sees_any());
        let asleep = self.go_to_sleep(index, searching);
        let has_work = match (looked_first, asleep) {
            (Some(has_work), _) => has_work,
            (None, Asleep::LookAtInject) => sleeper.sees_injected(),
            (None, Asleep::LookAtAll) => sleeper.sees_any(),
        };
        if has_work || sleeper.is_closed() {
            return self.rise(sleeper, true);
        }
        while !self.was_called(index) {
            sleeper.park();
            if sleeper.has_tasks() {
                // A timer has fired.
                return self.rise(sleeper, false);
            }
            if sleeper.sees_stalled() || sleeper.is_closed() {
                return self.rise(sleeper, true);
            }
        }
        true
    }

    /// Gets up without having been called.
    fn rise(&self, sleeper: &impl Sleeper, searching: bool) -> bool {
        match self.get_up(sleeper.index(), searching) {
            Some(calls) => {
                sleeper.call(calls);
                searching
            }
            None => true,
        }
    }

    /// A searching worker has found something. The last one that searched calls the next
    /// if there is more.
    pub fn found_work(&self, sleeper: &impl Sleeper) {
        if self.found() {
            if sleeper.has_tasks() {
                sleeper.call(self.pushed(true));
            } else if sleeper.sees_injected() {
                sleeper.call(self.injected());
            }
        }
    }
}
