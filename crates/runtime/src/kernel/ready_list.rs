//! The ready list: any thread pushes to it, and its owner takes all of it at once.
//!
//! # States
//!
//! `head` is one of
//!
//! * [`EMPTY`]: nothing is ready, and there is no waiter;
//! * *waiting*: nothing is ready, and the owner's waker is to be woken. The rest
//!   of the word is the number of the wait, so that no two waits look the same;
//! * the latest of a stack of [`Link`]s;
//! * [`CLOSED`]: the owner was dropped.
//!
//! # Moves
//!
//! *Pushing* makes a link the head, in front of the stack. A pusher that finds *waiting*
//! takes the waker and wakes it; there is one wake for all links that are pushed until the
//! owner waits again. *Taking* swaps the whole stack for `EMPTY` and reverses it, so that
//! the link that was pushed first comes first.
//!
//! *The waker* is two words. The owner writes them before the head says *waiting*, and a
//! pusher that has seen that state reads them. Its exchange succeeds only if the same
//! wait is still going on. Then the words are those of that wait, for two reasons. The
//! owner wrote them before the state that the pusher saw. It writes others only after the
//! wait has ended, and this exchange ends the wait. If the exchange fails, the pusher
//! ignores the words. After its exchange the pusher does not touch the list any more, so
//! the owner may free the list once it holds all links that will be pushed.
//!
//! # No wake-up is lost
//!
//! The owner waits by an exchange of `EMPTY`. If a link comes before that, the
//! exchange fails, and the owner takes the link. If it comes after, its pusher finds
//! *waiting*, and wakes.
//!
//! # Sources
//!
//! Treiber's stack. It is only taken as a whole, so there is no ABA.

use std::cell::Cell;
use std::ptr;
use std::task::{RawWakerVTable, Waker};

use blitz_io_core::Watched;
use blitz_io_futex::atomic::{AtomicPtr, Ordering};

/// Nothing is ready, and there is no waiter.
const EMPTY: *mut Link = ptr::null_mut();
/// The bit of *waiting*; the bits above are the number of the wait.
const WAITING: usize = 1;
/// The owner was dropped.
const CLOSED: usize = 2;
/// One wait.
const WAIT: usize = 4;

/// The part of an element of the list that links it to the next one.
#[derive(Debug)]
#[repr(align(8))]
pub struct Link {
    /// The model checker verifies that only one thread uses it.
    next: Watched<*const Link>,
}

// SAFETY: the link is used by its pusher, then by its taker.
unsafe impl Send for Link {}
// SAFETY: its pusher and its taker never use the link at once, also through shared
// references.
unsafe impl Sync for Link {}

/// The ready list; see the module documentation.
pub struct ReadyList {
    head: AtomicPtr<Link>,
    waker_data: AtomicPtr<()>,
    waker_vtable: AtomicPtr<()>,
    /// Number of waits so far. Only the owner uses it.
    waits: Cell<usize>,
}

// SAFETY: `waits` is used by the owner alone, as the safety of its methods says.
unsafe impl Sync for ReadyList {}

/// The outcome of a push.
#[must_use]
pub enum Pushed {
    /// It is in the list.
    Done,
    /// It is in the list, and the caller is to wake this.
    Wake(Waker),
    /// The owner was dropped; the link was not used.
    Closed,
}

impl Link {
    /// A link that is in no list.
    #[allow(
        clippy::new_without_default,
        reason = "not part of the public interface"
    )]
    pub fn new() -> Self {
        Self {
            next: Watched::new(ptr::null()),
        }
    }

    /// Returns the next link of the list.
    ///
    /// # Safety
    ///
    /// The link is the caller's, in a list it has taken or made, or in none.
    #[inline]
    pub unsafe fn next(&self) -> *const Self {
        // SAFETY: the link is the caller's.
        self.next.with_mut(|next| unsafe { *next })
    }

    /// Sets the next link of the list.
    ///
    /// # Safety
    ///
    /// As [`next`](Link::next).
    #[inline]
    pub unsafe fn set_next(&self, next: *const Self) {
        // SAFETY: the link is the caller's.
        self.next.with_mut(|place| unsafe { *place = next });
    }
}

impl ReadyList {
    /// An empty list.
    #[allow(
        clippy::new_without_default,
        reason = "not part of the public interface"
    )]
    pub fn new() -> Self {
        Self {
            head: AtomicPtr::new(EMPTY),
            waker_data: AtomicPtr::new(ptr::null_mut()),
            waker_vtable: AtomicPtr::new(ptr::null_mut()),
            waits: Cell::new(0),
        }
    }

    /// Adds a link.
    ///
    /// # Safety
    ///
    /// The link is in no list, the caller's alone, and stays alive until it is taken.
    /// The list stays alive until the link is in it, or it says `Closed`.
    #[inline]
    pub unsafe fn push(&self, link: *const Link) -> Pushed {
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            let (next, waker) = match head.addr() {
                CLOSED => return Pushed::Closed,
                waiting if waiting & WAITING != 0 => (EMPTY, Some(self.waker_words())),
                _ => (head, None),
            };
            // SAFETY: the link is alive, in no list, and the caller's alone.
            unsafe { (*link).set_next(next) };
            let pushed = self.exchange(head, link.cast_mut(), Ordering::AcqRel);
            match (pushed, waker) {
                (Err(now), _) => head = now,
                // SAFETY: it is of the wait that has been ended by the exchange, and
                // so it is the caller's.
                (Ok(()), Some(words)) => return Pushed::Wake(unsafe { waker_of(words) }),
                (Ok(()), None) => return Pushed::Done,
            }
        }
    }

    /// Takes all links, in the order in which they were pushed.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub unsafe fn take(&self) -> *const Link {
        let head = self.head.load(Ordering::Relaxed);
        if head.is_null() || head.addr() & (WAITING | CLOSED) != 0 {
            return ptr::null();
        }
        // While there is a link, other threads only add to the stack.
        let stack = self.head.swap(EMPTY, Ordering::Acquire);
        // SAFETY: the stack is the caller's.
        unsafe { reversed(stack) }
    }

    /// Registers the waker to be woken at the next push. Returns `false`, and does not
    /// register it, if the list has a link already.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    pub unsafe fn wait(&self, waker: &Waker) -> bool {
        let head = self.head.load(Ordering::Acquire);
        // Dropped when the new one is in its place: a waker's drop may run any code.
        let mut _old = None;
        if head.addr() & WAITING != 0 {
            let (data, vtable) = self.waker_words();
            // Only compared: they may belong to another wait by now.
            let same = data.cast_const() == waker.data()
                && ptr::eq(vtable, ptr::from_ref(waker.vtable()).cast());
            if same {
                return true;
            }
            if self.exchange(head, EMPTY, Ordering::Acquire).is_err() {
                return false;
            }
            // SAFETY: it has not been taken.
            _old = Some(unsafe { waker_of((data, vtable)) });
        } else if !head.is_null() {
            return false;
        }
        self.begin_wait(waker.clone())
    }

    fn begin_wait(&self, waker: Waker) -> bool {
        let waits = self.waits.get().wrapping_add(WAIT);
        self.waits.set(waits);
        let words = (waker.data().cast_mut(), ptr::from_ref(waker.vtable()));
        self.waker_data.store(words.0, Ordering::Relaxed);
        self.waker_vtable
            .store(words.1.cast::<()>().cast_mut(), Ordering::Relaxed);
        let waiting = ptr::without_provenance_mut(waits | WAITING);
        let waits = self.exchange(EMPTY, waiting, Ordering::AcqRel).is_ok();
        if waits {
            // It is in the words now.
            std::mem::forget(waker);
        }
        waits
    }

    /// Refuses further links, and returns those in the list.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    pub unsafe fn close(&self) -> *const Link {
        let closed = ptr::without_provenance_mut(CLOSED);
        let head = self.head.swap(closed, Ordering::AcqRel);
        if head.addr() & WAITING != 0 {
            // SAFETY: it has not been taken.
            drop(unsafe { waker_of(self.waker_words()) });
            return ptr::null();
        }
        // SAFETY: the stack is the caller's.
        unsafe { reversed(head) }
    }

    #[inline]
    fn waker_words(&self) -> (*mut (), *mut ()) {
        (
            self.waker_data.load(Ordering::Relaxed),
            self.waker_vtable.load(Ordering::Relaxed),
        )
    }

    #[inline]
    fn exchange(&self, from: *mut Link, to: *mut Link, order: Ordering) -> Result<(), *mut Link> {
        self.head
            .compare_exchange(from, to, order, Ordering::Acquire)
            .map(|_| ())
    }
}

/// # Safety
///
/// The words are those of a waker, which is the caller's.
unsafe fn waker_of((data, vtable): (*mut (), *mut ())) -> Waker {
    // SAFETY: it came from a `&'static`.
    let vtable: &'static RawWakerVTable = unsafe { &*vtable.cast_const().cast() };
    // SAFETY: they belong together.
    unsafe { Waker::new(data, vtable) }
}

/// # Safety
///
/// The links are the caller's.
unsafe fn reversed(stack: *mut Link) -> *const Link {
    let (mut done, mut rest) = (ptr::null::<Link>(), stack.cast_const());
    while !rest.is_null() {
        // SAFETY: the links are the caller's.
        unsafe {
            let next = (*rest).next();
            (*rest).set_next(done);
            (done, rest) = (rest, next);
        }
    }
    done
}
