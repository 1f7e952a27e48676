//! A timer: the owner's side of an entry. The documentation of `mod.rs` has the states.

use std::cell::Cell;
use std::pin::Pin;
use std::ptr;
use std::task::{Poll, Waker};

use blitz_io_observe::trace;

use super::entry::{ENDED, Entry, FIRED, IDLE, LINKED, SEEN};
use super::{CLOSED, Wheel};

/// The runtime that a timer belongs to has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended;

/// The result of a poll: ready if the timer's tick has come, or if its runtime has ended.
pub type Polled = Poll<Result<(), Ended>>;

/// Gives the wheel of the worker that this thread is, if it is one.
pub trait OwnWheel: FnOnce() -> Option<&'static Wheel> {}

impl<F: FnOnce() -> Option<&'static Wheel>> OwnWheel for F {}

/// A timer. It registers when it is polled or reset for the first time.
///
/// An idle timer has no waker to drop.
pub struct Timer {
    entry: Entry,
    /// The wheel that it is in or was in last, and the one to link in unless the thread has
    /// its own.
    wheel: Cell<&'static Wheel>,
    /// The epoch of the runtime that it belongs to.
    epoch: u64,
}

// SAFETY: fields that are not atomic are used by the owner, which has the timer
// exclusively, or by the holder of the lock, as the documentation of `mod.rs` says.
unsafe impl Send for Timer {}
// SAFETY: `&Timer` gives access only to the state, and to the fields that belong to the
// owner in that state.
unsafe impl Sync for Timer {}

/// The outcome of linking an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Linked {
    /// It is linked.
    Yes,
    /// It is linked, and the worker is to be unparked.
    Unpark,
    /// It is due.
    Due,
    /// The runtime has ended.
    Ended,
}

impl Timer {
    /// Makes a timer for tick `when`, in no wheel yet; `wheel` is one of its runtime's.
    #[inline]
    pub fn new(when: u64, wheel: &'static Wheel) -> Self {
        Self {
            entry: Entry::new(when),
            wheel: Cell::new(wheel),
            epoch: wheel.epoch(),
        }
    }

    /// Returns the wheel that it is in, or was last.
    #[inline]
    pub fn wheel(&self) -> &'static Wheel {
        self.wheel.get()
    }

    /// Returns `true` if its tick has come, or its runtime has ended.
    #[inline]
    pub fn is_elapsed(&self) -> bool {
        match self.entry.state() {
            FIRED => !self.is_overtaken(),
            state => matches!(state, SEEN | ENDED),
        }
    }

    /// Returns `true` if it fired for an earlier tick while its owner postponed it.
    #[inline]
    pub fn is_overtaken(&self) -> bool {
        self.entry.state() == FIRED && self.entry.placed() < self.entry.wanted()
    }

    /// Returns `true` if its runtime has ended.
    #[inline]
    fn has_ended(&self) -> bool {
        self.epoch == CLOSED || self.wheel.get().epoch() != self.epoch
    }

    /// Polls for its tick. If the tick has not come, the waker will be woken then.
    ///
    /// # Errors
    ///
    /// If its runtime has ended.
    #[inline]
    pub fn poll(self: Pin<&mut Self>, waker: &Waker, own: impl OwnWheel) -> Polled {
        let this = self.into_ref().get_ref();
        match this.entry.state() {
            // SAFETY: we are the owner.
            LINKED if unsafe { this.entry.will_wake(waker) } => Poll::Pending,
            LINKED => this.change_waker(waker, own),
            IDLE => this.link_for(waker, own),
            _ => this.poll_finished(waker, own),
        }
    }

    /// Registers the timer, which is idle or has fired too early, for a waker.
    #[inline]
    fn link_for(&self, waker: &Waker, own: impl OwnWheel) -> Polled {
        // SAFETY: we are the owner, it is in no wheel, and its former waker was taken.
        unsafe { self.entry.set_waker(Some(waker.clone())) };
        self.link(own)
    }

    fn poll_finished(&self, waker: &Waker, own: impl OwnWheel) -> Polled {
        if self.is_overtaken() {
            return self.link_for(waker, own);
        }
        if self.entry.state() == ENDED || self.has_ended() {
            return Poll::Ready(Err(Ended));
        }
        if self.entry.state() == FIRED {
            // SAFETY: we are the owner, it is in no wheel, and its former waker was taken.
            unsafe { self.entry.set_waker(Some(waker.clone())) };
            self.entry.set_state(SEEN);
        // SAFETY: we are the owner.
        } else if !unsafe { self.entry.will_wake(waker) } {
            // SAFETY: we are the owner, and it is in no wheel.
            drop(unsafe { self.entry.replace_waker(Some(waker.clone())) });
        }
        Poll::Ready(Ok(()))
    }

    /// Replaces the waker of a linked entry.
    #[cold]
    fn change_waker(&self, waker: &Waker, own: impl OwnWheel) -> Polled {
        // The waker's code is called without the lock.
        let mut new = Some(waker.clone());
        let mut old = None;
        let is_linked = self.wheel.get().lock.locked(|| {
            let is_linked = self.entry.state() == LINKED;
            if is_linked {
                // SAFETY: we are the owner and hold the lock, and it is linked.
                old = unsafe { self.entry.replace_waker(new.take()) };
            }
            is_linked
        });
        drop(old);
        if is_linked {
            return Poll::Pending;
        }
        self.poll_finished(waker, own)
    }

    /// Chooses the wheel to link in. Returns whether it is that of this thread's worker.
    #[inline]
    fn choose_wheel(&self, own: impl OwnWheel) -> bool {
        match own() {
            Some(own) if own.epoch() == self.epoch => {
                self.wheel.set(own);
                true
            }
            _ => false,
        }
    }

    /// Links the entry, which is in no wheel and has its waker. If it is due, it keeps the
    /// waker.
    #[inline]
    fn link(&self, own: impl OwnWheel) -> Polled {
        let is_own = self.choose_wheel(own);
        let when = self.entry.wanted();
        let link = || self.link_locked(when, is_own);
        match self.wheel.get().lock.locked(link) {
            Linked::Yes => Poll::Pending,
            other => self.after_link(other),
        }
    }

    /// Under the lock. Links the entry, which is in no wheel.
    #[inline]
    fn link_locked(&self, when: u64, is_own: bool) -> Linked {
        let wheel = self.wheel.get();
        if self.has_ended() {
            return Linked::Ended;
        }
        if when <= wheel.present() {
            return Linked::Due;
        }
        self.entry.set_state(LINKED);
        // SAFETY: it is pinned, and unlinked before it is dropped.
        if unsafe { wheel.add(&self.entry, when, is_own) } {
            Linked::Unpark
        } else {
            Linked::Yes
        }
    }

    #[cold]
    fn after_link(&self, linked: Linked) -> Polled {
        match linked {
            Linked::Yes => Poll::Pending,
            Linked::Unpark => {
                self.wheel.get().call_worker();
                Poll::Pending
            }
            Linked::Due => {
                self.entry.finish_at_once(SEEN);
                Poll::Ready(Ok(()))
            }
            Linked::Ended => {
                let waker = self.take_waker();
                self.entry.finish_at_once(ENDED);
                drop(waker);
                Poll::Ready(Err(Ended))
            }
        }
    }

    /// Takes the waker, if any, of an entry that is in no wheel.
    fn take_waker(&self) -> Option<Waker> {
        // SAFETY: we are the owner, it is in no wheel, and the waker was not taken.
        unsafe { self.entry.replace_waker(None) }
    }

    /// Changes the tick, and registers the timer.
    #[inline]
    pub fn reset(self: Pin<&mut Self>, when: u64, own: impl OwnWheel) {
        let this = self.into_ref().get_ref();
        match this.entry.state() {
            LINKED if when >= this.entry.wanted() => this.entry.set_wanted(when),
            LINKED => this.bring_forward(when, own),
            ENDED => this.entry.set_wanted(when),
            _ => {
                this.entry.set_wanted(when);
                this.link_again(own);
            }
        }
    }

    /// Registers the timer, which is in no wheel, with the waker that it has, if any.
    fn link_again(&self, own: impl OwnWheel) {
        if self.entry.state() != SEEN {
            // SAFETY: we are the owner, it is in no wheel, and its former waker was taken.
            unsafe { self.entry.set_waker(None) };
        }
        self.fire_if_due(self.link(own));
    }

    /// Wakes the task of an entry that could not be linked because it is due.
    fn fire_if_due(&self, linked: Polled) {
        if linked == Poll::Ready(Ok(())) {
            let waker = self.take_waker();
            self.entry.set_state(FIRED);
            if let Some(waker) = waker {
                let _due = trace::Waking::new(trace::Source::Timer);
                waker.wake();
            }
        }
    }

    #[cold]
    fn bring_forward(&self, when: u64, own: impl OwnWheel) {
        let wheel = self.wheel.get();
        let own = own();
        let is_own = own.is_some_and(|own| ptr::eq(own, wheel));
        let linked = wheel.lock.locked(|| {
            self.entry.set_wanted(when);
            if self.entry.state() != LINKED {
                return None;
            }
            if when >= self.entry.placed() {
                return Some(Linked::Yes);
            }
            // SAFETY: it is linked, and we hold the lock.
            unsafe { wheel.slots.remove(&self.entry) };
            self.entry.set_state(SEEN);
            Some(self.link_locked(when, is_own))
        });
        match linked {
            Some(linked) => self.fire_if_due(self.after_link(linked)),
            // It has just fired.
            None if self.entry.state() == FIRED => self.link_again(|| own),
            None => {}
        }
    }

    /// Takes it out of its wheel, and changes its tick. It registers when it is polled
    /// next.
    #[inline]
    pub fn disarm(self: Pin<&mut Self>, when: u64) {
        let this = self.into_ref().get_ref();
        this.cancel();
        if this.entry.state() != ENDED {
            this.entry.set_state(IDLE);
        }
        this.entry.set_wanted(when);
    }

    #[inline]
    fn cancel(&self) {
        match self.entry.state() {
            LINKED => self.cancel_linked(),
            SEEN => drop(self.take_waker()),
            _ => {}
        }
    }

    #[inline]
    fn cancel_linked(&self) {
        let waker = self.wheel.get().lock.locked(|| self.take_out());
        drop(waker);
    }

    /// Under the lock. Makes a linked entry idle, and gives its waker back.
    #[inline]
    fn take_out(&self) -> Option<Waker> {
        if self.entry.state() != LINKED {
            return None;
        }
        self.entry.set_state(IDLE);
        // SAFETY: it is linked, we hold the lock, and we are the owner.
        unsafe {
            self.wheel.get().slots.remove(&self.entry);
            self.entry.replace_waker(None)
        }
    }
}

impl Drop for Timer {
    #[inline]
    fn drop(&mut self) {
        self.cancel();
        // From here on the memory may be used for something else.
        self.entry.touch();
    }
}
