//! The request of a waiter in one of a channel's lists, and the choice of a waiter in several
//! lists.

use std::cell::Cell;
use std::ptr;
use std::time::Instant;

use blitz_io_core::{Node, Spin, Wake};
use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_futex::{WaitResult, wait_deadline};
use blitz_io_observe::decisions;

/// The request of a waiter. The holder of the channel's lock uses it while the node
/// is linked, and the waiter uses it while the node is not linked.
pub(super) struct Request {
    /// The `Option<T>` of a plain waiter, into which a value is put, or out of which one
    /// is taken; or the [`Selection`] of a node of a selection.
    target: Cell<*const ()>,
    /// Hand-off sequence number.
    pub(super) ticket: Cell<u64>,
    /// The index of the case in the selection.
    pub(super) case: u32,
    pub(super) role: Role,
    /// The deadline has passed, and the waiter waits only because a value is promised to it.
    pub(super) overdue: Cell<bool>,
}

/// The lists of a channel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Queue {
    /// Waiters that receive.
    Receivers,
    /// Waiters that send.
    Senders,
    /// Streams, which are woken when there is a value.
    #[cfg(feature = "stream")]
    Streams,
    /// Waiters for the end.
    CloseWaiters,
}

/// The purpose of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The node of a future or a thread that waits for one operation.
    Plain,
    /// One of the nodes of a selection.
    Case,
    /// One of the nodes of a selection that only waits until an operation is ready.
    Observer,
}

// SAFETY: the pointers are used under the lock of the channel, or by the waiter,
// whose values may go to other threads if the channel may.
unsafe impl Send for Request {}

impl Request {
    /// Creates the request of a future or a thread that waits for one operation.
    pub(super) fn plain() -> Self {
        Self::case(Role::Plain, ptr::null(), 0)
    }

    /// Creates a request of `selection`, which outlives the node's stay in the list.
    pub(super) fn case(role: Role, selection: *const Selection, case: u32) -> Self {
        Self {
            target: Cell::new(selection.cast()),
            ticket: Cell::new(0),
            case,
            role,
            overdue: Cell::new(false),
        }
    }

    /// Says where the value is, or is to be put.
    pub(super) fn set_slot<T>(&self, slot: *mut Option<T>) {
        self.target.set(slot.cast_const().cast());
    }

    /// Returns the `Option<T>` that holds the value, or into which it is to be put.
    pub(super) fn slot<T>(&self) -> *mut Option<T> {
        debug_assert!(self.role == Role::Plain);
        self.target.get().cast_mut().cast()
    }

    /// Returns `true` if this node belongs to that selection.
    pub(super) fn is_of(&self, selection: *const Selection) -> bool {
        self.role != Role::Plain && ptr::eq(self.target.get(), selection.cast())
    }
}

/// Returns the node of a selection that waits, as the holder of the lock sees it.
///
/// # Safety
///
/// The node is linked, and is that of a selection.
pub(super) unsafe fn selection_of<'a>(node: *const Node<Request>) -> &'a Selection {
    // SAFETY: a selection outlives its linked nodes.
    unsafe { &*(*node).request.target.get().cast() }
}

/// The thread looks at the word.
const AWAKE: u32 = 0;
/// The thread sleeps on the word.
const ASLEEP: u32 = 1;
/// The thread has given up.
const ABORTED: u32 = 2;
/// Above the outcome, the number of the case plus one.
const CASE_SHIFT: u32 = 3;

/// The outcome of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(super) enum Outcome {
    /// It may send one value, which goes where any other would.
    Slot,
    /// It may send one value, for the selection whose outcome is `Reserved`.
    Paired,
    /// One value is set aside for it, now or soon.
    Reserved,
    /// The channel is closed.
    Closed,
    /// The operation is possible. An observer gets this outcome.
    Ready,
}

/// The choice of one of several cases: one word, which is decided once.
pub(super) struct Selection {
    word: AtomicU32,
}

impl Selection {
    pub(super) fn new() -> Self {
        Self {
            word: AtomicU32::new(AWAKE),
        }
    }

    /// Lets the selection have this case. Returns its wake-up, or `None` if it has another
    /// case already, or has given up.
    pub(super) fn claim(&self, case: u32, outcome: Outcome) -> Option<Wake> {
        let decided = (case + 1) << CASE_SHIFT | outcome as u32;
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            if word > ASLEEP {
                return None;
            }
            match self.exchange(word, decided) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        Some(match word {
            ASLEEP => Wake::Thread(&raw const self.word),
            _ => Wake::Nobody,
        })
    }

    fn exchange(&self, from: u32, to: u32) -> Result<u32, u32> {
        self.word
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
    }

    /// Returns `true` if a case can still be chosen for the selection.
    pub(super) fn is_open(&self) -> bool {
        self.word.load(Ordering::Relaxed) <= ASLEEP
    }

    /// Waits until a case is decided. `false` if the deadline comes first; a case may still be
    /// decided then. While the thread sleeps, it keeps what `record` returns.
    pub(super) fn wait<R>(&self, deadline: Option<Instant>, record: impl FnOnce() -> R) -> bool {
        let mut spin = Spin::handoff(2);
        while spin.turn() {
            if self.word.load(Ordering::Relaxed) != AWAKE {
                return true;
            }
        }
        if self.exchange(AWAKE, ASLEEP).is_err() {
            return true;
        }
        let _record = record();
        while self.word.load(Ordering::Relaxed) == ASLEEP {
            decisions::help();
            if wait_deadline(&self.word, ASLEEP, deadline) == WaitResult::TimedOut {
                return false;
            }
        }
        true
    }

    /// Gives up, unless a case is decided: that is returned.
    pub(super) fn abort(&self) -> Option<(usize, Outcome)> {
        let mut word = self.word.load(Ordering::Acquire);
        while word <= ASLEEP {
            match self.exchange(word, ABORTED) {
                Ok(_) => return None,
                Err(now) => word = now,
            }
        }
        let outcome = match word & ((1 << CASE_SHIFT) - 1) {
            0 => Outcome::Slot,
            1 => Outcome::Paired,
            2 => Outcome::Reserved,
            3 => Outcome::Closed,
            _ => Outcome::Ready,
        };
        Some(((word >> CASE_SHIFT) as usize - 1, outcome))
    }
}
