//! A worker's own jobs: the worker adds and takes at the bottom, thieves take at the top.
//!
//! # The protocol
//!
//! A ring of pointers between two positions that only the holder of the biased lock
//! compares. The owner takes back what it has forked inside [`BiasedLock::lock`], which
//! costs two plain stores and no read-modify-write. A thief enters from outside, which
//! makes the system run a fence, and gives up if the owner is inside.
//!
//! *Forking* needs no lock: the owner writes the pointer at the bottom, then advances the
//! bottom (release). A thief that reads the bottom sees the pointers before it, and reads
//! none beyond it. The ring never overwrites a pointer that a thief may take, since a fork
//! into a full ring is refused; the top, which thieves move, only makes room.
//!
//! The lock also guards the *job in progress*: which foreign job the owner runs (its tag),
//! and how many of its own forks are older than that (its base). A thread that waits for
//! that job may take forks above the base, and none below. Those above are descendants of
//! the job, so a thread that holds a lock across `join` never runs unrelated work.
//!
//! `emptied` counts how often the owner took the last fork back. As long as neither it nor
//! the top changes, the oldest fork is the same one. That is how a thief knows a fork's
//! age.
//!
//! Owner and thieves use the ends as in the work-first scheduler of Cilk (Frigo, Leiserson
//! and Randall, "The Implementation of the Cilk-5 Multithreaded Language", 1998).

use std::ptr;

use blitz_io_core::BiasedLock;
use blitz_io_futex::atomic::Ordering::{Acquire, Relaxed, Release};
use blitz_io_futex::atomic::{AtomicPtr, AtomicUsize};

use crate::job_ref::{Header, JobRef};

/// Maximum number of outstanding forks of one thread. A `join` beyond that runs one closure after
/// the other; a tree of recursion gets this deep only if it degenerates to a list.
const CAPACITY: usize = if cfg!(loom) { 4 } else { 4096 };

pub struct Deque {
    lock: BiasedLock,
    top: AtomicUsize,
    bottom: AtomicUsize,
    emptied: AtomicUsize,
    tag: AtomicUsize,
    base: AtomicUsize,
    ring: Box<[AtomicPtr<Header>; CAPACITY]>,
}

fn ring() -> Box<[AtomicPtr<Header>; CAPACITY]> {
    let ring: Box<[_]> = (0..CAPACITY)
        .map(|_| AtomicPtr::new(ptr::null_mut()))
        .collect();
    ring.try_into().expect("the length is right")
}

/// A thief's view of a deque's oldest fork.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sight {
    top: usize,
    emptied: usize,
}

/// The owner's state before it began a foreign job.
pub struct InProgress {
    tag: usize,
    base: usize,
}

impl Deque {
    pub fn new() -> Self {
        Self {
            lock: BiasedLock::new(),
            top: AtomicUsize::new(0),
            bottom: AtomicUsize::new(0),
            emptied: AtomicUsize::new(0),
            tag: AtomicUsize::new(0),
            base: AtomicUsize::new(0),
            ring: ring(),
        }
    }

    fn place(&self, position: usize) -> &AtomicPtr<Header> {
        &self.ring[position % CAPACITY]
    }

    /// Adds a job at the bottom and returns its position, or `None` if the ring is full.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline(always)]
    pub unsafe fn push(&self, job: JobRef) -> Option<usize> {
        let bottom = self.bottom.load(Relaxed);
        // Acquire: a thief has finished reading the pointer that is overwritten now.
        if bottom.wrapping_sub(self.top.load(Acquire)) >= CAPACITY {
            return None;
        }
        self.place(bottom).store(job.as_ptr().cast_mut(), Relaxed);
        self.bottom.store(bottom.wrapping_add(1), Release);
        Some(bottom)
    }

    /// Takes back the job at `position` if it is the last one.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline(always)]
    pub unsafe fn take_back(&self, position: usize) -> bool {
        if self.bottom.load(Relaxed) != position.wrapping_add(1) {
            return false;
        }
        // SAFETY: by this function's contract, the caller is the owner. Nothing inside calls back.
        unsafe {
            self.lock.lock(|| {
                let top = self.top.load(Relaxed);
                let here = top != position.wrapping_add(1);
                if here {
                    self.shrink(top, position);
                }
                here
            })
        }
    }

    /// Removes the last job, which is at `last`. The lock is held.
    #[inline(always)]
    fn shrink(&self, top: usize, last: usize) {
        self.bottom.store(last, Relaxed);
        if last == top {
            self.emptied
                .store(self.emptied.load(Relaxed).wrapping_add(1), Relaxed);
        }
    }

    /// Takes the job at the bottom.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline(always)]
    pub unsafe fn pop(&self) -> Option<JobRef> {
        // SAFETY: by this function's contract, the caller is the owner. Nothing inside calls back.
        unsafe {
            self.lock.lock(|| {
                let (top, bottom) = (self.top.load(Relaxed), self.bottom.load(Relaxed));
                if top == bottom {
                    return None;
                }
                let last = bottom.wrapping_sub(1);
                let job = self.place(last).load(Relaxed);
                self.shrink(top, last);
                Some(JobRef::from_ptr(job))
            })
        }
    }

    /// Takes the job at the top, as the owner.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    pub unsafe fn pop_oldest(&self) -> Option<JobRef> {
        // SAFETY: by this function's contract, the caller is the owner. Nothing inside calls back.
        unsafe { self.lock.lock(|| self.take_top()) }
    }

    /// Returns the position at which the next job will be added.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    pub unsafe fn bottom(&self) -> usize {
        self.bottom.load(Relaxed)
    }

    fn take_top(&self) -> Option<JobRef> {
        let (top, bottom) = (self.top.load(Relaxed), self.bottom.load(Acquire));
        if top == bottom {
            return None;
        }
        let job = self.place(top).load(Relaxed);
        self.top.store(top.wrapping_add(1), Release);
        // SAFETY: the pointer came from `push`.
        Some(unsafe { JobRef::from_ptr(job) })
    }

    /// Returns `true` if there are at least `n` jobs, as the owner sees it.
    #[inline(always)]
    pub fn has(&self, n: usize) -> bool {
        self.bottom
            .load(Relaxed)
            .wrapping_sub(self.top.load(Relaxed))
            >= n
    }

    /// Returns `true` if the deque looks empty. Any thread may call it.
    pub fn looks_empty(&self) -> bool {
        self.top.load(Relaxed) == self.bottom.load(Relaxed)
    }

    /// Returns a thief's view of the oldest job, if there seems to be one.
    pub fn sight(&self) -> Option<Sight> {
        let top = self.top.load(Relaxed);
        (top != self.bottom.load(Relaxed)).then(|| Sight {
            top,
            emptied: self.emptied.load(Relaxed),
        })
    }

    /// Takes the oldest job, from another thread, unless the owner is inside the lock. With
    /// a `tag`, takes only a job that descends from the foreign job of that tag.
    pub fn steal(&self, tag: Option<usize>) -> Option<JobRef> {
        self.lock
            .try_lock_remote(|| {
                if let Some(tag) = tag {
                    let above = self.top.load(Relaxed).wrapping_sub(self.base.load(Relaxed));
                    let older = (above as isize) < 0;
                    if self.tag.load(Relaxed) != tag || older {
                        return None;
                    }
                }
                self.take_top()
            })
            .flatten()
    }

    /// Returns the tag of the foreign job that the owner runs, as other threads see it.
    pub fn tag(&self) -> usize {
        self.tag.load(Relaxed)
    }

    /// Returns `true` if there seems to be a fork that descends from the foreign job `tag`.
    pub fn has_descendant_of(&self, tag: usize) -> bool {
        let top = self.top.load(Relaxed);
        self.tag.load(Relaxed) == tag
            && top != self.bottom.load(Relaxed)
            && (top.wrapping_sub(self.base.load(Relaxed)) as isize) >= 0
    }

    /// Begins a foreign job.
    ///
    /// # Safety
    ///
    /// The caller is the owner, and passes the result to [`end`](Self::end).
    pub unsafe fn begin(&self, tag: usize) -> InProgress {
        // SAFETY: by this function's contract, the caller is the owner. Nothing inside calls back.
        unsafe {
            self.lock.lock(|| {
                let before = InProgress {
                    tag: self.tag.load(Relaxed),
                    base: self.base.load(Relaxed),
                };
                self.tag.store(tag, Relaxed);
                self.base.store(self.bottom.load(Relaxed), Relaxed);
                before
            })
        }
    }

    /// Ends a foreign job.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    pub unsafe fn end(&self, before: InProgress) {
        // SAFETY: by this function's contract, the caller is the owner. Nothing inside calls back.
        unsafe {
            self.lock.lock(|| {
                self.tag.store(before.tag, Relaxed);
                self.base.store(before.base, Relaxed);
            });
        }
    }
}
