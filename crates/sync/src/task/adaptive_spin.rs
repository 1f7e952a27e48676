//! Adaptive spinning of tasks: how long a task tries before it waits.
//!
//! A task that waits gives its thread to another one, and is scheduled again later. That is
//! more work than most sections take, and a lock whose waiters are served in turn stays
//! contended from then on, since its next owner has to be scheduled first. So a task that
//! finds a lock taken, with no waiters yet, spins for up to [`PAUSES`] pauses before it joins
//! the queue. It never yields or sleeps: the thread belongs to other tasks as well.
//!
//! That fails where the owner does not run at the moment: it waits for something else while
//! it holds the lock, or it is a task of this very thread. Programs do mostly one or the
//! other, so each thread remembers how its last attempts ended. After each one that failed
//! it skips twice as many, up to [`MOST_SKIPPED`].

use std::cell::Cell;
use std::hint;

/// How many `spin_loop` hints an attempt takes at most. None under the model checker,
/// which tries the orders in which it would have succeeded.
const PAUSES: u32 = if cfg!(loom) { 0 } else { 31 };
/// How many attempts are skipped at most before another one is made.
const MOST_SKIPPED: u8 = 127;

thread_local! {
    static HISTORY: Cell<History> = const { Cell::new(History { skip: 0, next: 1 }) };
}

/// How this thread's last attempts ended.
#[derive(Clone, Copy)]
struct History {
    /// How many are still to be skipped.
    skip: u8,
    /// How many will be skipped after the next one that fails.
    next: u8,
}

/// One attempt.
pub(super) struct AdaptiveSpin {
    /// How long to pause next.
    pause: u32,
    left: u32,
}

impl AdaptiveSpin {
    pub(super) fn new() -> Self {
        let history = HISTORY.get();
        if history.skip != 0 {
            let skip = history.skip - 1;
            HISTORY.set(History { skip, ..history });
        }
        Self {
            pause: 1,
            left: if history.skip == 0 { PAUSES } else { 0 },
        }
    }

    /// Lets a moment pass. `false` when it is time to wait.
    pub(super) fn turn(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        let pause = self.pause.min(self.left);
        (0..pause).for_each(|_| hint::spin_loop());
        self.left -= pause;
        self.pause *= 2;
        if self.left == 0 {
            let History { next, .. } = HISTORY.get();
            HISTORY.set(History {
                skip: next,
                next: next.saturating_mul(2).min(MOST_SKIPPED),
            });
        }
        true
    }

    /// Notes that the attempt has got what the task wants.
    pub(super) fn succeeded(self) {
        HISTORY.set(History { skip: 0, next: 1 });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{AdaptiveSpin, MOST_SKIPPED};

    /// Makes an attempt that fails. Whether it was made at all.
    fn fail() -> bool {
        let mut spin = AdaptiveSpin::new();
        let tried = spin.turn();
        while spin.turn() {}
        tried
    }

    #[test]
    fn attempts_that_fail_become_rare() {
        let tried = (0..1000).filter(|_| fail()).count();
        assert!((10..20).contains(&tried), "{tried}");
    }

    #[test]
    fn after_one_that_succeeds_the_next_is_made() {
        (0..1000).for_each(|_| _ = fail());
        let mut spin = AdaptiveSpin::new();
        for _ in 0..MOST_SKIPPED {
            if spin.turn() {
                break;
            }
            spin = AdaptiveSpin::new();
        }
        spin.succeeded();
        assert!(fail());
    }
}
