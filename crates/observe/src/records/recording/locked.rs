//! The points of an object for its location and the recorders, beside those for the holder in `object.rs`.

use std::sync::atomic::Ordering;

use super::lint::{self, Lock};
use super::switch::Recorder;
use super::{Acquirer, Caller, Kind, Object, Waiter, recorders, trace};

impl Object {
    /// Records where the current task or thread has taken this lock, and tells the recorders that it has it, and
    /// would have waited for it without a limit. `acquired` or its kin has recorded the holder. The lock was created at `made_at`.
    #[inline]
    pub fn locked(&self, kind: Kind, made_at: Caller, caller: Caller, by: Acquirer) {
        self.taken_at(caller);
        self.created_at(made_at);
        if recorders::is_any_on() {
            self.note_lock(kind, made_at, caller, by, true);
        }
    }

    /// Like [`locked`](Self::locked), but without a wait, or with one that has a deadline.
    #[inline]
    pub fn locked_at_once(&self, kind: Kind, made_at: Caller, caller: Caller, by: Acquirer) {
        self.taken_at(caller);
        self.created_at(made_at);
        if recorders::is_any_on() {
            self.note_lock(kind, made_at, caller, by, false);
        }
    }

    /// Records where the current task or thread has taken permits of this semaphore, and tells the recorder of
    /// `blitz trace` how many.
    #[inline]
    pub fn permits_taken(&self, count: usize, caller: Caller, by: Acquirer) {
        self.taken_at(caller);
        if recorders::traces() {
            self.note_permits(count, caller, by);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_permits(&self, count: usize, caller: Caller, by: Acquirer) {
        trace::permits_taken(by.waiter, self.block(), count, caller.location());
    }

    /// Records that permits come back, and tells the recorder of `blitz trace` that the current task or thread is about to give
    /// them back.
    #[inline]
    pub fn permits_returned(&self, count: usize) {
        self.forget_acquirer();
        if recorders::traces() {
            self.note_permits_back(count);
        }
    }

    /// The last acquirer is a reason of a wait only while none of the permits has come back since: it may have been its own.
    #[inline]
    fn forget_acquirer(&self) {
        let holder = &self.block().holder;
        if holder.load(Ordering::Relaxed) != 0 {
            holder.store(0, Ordering::Relaxed);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_permits_back(&self, count: usize) {
        trace::permits_returned(self.releaser(), self.block(), count);
    }

    #[cold]
    #[inline(never)]
    fn note_lock(&self, kind: Kind, made_at: Caller, caller: Caller, by: Acquirer, waits: bool) {
        let (waiter, block) = (by.waiter, self.block());
        // The environment has been asked.
        if Recorder::Trace.is_on() {
            trace::acquired(waiter, block, kind, caller.location());
        }
        if Recorder::Lint.is_on() {
            let lock = Lock::new(block, kind, made_at.location());
            lint::acquired(waiter, lock, caller.location(), waits);
        }
    }

    /// Tells the recorders that the current task or thread has forgotten permits of this semaphore.
    #[inline]
    pub fn forgot_permits(&self, count: usize, kind: Kind, made_at: Caller, caller: Caller) {
        if recorders::traces() {
            trace::permits_forgotten(Waiter::current(), self.block(), count);
        }
        if recorders::lints() {
            let semaphore = Lock::new(self.block(), kind, made_at.location());
            lint::forgot(Waiter::current(), semaphore, caller.location());
        }
    }

    /// Tells the recorders that the current task or thread is about to add permits to this semaphore.
    #[inline]
    pub fn added_permits(&self, count: usize, kind: Kind, made_at: Caller) {
        self.forget_acquirer();
        if recorders::traces() {
            trace::permits_added(Waiter::current(), self.block(), count);
        }
        if recorders::lints() {
            let semaphore = Lock::new(self.block(), kind, made_at.location());
            lint::refilled(semaphore, None);
        }
    }

    /// Tells the recorders that the current task or thread has taken permits of this semaphore.
    #[inline]
    pub fn took_permits(&self) {
        if recorders::lints() {
            lint::permits_taken(self.block());
        }
    }

    /// Tells the recorders that the current task or thread has sent a value to this channel, which was created at
    /// `made_at`.
    #[inline]
    pub fn sent(&self, made_at: Caller) {
        if recorders::lints() {
            lint::sent(self.block(), made_at.location());
        }
    }

    /// Returns the current task or thread; instead of a thread, the future of another runtime that has the object.
    fn releaser(&self) -> Waiter {
        let current = Waiter::current();
        let holder = Waiter::from_word(self.block().holder_word());
        let future = holder.filter(|holder| holder.is_future() && !current.is_task());
        future.unwrap_or(current)
    }

    /// Tells the recorders that the current task or thread is about to release the object.
    #[cold]
    #[inline(never)]
    pub(super) fn note_release(&self) {
        let (waiter, block) = (self.releaser(), self.block());
        if Recorder::Trace.is_on() {
            trace::released(waiter, block);
        }
        if Recorder::Lint.is_on() {
            lint::released(waiter, block);
        }
    }
}
