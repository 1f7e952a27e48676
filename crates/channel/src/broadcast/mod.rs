//! A channel from several senders to several receivers, each of which gets every
//! value that is sent while it exists. Values are cloned for them.
//!
//! It is made for receivers that keep up. The channel keeps the last `capacity` values, rounded
//! up to a power of two, and a sender never waits for room. A receiver that is slower than that
//! gets an error with the number of values that it has missed
//! ([`RecvError::Lagged`](error::RecvError::Lagged)). It then continues with the oldest value that
//! is left. The channel drops a value when the last receiver has got it, or when a sender
//! overwrites it.
//!
//! Names and semantics are those of `tokio::sync::broadcast`. Additions:
//! [`Receiver::blocking_recv_timeout`], and [`Sender::blocking_closed`] with and without a
//! time-out. Differences:
//!
//! * The last receiver of a value gets the value itself instead of a clone.
//! * `len` and `is_empty` wait for no clone.
//! * No value's `Drop` runs under a lock.
//!
//! # Restrictions on a value's `Clone`
//!
//! Receivers clone a value one after the other, as `T` need not be `Sync`. While a receiver clones
//! a value, the other receivers of this value wait, and so does a sender that overwrites it. A
//! `Clone` may use the channel, and send into it. But it must not overwrite its own value, receive
//! it again, or drop a receiver that has yet to get it: these are deadlocks. Nor may it wait for
//! another thread that does one of them.
//!
//! ```
//! use blitz_io::sync::broadcast;
//!
//! # pollster::block_on(async {
//! let (tx, mut first) = broadcast::channel(16);
//! let mut second = tx.subscribe();
//!
//! tx.send(10).unwrap();
//! tx.send(20).unwrap();
//! drop(tx);
//!
//! assert_eq!(first.recv().await, Ok(10));
//! assert_eq!(first.recv().await, Ok(20));
//! assert!(first.recv().await.is_err());
//! assert_eq!(second.recv().await, Ok(10));
//! assert_eq!(second.recv().await, Ok(20));
//! # });
//! ```

// # The ring
//
// Values are numbered in the order of sending; a value's *position* is its number. `tail` holds
// the position of the next value. The value of position `p` is in the slot `p % capacity`, beside
// `p` and the number of receivers that have yet to get it (`unread`).
//
// # Locks
//
// The lock of the queue `waiting` guards the tail: under it `tail` and `receivers` change, values
// are put into slots, and receivers join the queue. Each slot has a lock of its own. A receiver
// holds it while it takes or clones the value, which is the only user code that runs under a lock.
//
// 1. A sender takes the tail's lock, and then the slot's, if that is free. If not, it releases the
//    tail's lock, waits for the slot, and begins again. So no thread waits for a slot under the
//    tail's lock, and a clone may use the channel.
// 2. Under both locks, a sender exchanges the value, sets the slot's position and moves the tail.
//    A receiver that sees its position in the slot, or the tail above it, locks the slot. It finds
//    its value there, or a later position. Then it lags, and the tail shows that, as the sender
//    moved the tail before it released the slot.
// 3. `unread` counts the receivers of the moment of sending, as `receivers` changes under the
//    tail's lock only. A receiver that subscribes starts at the tail of that moment. A receiver
//    that is dropped leaves `receivers` first, and then gives up the values between its `next` and
//    the tail of that moment. So each receiver that `unread` counts gets the value, gives it up,
//    or lags. The last one takes the value out.
//
// # No wake-up is lost
//
// 1. A receiver joins the queue under the tail's lock, and only if the tail says there that no
//    value has come and the channel is open.
// 2. A sender moves the tail under that lock, and looks there whether the queue is empty.
// 3. So either the receiver sees the value, or the sender sees the receiver, and then wakes all
//    receivers in the queue. The last sender, which closes the tail, does the same.
//
// A sender that waits for the last receiver's end looks at the number of receivers under the lock
// of `close_waiters`. The last receiver empties that queue after it has written the zero. So
// either the sender sees the zero, or the receiver finds it in the queue.
//
// # Source
//
// A ring of slots, each with a lock, a position and a count of readers, is Tokio's channel.

mod receiver;
mod sender;

use std::mem;

use blitz_io_core::{List, Lock, Panics, WaitQueue, coop};
use blitz_io_futex::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use blitz_io_observe::{Fill, Filled, Observed};

use error::{SendError, TryRecvError};

pub use receiver::Receiver;
pub use sender::{Sender, WeakSender};

/// Creates a channel that keeps `capacity` values, rounded up to a power of two.
///
/// All memory is allocated here.
///
/// # Panics
///
/// If the capacity is zero or exceeds `usize::MAX / 2`.
///
/// ```
/// use blitz_io::sync::broadcast;
///
/// let (tx, mut rx) = broadcast::channel(16);
/// tx.send("hello").unwrap();
/// assert_eq!(rx.try_recv(), Ok("hello"));
/// ```
#[track_caller]
pub fn channel<T: Clone>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let tx = Sender::with_receivers(capacity, 1);
    let rx = Receiver::new(tx.shared.clone(), 0);
    (tx, rx)
}

/// Maximum number of receivers of a channel.
const MAX_RECEIVERS: u32 = u32::MAX >> 2;

/// The position of the next value, and the flag of a closed channel, in one word:
/// `position * 2 + closed`.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Tail(u64);

impl Tail {
    const fn new(position: u64, closed: bool) -> Self {
        Self(position << 1 | closed as u64)
    }

    #[inline]
    const fn position(self) -> u64 {
        self.0 >> 1
    }

    #[inline]
    const fn is_closed(self) -> bool {
        self.0 & 1 != 0
    }
}

/// The position of a slot that has never been used.
const NEVER: u64 = u64::MAX;

struct Slot<T> {
    /// The position of the value that was put in last. Written under the lock.
    position: AtomicU64,
    /// Number of receivers that have yet to get the value. Written under the lock.
    unread: AtomicU32,
    /// The value, until the last receiver gets it.
    value: Lock<Option<T>>,
}

impl<T> Slot<T> {
    fn new() -> Self {
        Self {
            position: AtomicU64::new(NEVER),
            unread: AtomicU32::new(0),
            value: Lock::new(None),
        }
    }

    #[inline]
    fn is_spent(&self) -> bool {
        self.unread.load(Ordering::Acquire) == 0
    }

    /// Counts a receiver as one that has got the value. Returns `true` if it is the last one. The
    /// caller holds the lock.
    #[inline]
    fn count_down(&self) -> bool {
        let unread = self.unread.load(Ordering::Relaxed) - 1;
        self.unread.store(unread, Ordering::Release);
        unread == 0
    }

    /// Returns `true` if the value of this position was put in last.
    #[inline]
    fn holds(&self, position: u64) -> bool {
        self.position.load(Ordering::Acquire) == position
    }

    /// Gets the value at `*next` for a receiver, and moves `*next` on. `None` if a sender has
    /// overwritten it. If the clone panics, the value counts as got.
    #[inline]
    fn get(&self, next: &mut u64) -> Option<T>
    where
        T: Clone,
    {
        let mut value = self.value.lock();
        if !self.holds(*next) {
            return None;
        }
        *next += 1;
        if self.count_down() {
            value.take()
        } else {
            value.clone()
        }
    }

    /// Gives the value at `position` up, if no sender has overwritten it. The last receiver
    /// returns it, to be dropped without the lock.
    fn give_up(&self, position: u64) -> Option<T> {
        let mut value = self.value.lock();
        if self.holds(position) && self.count_down() {
            value.take()
        } else {
            None
        }
    }
}

/// State shared by both ends. The comment at the top of this file has the protocol.
struct Shared<T> {
    /// The slots. Their number is a power of two.
    slots: Box<[Slot<T>]>,
    /// A [`Tail`]. Written under the lock of `waiting`.
    tail: AtomicU64,
    /// Number of receivers. Written under the lock of `waiting`.
    receivers: AtomicU32,
    /// Receivers that wait for a value. Its lock is the lock of the tail.
    waiting: WaitQueue,
    /// Senders that wait until there are no receivers.
    close_waiters: WaitQueue,
    senders: AtomicUsize,
    weak_senders: AtomicUsize,
    observed: Observed,
}

/// The result of an attempt to send.
enum Attempt<'a, T> {
    /// The value goes to so many receivers, some of which wait for it if `awaited`.
    Sent {
        receivers: u32,
        awaited: bool,
    },
    NoReceivers,
    /// A receiver uses the value that would be overwritten.
    InUse(&'a Slot<T>),
}

impl<T> Filled for Shared<T> {
    fn fill(&self) -> Fill {
        Fill {
            used: self.unread(),
            capacity: Some(self.capacity() as usize),
            senders: self.senders.load(Ordering::Relaxed),
            receivers: self.receivers.load(Ordering::Relaxed) as usize,
        }
    }
}

impl<T> Shared<T> {
    /// Creates the state of a channel with one sender and this number of receivers.
    #[track_caller]
    fn new(capacity: usize, receivers: u32) -> Self {
        assert!(capacity > 0, "broadcast channel capacity cannot be zero");
        assert!(
            capacity <= usize::MAX >> 1,
            "broadcast channel capacity exceeded `usize::MAX / 2`"
        );
        let slots = (0..capacity.next_power_of_two()).map(|_| Slot::new());
        Self {
            slots: slots.collect(),
            tail: AtomicU64::new(Tail::new(0, receivers == 0).0),
            receivers: AtomicU32::new(receivers),
            waiting: WaitQueue::new(),
            close_waiters: WaitQueue::new(),
            senders: AtomicUsize::new(1),
            weak_senders: AtomicUsize::new(0),
            observed: Observed::here(),
        }
    }

    fn capacity(&self) -> u64 {
        self.slots.len() as u64
    }

    #[inline]
    fn slot(&self, position: u64) -> &Slot<T> {
        // The remainder fits into a `usize`, even if the cast cuts off high bits first.
        &self.slots[position as usize & (self.slots.len() - 1)]
    }

    #[inline]
    fn tail(&self) -> Tail {
        Tail(self.tail.load(Ordering::Acquire))
    }

    /// Writes the tail. The caller holds its lock.
    #[inline]
    fn set_tail(&self, position: u64, closed: bool) {
        let tail = Tail::new(position, closed);
        self.tail.store(tail.0, Ordering::Release);
    }

    /// Returns the number of receivers.
    fn receivers(&self) -> u32 {
        self.receivers.load(Ordering::Acquire)
    }

    /// Sends a value. Returns how many receivers it goes to.
    #[inline]
    fn send(&self, value: T) -> Result<usize, SendError<T>> {
        // After the send, this holds the value that was overwritten.
        let mut value = Some(value);
        loop {
            match self.waiting.locked(|list| self.try_send(list, &mut value)) {
                Attempt::Sent { receivers, awaited } => {
                    if awaited {
                        self.wake_receivers();
                    }
                    return Ok(receivers as usize);
                }
                Attempt::NoReceivers => return Err(SendError(value.expect("it was not sent"))),
                Attempt::InUse(slot) => drop(slot.value.lock()),
            }
        }
    }

    /// Exchanges `value` for the one in the next slot. The caller holds the tail's lock.
    #[inline]
    fn try_send(&self, list: &List<()>, value: &mut Option<T>) -> Attempt<'_, T> {
        let receivers = self.receivers.load(Ordering::Relaxed);
        if receivers == 0 {
            return Attempt::NoReceivers;
        }
        let position = self.tail().position();
        let slot = self.slot(position);
        let Some(mut place) = slot.value.try_lock() else {
            return Attempt::InUse(slot);
        };
        mem::swap(&mut *place, value);
        slot.position.store(position, Ordering::Release);
        slot.unread.store(receivers, Ordering::Release);
        self.set_tail(position + 1, false);
        Attempt::Sent {
            receivers,
            awaited: !list.is_empty(),
        }
    }

    #[cold]
    #[inline(never)]
    fn wake_receivers(&self) {
        self.waiting.notify_all();
    }

    /// Returns the number of slots with a value that some receiver has yet to get. They
    /// are the youngest ones: a receiver that has got a value has got all before it.
    fn len(&self) -> usize {
        self.waiting.locked(|_| self.unread())
    }

    /// Does the same without taking the lock. If the caller does not hold it, values come and go.
    fn unread(&self) -> usize {
        let tail = self.tail().position();
        let (mut spent, mut most) = (0, self.capacity());
        while spent < most {
            let middle = spent + (most - spent) / 2;
            if self.slot(tail.wrapping_add(middle)).is_spent() {
                spent = middle + 1;
            } else {
                most = middle;
            }
        }
        (self.capacity() - spent) as usize
    }

    /// Returns `true` if every receiver has got everything.
    fn is_empty(&self) -> bool {
        let tail = self.tail().position();
        self.slot(tail.wrapping_sub(1)).is_spent()
    }

    /// Closes the channel: the last sender has gone.
    fn close(&self) {
        coop::acted();
        self.waiting
            .locked(|_| self.set_tail(self.tail().position(), true));
        self.waiting.notify_all();
    }

    /// Gets the value at `*next` for a receiver, and moves `*next` on. A receiver that lags is
    /// moved on to the oldest value.
    #[inline]
    fn take(&self, next: &mut u64) -> Result<T, TryRecvError>
    where
        T: Clone,
    {
        if self.slot(*next).holds(*next) {
            if let Some(value) = self.slot(*next).get(next) {
                return Ok(value);
            }
        }
        self.take_behind_the_tail(next)
    }

    #[inline(never)]
    fn take_behind_the_tail(&self, next: &mut u64) -> Result<T, TryRecvError>
    where
        T: Clone,
    {
        loop {
            let tail = self.tail();
            let behind = tail.position() - *next;
            if behind == 0 {
                return Err(if tail.is_closed() {
                    TryRecvError::Closed
                } else {
                    TryRecvError::Empty
                });
            }
            if behind > self.capacity() {
                let missed = behind - self.capacity();
                *next += missed;
                return Err(TryRecvError::Lagged(missed));
            }
            if let Some(value) = self.slot(*next).get(next) {
                return Ok(value);
            }
        }
    }

    /// Adds a receiver. Returns the position of the first value that it will get.
    #[track_caller]
    fn subscribe(&self) -> u64 {
        let next = self.waiting.locked(|_| {
            let receivers = self.receivers.load(Ordering::Relaxed);
            if receivers == MAX_RECEIVERS {
                return None;
            }
            self.receivers.store(receivers + 1, Ordering::Release);
            let position = self.tail().position();
            // If it was closed, that was for lack of receivers, as there is a sender.
            self.set_tail(position, self.tail().is_closed() && receivers != 0);
            Some(position)
        });
        next.expect("max receivers")
    }

    /// Removes one receiver. It gives up the values from `next` on.
    fn unsubscribe(&self, next: u64) {
        coop::acted();
        let (until, is_last) = self.waiting.locked(|_| {
            let receivers = self.receivers.load(Ordering::Relaxed) - 1;
            self.receivers.store(receivers, Ordering::Release);
            let tail = self.tail();
            self.set_tail(tail.position(), tail.is_closed() || receivers == 0);
            (tail.position(), receivers == 0)
        });
        let mut panics = Panics::new();
        for position in next.max(until.saturating_sub(self.capacity()))..until {
            let value = self.slot(position).give_up(position);
            panics.put_off(|| drop(value));
        }
        if is_last {
            panics.put_off(|| {
                self.close_waiters.notify_all();
            });
        }
        panics.go_on();
    }
}

/// Errors of a broadcast channel.
pub mod error {
    use std::fmt::Debug;

    use blitz_io_core::error_text;

    /// A value could not be sent because there are no receivers. The error has the value.
    ///
    /// Receivers may subscribe later, so another attempt may succeed.
    #[derive(Debug)]
    pub struct SendError<T>(pub T);

    /// The error of [`recv`](super::Receiver::recv).
    #[derive(Debug, PartialEq, Eq, Clone)]
    pub enum RecvError {
        /// All values have been received, and there are no senders any more.
        Closed,
        /// The receiver was too slow: senders have overwritten this number of values before it
        /// got them. The next attempt gets the oldest value that is left.
        Lagged(u64),
    }

    /// The error of [`try_recv`](super::Receiver::try_recv).
    #[derive(Debug, PartialEq, Eq, Clone)]
    pub enum TryRecvError {
        /// All values have been received. There are senders, so more may come.
        Empty,
        /// All values have been received, and there are no senders any more.
        Closed,
        /// The receiver was too slow: senders have overwritten this number of values before it
        /// got them. The next attempt gets the oldest value that is left.
        Lagged(u64),
    }

    /// The error of the method
    /// [`blocking_recv_timeout`](super::Receiver::blocking_recv_timeout).
    #[derive(Debug, PartialEq, Eq, Clone)]
    pub enum RecvTimeoutError {
        /// The timeout elapsed before a value came.
        Timeout,
        /// All values have been received, and there are no senders any more.
        Closed,
        /// The receiver was too slow: senders have overwritten this number of values before it
        /// got them. The next attempt gets the oldest value that is left.
        Lagged(u64),
    }

    error_text! {
        Display for SendError<T: Debug> {
            _ => "channel closed",
        }
        Display for RecvError {
            Self::Closed => "channel closed",
            Self::Lagged(missed) => format_args!("channel lagged by {missed}"),
        }
        Display for TryRecvError {
            Self::Empty => "channel empty",
            Self::Closed => "channel closed",
            Self::Lagged(missed) => format_args!("channel lagged by {missed}"),
        }
        Display for RecvTimeoutError {
            Self::Timeout => "timed out waiting on channel",
            Self::Closed => "channel closed",
            Self::Lagged(missed) => format_args!("channel lagged by {missed}"),
        }
    }

    impl From<RecvError> for RecvTimeoutError {
        fn from(error: RecvError) -> Self {
            match error {
                RecvError::Closed => Self::Closed,
                RecvError::Lagged(missed) => Self::Lagged(missed),
            }
        }
    }
}
