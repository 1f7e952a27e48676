//! The inbox of a thread: tasks that are pinned to it and are ready.
//!
//! A worker's thread, the *owner*, has two queues. The first is its own, for tasks that it
//! makes ready itself. The second has a lock, for tasks that other threads make ready. Only the
//! owner takes tasks out, so no thief sees them.
//!
//! # States
//!
//! * `has_remote`: the second queue may have tasks that the owner has not looked for.
//! * `place`: where the owner sleeps, or [`AWAKE`].
//!
//! # No wake-up is lost
//!
//! 1. A pusher puts the task into the second queue, under the lock.
//! 2. It sets `has_remote`. If that was set already, it is done.
//! 3. It reads `place`, and wakes that place unless the owner is awake.
//! 4. The owner, before it sleeps, writes `place`.
//! 5. Then it reads `has_remote`, and does not sleep if that is set.
//! 6. An awake owner resets `has_remote`, and then takes all tasks of the second queue.
//!
//! Steps 2 and 4 are sequentially consistent read-modify-writes, and 3 and 5 reads of that
//! kind. So either the owner sees the flag in step 5, or the pusher sees the place in step 3.
//! The wake-up then reaches the owner, because the owner is alone at that place. A parked
//! worker has a word of its own, and no other worker joins the owner in a driver (`idle.rs`).
//!
//! A pusher that finds the flag set leaves the wake-up to the pusher that set it. The owner
//! has not come to step 6 since. If the owner has slept elsewhere in between, it has passed
//! step 5 with the flag set, and is awake.
//!
//! A pusher may read a place that the owner has left. The wake-up then ends another worker's
//! wait, which finds nothing and waits again.
//!
//! Step 6 comes in that order. A push between the reset and the look finds the flag unset or is
//! seen by the look; with the steps exchanged, a push between them would be overlooked.

use std::cell::{Cell, UnsafeCell};
use std::collections::VecDeque;

use blitz_io_core::Lock;
use blitz_io_core::fences::after_rmw;
use blitz_io_futex::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::idle::Place;

/// The owner does not sleep.
const AWAKE: usize = 0;
/// The owner sleeps on a word that is not a worker's.
const APART: usize = 1;
/// Two for each number: a parked worker, and a driver.
const FIRST_PLACE: usize = 2;

/// The place where an owner sleeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sleeps {
    /// The owner sleeps as a worker.
    At(Place),
    /// The owner does not sleep as a worker: it has no core, or the runtime ends.
    Apart,
}

impl Sleeps {
    fn encode(self) -> usize {
        match self {
            Self::Apart => APART,
            Self::At(Place::Parked(index)) => FIRST_PLACE + 2 * index,
            Self::At(Place::Driver(driver)) => FIRST_PLACE + 2 * driver + 1,
        }
    }

    fn decode(word: usize) -> Option<Self> {
        let number = word.checked_sub(FIRST_PLACE).map(|rest| rest / 2);
        match number {
            None if word == AWAKE => None,
            None => Some(Self::Apart),
            Some(index) if word % 2 == FIRST_PLACE % 2 => Some(Self::At(Place::Parked(index))),
            Some(driver) => Some(Self::At(Place::Driver(driver))),
        }
    }
}

/// A thread's inbox; see the module documentation.
pub struct Inbox<K> {
    has_remote: AtomicBool,
    place: AtomicUsize,
    remote: Lock<Vec<K>>,
    local: UnsafeCell<VecDeque<K>>,
    /// Number of tasks that are pinned to the owner and have not ended.
    tasks: Cell<usize>,
    /// The last task that the owner took was one of these.
    was_last: Cell<bool>,
}

// SAFETY: `local`, `tasks` and `was_last` are used by the owner only, as the functions for them
// demand. The rest is behind the lock, or atomic.
unsafe impl<K: Send> Sync for Inbox<K> {}

impl<K> Inbox<K> {
    /// Creates an empty inbox of an owner that is awake.
    pub fn new() -> Self {
        Self {
            has_remote: AtomicBool::new(false),
            place: AtomicUsize::new(AWAKE),
            remote: Lock::new(Vec::new()),
            local: UnsafeCell::new(VecDeque::new()),
            tasks: Cell::new(0),
            was_last: Cell::new(false),
        }
    }

    /// Adds a task that another thread has made ready. Returns where the owner has to be woken.
    #[must_use]
    pub fn push(&self, task: K) -> Option<Sleeps> {
        self.remote.lock().push(task);
        if self.has_remote.swap(true, Ordering::SeqCst) {
            return None;
        }
        after_rmw();
        Sleeps::decode(self.place.load(Ordering::SeqCst))
    }

    /// Records that the owner is about to sleep, or is awake again. Returns `true` if a task is ready.
    pub fn tell_place(&self, place: Option<Sleeps>) -> bool {
        self.place
            .swap(place.map_or(AWAKE, Sleeps::encode), Ordering::SeqCst);
        after_rmw();
        self.has_remote.load(Ordering::SeqCst)
    }

    /// Adds a task that the owner has made ready.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub unsafe fn push_local(&self, task: K) {
        // SAFETY: the caller is the owner, and the queue calls nothing that comes here.
        unsafe { (*self.local.get()).push_back(task) };
    }

    /// Returns the next task. `others`: other tasks of the owner are ready; then every second call
    /// leaves the turn to them.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub unsafe fn take(&self, others: impl FnOnce() -> bool) -> Option<K> {
        if self.has_remote.load(Ordering::Relaxed) {
            // SAFETY: the caller is the owner.
            unsafe { self.take_remote() };
        }
        // SAFETY: the caller is the owner.
        let local = unsafe { &mut *self.local.get() };
        if local.is_empty() || self.was_last.replace(false) && others() {
            return None;
        }
        self.was_last.set(true);
        local.pop_front()
    }

    /// # Safety
    ///
    /// The caller is the owner.
    #[cold]
    unsafe fn take_remote(&self) {
        self.has_remote.swap(false, Ordering::AcqRel);
        // SAFETY: the caller is the owner.
        let local = unsafe { &mut *self.local.get() };
        local.extend(self.remote.lock().drain(..));
    }

    /// Returns `true` if a task is ready.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub unsafe fn is_ready(&self) -> bool {
        // SAFETY: the caller is the owner.
        let local = unsafe { &*self.local.get() };
        !local.is_empty() || self.has_remote.load(Ordering::SeqCst)
    }

    /// Returns the number of ready tasks that the owner has made ready, or has taken over.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub unsafe fn queued(&self) -> usize {
        // SAFETY: the caller is the owner.
        unsafe { &*self.local.get() }.len()
    }

    /// Returns the number of tasks that are pinned to the owner, which is the caller.
    #[inline]
    pub fn tasks(&self) -> usize {
        self.tasks.get()
    }

    /// Counts one more task of the owner, or one less.
    #[inline]
    pub fn count(&self, change: isize) {
        self.tasks.set(self.tasks.get().wrapping_add_signed(change));
    }
}
