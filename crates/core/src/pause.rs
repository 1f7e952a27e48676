//! Pausing: a thread that neither yields nor sleeps, and soon does something else.
//!
//! This is for waits that are mostly shorter than a yield, or in threads that have other work: the
//! tasks of a runtime. Every wait here has a bound. When it is reached, the caller takes another
//! path: it joins a queue, sleeps, or passes a fence. `spin/` is for threads that then yield
//! and sleep, `backoff.rs` for threads that cannot take another path.
//!
//! # Adaptive spinning of tasks
//!
//! A task that waits gives its thread to another one, and is scheduled again later. That is more
//! work than most critical sections. A fair lock also stays contended from then on, since its
//! next owner has to be scheduled first. So a task that finds a lock taken, with no waiters yet,
//! spins for up to [`PAUSES`] pauses before it joins the queue.
//!
//! That fails where the owner does not run at the moment: it waits for something else while
//! it holds the lock, or it is a task of this very thread. Programs do mostly one or the
//! other, so each thread remembers how its last attempts ended, and skips some after those
//! that failed (see `attempts.rs`).

use std::cell::Cell;
use std::hint;
use std::time::{Duration, Instant};

use blitz_io_observe::decisions;

use crate::attempts::Attempts;

/// The greatest number of `spin_loop` hints of a task's attempt. None under the model checker,
/// which tries the orders in which it would have succeeded.
const PAUSES: u32 = if cfg!(loom) { 0 } else { 31 };

thread_local! {
    /// How this thread's last attempts ended.
    static ATTEMPTS: Cell<Attempts> = const { Cell::new(Attempts::new()) };
}

/// Pauses for this many `spin_loop` hints.
#[inline]
pub fn pause(hints: u32) {
    for _ in 0..hints {
        hint::spin_loop();
    }
}

/// Looks up to `looks` times, a pause apart, until `is_done` returns `true`. Returns `false` if it
/// never did.
#[inline]
pub fn look(looks: u32, is_done: impl Fn() -> bool) -> bool {
    for _ in 0..looks {
        if is_done() {
            return true;
        }
        pause(1);
    }
    false
}

/// Looks until `is_done` returns `true`, for `limit` at most. Returns `false` if it never did. Looks
/// once under the model checker.
pub fn look_for(limit: Duration, is_done: impl Fn() -> bool) -> bool {
    if cfg!(loom) {
        return is_done();
    }
    let began = Instant::now();
    while !is_done() {
        if began.elapsed() >= limit {
            return false;
        }
        pause(1);
    }
    true
}

/// Pauses for this time. Returns at once under the model checker.
pub fn pause_for(time: Duration) {
    look_for(time, || false);
}

/// One attempt of a task.
pub struct AdaptiveSpin {
    /// The length of the next pause.
    pause: u32,
    left: u32,
}

impl AdaptiveSpin {
    /// Begins an attempt, of no turn if it is to be skipped.
    #[allow(
        clippy::new_without_default,
        reason = "it counts the attempt, which a default would not"
    )]
    pub fn new() -> Self {
        let mut attempts = ATTEMPTS.get();
        // In a simulation no other thread would end the attempt.
        let is_due = attempts.is_due() && !decisions::is_on();
        let left = if is_due { PAUSES } else { 0 };
        ATTEMPTS.set(attempts);
        Self { pause: 1, left }
    }

    /// Lets a moment pass. Returns `false` when it is time to wait.
    pub fn turn(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        let hints = self.pause.min(self.left);
        pause(hints);
        self.left -= hints;
        self.pause *= 2;
        if self.left == 0 {
            let mut attempts = ATTEMPTS.get();
            attempts.failed();
            ATTEMPTS.set(attempts);
        }
        true
    }
}
