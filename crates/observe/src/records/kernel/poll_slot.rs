//! `PollSlot`: which task a thread polls, in words that the thread writes and any thread copies.
//!
//! # Protocol
//!
//! `current` is the word of a task while the thread polls it, else the word of the thread. Only the
//! thread that owns the slot writes. Each store is a release:
//!
//! 1. Before the first poll of a task it stores the task's `location`, and then the task in `first`.
//! 2. Before each poll it stores `since`, and then the task in `current`.
//! 3. After the poll it stores the word of the thread in `current`.
//! 4. If the slot gets another owner, that stores `thread`, and then the same word in `current`.
//!
//! A reader loads `current`, then `thread`, `since` and `first`, and then `location`. Then it loads all
//! but the location again, in the same order. Each load is an acquire. If a word has changed, the
//! reader gives up. The location counts if `first` is the task.
//!
//! A poll within a poll has another slot (`polled.rs`).
//!
//! # A copy is whole
//!
//! 1. By its first load, the reader sees no word older than the poll that it has found.
//! 2. If it sees the thread of a later owner, or the location or time of a later poll, its second load of
//!    `current` sees the end of the poll that it has found, or a later word.
//! 3. So if it finds the same task again, that is a later poll of this task. By that load, its second
//!    loads of the other words see none older than that poll. Times do not decrease, and threads do not
//!    return. So words that are the same before and after are right for that poll.
//! 4. A task has one first poll. If the reader sees the location of a later first poll, then by 3 its
//!    second load of `first` sees the task of that poll, or a later one.
//!
//! # No task is missed
//!
//! A task gets its record before its first poll ends. A reader that does not find the poll has read a
//! word that was stored after the poll's end. So it sees the record, if it reads the
//! records afterwards.

use std::panic::Location;
use std::ptr;

use blitz_io_futex::atomic::{AtomicPtr, AtomicU64, Ordering};

use blitz_io_futex::const_unless_loom;

/// The bit that is set in the word of a task, and clear in that of a thread.
pub const TASK: u64 = 1;
/// `current` of a slot that no thread owns: a task that does not exist.
pub const NOT_OWNED: u64 = TASK;

/// The poll that a thread is in; see the module documentation.
pub struct PollSlot {
    current: AtomicU64,
    /// The word of the thread.
    thread: AtomicU64,
    /// Nanoseconds of the monotonic clock, or 0 for an unknown time.
    since: AtomicU64,
    /// The word of the task that was polled here for the first time last, or 0.
    first: AtomicU64,
    /// The location at which that task was spawned.
    location: AtomicPtr<Location<'static>>,
}

/// A copy of the poll that a thread is in.
#[derive(Clone, Copy)]
pub struct Poll {
    /// The word of the task.
    pub task: u64,
    /// The word of the thread.
    pub thread: u64,
    /// The location at which the task was spawned, if this is its first poll; or null.
    pub location: *const Location<'static>,
    /// Nanoseconds of the monotonic clock, or 0 for an unknown time.
    pub since: u64,
}

impl PollSlot {
    const_unless_loom! {
        /// Creates the slot of no thread.
        #[must_use]
        pub const fn new() -> Self {
            Self {
                current: AtomicU64::new(NOT_OWNED),
                thread: AtomicU64::new(0),
                since: AtomicU64::new(0),
                first: AtomicU64::new(0),
                location: AtomicPtr::new(ptr::null_mut()),
            }
        }
    }

    /// Returns the word of the task that is polled, or else of the thread, for that thread.
    #[inline]
    pub fn current(&self) -> u64 {
        self.current.load(Ordering::Relaxed)
    }

    /// Returns the word of the thread, for that thread.
    #[inline]
    pub fn thread(&self) -> u64 {
        self.thread.load(Ordering::Relaxed)
    }

    /// Gives the slot to a thread, which calls this, and the next three functions.
    pub fn set_thread(&self, thread: u64) {
        self.thread.store(thread, Ordering::Release);
        self.current.store(thread, Ordering::Release);
    }

    /// Begins the thread's first poll of a task.
    #[inline]
    pub fn begin_first(&self, task: u64, location: *const Location<'static>, since: u64) {
        self.location.store(location.cast_mut(), Ordering::Release);
        self.first.store(task, Ordering::Release);
        self.begin(task, since);
    }

    /// Begins a poll of a task.
    #[inline]
    pub fn begin(&self, task: u64, since: u64) {
        self.since.store(since, Ordering::Release);
        self.current.store(task, Ordering::Release);
    }

    /// Ends the poll.
    #[inline]
    pub fn end(&self) {
        self.current.store(self.thread(), Ordering::Release);
    }

    /// Returns the words that a reader compares.
    fn words(&self) -> [u64; 3] {
        [&self.thread, &self.since, &self.first].map(|word| word.load(Ordering::Acquire))
    }

    /// Copies what the thread polls. Returns `None` if it polls nothing, or is changing the words.
    pub fn read(&self) -> Option<Poll> {
        let task = self.current.load(Ordering::Acquire);
        let words = self.words();
        let location = self.location.load(Ordering::Acquire);
        let is_whole = self.current.load(Ordering::Acquire) == task && self.words() == words;
        let is_task = task & TASK != 0 && task != NOT_OWNED;
        let [thread, since, first] = words;
        (is_whole && is_task).then_some(Poll {
            task,
            thread,
            location: if first == task { location } else { ptr::null() },
            since,
        })
    }
}
