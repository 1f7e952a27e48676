//! The state of a task: one word, which all that know the task change.
//!
//! # The states
//!
//! ```text
//!                 a waker, an abort
//!        ┌──────── set NOTIFIED ─────────┐
//!        │                               ▼
//!      idle ◄─────── end ──────────── notified ◄── a new task
//!        │             │                 │  ▲
//!        │             │         start: one step from
//!        │             │        NOTIFIED to RUNNING
//!    shut-down:        │                 ▼  │ end, if NOTIFIED was
//!   sets RUNNING       └──────────── running ┘ set meanwhile
//!        │                            │  │ ▲
//!        └────────────► running ◄─────┘  └─┘ yield: RUNNING stays, and the
//!                       (cancelled)  │       task is queued with it
//!                           │        │
//!                           └► complete ◄┘
//! ```
//!
//! `NOTIFIED` without `RUNNING` means: a **token** exists, which some thread will run.
//! `NOTIFIED` with `RUNNING` means: the thread that runs the task will have a token when
//! the poll has ended. The thread that sets `RUNNING` has the **contents**, the future or
//! its outcome, until it resets `RUNNING`; from `COMPLETE` on, the join handle has them
//! if it exists, and the completer otherwise.
//!
//! `CANCELLED` is a request. It is only set together with `NOTIFIED` or `RUNNING`, so the
//! thread that starts the next poll, or ends this one, will see it. That thread drops the
//! future; the aborting thread never does. Only a shutdown drops the futures of idle
//! tasks itself, after it has set `RUNNING`.
//!
//! # No wake-up is lost
//!
//! A waker sets `NOTIFIED` in one step, which also returns the previous word:
//!
//! * The task was idle. Exactly one waker sees that, and makes the token.
//! * It was notified. There is a token whose poll has not begun. `start` comes later in
//!   the modification order of the word and acquires the waker's release, so the poll
//!   sees the earlier writes of the waker's thread. That is why a waker writes also if
//!   `NOTIFIED` is set already.
//! * It was running. `end` comes later, finds `NOTIFIED`, and makes the token. If the
//!   task yielded instead, the token exists, and its `start` finds `NOTIFIED`, or the
//!   `end` after that.
//! * It was complete. There is no waiter.
//!
//! # One token
//!
//! A token is made by a step from idle to notified, by `end` if a waker set `NOTIFIED`
//! during the poll, by a yield, and at birth. In each case no token existed, because
//! `start` had used up the one before. So queues hold a task at most once, and may link
//! it with a field in the task.
//!
//! # Everything is dropped once
//!
//! A task has one reference of its own until it is complete; wakers and handles have one
//! each. A token needs none, because only running it can lead to completion. The
//! exception is a shutdown, which takes only idle tasks, and these have no token. So
//! waking a task, starting a poll and ending it do not touch the count.
//!
//! The thread that has the contents drops the future before it sets `COMPLETE`, and
//! stores the output. `complete` sets the bit in the same step in which it sees
//! `JOIN_INTEREST`. If that was set, the output is the join handle's, which takes it or
//! drops it with its own reference; else it is the completer's. `drop_join` resets
//! `JOIN_INTEREST` only in a step that sees `COMPLETE` unset. So exactly one of them has
//! the output.
//!
//! The join handle's waker likewise: the place is the join handle's while `JOIN_WAKER`
//! is unset, and must not change while it is set. The handle takes it back by
//! resetting the bit, if the same step sees `COMPLETE` unset; the completer takes it if
//! that step sees the bit set.
//!
//! The count reaches zero once. A unique owner may skip the decrement: no other thread
//! can make another reference of it, and the acquire that found it out comes
//! after all the others' releases.
//!
//! # Where it comes from
//!
//! One word with flags and a count is how Tokio and async-task do it. New here: tokens and
//! lists have no references of their own, and a yield leaves the task
//! running.

use blitz_io_futex::atomic::{AtomicUsize, Ordering};

use super::memory::TaskMemory;

/// A token is queued, or will be when the poll that runs now has ended.
pub(super) const NOTIFIED: usize = 1;
/// A thread polls the future, drops it, or has the task in a queue after it yielded.
pub(super) const RUNNING: usize = 1 << 1;
/// There is an output. This bit stays.
const COMPLETE: usize = 1 << 2;
/// The future is to be dropped instead of polled. This bit stays, and is only ever
/// set together with `NOTIFIED` or by the thread that sets `RUNNING`.
const CANCELLED: usize = 1 << 3;
/// The join handle exists.
pub(super) const JOIN_INTEREST: usize = 1 << 4;
/// The join handle's waker is in its place, and not the join handle's any more.
const JOIN_WAKER: usize = 1 << 5;
/// One reference. The rest of the word counts them.
pub(super) const REF_ONE: usize = 1 << 6;

/// The flags with which a wake-up queues nothing.
const BUSY: usize = NOTIFIED | RUNNING | COMPLETE;
/// A new task: one reference is its own, as long as it is not complete; one is the
/// join handle's. The first token exists.
const NEW: usize = (2 * REF_ONE) | JOIN_INTEREST | NOTIFIED;

/// The state of a task; see the module documentation.
pub struct State {
    word: AtomicUsize,
    pub(super) memory: TaskMemory,
}

/// A value of the word.
#[derive(Clone, Copy)]
pub struct Snapshot(pub(super) usize);

/// The treatment of a token.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Start {
    /// Poll the future.
    Poll,
    /// Drop it.
    Cancel,
}

/// How a poll ended that gave no output.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum End {
    /// The task waits. The thread that polled it must not touch it any more.
    Idle,
    /// A waker set `NOTIFIED` during the poll. The thread that polled has the token.
    Again,
    /// The task was cancelled during the poll, and is still running.
    Cancel,
}

/// The work that is left to a thread that wakes a task and gives up the waker.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum WakeByValue {
    /// Nothing; the waker's reference is used up.
    Nothing,
    /// Queue the token; the waker's reference is used up.
    Schedule,
    /// Queue the token, then release the waker's reference.
    ScheduleAndRelease,
    /// Free the task.
    Free,
}

/// The work that is left to the completer of a task.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Complete {
    /// Nothing; the task's own reference is released.
    Nothing,
    /// Wake the join handle, whose waker is now the completer's; release the task's
    /// own reference.
    Wake,
    /// The join handle was dropped: drop the output, then call
    /// [`State::complete_detached`].
    Detached,
}

/// The work that is left to a join handle's drop.
#[derive(Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum DropJoin {
    /// Nothing; its reference is released.
    Nothing,
    /// Drop the output if it is still stored, then release the reference.
    Output,
    /// Drop the waker, then release the reference.
    Waker,
}

/// Asserts an invariant. Loom checks it also in a release build.
#[inline(always)]
fn invariant(holds: bool) {
    if cfg!(loom) {
        assert!(holds, "two run the same task");
    }
    debug_assert!(holds, "two run the same task");
}

impl State {
    /// Returns the state of a new task, with a token.
    pub fn new() -> Self {
        Self {
            word: AtomicUsize::new(NEW),
            memory: TaskMemory::new(),
        }
    }

    #[inline(always)]
    fn word(&self) -> &AtomicUsize {
        self.memory.is_used();
        &self.word
    }

    /// Returns the word, for one read-modify-write. Tests count them.
    #[inline(always)]
    fn change(&self) -> &AtomicUsize {
        #[cfg(test)]
        super::changes::count();
        self.word()
    }

    /// Returns the current word.
    #[inline]
    pub fn load(&self) -> Snapshot {
        Snapshot(self.word().load(Ordering::Acquire))
    }

    /// Begins to poll, for the holder of a token.
    #[inline]
    pub fn start(&self) -> Start {
        let word = self.word().load(Ordering::Acquire);
        // A yield has left the task running, and no waker has been used since.
        if word & (RUNNING | NOTIFIED | CANCELLED) == RUNNING {
            return Start::Poll;
        }
        // Only the holder of the token begins or ends a poll.
        let before = if word & RUNNING == 0 {
            let change = RUNNING - NOTIFIED;
            self.change().fetch_add(change, Ordering::Acquire)
        } else {
            // The poll that follows serves the wake-up that came after the yield.
            self.change().fetch_sub(NOTIFIED, Ordering::Acquire)
        };
        invariant(before & (NOTIFIED | COMPLETE) == NOTIFIED);
        match before & CANCELLED {
            0 => Start::Poll,
            _ => Start::Cancel,
        }
    }

    /// Ends a poll without an output.
    #[inline]
    pub fn end(&self) -> End {
        let before = self.change().fetch_sub(RUNNING, Ordering::AcqRel);
        if before & NOTIFIED == 0 {
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

    /// Wakes the task. Returns `true` if the caller now owns the token and must queue it.
    #[inline]
    pub fn wake(&self) -> bool {
        // Also if the task is notified already: the poll that follows must see the
        // earlier writes of the waking thread.
        self.change().fetch_or(NOTIFIED, Ordering::AcqRel) & BUSY == 0
    }

    /// Wakes the task and gives up a reference; with a token only if the caller needs
    /// none to queue it (`early`).
    #[inline]
    pub fn wake_by_value(&self, early: bool) -> WakeByValue {
        let mut word = self.word().load(Ordering::Relaxed);
        loop {
            let woken = word | NOTIFIED;
            let (new, result) = match word & BUSY {
                0 if !early => (woken, WakeByValue::ScheduleAndRelease),
                0 => (woken - REF_ONE, WakeByValue::Schedule),
                _ if woken - REF_ONE < REF_ONE => (woken - REF_ONE, WakeByValue::Free),
                _ => (woken - REF_ONE, WakeByValue::Nothing),
            };
            match self.exchange(word, new) {
                Ok(()) => return result,
                Err(now) => word = now,
            }
        }
    }

    /// Requests that the future be dropped. Returns `true` if the caller now owns the token and
    /// must queue it.
    pub fn cancel(&self) -> bool {
        if self.load().is_complete() {
            return false;
        }
        let bits = NOTIFIED | CANCELLED;
        self.change().fetch_or(bits, Ordering::AcqRel) & BUSY == 0
    }

    /// Cancels the task. Returns `true` if the task was waiting: then it is the caller's to drop.
    pub fn shut_down(&self) -> bool {
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

    /// Records that there is an output.
    #[inline]
    pub fn complete(&self) -> Complete {
        let mut word = self.word().load(Ordering::Acquire);
        loop {
            invariant(word & (RUNNING | COMPLETE) == RUNNING);
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

    /// Ends a task without an output or a join handle. Returns `true` if the
    /// caller must free the task.
    #[inline]
    pub fn complete_detached(&self) -> bool {
        if self.is_unique() {
            return true;
        }
        let delta = REF_ONE - (COMPLETE - RUNNING);
        self.change().fetch_sub(delta, Ordering::AcqRel) < 2 * REF_ONE
    }

    /// The task never was given to a scheduler: it is complete with an error. Only
    /// while no other thread knows it.
    pub fn complete_unborn(&self) {
        self.word()
            .store(REF_ONE | JOIN_INTEREST | COMPLETE, Ordering::Relaxed);
    }

    /// Returns `true` if the caller's reference is the only one.
    #[inline]
    fn is_unique(&self) -> bool {
        self.word().load(Ordering::Acquire) < 2 * REF_ONE
    }

    /// Adds one reference.
    #[inline]
    pub fn acquire(&self) {
        let before = self.change().fetch_add(REF_ONE, Ordering::Relaxed);
        if before > usize::MAX / 2 {
            std::process::abort();
        }
    }

    /// Releases one reference. Returns `true` if the caller must free the task.
    #[inline]
    pub fn release(&self) -> bool {
        self.change().fetch_sub(REF_ONE, Ordering::AcqRel) < 2 * REF_ONE
    }

    /// Releases one reference, which is probably the last one.
    #[inline]
    pub fn release_last(&self) -> bool {
        self.is_unique() || self.release()
    }

    /// Gives the join handle's waker to the task. Returns `true` if the task is complete:
    /// then the waker is still the join handle's.
    #[inline]
    pub fn give_join_waker(&self) -> bool {
        let before = self.change().fetch_add(JOIN_WAKER, Ordering::AcqRel);
        before & COMPLETE != 0
    }

    /// Gives the join handle's waker to the task, with one more reference.
    #[inline]
    pub fn give_join_waker_and_acquire(&self) -> bool {
        let before = self
            .word()
            .fetch_add(JOIN_WAKER + REF_ONE, Ordering::AcqRel);
        if before > usize::MAX / 2 {
            std::process::abort();
        }
        before & COMPLETE != 0
    }

    /// Takes the join handle's waker back. Returns `true` if the task is complete: then the
    /// waker is not the join handle's.
    pub fn take_join_waker(&self) -> bool {
        self.change().fetch_sub(JOIN_WAKER, Ordering::AcqRel) & COMPLETE != 0
    }

    /// Drops the join handle.
    #[inline]
    pub fn drop_join(&self) -> DropJoin {
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
        self.change()
            .compare_exchange_weak(word, new, Ordering::AcqRel, Ordering::Acquire)
            .map(|_| ())
    }
}

impl Snapshot {
    /// Returns `true` if there is or was an output.
    pub fn is_complete(self) -> bool {
        self.0 & COMPLETE != 0
    }

    /// Returns `true` if the task was cancelled.
    #[inline]
    pub fn is_cancelled(self) -> bool {
        self.0 & CANCELLED != 0
    }

    /// Returns `true` if the join handle's waker is in its place.
    #[inline]
    pub fn has_join_waker(self) -> bool {
        self.0 & JOIN_WAKER != 0
    }
}
