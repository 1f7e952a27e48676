//! Adaptive spinning of tasks: how long a task tries before it waits.
//!
//! A task that waits gives its thread to another one, and is scheduled again later. That is more
//! work than most critical sections. A fair lock also stays contended from then on, since its
//! next owner has to be scheduled first. So a task that finds a lock taken, with no waiters yet,
//! spins for up to [`PAUSES`] pauses before it joins the queue. It never yields or sleeps: the
//! thread belongs to other tasks as well.
//!
//! That fails where the owner does not run at the moment: it waits for something else while
//! it holds the lock, or it is a task of this very thread. Programs do mostly one or the
//! other, so each thread remembers how its last attempts ended, and skips some after those
//! that failed (see `attempts.rs`).

use std::cell::Cell;
use std::hint;

use blitz_io_core::Attempts;

/// The greatest number of `spin_loop` hints of an attempt. None under the model checker,
/// which tries the orders in which it would have succeeded.
const PAUSES: u32 = if cfg!(loom) { 0 } else { 31 };

thread_local! {
    /// How this thread's last attempts ended.
    static ATTEMPTS: Cell<Attempts> = const { Cell::new(Attempts::new()) };
}

/// One attempt.
pub(super) struct AdaptiveSpin {
    /// The length of the next pause.
    pause: u32,
    left: u32,
}

impl AdaptiveSpin {
    pub(super) fn new() -> Self {
        let mut attempts = ATTEMPTS.get();
        let left = if attempts.is_due() { PAUSES } else { 0 };
        ATTEMPTS.set(attempts);
        Self { pause: 1, left }
    }

    /// Lets a moment pass. Returns `false` when it is time to wait.
    pub(super) fn turn(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        let pause = self.pause.min(self.left);
        (0..pause).for_each(|_| hint::spin_loop());
        self.left -= pause;
        self.pause *= 2;
        if self.left == 0 {
            let mut attempts = ATTEMPTS.get();
            attempts.failed();
            ATTEMPTS.set(attempts);
        }
        true
    }
}
