//! One registered source: its readiness and its waiters.
//!
//! There are two ways to wait. An operation that is polled (`poll_read`, `poll_write`)
//! stores its waker in one of two cells, one for each [`Direction`]; the last caller's
//! waker is kept. A future ([`Wait`]) has a node in the queue that records which bits it
//! wants; any number of futures may wait. Both are guarded by the queue's lock.
//!
//! # No event is missed
//!
//! Under the lock, an event changes the readiness word, takes out the wakers, and chooses the
//! nodes that wait for its bits. A waiter proceeds as follows:
//!
//! 1. It checks the word.
//! 2. If its bits are unset, it takes the lock and checks the word again. A polled operation
//!    stores its waker before that check.
//! 3. If they are still unset, a future links its node. Then the waiter releases the lock.
//!
//! If the waiter has the lock first, the event finds the waker. If the event has it first, the
//! waiter's second check sees the change, because the event changed the word before it released
//! the lock. (A report for an earlier source, whose generation has ended, changes nothing and
//! wakes no waiter.)
//!
//! A clear (see `readiness.rs`) does not affect waiters: it removes only readiness that
//! an operation found to be used up, and only if no event has come since.
//!
//! An event wakes all waiters that wait for its bits, so a waiter that is dropped has
//! nothing to pass on. A waiter that is woken and finds the bits cleared by another one
//! waits again.
//!
//! A shutdown works like an event, with a bit that all waiters wait for and that is never
//! cleared. It sets the bit before it takes the lock, which is as good: a waiter that has the lock
//! later sees it. So no later waiter begins to wait.
//!
//! # Lifetime
//!
//! An entry serves one source after the other, and lives as long as its driver: see
//! `entries.rs`.

use std::cell::UnsafeCell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, Waker};

use blitz_io_core::{List, Node, WaitQueue};
use blitz_io_futex::atomic::{AtomicUsize, Ordering};
use blitz_io_observe::{self as observe, Caller, Descriptor, Kind, WaitKind};

use crate::kernel::bits::{self, Bits, Direction};
use crate::kernel::readiness::{Event, Readiness};
use crate::kernel::wakers::Wakers;

/// The task that polls an operation.
struct Polled {
    waker: Option<Waker>,
    /// Set only while there is a waker, so that the record ends with the event.
    record: observe::Wait,
}

impl Polled {
    const NONE: Self = Self {
        waker: None,
        record: observe::Wait::new(Caller::UNKNOWN),
    };

    fn take(&mut self) -> Option<Waker> {
        self.record.end();
        self.waker.take()
    }
}

/// A registered source. The top of this file explains both ways to wait for it.
pub struct Entry {
    readiness: Readiness,
    /// The waiters. Each node records the bits that it waits for.
    waiters: WaitQueue<Bits>,
    /// Polled operations, by direction. They belong to the holder of the queue's lock.
    polled: UnsafeCell<[Polled; 2]>,
    /// The entry's index among those of its driver.
    pub(crate) index: usize,
    /// The number of sources that have had this entry: see `entries.rs`.
    pub(crate) generation: AtomicUsize,
}

// SAFETY: the only field that is neither is `polled`, which is accessed only under the
// queue's lock, and wakers are `Send`.
unsafe impl Send for Entry {}
// SAFETY: through a shared reference, too, `polled` is accessed only under the queue's
// lock.
unsafe impl Sync for Entry {}

impl Entry {
    pub(crate) fn new(index: usize) -> Self {
        Self {
            readiness: Readiness::new(),
            waiters: WaitQueue::new(),
            polled: UnsafeCell::new([Polled::NONE, Polled::NONE]),
            index,
            generation: AtomicUsize::new(0),
        }
    }

    /// Prepares the entry for a source. It has no waiters: the source before has been
    /// dropped.
    pub(crate) fn reuse(&self) {
        self.readiness.reset();
    }

    /// Runs `with` on all waiters, under the lock. The rules of [`WaitQueue::locked`] hold.
    fn locked<R>(&self, with: impl FnOnce(&mut List<Bits>, &mut [Polled; 2]) -> R) -> R {
        self.waiters.locked(|list| {
            // SAFETY: this thread holds the lock, and the reference ends before the lock is
            // released.
            with(list, unsafe { &mut *self.polled.get() })
        })
    }

    /// Returns the readiness among `mask`.
    #[inline]
    pub fn ready(&self, mask: Bits) -> Event {
        self.readiness.get(mask)
    }

    /// Clears the event's bits, unless there was another event since.
    #[inline]
    pub fn clear(&self, event: Event) {
        self.readiness.clear(event);
    }

    /// Sets bits that are assumed to be ready, until an operation finds otherwise. There
    /// must be no waiters yet.
    pub fn suppose(&self, bits: Bits) {
        self.readiness.suppose(bits);
    }

    /// Handles bits that the system has reported for the source of this generation: the
    /// wakers of waiters for them go to `wakers`. Returns `true` if the entry still has that
    /// source.
    pub fn report(&self, generation: usize, bits: Bits, wakers: &mut Wakers) -> bool {
        self.locked(|list, polled| {
            let is_current = self.generation.load(Ordering::Relaxed) == generation;
            if is_current {
                self.readiness.set(bits);
                take_waiters(list, polled, bits, wakers);
            }
            is_current
        })
    }

    /// Ends the generation: reports for it change nothing any more.
    pub(crate) fn end_generation(&self) {
        self.locked(|_, _| self.generation.fetch_add(1, Ordering::Relaxed));
    }

    /// Ends the entry: there will be no more events.
    pub fn shut_down(&self, wakers: &mut Wakers) {
        self.readiness.shut_down();
        self.locked(|list, polled| take_waiters(list, polled, bits::ALL, wakers));
    }

    /// Waits in one direction. Only the waker of the last call is woken.
    #[inline]
    pub fn poll_ready(
        &self,
        context: &mut Context<'_>,
        direction: Direction,
        descriptor: Descriptor,
    ) -> Poll<Event> {
        let event = self.ready(direction.mask());
        if event.is_ready() {
            Poll::Ready(event)
        } else {
            self.poll_wait(context.waker(), direction, descriptor)
        }
    }

    fn poll_wait(
        &self,
        waker: &Waker,
        direction: Direction,
        descriptor: Descriptor,
    ) -> Poll<Event> {
        // Wakers are cloned and dropped without holding the lock.
        let same = self.locked(|_, polled| {
            let known = polled[direction as usize].waker.as_ref();
            known.is_some_and(|known| known.will_wake(waker))
        });
        let mut changed = (!same).then(|| waker.clone());
        let event = self.locked(|_, polled| {
            let cell = &mut polled[direction as usize];
            if changed.is_some() {
                std::mem::swap(&mut cell.waker, &mut changed);
            }
            let event = self.ready(direction.mask());
            if !event.is_ready() {
                let kind = kind(direction.mask());
                cell.record.begin_polled(kind, descriptor, waker);
            }
            event
        });
        drop(changed);
        if event.is_ready() {
            Poll::Ready(event)
        } else {
            Poll::Pending
        }
    }

    /// Returns a future that waits for any of these bits.
    pub fn wait(&self, mask: Bits, descriptor: Descriptor) -> Wait<'_> {
        Wait {
            entry: self,
            node: Node::new(mask),
            is_linked: false,
            descriptor,
            record: observe::Wait::new(Caller::UNKNOWN),
        }
    }

    /// Removes the records of polled operations. The descriptor is about to be closed.
    pub fn end_records(&self) {
        if observe::IS_ENABLED {
            self.locked(|_, polled| polled.iter_mut().for_each(|cell| cell.record.end()));
        }
    }

    /// Drops the wakers of polled operations. The source is about to be dropped.
    pub fn forget_polled(&self) {
        let forgotten = self.locked(|_, polled| polled.each_mut().map(Polled::take));
        drop(forgotten);
    }
}

/// Returns the kind of a wait for these bits.
fn kind(mask: Bits) -> WaitKind {
    WaitKind::new(if mask & bits::WRITABLE == 0 {
        Kind::Readable
    } else {
        Kind::Writable
    })
}

/// Takes out the wakers of those that wait for any of these bits. The caller holds the lock.
fn take_waiters(list: &mut List<Bits>, polled: &mut [Polled; 2], bits: Bits, wakers: &mut Wakers) {
    for direction in [Direction::Read, Direction::Write] {
        if direction.mask() & bits != 0 {
            wakers.extend(polled[direction as usize].take());
        }
    }
    let mut next: *const Node<Bits> = list.first().map_or(ptr::null(), |first| first);
    while !next.is_null() {
        let node = next;
        // SAFETY: the node is linked, and this thread holds the lock.
        let wanted = unsafe { (*node).request };
        // SAFETY: the node is still linked, and this thread holds the lock.
        next = unsafe { (*node).next() };
        if wanted & bits != 0 {
            // SAFETY: `node` is still linked, and this thread holds the lock. `next` is
            // another node, so it stays valid.
            wakers.push_wake(unsafe { list.choose(node) });
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("readiness", &self.readiness)
            .field("waiters", &self.waiters.len())
            .finish_non_exhaustive()
    }
}

/// Waits until an [`Entry`] is ready. Dropping it loses nothing.
#[must_use = "futures do nothing unless they are awaited"]
pub struct Wait<'a> {
    entry: &'a Entry,
    node: Node<Bits>,
    /// `true` if the node has been put into the queue; an event may have chosen it since.
    is_linked: bool,
    descriptor: Descriptor,
    record: observe::Wait,
}

impl Wait<'_> {
    /// Records that the task waits.
    fn pending(&mut self, waker: &Waker) -> Poll<Event> {
        let kind = kind(self.node.request);
        self.record.begin_ready(kind, self.descriptor, waker);
        Poll::Pending
    }
}

impl Future for Wait<'_> {
    type Output = Event;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Event> {
        // SAFETY: nothing is moved out.
        let this = unsafe { self.get_unchecked_mut() };
        let waiters = &this.entry.waiters;
        if this.is_linked && waiters.still_waits(&this.node, context.waker()) {
            return this.pending(context.waker());
        }
        this.is_linked = false;
        let event = this.entry.ready(this.node.request);
        if event.is_ready() {
            this.record.end();
            return Poll::Ready(event);
        }
        // SAFETY: the node is not linked: it never was, or it has been chosen.
        unsafe { this.node.arm(context.waker()) };
        let event = this.entry.locked(|list, _| {
            let event = this.entry.ready(this.node.request);
            if !event.is_ready() {
                // SAFETY: the future is pinned, and takes the node out when it is dropped.
                unsafe { list.push(&this.node) };
            }
            event
        });
        if !event.is_ready() {
            this.is_linked = true;
            return this.pending(context.waker());
        }
        // SAFETY: the node was not linked after all.
        unsafe { this.node.disarm() };
        this.record.end();
        Poll::Ready(event)
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if self.is_linked {
            self.entry.waiters.leave(&self.node);
        }
    }
}
