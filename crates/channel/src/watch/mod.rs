//! One value that changes, and many receivers that watch it.
//!
//! A [`Sender`] replaces or changes the value; each [`Receiver`] sees the latest one and can wait
//! for the next. It is no queue: a receiver that looks late does not see the values before. Use
//! it for settings, states, and progress.
//!
//! * [`Receiver::changed`] waits until there is a value that this receiver has not
//!   seen. The value that a channel or a receiver begins with counts as seen.
//! * [`Receiver::borrow_and_update`] looks at the value and lets it count as seen;
//!   [`Receiver::borrow`] only looks.
//! * [`Receiver::wait_for`] waits until the value is as wanted.
//! * When all senders have been dropped, `changed` fails, after the last value has been seen.
//!   When all receivers have been dropped, `send` fails, and [`Sender::closed`] is ready.
//!   The value lives as long as any end.
//!
//! Names and behaviour are those of `tokio::sync::watch`. No runtime is needed, and a wait can
//! also block its thread ([`Receiver::blocking_changed`]).
//!
//! ```
//! use blitz_io::sync::watch;
//!
//! # pollster::block_on(async {
//! let (tx, mut rx) = watch::channel("hello");
//!
//! let greeter = std::thread::spawn(move || {
//!     let mut heard = vec![*rx.borrow_and_update()];
//!     while rx.blocking_changed().is_ok() {
//!         heard.push(*rx.borrow_and_update());
//!     }
//!     heard.last().copied()
//! });
//! tx.send("world").unwrap();
//! drop(tx);
//! assert_eq!(greeter.join().unwrap(), Some("world"));
//! # });
//! ```

// # States
//
// * The *value*, in a reader-writer lock.
// * The *version*: a word with the number of changes of the value, `CLOSED` when the last sender
//   has been dropped, and `WAITING` while receivers wait for another version. A sender changes
//   the version while it holds the lock to write. So a reader that holds the lock knows the
//   version of the value. The last sender changes it when it is dropped.
// * The number of *receivers*. Senders wait for it to become zero.
// * The number of *senders*.
//
// A receiver remembers the version that it has seen last, and waits for another one. So it
// misses no value, but of several values sent between two looks it sees only the last.
//
// The version wraps around after an eighth of the range of a word. A receiver that has not looked
// for exactly as many changes would take the value for the old one; on 64-bit systems that takes
// centuries.
//
// # No wake-up is lost
//
// 1. A receiver that waits takes the lock of the queue, sets `WAITING` in the version, and looks
//    at the version as it was at that moment. If it still has to wait, it links its node into the
//    queue, and only then releases the lock.
// 2. A change of the version is one read-modify-write, which shows and clears the bit. If it was
//    set, the sender takes the lock of the queue and wakes all waiters.
// 3. Let C be the first change after the version that the receiver saw. C sees the bit: it was set
//    in that version, or the receiver set it, and only a change clears it.
// 4. C takes the lock after the receiver has linked its node: otherwise the receiver would have
//    seen the change, as C released the lock before the receiver acquired it.
//
// Step 3 does not need the receiver itself to set the bit. So a second waiter only loads the word,
// even if it gets an old value. A change may find the queue empty, or wake a waiter that has seen
// it already: a woken waiter looks again.
//
// The bit is in the version itself, so a change is one read-modify-write without a fence, and no
// more while no receiver waits.
//
// A sender that waits for the last receiver's end looks at the number of receivers under the lock
// of `close_waiters`. The last receiver empties that queue after it has written the zero.

#[cfg_attr(loom, path = "lock_model.rs")]
mod lock;
mod receiver;
mod sender;

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use blitz_io_core::{WaitQueue, coop, debug_fields};
use blitz_io_futex::atomic::{AtomicUsize, Ordering};
use blitz_io_observe::{Kind, Observed};

use crate::events;
use crate::wait::{Event, Target};

pub use receiver::{Receiver, Ref};
pub use sender::Sender;

/// Makes a channel with this value, which counts as seen.
///
/// ```
/// use blitz_io::sync::watch;
///
/// let (tx, rx) = watch::channel(1);
/// tx.send(2).unwrap();
/// assert_eq!(*rx.borrow(), 2);
/// ```
#[track_caller]
pub fn channel<T>(init: T) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared::new(init));
    let tx = Sender {
        shared: shared.clone(),
    };
    (tx, Receiver::new(shared, Version::FIRST))
}

/// The bit of the version that is set while receivers wait for another one. A change clears it.
const WAITING: usize = 1;
/// The bit of the version that is set when all senders have been dropped.
const CLOSED: usize = 2;
/// The difference between a version and the next.
const STEP: usize = 4;

/// The number of changes of the value, times [`STEP`]: a version without its bits.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Version(usize);

impl Version {
    const FIRST: Self = Self(0);

    fn of(word: usize) -> Self {
        Self(word & !(CLOSED | WAITING))
    }

    /// Returns a version that differs from the current one, if this is the current one.
    fn before(self) -> Self {
        Self(self.0.wrapping_sub(STEP))
    }
}

impl fmt::Debug for Version {
    /// Counts in steps of two, as Tokio's, also below zero.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let half = (self.0 as isize >> 1) as usize;
        f.debug_tuple("Version").field(&half).finish()
    }
}

/// State shared by both ends. The comment at the top of this file has the protocol.
struct Shared<T> {
    value: lock::RwLock<T>,
    version: AtomicUsize,
    /// Receivers that wait for another version.
    waiting: WaitQueue,
    receivers: AtomicUsize,
    /// Senders that wait until there are no receivers.
    close_waiters: WaitQueue,
    senders: AtomicUsize,
    observed: Observed,
}

// As the standard library has it for locks: a panic is expected under one.
impl<T> UnwindSafe for Shared<T> {}
impl<T> RefUnwindSafe for Shared<T> {}

impl<T> Shared<T> {
    /// Creates the state of a channel with one sender and one receiver.
    #[track_caller]
    fn new(value: T) -> Self {
        Self {
            value: lock::RwLock::new(value),
            version: AtomicUsize::new(0),
            waiting: WaitQueue::new(),
            receivers: AtomicUsize::new(1),
            close_waiters: WaitQueue::new(),
            senders: AtomicUsize::new(1),
            observed: Observed::here(),
        }
    }

    /// Returns the version and its bits. Acquires the work before its last change.
    #[inline]
    fn word(&self) -> usize {
        self.version.load(Ordering::Acquire)
    }

    #[inline]
    fn current(&self) -> Version {
        Version::of(self.word())
    }

    fn is_closed(&self) -> bool {
        self.word() & CLOSED != 0
    }

    /// Changes the version. Returns `true` if receivers wait for that. The caller is the only one
    /// that changes it now.
    #[inline]
    #[must_use = "waiting receivers must be woken"]
    fn change_version(&self, change: impl FnOnce(usize) -> usize) -> bool {
        let old = self.version.load(Ordering::Relaxed);
        let seen = self.version.swap(change(old & !WAITING), Ordering::AcqRel);
        seen & WAITING != 0
    }

    /// Changes the value, and wakes the receivers, if `modify` says that it has.
    #[inline]
    #[track_caller]
    fn modify(&self, modify: impl FnOnce(&mut T) -> bool) -> bool {
        coop::acted();
        let mut value = lock::write(&self.value);
        if !modify(&mut value) {
            return false;
        }
        events::sent_to(&self.observed.object, Kind::WatchReceive, || {
            self.receivers.load(Ordering::Relaxed)
        });
        let awaited = self.change_version(|version| version.wrapping_add(STEP));
        drop(value);
        if awaited {
            self.wake_receivers();
        }
        true
    }

    #[cold]
    fn wake_receivers(&self) {
        self.waiting.notify_all();
    }

    fn remove_receiver(&self) {
        if self.receivers.fetch_sub(1, Ordering::AcqRel) == 1 {
            coop::acted();
            self.close_waiters.notify_all();
        }
    }

    fn remove_sender(&self) {
        if self.senders.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        coop::acted();
        if self.change_version(|version| version | CLOSED) {
            self.wake_receivers();
        }
    }
}

/// The event that the version is another than the one seen, or that the channel is closed. Its
/// result is the word at that moment.
struct Changed<'a, T> {
    shared: &'a Shared<T>,
    seen: Version,
}

impl<T> Changed<'_, T> {
    fn has_happened(&self, word: usize) -> bool {
        Version::of(word) != self.seen || word & CLOSED != 0
    }
}

impl<T> Event for Changed<'_, T> {
    type Output = usize;

    fn queue(&self) -> &WaitQueue {
        &self.shared.waiting
    }

    fn look(&mut self) -> Option<usize> {
        Some(self.shared.word()).filter(|&word| self.has_happened(word))
    }

    fn target(&self) -> Target<'_> {
        Target {
            kind: Kind::WatchReceive,
            observed: &self.shared.observed,
        }
    }

    /// Announces the waiter, and looks at the word as it was at that moment.
    fn must_wait(&self) -> bool {
        let mut word = self.shared.word();
        if word & WAITING == 0 {
            word = self.shared.version.fetch_or(WAITING, Ordering::AcqRel);
        }
        !self.has_happened(word)
    }
}

/// The event that there are no receivers.
struct Closed<'a, T>(&'a Shared<T>);

impl<T> Event for Closed<'_, T> {
    type Output = ();

    fn queue(&self) -> &WaitQueue {
        &self.0.close_waiters
    }

    fn look(&mut self) -> Option<()> {
        (!self.must_wait()).then_some(())
    }

    fn must_wait(&self) -> bool {
        self.0.receivers.load(Ordering::Acquire) != 0
    }

    fn target(&self) -> Target<'_> {
        Target {
            kind: Kind::WatchClosed,
            observed: &self.0.observed,
        }
    }
}

debug_fields! {
    impl<T: Debug> Shared<T>, |this| {
        value: ShownLock(&this.value),
        version: this.current(),
        is_closed: this.is_closed(),
        ref_count_rx: this.receivers.load(Ordering::Relaxed),
    }
}

/// A lock, shown as Tokio's is: in a wrapper of the same name.
struct ShownLock<'a, T>(&'a lock::RwLock<T>);

impl<T: fmt::Debug> fmt::Debug for ShownLock<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Inner<'a, T>(&'a lock::RwLock<T>);

        impl<T: fmt::Debug> fmt::Debug for Inner<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut shown = f.debug_struct("RwLock");
                match lock::try_read(self.0) {
                    Some(value) => shown.field("data", &&*value),
                    None => shown.field("data", &format_args!("<locked>")),
                };
                shown.field("poisoned", &false).finish_non_exhaustive()
            }
        }

        f.debug_tuple("RwLock").field(&Inner(self.0)).finish()
    }
}

/// Errors of sending and receiving.
pub mod error {
    use blitz_io_core::debug_is_name;
    use blitz_io_core::error_text;

    pub use crate::timed::RecvTimeoutError;

    /// There is no receiver. The value comes back.
    #[derive(PartialEq, Eq, Clone, Copy)]
    pub struct SendError<T>(pub T);

    /// All senders have been dropped.
    #[derive(Debug, Clone)]
    pub struct RecvError(pub(super) ());

    debug_is_name!(impl<T> SendError<T>);

    error_text! {
        Display for SendError<T> {
            _ => "channel closed",
        }
        Display for RecvError {
            _ => "channel closed",
        }
    }
}
