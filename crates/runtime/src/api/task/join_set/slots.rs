//! Where a set keeps the handles of its tasks.
//!
//! A task that is complete wakes the waker that its join handle has left. For a
//! member of a set that is a pointer to its [`Slot`]; to wake it puts the slot into
//! the ready list. So an entry needs no allocation of its own, and no
//! counter: slots come from chunks, each as large as all before it.
//!
//! A slot is free, or it has a handle, or it is *left behind*. That is so if the set gave
//! up the handle when the task was complete already, or about to be, so that the task's
//! waker may still be used. The set frees such a slot when it finds it in the ready list.
//!
//! # The end
//!
//! The chunks must not be freed before the last task has used its waker. A set that is
//! dropped gives up all handles, and takes back the wakers that the tasks have not yet
//! taken for waking. Then it counts the slots that were left behind, and itself. It stores
//! that number, closes the list, and subtracts itself and the slots that were in the list.
//! A task that finds the list closed subtracts one; the subtraction that comes to zero
//! frees the chunks. Before the end of the set nothing is counted.

use std::cell::UnsafeCell;
use std::ptr::{self, NonNull};
use std::task::{RawWaker, RawWakerVTable, Waker};

use blitz_io_futex::atomic::{AtomicUsize, Ordering};

use crate::kernel::ready_list::{Link, Pushed, ReadyList};
use crate::kernel::task::{AbortHandle, JoinHandle};

/// Number of slots of the first chunk; `LARGEST` is the limit of the later ones.
const FIRST: usize = 4;
const LARGEST: usize = 1024;

/// The entry of one task.
#[repr(C)]
pub(super) struct Slot<T> {
    /// Links it to the next one that is ready, or free.
    link: Link,
    shared: *const Shared<T>,
    /// Used by the set alone.
    handle: UnsafeCell<Option<JoinHandle<T>>>,
}

/// The part of the set that its tasks refer to.
struct Shared<T> {
    ready: ReadyList,
    /// Number of users that are left after the set has been dropped.
    late: AtomicUsize,
    /// Used by the set alone, and by the last user, to free them.
    chunks: UnsafeCell<Vec<Box<[Slot<T>]>>>,
}

/// The handles of a set's tasks; see the module documentation.
pub(super) struct Slots<T> {
    shared: NonNull<Shared<T>>,
    /// The slots that are free.
    free: *const Link,
    /// The slots that were taken from the ready list and not given out yet.
    taken: *const Link,
    /// Number of slots that have handles.
    len: usize,
    /// Number of slots that were left behind and have not been seen since.
    left_behind: usize,
}

// SAFETY: a set owns handles, which may be sent; the rest is made to be used by several
// threads.
unsafe impl<T: Send> Send for Slots<T> {}
// SAFETY: a shared reference only gives access to the number of tasks.
unsafe impl<T: Send> Sync for Slots<T> {}

impl<T> Slots<T> {
    pub(super) fn new() -> Self {
        let shared = Box::new(Shared {
            ready: ReadyList::new(),
            late: AtomicUsize::new(0),
            chunks: UnsafeCell::new(Vec::new()),
        });
        Self {
            shared: NonNull::from(Box::leak(shared)),
            free: ptr::null(),
            taken: ptr::null(),
            len: 0,
            left_behind: 0,
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn shared(&self) -> &Shared<T> {
        // SAFETY: it is freed at the end of the set or later.
        unsafe { self.shared.as_ref() }
    }

    /// Keeps a handle. Its task may be complete already.
    #[inline]
    pub(super) fn insert(&mut self, handle: JoinHandle<T>) -> AbortHandle {
        if self.free.is_null() {
            self.add_chunk();
        }
        let slot = self.free.cast::<Slot<T>>();
        // SAFETY: free slots are the set's.
        unsafe {
            self.free = (*slot).link.next();
            let handle = (*(*slot).handle.get()).insert(handle);
            self.len += 1;
            handle.set_join_waker(&waker(slot))
        }
    }

    #[cold]
    fn add_chunk(&mut self) {
        // SAFETY: the chunks are the set's, and their slots do not move.
        let chunks = unsafe { &mut *self.shared().chunks.get() };
        let slots: usize = chunks.iter().map(|chunk| chunk.len()).sum();
        let new = (0..slots.clamp(FIRST, LARGEST)).map(|_| Slot {
            link: Link::new(),
            shared: self.shared.as_ptr(),
            handle: UnsafeCell::new(None),
        });
        chunks.push(new.collect());
        for slot in chunks.last().into_iter().flatten().rev() {
            // SAFETY: the slot is new.
            unsafe { self.free(slot) };
        }
    }

    /// Puts a slot into the list of those that are free.
    ///
    /// # Safety
    ///
    /// It is the set's, and nothing refers to it.
    #[inline]
    unsafe fn free(&mut self, slot: &Slot<T>) {
        // SAFETY: the slot is the set's, and nothing refers to it.
        unsafe { slot.link.set_next(self.free) };
        self.free = ptr::from_ref(slot).cast();
    }

    /// Takes out the handle of a task that is complete.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<JoinHandle<T>> {
        loop {
            if self.taken.is_null() {
                // SAFETY: the set is the owner.
                self.taken = unsafe { self.shared().ready.take() };
            }
            match self.pop_taken()? {
                Some(handle) => return Some(handle),
                None => self.left_behind -= 1,
            }
        }
    }

    /// Frees the first of the slots that were taken. Returns its handle, or none if it was
    /// left behind.
    #[inline]
    fn pop_taken(&mut self) -> Option<Option<JoinHandle<T>>> {
        // SAFETY: a taken slot is the set's, and its waker has been used.
        let slot = unsafe { self.taken.cast::<Slot<T>>().as_ref()? };
        // SAFETY: the slot is the set's, and its waker has been used, so nothing refers
        // to it.
        unsafe {
            self.taken = slot.link.next();
            self.free(slot);
        }
        // SAFETY: only the set uses the handle.
        let handle = unsafe { (*slot.handle.get()).take() };
        self.len -= usize::from(handle.is_some());
        Some(handle)
    }

    /// Registers the waker to be woken when a task is complete. `false` if one is already.
    #[inline]
    pub(super) fn wait(&mut self, waker: &Waker) -> bool {
        // SAFETY: the set is the owner.
        self.taken.is_null() && unsafe { self.shared().ready.wait(waker) }
    }

    /// Calls `with` with each handle.
    pub(super) fn for_each(&mut self, mut with: impl FnMut(&JoinHandle<T>)) {
        // SAFETY: the chunks and the handles are the set's.
        let chunks = unsafe { &*self.shared().chunks.get() };
        for slot in chunks.iter().flatten() {
            // SAFETY: only the set uses the handle, and `with` gets it as a shared
            // reference.
            if let Some(handle) = unsafe { &*slot.handle.get() } {
                with(handle);
            }
        }
    }

    /// Drops all handles.
    pub(super) fn detach(&mut self) {
        while let Some(handle) = self.pop_taken() {
            self.left_behind -= usize::from(handle.is_none());
        }
        // SAFETY: the chunks are the set's, and stay as they are.
        let chunks = unsafe { &*self.shared.as_ref().chunks.get() };
        for slot in chunks.iter().flatten() {
            // SAFETY: the handles are the set's.
            let Some(mut handle) = (unsafe { (*slot.handle.get()).take() }) else {
                continue;
            };
            self.len -= 1;
            if handle.take_back_waker() {
                // SAFETY: nothing refers to it any more.
                unsafe { self.free(slot) };
            } else {
                self.left_behind += 1;
            }
        }
    }
}

impl<T> Drop for Slots<T> {
    fn drop(&mut self) {
        self.detach();
        let shared = self.shared();
        shared.late.store(self.left_behind + 1, Ordering::Relaxed);
        // SAFETY: the set is the owner.
        let mut ready = unsafe { shared.ready.close() };
        let mut came = 1;
        while !ready.is_null() {
            came += 1;
            // SAFETY: taken links are the set's.
            ready = unsafe { (*ready).next() };
        }
        // SAFETY: these are counted, and will not use it any more.
        unsafe { Shared::leave(self.shared.as_ptr(), came) };
    }
}

impl<T> Shared<T> {
    /// Removes `count` users. The last user frees it.
    ///
    /// # Safety
    ///
    /// They were counted, and the set has been dropped.
    unsafe fn leave(shared: *const Self, count: usize) {
        // SAFETY: the caller's users have not left yet, and keep it alive.
        if unsafe { (*shared).late.fetch_sub(count, Ordering::AcqRel) } == count {
            // SAFETY: nothing refers to it any more.
            drop(unsafe { Box::from_raw(shared.cast_mut()) });
        }
    }
}

/// Returns the waker of a slot. It is given to one task, which wakes it once or gives it back; no
/// other code sees it.
fn waker<T>(slot: *const Slot<T>) -> Waker {
    // SAFETY: the slot lives until the waker has been woken or taken back, on which the
    // functions rely. Any thread may call them.
    unsafe { Waker::from_raw(raw_waker_of::<T>(slot.cast())) }
}

/// # Safety
///
/// Making it is always sound; using it has the rules of [`waker`].
unsafe fn raw_waker_of<T>(slot: *const ()) -> RawWaker {
    RawWaker::new(
        slot,
        const { &RawWakerVTable::new(raw_waker_of::<T>, wake::<T>, wake::<T>, drop_nothing) },
    )
}

unsafe fn drop_nothing(_: *const ()) {}

/// Announces that the slot's task is complete.
///
/// # Safety
///
/// It is called once, as [`waker`] says.
unsafe fn wake<T>(slot: *const ()) {
    let slot = slot.cast::<Slot<T>>();
    // SAFETY: the slot lives until the set sees it in the list, or until this user leaves
    // a closed list.
    unsafe {
        let shared = (*slot).shared;
        match (*shared).ready.push(slot.cast()) {
            Pushed::Done => {}
            Pushed::Wake(waker) => waker.wake(),
            Pushed::Closed => Shared::leave(shared, 1),
        }
    }
}
