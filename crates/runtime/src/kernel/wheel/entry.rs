//! The entry of a timer in a wheel. The documentation of `mod.rs` has its states.

use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomPinned;
use std::mem::ManuallyDrop;
use std::ptr;
use std::task::Waker;

use blitz_io_core::Watched;
use blitz_io_futex::atomic::{AtomicU32, AtomicU64, Ordering};

use super::links::Links;

/// The entry is in no wheel, and nothing has happened.
pub const IDLE: u32 = 0;
/// The entry is in a wheel.
pub const LINKED: u32 = 1;
/// The entry is in no wheel any more: its tick has come.
pub const FIRED: u32 = 2;
/// The tick of the entry has come, and its owner has seen that; it has a waker again.
pub const SEEN: u32 = 3;
/// The entry is in no wheel any more: the runtime has ended.
pub const ENDED: u32 = 4;

/// One timer, as the wheel sees it.
#[repr(C)]
pub struct Entry {
    /// First, so that a pointer to the links is one to the entry.
    links: Links,
    /// The tick at which it is due. The owner writes it; while it is linked, only to put
    /// it off, unless it holds the lock.
    when: AtomicU64,
    /// The tick for which it was last put into a slot, or at which it fired.
    placed: Cell<u64>,
    state: AtomicU32,
    /// The waker of the task. The owner writes it, under the lock while the entry is
    /// linked. The thread that fires the entry reads it out, and writes nothing.
    waker: UnsafeCell<ManuallyDrop<Option<Waker>>>,
    /// Lets the model checker verify that only one thread uses the entry.
    user: Watched<()>,
    /// Other code has pointers to a linked entry, even while its future is borrowed
    /// exclusively.
    _pinned: PhantomPinned,
}

impl Entry {
    #[inline]
    pub fn new(when: u64) -> Self {
        Self {
            links: Links::new(),
            when: AtomicU64::new(when),
            placed: Cell::new(0),
            state: AtomicU32::new(IDLE),
            waker: UnsafeCell::new(ManuallyDrop::new(None)),
            user: Watched::new(()),
            _pinned: PhantomPinned,
        }
    }

    /// Called by a function that uses more of an entry than its state and its tick.
    #[inline(always)]
    pub fn touch(&self) {
        self.user.with_mut(|_| ());
    }

    /// Returns the state. A thread that sees that the entry has fired or ended sees all that was
    /// done to it, and no other thread uses it any more.
    #[inline]
    pub fn state(&self) -> u32 {
        self.state.load(Ordering::Acquire)
    }

    /// Sets the state. For its owner, which holds the lock or is the only user of the
    /// entry.
    #[inline]
    pub fn set_state(&self, state: u32) {
        self.state.store(state, Ordering::Relaxed);
    }

    /// Returns the tick at which its owner wants it to be due. For the owner, and the holder of the
    /// lock.
    #[inline]
    pub fn wanted(&self) -> u64 {
        self.when.load(Ordering::Relaxed)
    }

    /// Changes the tick at which it is due. For its owner.
    #[inline]
    pub fn set_wanted(&self, when: u64) {
        self.when.store(when, Ordering::Relaxed);
    }

    /// Returns the tick for which it was last put into a slot, or at which it fired. For the
    /// holder of the lock, and the owner when it has fired.
    #[inline]
    pub fn placed(&self) -> u64 {
        self.touch();
        self.placed.get()
    }

    /// Sets the tick for which it is put into a slot. For the holder of the lock.
    #[inline]
    pub fn placed_at(&self, tick: u64) {
        self.touch();
        self.placed.set(tick);
    }

    #[inline]
    pub fn links(&self) -> &Links {
        self.touch();
        &self.links
    }

    /// Marks it as fired or ended without having been linked. For its owner, which is the
    /// only user of the entry.
    #[inline]
    pub fn finish_at_once(&self, state: u32) {
        self.placed_at(self.wanted());
        self.set_state(state);
    }

    /// Marks an entry that has just been taken out of its wheel as `state`. Returns the waker,
    /// to be woken without the lock.
    ///
    /// # Safety
    ///
    /// It is alive, its state is `LINKED`, and the caller holds the lock of its wheel. It may
    /// have been freed when this returns.
    pub unsafe fn finish(entry: *const Self, state: u32) -> Option<Waker> {
        // SAFETY: it is alive until the store of `state` below, and does not move.
        let this = unsafe { &*entry };
        // SAFETY: a thread that changes the waker holds the lock. The waker is read out
        // once for each time that it was written: once the state says that it has been
        // taken, the owner overwrites it without dropping it.
        let waker = unsafe { ptr::read(this.waker.get()) };
        // The last access. The owner need not take the lock after it has seen this store.
        this.state.store(state, Ordering::Release);
        ManuallyDrop::into_inner(waker)
    }

    /// Returns `true` if this waker wakes the same task as the entry's waker, which may have been
    /// taken.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub unsafe fn will_wake(&self, waker: &Waker) -> bool {
        // SAFETY: only the owner writes it. The thread that fires the entry may have taken
        // and dropped the waker, but here its two words are only compared, and they are
        // still there.
        match unsafe { &**self.waker.get() } {
            Some(mine) => mine.will_wake(waker),
            None => false,
        }
    }

    /// Replaces the waker, and returns the former one.
    ///
    /// # Safety
    ///
    /// The caller is the owner. Either it holds the lock and has seen that the entry is
    /// linked, or it is in no wheel and has a waker, or none, that has not been taken.
    #[inline]
    pub unsafe fn replace_waker(&self, waker: Option<Waker>) -> Option<Waker> {
        self.touch();
        // SAFETY: no other thread uses it during this call.
        let slot = unsafe { &mut *self.waker.get() };
        ManuallyDrop::into_inner(std::mem::replace(slot, ManuallyDrop::new(waker)))
    }

    /// Stores the waker of an entry that is in no wheel. The former one is not dropped: it
    /// was taken when the entry fired, or there was none.
    ///
    /// # Safety
    ///
    /// The caller is the owner, and the entry is in no wheel.
    #[inline]
    pub unsafe fn set_waker(&self, waker: Option<Waker>) {
        self.touch();
        // SAFETY: no other thread uses it.
        unsafe { self.waker.get().write(ManuallyDrop::new(waker)) };
    }
}
