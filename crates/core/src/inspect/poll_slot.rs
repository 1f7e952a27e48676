//! `PollSlot`: which task a thread polls, in words that the thread writes and any thread copies.
//!
//! # Protocol
//!
//! This is a seqlock with one writer, the thread that owns the slot:
//!
//! 1. The writer makes `sequence` odd, a release, then fences (release), and writes the other words.
//! 2. It stores the next even number, a release.
//! 3. If nothing is polled any more, it writes only `task`: 0, a release.
//!
//! A reader:
//!
//! 1. It loads `sequence`, an acquire, and gives up if the number is odd.
//! 2. It loads the other words, fences (acquire), and loads `sequence` again, an acquire. If the
//!    number is another, it gives up.
//!
//! # A copy is whole
//!
//! 1. By the acquire, a reader that finds the number `n` sees no word older than the change that
//!    ended with `n`.
//! 2. If the reader sees a word of a later change, the two fences make it see the odd number of that
//!    change, or a later number, in its second load. Numbers do not return, so it gives up. (The task
//!    alone would not do: a thread can poll the same task before and after another one.)
//! 3. A task of 0 means that nothing is polled, whatever the other words are.
//!
//! # No task is missed
//!
//! A task gets its record before its first poll ends. A reader that finds that the poll has ended has
//! read an odd number, a later number or a task of 0. Those are release stores after the record was
//! made, which the reader acquires. So it sees the record, if it reads the records afterwards.

use std::panic::Location;
use std::ptr;

use blitz_io_futex::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};

use crate::macros::const_unless_loom;

/// See the head of this file.
pub struct PollSlot {
    sequence: AtomicUsize,
    thread: AtomicU64,
    /// The word of the task, or 0.
    task: AtomicU64,
    location: AtomicPtr<Location<'static>>,
    /// Milliseconds of the monotonic clock, or 0 for an unknown time.
    since: AtomicU64,
}

/// What a thread polls.
#[derive(Clone, Copy)]
pub struct Poll {
    /// The word of the task, or 0.
    pub task: u64,
    /// The number of the thread.
    pub thread: u64,
    /// Where the task was spawned, unless it has a record.
    pub location: *const Location<'static>,
    /// Milliseconds of the monotonic clock, or 0 for an unknown time.
    pub since: u64,
}

impl PollSlot {
    const_unless_loom! {
        /// Creates the slot of no thread.
        #[must_use]
        pub const fn new() -> Self {
            Self {
                sequence: AtomicUsize::new(0),
                thread: AtomicU64::new(0),
                task: AtomicU64::new(0),
                location: AtomicPtr::new(ptr::null_mut()),
                since: AtomicU64::new(0),
            }
        }
    }

    /// Returns the number of the thread, for that thread.
    #[inline]
    pub fn thread(&self) -> u64 {
        self.thread.load(Ordering::Relaxed)
    }

    /// Gives the slot to a thread, which calls this, and the next two functions.
    pub fn set_thread(&self, number: u64) {
        self.change(|| self.thread.store(number, Ordering::Relaxed));
    }

    /// The thread polls a task from now on, whose word is not 0. Returns what it polled before.
    #[inline]
    pub fn begin(&self, task: u64, location: *const Location<'static>, since: u64) -> Option<Poll> {
        let is_within = self.task.load(Ordering::Relaxed) != 0;
        let before = is_within.then(|| self.words());
        self.set(task, location, since);
        before
    }

    /// The thread polls again what it polled before.
    #[inline]
    pub fn restore(&self, before: Option<&Poll>) {
        match before {
            None => self.task.store(0, Ordering::Release),
            Some(before) => self.set(before.task, before.location, before.since),
        }
    }

    #[inline]
    fn set(&self, task: u64, location: *const Location<'static>, since: u64) {
        self.change(|| {
            self.task.store(task, Ordering::Relaxed);
            self.location.store(location.cast_mut(), Ordering::Relaxed);
            self.since.store(since, Ordering::Relaxed);
        });
    }

    #[inline]
    fn change(&self, write: impl FnOnce()) {
        let number = self.sequence.load(Ordering::Relaxed);
        self.sequence
            .store(number.wrapping_add(1), Ordering::Release);
        fence(Ordering::Release);
        write();
        self.sequence
            .store(number.wrapping_add(2), Ordering::Release);
    }

    #[inline]
    fn words(&self) -> Poll {
        Poll {
            task: self.task.load(Ordering::Relaxed),
            thread: self.thread.load(Ordering::Relaxed),
            location: self.location.load(Ordering::Relaxed),
            since: self.since.load(Ordering::Relaxed),
        }
    }

    /// Copies what the thread polls. `None` if it polls nothing, or changes the words just now.
    pub fn read(&self) -> Option<Poll> {
        let number = self.sequence.load(Ordering::Acquire);
        let poll = self.words();
        fence(Ordering::Acquire);
        let is_whole = number % 2 == 0 && self.sequence.load(Ordering::Acquire) == number;
        (is_whole && poll.task != 0).then_some(poll)
    }
}
