//! One source that is registered: its readiness and who waits for it.
//!
//! There are two ways to wait. An operation that is polled (`poll_read`, `poll_write`)
//! leaves its waker in one of two cells, one for each [`Direction`]; the last caller's
//! counts. A future ([`Wait`]) has a node in the queue and says which bits it wants;
//! any number of them may wait. Both are guarded by the queue's lock.
//!
//! # No event is missed
//!
//! An event changes the readiness word and then takes the lock, to take out the wakers
//! and choose the nodes that it concerns. A waiter looks at the word; if it finds
//! nothing, it takes the lock, leaves its waker or links its node, and looks at the word
//! again before it lets go of the lock. Whichever of the two has the lock first: if the
//! waiter, then the event finds the waker; if the event, then the waiter's second look
//! sees the change, because that was made before the lock was taken.
//!
//! A clear (see `readiness.rs`) concerns nobody who waits: it takes away only what an
//! operation has found to be gone, and only if no event came meanwhile.
//!
//! An event wakes everybody whom it concerns, so a waiter that is dropped has nothing to
//! pass on. One that is woken and finds the bits cleared by another waits again.
//!
//! A shutdown does the same as an event, with a bit that everybody waits for and that is
//! never cleared. So whoever comes later does not begin to wait.
//!
//! # Lifetime
//!
//! The system knows an entry by its address. `entries.rs` says how long it lives.

use std::cell::UnsafeCell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, Waker};

use blitz_sync::internals::{List, Node, WaitQueue};

use crate::bits::{self, Bits, Direction};
use crate::mutant::{Mutant, active};
use crate::readiness::{Event, Readiness};
use crate::wakers::Wakers;

/// See the head of this file.
pub struct Entry {
    readiness: Readiness,
    /// Each node says which bits it wants.
    waiters: WaitQueue<Bits>,
    /// Those who poll, by direction. Belong to the holder of the queue's lock.
    polled: UnsafeCell<[Option<Waker>; 2]>,
    /// Where it stands in the driver's set. Written once, before it is shared.
    pub(crate) key: usize,
    /// Whether a model has let go of it; there its memory stays.
    #[cfg(loom)]
    pub(crate) released: blitz_futex::atomic::AtomicBool,
}

// SAFETY: the wakers are touched only under the lock.
unsafe impl Send for Entry {}
// SAFETY: as above.
unsafe impl Sync for Entry {}

impl Entry {
    pub(crate) fn new(key: usize) -> Self {
        Self {
            readiness: Readiness::new(),
            waiters: WaitQueue::new(),
            polled: UnsafeCell::new([None, None]),
            key,
            #[cfg(loom)]
            released: blitz_futex::atomic::AtomicBool::new(false),
        }
    }

    /// Runs `with` on all who wait, under the lock. The rules of
    /// [`WaitQueue::locked`] hold.
    fn locked<R>(&self, with: impl FnOnce(&mut List<Bits>, &mut [Option<Waker>; 2]) -> R) -> R {
        self.waiters.locked(|list| {
            // SAFETY: we hold the lock, and the reference ends before it is let go.
            with(list, unsafe { &mut *self.polled.get() })
        })
    }

    /// What it is ready for among `mask`.
    #[inline]
    pub fn ready(&self, mask: Bits) -> Event {
        self.readiness.get(mask)
    }

    /// The event's bits are no longer so, unless there was another since.
    #[inline]
    pub fn clear(&self, event: Event) {
        self.readiness.clear(event);
    }

    /// Supposes that it is ready, until an operation says otherwise. Nobody may wait yet.
    pub fn suppose(&self, bits: Bits) {
        self.readiness.suppose(bits);
    }

    /// The system has reported these bits: whom that concerns goes to `wakers`.
    pub fn report(&self, bits: Bits, wakers: &mut Wakers) {
        #[cfg(loom)]
        assert!(
            !self.released.load(blitz_futex::atomic::Ordering::Relaxed),
            "an event for an entry that is gone"
        );
        if active(Mutant::WakesFirst) {
            self.take_waiters(bits, wakers);
            self.readiness.set(bits);
            return;
        }
        self.readiness.set(bits);
        self.take_waiters(bits, wakers);
    }

    /// There will be no events any more.
    pub fn shut_down(&self, wakers: &mut Wakers) {
        self.readiness.shut_down();
        if !active(Mutant::ShutsDownSilently) {
            self.take_waiters(bits::ALL, wakers);
        }
    }

    fn take_waiters(&self, bits: Bits, wakers: &mut Wakers) {
        self.locked(|list, polled| {
            for direction in [Direction::Read, Direction::Write] {
                if direction.mask() & bits != 0 {
                    wakers.extend(polled[direction as usize].take());
                }
            }
            let mut next: *const Node<Bits> = list.first().map_or(ptr::null(), |first| first);
            while !next.is_null() {
                let node = next;
                // SAFETY: it is linked, and we hold the lock.
                let wanted = unsafe { (*node).request };
                // SAFETY: as above.
                next = unsafe { (*node).next() };
                if wanted & bits != 0 {
                    // SAFETY: as above. `next` is another node.
                    wakers.push_wake(unsafe { list.choose(node) });
                    if active(Mutant::WakesOne) {
                        break;
                    }
                }
            }
        });
    }

    /// Waits in one direction. The waker of the last call is the one that is woken.
    #[inline]
    pub fn poll_ready(&self, context: &mut Context<'_>, direction: Direction) -> Poll<Event> {
        let event = self.ready(direction.mask());
        match event.is_ready() {
            true => Poll::Ready(event),
            false => self.poll_wait(context.waker(), direction),
        }
    }

    fn poll_wait(&self, waker: &Waker, direction: Direction) -> Poll<Event> {
        // A waker is cloned and dropped without the lock.
        let same = self.locked(|_, polled| {
            let known = polled[direction as usize].as_ref();
            known.is_some_and(|known| known.will_wake(waker))
        });
        let mut waker = (!same).then(|| waker.clone());
        let event = self.locked(|_, polled| {
            if waker.is_some() {
                std::mem::swap(&mut polled[direction as usize], &mut waker);
            }
            self.ready_again(direction.mask())
        });
        drop(waker);
        match event.is_ready() {
            true => Poll::Ready(event),
            false => Poll::Pending,
        }
    }

    /// The second look, under the lock.
    fn ready_again(&self, mask: Bits) -> Event {
        match active(Mutant::JoinsBlindly) {
            true => self.ready(0),
            false => self.ready(mask),
        }
    }

    /// Waits for any of these bits.
    pub fn wait(&self, mask: Bits) -> Wait<'_> {
        Wait {
            entry: self,
            node: Node::new(mask),
            is_linked: false,
        }
    }

    /// Forgets those who poll. The source is about to be dropped.
    pub fn forget_polled(&self) {
        let forgotten = self.locked(|_, polled| polled.each_mut().map(Option::take));
        drop(forgotten);
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

/// Waits until an [`Entry`] is ready. Nothing is lost when it is dropped.
#[must_use = "futures do nothing unless they are awaited"]
pub struct Wait<'a> {
    entry: &'a Entry,
    node: Node<Bits>,
    /// The node has been put into the queue, and may have been chosen since.
    is_linked: bool,
}

impl Future for Wait<'_> {
    type Output = Event;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Event> {
        // SAFETY: nothing is moved out.
        let this = unsafe { self.get_unchecked_mut() };
        let waiters = &this.entry.waiters;
        if this.is_linked && waiters.still_waits(&this.node, context.waker()) {
            return Poll::Pending;
        }
        this.is_linked = false;
        let event = this.entry.ready(this.node.request);
        if event.is_ready() {
            return Poll::Ready(event);
        }
        // SAFETY: the node is not linked: it never was, or has been chosen.
        unsafe { this.node.arm(context.waker()) };
        let event = this.entry.locked(|list, _| {
            let event = this.entry.ready_again(this.node.request);
            if !event.is_ready() {
                // SAFETY: the future is pinned, and takes the node out when it is dropped.
                unsafe { list.push(&this.node) };
            }
            event
        });
        if !event.is_ready() {
            this.is_linked = true;
            return Poll::Pending;
        }
        // SAFETY: it was not linked after all.
        unsafe { this.node.disarm() };
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
