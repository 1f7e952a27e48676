//! The state of a task: one word, which all who know the task change.

use blitz_futex::atomic::{AtomicUsize, Ordering};

/// A token is queued, or will be when the poll that runs now has ended.
const NOTIFIED: usize = 1;
/// Somebody polls the future, drops it, or has the task in a queue after it yielded.
const RUNNING: usize = 1 << 1;
/// There is an output. This bit stays.
const COMPLETE: usize = 1 << 2;
/// The future is to be dropped instead of polled. This bit stays, and is only ever
/// set together with `NOTIFIED` or by who sets `RUNNING`.
const CANCELLED: usize = 1 << 3;
/// The join handle exists.
const JOIN_INTEREST: usize = 1 << 4;
/// The join handle's waker is in its place, and not the join handle's any more.
const JOIN_WAKER: usize = 1 << 5;
/// One reference. The rest of the word counts them.
const REF_ONE: usize = 1 << 6;

/// What keeps a task from being queued by a wake-up.
const BUSY: usize = NOTIFIED | RUNNING | COMPLETE;
/// A new task: one reference is its own, as long as it is not complete; one is the
/// join handle's. The first token exists.
const NEW: usize = 2 * REF_ONE | JOIN_INTEREST | NOTIFIED;

/// See the head of this file.
pub(super) struct State {
    word: AtomicUsize,
    #[cfg(loom)]
    memory: memory::Memory,
}

/// What the word was at some time.
#[derive(Clone, Copy)]
pub(super) struct Snapshot(usize);

/// What to do with a token.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Start {
    /// Poll the future.
    Poll,
    /// Drop it.
    Cancel,
}

/// How a poll ended that gave no output.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum End {
    /// The task waits. Whoever polled it must not touch it any more.
    Idle,
    /// It was woken meanwhile; whoever polled it has the token.
    Again,
    /// It was cancelled meanwhile, and is running still.
    Cancel,
}

/// What is left to do by who wakes and gives up the waker.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum WakeByValue {
    /// Nothing; the waker's reference is gone.
    Nothing,
    /// Queue the token; the waker's reference is gone.
    Schedule,
    /// Queue the token, then release the waker's reference.
    ScheduleAndRelease,
    /// Free the task.
    Free,
}

/// What is left to do by who completes a task.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Complete {
    /// Nothing; the task's own reference is gone.
    Nothing,
    /// Wake the join handle, whose waker is now the completer's; release the task's
    /// own reference.
    Wake,
    /// Nobody wants the output: drop it, then call [`State::complete_detached`].
    Detached,
}

/// What is left to do by a join handle's drop.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum DropJoin {
    /// Nothing; its reference is gone.
    Nothing,
    /// Drop the output if it is still there, then release the reference.
    Output,
    /// Drop the waker, then release the reference.
    Waker,
}

impl State {
    /// The state of a new task, with a token.
    pub(super) fn new() -> Self {
        Self {
            word: AtomicUsize::new(NEW),
            #[cfg(loom)]
            memory: memory::Memory::new(),
        }
    }

    #[inline(always)]
    fn word(&self) -> &AtomicUsize {
        #[cfg(loom)]
        self.memory.used();
        &self.word
    }

    /// What it is now.
    #[inline]
    pub(super) fn load(&self) -> Snapshot {
        Snapshot(self.word().load(Ordering::Acquire))
    }

    /// The holder of a token begins to poll.
    #[inline]
    pub(super) fn start(&self) -> Start {
        // With a token there is nobody else who begins or ends a poll.
        let before = if self.word().load(Ordering::Relaxed) & RUNNING == 0 {
            self.word().fetch_add(RUNNING - NOTIFIED, Ordering::Acquire)
        } else {
            self.start_again()
        };
        if before & CANCELLED == 0 {
            Start::Poll
        } else {
            Start::Cancel
        }
    }

    /// The same after a yield, which left the task running.
    #[inline]
    fn start_again(&self) -> usize {
        let word = self.word().load(Ordering::Acquire);
        if word & NOTIFIED == 0 {
            return word;
        }
        // The poll that follows is what the wake-up asked for.
        self.word().fetch_sub(NOTIFIED, Ordering::Acquire)
    }

    /// A poll has ended without an output.
    #[inline]
    pub(super) fn end(&self) -> End {
        let before = self.word().fetch_sub(RUNNING, Ordering::AcqRel);
        if before & NOTIFIED == 0 {
            debug_assert!(before & CANCELLED == 0);
            return End::Idle;
        }
        if before & CANCELLED == 0 {
            return End::Again;
        }
        self.end_cancelled()
    }

    #[cold]
    fn end_cancelled(&self) -> End {
        let start = self.start();
        debug_assert!(start == Start::Cancel);
        End::Cancel
    }

    /// Wakes the task. Says whether the caller now has a token, and must queue it.
    #[inline]
    pub(super) fn wake(&self) -> bool {
        // Also if it is notified already: the poll that follows is to see what the
        // waking thread did before.
        self.word().fetch_or(NOTIFIED, Ordering::AcqRel) & BUSY == 0
    }

    /// Wakes the task and gives up a reference; with a token only if the caller needs
    /// none to queue it (`early`).
    #[inline]
    pub(super) fn wake_by_value(&self, early: bool) -> WakeByValue {
        let mut word = self.word().load(Ordering::Relaxed);
        loop {
            let (new, result) = if word & BUSY != 0 {
                let new = (word | NOTIFIED) - REF_ONE;
                let free = new < REF_ONE;
                let result = if free {
                    WakeByValue::Free
                } else {
                    WakeByValue::Nothing
                };
                (new, result)
            } else if early {
                ((word | NOTIFIED) - REF_ONE, WakeByValue::Schedule)
            } else {
                (word | NOTIFIED, WakeByValue::ScheduleAndRelease)
            };
            match self.exchange(word, new) {
                Ok(()) => return result,
                Err(now) => word = now,
            }
        }
    }

    /// Asks for the future to be dropped. Says whether the caller now has a token, and
    /// must queue it.
    pub(super) fn cancel(&self) -> bool {
        if self.load().is_complete() {
            return false;
        }
        let before = self.word().fetch_or(NOTIFIED | CANCELLED, Ordering::AcqRel);
        before & BUSY == 0
    }

    /// The same, but a task that waits is the caller's to drop; says whether it is.
    pub(super) fn shut_down(&self) -> bool {
        let mut word = self.word().load(Ordering::Acquire);
        loop {
            if word & COMPLETE != 0 {
                return false;
            }
            let idle = word & BUSY == 0;
            let bit = if idle { RUNNING } else { NOTIFIED };
            match self.exchange(word, word | CANCELLED | bit) {
                Ok(()) => return idle,
                Err(now) => word = now,
            }
        }
    }

    /// There is an output.
    #[inline]
    pub(super) fn complete(&self) -> Complete {
        let mut word = self.word().load(Ordering::Acquire);
        loop {
            debug_assert!(word & (RUNNING | COMPLETE) == RUNNING);
            let complete = word + (COMPLETE - RUNNING);
            let (new, result) = match word & (JOIN_INTEREST | JOIN_WAKER) {
                JOIN_INTEREST => (complete - REF_ONE, Complete::Nothing),
                0 => return Complete::Detached,
                _ => (complete, Complete::Wake),
            };
            match self.exchange(word, new) {
                Ok(()) => return result,
                Err(now) => word = now,
            }
        }
    }

    /// There is no output any more, and nobody who would want it. Says whether the
    /// caller must free the task.
    #[inline]
    pub(super) fn complete_detached(&self) -> bool {
        if self.is_unique() {
            return true;
        }
        let delta = REF_ONE - (COMPLETE - RUNNING);
        self.word().fetch_sub(delta, Ordering::AcqRel) < 2 * REF_ONE
    }

    /// The task never was given to a scheduler: it is complete with an error. Only
    /// while nobody else knows it.
    pub(super) fn complete_unborn(&self) {
        self.word()
            .store(REF_ONE | JOIN_INTEREST | COMPLETE, Ordering::Relaxed);
    }

    /// Whether the caller's reference is the only one.
    #[inline]
    fn is_unique(&self) -> bool {
        self.word().load(Ordering::Acquire) < 2 * REF_ONE
    }

    /// One more reference.
    #[inline]
    pub(super) fn acquire(&self) {
        let before = self.word().fetch_add(REF_ONE, Ordering::Relaxed);
        if before > usize::MAX / 2 {
            std::process::abort();
        }
    }

    /// One reference less. Says whether the caller must free the task.
    #[inline]
    pub(super) fn release(&self) -> bool {
        self.word().fetch_sub(REF_ONE, Ordering::AcqRel) < 2 * REF_ONE
    }

    /// The same where the reference is probably the last one.
    #[inline]
    pub(super) fn release_last(&self) -> bool {
        self.is_unique() || self.release()
    }

    /// The join handle puts its waker in its place. Says whether the task is complete:
    /// then the waker is still the join handle's.
    #[inline]
    pub(super) fn give_join_waker(&self) -> bool {
        self.word().fetch_add(JOIN_WAKER, Ordering::AcqRel) & COMPLETE != 0
    }

    /// The join handle takes its waker back. Says whether the task is complete: then the
    /// waker is not its own.
    pub(super) fn take_join_waker(&self) -> bool {
        self.word().fetch_sub(JOIN_WAKER, Ordering::AcqRel) & COMPLETE != 0
    }

    /// The join handle is dropped.
    #[inline]
    pub(super) fn drop_join(&self) -> DropJoin {
        let mut word = self.word().load(Ordering::Acquire);
        loop {
            if word & COMPLETE != 0 {
                return DropJoin::Output;
            }
            let alone = word & !(JOIN_INTEREST | JOIN_WAKER);
            let (new, result) = if word & JOIN_WAKER == 0 {
                (alone - REF_ONE, DropJoin::Nothing)
            } else {
                (alone, DropJoin::Waker)
            };
            match self.exchange(word, new) {
                Ok(()) => return result,
                Err(now) => word = now,
            }
        }
    }

    #[inline(always)]
    fn exchange(&self, word: usize, new: usize) -> Result<(), usize> {
        self.word()
            .compare_exchange_weak(word, new, Ordering::AcqRel, Ordering::Acquire)
            .map(|_| ())
    }

    /// The memory is given back: nobody may use it from now on.
    #[cfg(loom)]
    pub(super) fn freed(&self) {
        self.memory.freed();
    }
}

impl Snapshot {
    /// There is or was an output.
    #[inline]
    pub(super) fn is_complete(self) -> bool {
        self.0 & COMPLETE != 0
    }

    /// The join handle's waker is in its place.
    #[inline]
    pub(super) fn has_join_waker(self) -> bool {
        self.0 & JOIN_WAKER != 0
    }
}

/// Under the model checker the memory of a task stays, and it is found out who uses
/// it after its release.
#[cfg(loom)]
mod memory {
    use std::sync::atomic::{AtomicBool, Ordering};

    use loom::cell::UnsafeCell;

    pub(super) struct Memory {
        /// Read with each use, and written by the release, so that the model checker
        /// sees whether the one is ordered before the other.
        cell: UnsafeCell<()>,
        /// The checker does not know of this one, and nothing is ordered by it.
        is_freed: AtomicBool,
    }

    impl Memory {
        pub(super) fn new() -> Self {
            Self {
                cell: UnsafeCell::new(()),
                is_freed: AtomicBool::new(false),
            }
        }

        pub(super) fn used(&self) {
            assert!(
                !self.is_freed.load(Ordering::Relaxed),
                "used after its release"
            );
            self.cell.with(|_| ());
        }

        pub(super) fn freed(&self) {
            assert!(
                !self.is_freed.swap(true, Ordering::Relaxed),
                "released twice"
            );
            self.cell.with_mut(|_| ());
        }
    }
}
