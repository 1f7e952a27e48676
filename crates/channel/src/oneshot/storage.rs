//! Where a cell lives, on the heap or in memory of the caller, and the steps in which an end
//! acts on it and leaves it. The protocol is in `core.rs`.

use std::fmt;
use std::task::Waker;

use blitz_io_futex::atomic::Ordering;
use blitz_io_futex::wake_one;

use super::core::{
    CLOSED, COMPLETE, Core, NEW, RECEIVER, RX_TASK, SENDER, Side, TASKS, THREADS, TX_TASK,
};

pub use heap::Heap;

/// One end's way to the cell.
///
/// # Safety
///
/// The cell is alive, and shared with no more than one other end, until both ends have left it.
pub unsafe trait Storage: Unpin {
    /// The type of the value.
    type Value;

    /// The cell. Not to be called after having left it.
    fn core(&self) -> &Core<Self::Value>;

    /// Both ends have left the cell.
    ///
    /// # Safety
    ///
    /// That is so, this is the first to notice, and nothing is left in the cell.
    unsafe fn release(&self);
}

// SAFETY: the cell is borrowed.
unsafe impl<T> Storage for &Core<T> {
    type Value = T;

    #[inline]
    fn core(&self) -> &Core<T> {
        self
    }

    #[inline]
    unsafe fn release(&self) {
        // The owner of the memory will find nothing to drop.
        self.state.store(NEW, Ordering::Relaxed);
    }
}

/// Wakers that have been taken out of a cell.
#[derive(Default)]
pub struct Tasks {
    /// Of the end that acted. It is dropped after the other has been woken.
    _own: Option<Waker>,
    other: Option<Waker>,
}

impl Tasks {
    /// Wakes the other end.
    pub fn wake_other(self) {
        if let Some(waker) = self.other {
            waker.wake();
        }
    }
}

/// Makes an event happen, and takes the wakers out. If the end `leaves`, it has
/// left by then. If the other's event came first: the state.
///
/// # Safety
///
/// If the event happens and the end leaves, this is the last that it does with
/// the cell.
pub unsafe fn happen<S: Storage>(
    storage: &S,
    mut seen: u32,
    event: u32,
    [mine, other]: [&Side; 2],
    leaves: bool,
) -> Result<Tasks, u32> {
    let word = &raw const storage.core().state;
    let is_gone = loop {
        if seen & (COMPLETE | CLOSED) != 0 {
            return Err(seen);
        }
        let is_gone = leaves && seen & TASKS == 0;
        let gone = if is_gone { mine.gone } else { 0 };
        let next = seen & !(TASKS | THREADS) | event | gone;
        match storage.core().advance(seen, next) {
            Ok(()) => break is_gone,
            Err(now) => seen = now,
        }
    };
    let mut tasks = Tasks::default();
    if seen & TASKS != 0 {
        let take = |side| {
            // SAFETY: we have cleared the bits, and have yet to leave.
            unsafe { storage.core().take_task(side, seen) }
        };
        tasks = Tasks {
            _own: take(mine),
            other: take(other),
        };
    }
    if leaves && !is_gone {
        // SAFETY: by this function's contract, the end does not use the cell after this.
        unsafe { leave(storage, [mine, other]) };
    }
    if seen & other.thread != 0 {
        wake_one(word);
    }
    Ok(tasks)
}

/// Says that an end has left, and frees the cell if the other had left before.
///
/// # Safety
///
/// This is the last that the end does with the cell.
unsafe fn leave<S: Storage>(storage: &S, [mine, other]: [&Side; 2]) {
    let before = storage.core().state.fetch_add(mine.gone, Ordering::AcqRel);
    if before & other.gone != 0 {
        // SAFETY: both have left, and of two additions, one comes second.
        unsafe { storage.release() };
    }
}

/// Leaves a cell whose state was `seen` a moment ago.
///
/// # Safety
///
/// As [`leave`].
#[inline]
pub unsafe fn leave_after<S: Storage>(storage: &S, seen: u32, [mine, other]: [&Side; 2]) {
    if seen & other.gone != 0 {
        // SAFETY: the other has left, and now we do.
        unsafe { storage.release() };
    } else {
        // SAFETY: by this function's contract, the end does not use the cell after this.
        unsafe { leave(storage, [mine, other]) };
    }
}

/// The sender acts; the receiver is the other end.
pub const FROM_SENDER: [&Side; 2] = [&SENDER, &RECEIVER];
/// The receiver acts.
pub const FROM_RECEIVER: [&Side; 2] = [&RECEIVER, &SENDER];

/// The visible state of a cell, for `Debug`.
#[derive(Debug)]
#[allow(dead_code, reason = "they are shown")]
struct Inner {
    state: State,
}

#[derive(Debug)]
#[allow(dead_code, reason = "they are shown")]
struct State {
    is_complete: bool,
    is_closed: bool,
    is_rx_task_set: bool,
    is_tx_task_set: bool,
}

/// Shows an end under this name.
pub fn show(f: &mut fmt::Formatter<'_>, name: &str, storage: Option<&impl Storage>) -> fmt::Result {
    let inner = storage.map(|storage| {
        let seen = storage.core().state();
        let is_set = |bit| seen & bit != 0;
        let state = State {
            is_complete: is_set(COMPLETE),
            is_closed: is_set(CLOSED),
            is_rx_task_set: is_set(RX_TASK),
            is_tx_task_set: is_set(TX_TASK),
        };
        Inner { state }
    });
    f.debug_struct(name).field("inner", &inner).finish()
}

#[cfg(not(loom))]
mod heap {
    use std::ptr::NonNull;

    use super::{Core, Storage};
    use crate::recycle;

    /// A cell in a recycled block.
    pub struct Heap<T>(NonNull<Core<T>>);

    // SAFETY: as a shared reference to the cell.
    unsafe impl<T: Send> Send for Heap<T> {}
    // SAFETY: as a shared reference to the cell, which is `Sync` if `T` is `Send`.
    unsafe impl<T: Send> Sync for Heap<T> {}

    impl<T> Heap<T> {
        /// A new cell, for two ends.
        #[inline]
        pub fn new() -> (Self, Self) {
            let core = recycle::allocate();
            // SAFETY: the block is ours, and made for a cell.
            unsafe { Core::begin(core) };
            (Self(core), Self(core))
        }
    }

    // SAFETY: only `release` frees the block.
    unsafe impl<T> Storage for Heap<T> {
        type Value = T;

        #[inline]
        fn core(&self) -> &Core<T> {
            // SAFETY: the cell is alive until this end has left it.
            unsafe { self.0.as_ref() }
        }

        #[inline]
        unsafe fn release(&self) {
            // SAFETY: it is not used any more, and nothing in it needs a drop.
            unsafe { recycle::free(self.0) };
        }
    }
}

/// The same for the model checker: the memory stays as long as an end exists, and
/// a cell of the checker's finds uses after its release.
#[cfg(loom)]
mod heap {
    use std::mem::ManuallyDrop;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use loom::cell::UnsafeCell;

    use super::{Core, Storage};

    pub struct Heap<T>(Arc<Tracked<T>>);

    struct Tracked<T> {
        /// Given up by the release, as in a block.
        core: ManuallyDrop<Core<T>>,
        /// Read with each use, and written by the release, so that the model checker
        /// sees whether the one is ordered before the other.
        memory: UnsafeCell<()>,
        /// The checker does not know of this one, and nothing is ordered by it.
        is_released: AtomicBool,
    }

    // SAFETY: as a shared reference to the cell.
    unsafe impl<T: Send> Send for Heap<T> {}
    // SAFETY: as a shared reference to the cell, which is `Sync` if `T` is `Send`.
    unsafe impl<T: Send> Sync for Heap<T> {}

    impl<T> Heap<T> {
        pub fn new() -> (Self, Self) {
            let tracked = Arc::new(Tracked {
                core: ManuallyDrop::new(Core::new()),
                memory: UnsafeCell::new(()),
                is_released: AtomicBool::new(false),
            });
            (Self(tracked.clone()), Self(tracked))
        }
    }

    // SAFETY: the memory stays as long as an end exists.
    unsafe impl<T> Storage for Heap<T> {
        type Value = T;

        fn core(&self) -> &Core<T> {
            self.0.memory.with(|_| ());
            &self.0.core
        }

        unsafe fn release(&self) {
            self.0.memory.with_mut(|_| ());
            let before = self.0.is_released.swap(true, Ordering::Relaxed);
            assert!(!before, "released twice");
        }
    }

    impl<T> Drop for Tracked<T> {
        fn drop(&mut self) {
            let is_released = *self.is_released.get_mut();
            assert!(is_released || std::thread::panicking(), "leaked");
        }
    }
}
