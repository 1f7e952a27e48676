//! State shared by both ends of the channel; `mod.rs` has the algorithm.

use std::panic::{RefUnwindSafe, UnwindSafe};

use blitz_io_core::{List, Panics, WaitQueue};
use blitz_io_futex::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::cell::ValueCell;
use super::error::{SendError, TryRecvError};
use super::ring::Ring;

/// How many receivers a channel can have.
const MAX_RECEIVERS: u32 = u32::MAX >> 2;

/// Where the next value goes, and whether the channel is closed, in one word:
/// `position * 2 + closed`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Tail(u64);

impl Tail {
    const CLOSED: u64 = 1;

    pub(super) const fn new(position: u64, closed: bool) -> Self {
        Self(position << 1 | closed as u64)
    }

    #[inline]
    pub(super) const fn position(self) -> u64 {
        self.0 >> 1
    }

    #[inline]
    pub(super) const fn is_closed(self) -> bool {
        self.0 & Self::CLOSED != 0
    }

    #[inline]
    const fn next(self) -> Self {
        Self(self.0 + 2)
    }

    const fn closed(self, closed: bool) -> Self {
        Self::new(self.position(), closed)
    }
}

pub(super) struct Shared<T> {
    ring: Ring<T>,
    /// A [`Tail`]. Written under the lock of `waiting`.
    tail: AtomicU64,
    /// How many receivers there are. Written under the lock of `waiting`.
    receivers: AtomicU32,
    /// Receivers that wait for a value. Its lock is the lock of the tail.
    pub(super) waiting: WaitQueue,
    /// Senders that wait until there are no receivers.
    pub(super) close_waiters: WaitQueue,
    pub(super) senders: AtomicUsize,
    pub(super) weak_senders: AtomicUsize,
}

// SAFETY: a value goes from one thread to another, and never has two users: its cell is locked
// also while it is cloned. So `T` need not be `Sync`.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: for the same reason; all other fields are atomics, or guarded by locks.
unsafe impl<T: Send> Sync for Shared<T> {}

// A panic in a value's clone or drop leaves the counts right.
impl<T> UnwindSafe for Shared<T> {}
impl<T> RefUnwindSafe for Shared<T> {}

/// A value has been put in.
struct Sent {
    receivers: u32,
    /// Receivers wait for it.
    awaited: bool,
}

/// Why it has not.
enum Refusal {
    /// There are no receivers.
    NoReceivers,
    /// The slot's value has not been received by all, or the slot is another by now.
    NotSpent,
}

impl<T> Shared<T> {
    /// With one sender, and as many receivers.
    #[track_caller]
    pub(super) fn new(capacity: usize, receivers: u32) -> Self {
        assert!(capacity > 0, "broadcast channel capacity cannot be zero");
        assert!(
            capacity <= usize::MAX >> 1,
            "broadcast channel capacity exceeded `usize::MAX / 2`"
        );
        Self {
            ring: Ring::new(capacity),
            tail: AtomicU64::new(Tail::new(0, receivers == 0).0),
            receivers: AtomicU32::new(receivers),
            waiting: WaitQueue::new(),
            close_waiters: WaitQueue::new(),
            senders: AtomicUsize::new(1),
            weak_senders: AtomicUsize::new(0),
        }
    }

    #[inline]
    pub(super) fn tail(&self) -> Tail {
        Tail(self.tail.load(Ordering::Acquire))
    }

    fn set_tail(&self, tail: Tail) {
        self.tail.store(tail.0, Ordering::Release);
    }

    /// How many receivers there are.
    pub(super) fn receivers(&self) -> u32 {
        self.receivers.load(Ordering::Acquire)
    }

    // Sending

    /// To how many receivers the value goes.
    #[inline]
    pub(super) fn send(&self, value: T) -> Result<usize, SendError<T>> {
        let mut value = Some(value);
        let sent = self.waiting.locked(|list| {
            let tail = self.tail();
            let cell = self.ring.cell(tail.position());
            if cell.is_spent() {
                // SAFETY: we hold the lock, and the cell is spent.
                unsafe { self.put(list, tail, cell, &mut value) }
            } else {
                Err(Refusal::NotSpent)
            }
        });
        match sent {
            Ok(sent) => Ok(self.after_send(sent)),
            Err(Refusal::NotSpent) => self.send_over(value),
            Err(Refusal::NoReceivers) => Err(give_back(value)),
        }
    }

    /// The same if a receiver lags behind by the whole ring: its value is overwritten, or another
    /// cell replaces a cell that is in use.
    #[cold]
    #[inline(never)]
    fn send_over(&self, mut value: Option<T>) -> Result<usize, SendError<T>> {
        self.ring.lag.announce();
        loop {
            let tail = self.tail();
            let cell = self.ring.cell(tail.position());
            let (sent, old) = match cell.try_lock() {
                Some(lock) => {
                    let result = self.overwrite(tail, cell, &mut value);
                    drop(lock);
                    result
                }
                None => (self.replace(tail, cell, &mut value), None),
            };
            let result = match sent {
                Ok(sent) => Ok(self.after_send(sent)),
                Err(Refusal::NotSpent) => {
                    self.ring.after_use(cell);
                    continue;
                }
                Err(Refusal::NoReceivers) => Err(()),
            };
            // Only now: a drop is the user's code, and may panic.
            let mut panics = Panics::new();
            panics.put_off(|| self.ring.after_use(cell));
            panics.put_off(|| drop(old));
            panics.go_on();
            return result.map_err(|()| give_back(value));
        }
    }

    /// Puts a value in the place of another, whose cell is locked. Returns the other.
    fn overwrite(
        &self,
        tail: Tail,
        cell: &ValueCell<T>,
        value: &mut Option<T>,
    ) -> (Result<Sent, Refusal>, Option<T>) {
        self.waiting.locked(|list| {
            if let Err(refusal) = self.check(tail) {
                return (Err(refusal), None);
            }
            // SAFETY: the cell is locked, and will be filled.
            let old = unsafe { cell.evict() };
            // SAFETY: we hold both locks, and have just taken the value out of the cell.
            (unsafe { self.put(list, tail, cell, value) }, old)
        })
    }

    /// Puts a value into another cell, as a thread uses the cell that is in the place.
    fn replace(
        &self,
        tail: Tail,
        cell: &ValueCell<T>,
        value: &mut Option<T>,
    ) -> Result<Sent, Refusal> {
        let fresh = self.ring.free_cell();
        let (sent, replaced) = self.waiting.locked(|list| {
            if let Err(refusal) = self.check(tail) {
                return (Err(refusal), false);
            }
            let replaced = !cell.is_spent();
            if replaced {
                self.ring.replace(tail.position(), fresh);
            }
            let cell = if replaced { fresh } else { cell };
            // SAFETY: we hold the lock, and the cell is spent.
            (unsafe { self.put(list, tail, cell, value) }, replaced)
        });
        if replaced {
            cell.set_replaced();
            self.ring.retire(cell);
        } else {
            self.ring.give_back(fresh);
        }
        sent
    }

    /// Whether a value can be overwritten whose sender has seen `tail`, under its lock.
    fn check(&self, tail: Tail) -> Result<(), Refusal> {
        if self.tail() != tail {
            return Err(Refusal::NotSpent);
        }
        if self.receivers() == 0 {
            return Err(Refusal::NoReceivers);
        }
        Ok(())
    }

    /// Puts a value at the end, if there are receivers.
    ///
    /// # Safety
    ///
    /// The caller holds the tail's lock, under which it has read `tail`. The cell is
    /// in that place, and may be filled.
    #[inline]
    unsafe fn put(
        &self,
        list: &List<()>,
        tail: Tail,
        cell: &ValueCell<T>,
        value: &mut Option<T>,
    ) -> Result<Sent, Refusal> {
        let receivers = self.receivers.load(Ordering::Relaxed);
        if receivers == 0 {
            return Err(Refusal::NoReceivers);
        }
        if let Some(value) = value.take() {
            // SAFETY: the caller knows that it may.
            unsafe { cell.fill(value, receivers) };
        }
        // The tail first: no receiver is ever ahead of it.
        self.set_tail(tail.next());
        cell.announce(tail.position());
        Ok(Sent {
            receivers,
            awaited: !list.is_empty(),
        })
    }

    #[inline]
    fn after_send(&self, sent: Sent) -> usize {
        if sent.awaited {
            self.wake_receivers();
        }
        sent.receivers as usize
    }

    #[cold]
    #[inline(never)]
    fn wake_receivers(&self) {
        self.waiting.notify_all();
    }

    /// How many slots have a value that some receiver has yet to get. They are the
    /// youngest ones: a receiver that has got a value has got all before it.
    pub(super) fn len(&self) -> usize {
        self.waiting.locked(|_| {
            let tail = self.tail().position();
            let (mut spent, mut most) = (0, self.ring.capacity());
            while spent < most {
                let middle = spent + (most - spent) / 2;
                if self.ring.cell(tail.wrapping_add(middle)).is_spent() {
                    spent = middle + 1;
                } else {
                    most = middle;
                }
            }
            (self.ring.capacity() - spent) as usize
        })
    }

    /// Whether every receiver has got everything.
    pub(super) fn is_empty(&self) -> bool {
        self.ring
            .cell(self.tail().position().wrapping_sub(1))
            .is_spent()
    }

    /// The last sender has gone.
    pub(super) fn close(&self) {
        self.waiting
            .locked(|_| self.set_tail(self.tail().closed(true)));
        self.waiting.notify_all();
    }

    // Receiving

    /// Gets the value at `*next` for a receiver, and moves `*next` on.
    #[inline]
    pub(super) fn take(&self, next: &mut u64) -> Result<T, TryRecvError>
    where
        T: Clone,
    {
        match self.take_at(next) {
            Some(value) => Ok(value),
            None => self.take_otherwise(next),
        }
    }

    #[inline(always)]
    fn take_at(&self, next: &mut u64) -> Option<T>
    where
        T: Clone,
    {
        let (cell, position) = (self.ring.cell(*next), *next);
        if !cell.holds(position) {
            return None;
        }
        cell.get(position, &self.ring, || *next += 1)
    }

    /// The same where no value was found at first.
    #[inline(never)]
    fn take_otherwise(&self, next: &mut u64) -> Result<T, TryRecvError>
    where
        T: Clone,
    {
        loop {
            self.look(next)?;
            if let Some(value) = self.take_at(next) {
                return Ok(value);
            }
        }
    }

    /// Whether there is a value at `*next`, where none was found. A receiver that lags
    /// is moved on to the oldest value.
    fn look(&self, next: &mut u64) -> Result<(), TryRecvError> {
        self.next_at(self.tail(), next)?;
        // A sender is about to announce it, or it has just been overwritten.
        // With no sender at work, the tail tells which.
        self.look_locked(next)
    }

    #[cold]
    #[inline(never)]
    fn look_locked(&self, next: &mut u64) -> Result<(), TryRecvError> {
        let tail = self.waiting.locked(|_| self.tail());
        self.next_at(tail, next)
    }

    fn next_at(&self, tail: Tail, next: &mut u64) -> Result<(), TryRecvError> {
        let behind = tail.position() - *next;
        if behind == 0 {
            return Err(if tail.is_closed() {
                TryRecvError::Closed
            } else {
                TryRecvError::Empty
            });
        }
        match behind.saturating_sub(self.ring.capacity()) {
            0 => Ok(()),
            missed => {
                *next += missed;
                Err(TryRecvError::Lagged(missed))
            }
        }
    }

    /// One receiver more. The position of the first value that it will get.
    #[track_caller]
    pub(super) fn subscribe(&self) -> u64 {
        let next = self.waiting.locked(|_| {
            let receivers = self.receivers.load(Ordering::Relaxed);
            if receivers == MAX_RECEIVERS {
                return None;
            }
            if receivers == 0 {
                // It was closed because there were none, as there is a sender.
                self.set_tail(self.tail().closed(false));
            }
            self.receivers.store(receivers + 1, Ordering::Release);
            Some(self.tail().position())
        });
        next.expect("max receivers")
    }

    /// Removes one receiver. Its unread values, from `next` on, need not be kept for it.
    pub(super) fn unsubscribe(&self, next: u64) {
        let (until, is_last) = self.waiting.locked(|_| {
            let receivers = self.receivers.load(Ordering::Relaxed) - 1;
            self.receivers.store(receivers, Ordering::Release);
            let tail = self.tail();
            if receivers == 0 {
                self.set_tail(tail.closed(true));
            }
            (tail.position(), receivers == 0)
        });
        let mut panics = Panics::default();
        // Overwritten values need no look.
        let oldest = self.tail().position().saturating_sub(self.ring.capacity());
        for position in next.max(oldest)..until {
            let cell = self.ring.cell(position);
            if cell.holds(position) {
                let value = cell.renounce(position);
                panics.put_off(|| drop(value));
                panics.put_off(|| self.ring.after_use(cell));
            }
        }
        if is_last {
            panics.put_off(|| {
                self.close_waiters.notify_all();
            });
        }
        panics.go_on();
    }
}

#[cold]
fn give_back<T>(value: Option<T>) -> SendError<T> {
    SendError(value.expect("a value that was not put in"))
}
