//! A wheel: the timers of one worker, under a lock of its own.
//!
//! # The entry of a timer
//!
//! Each timer has an entry, which is part of the future that waits and does not move once
//! it has been polled. It is used by its **owner**, the code that has the future, and by
//! the thread that **holds the lock** of the wheel that the entry is in. Its state:
//!
//! ```text
//!           link (lock)                 fire (lock)            poll
//!   IDLE ----------------->  LINKED  ----------------->  FIRED ----> SEEN
//!    ^                       |  |  ^                       |          |
//!    +-----------------------+  |  +-----------------------+----------+
//!           cancel (lock)       |          link (lock)
//!                               +--------------------->  ENDED
//!                                 end of the runtime (lock)
//! ```
//!
//! * `IDLE`, `FIRED`, `SEEN`, `ENDED`: the entry is in no wheel, and only its owner uses
//!   it. In `SEEN` it has a waker again, for an owner that resets the timer after it was
//!   ready and does not poll it again: Tokio's timers allow that.
//! * `LINKED`: the entry is in a ring of its wheel. Links and `placed` belong to
//!   the holder of the lock.
//!
//! The owner links and cancels, under the lock. The thread that turns the wheel fires,
//! under the lock: it unlinks the entry, takes the waker out, and last of all stores
//! `FIRED` with release. It calls the wakers after it has released the lock, in batches.
//! An owner that sees `FIRED` or `ENDED` (with acquire) needs no lock any more: no other
//! thread will use the entry. An owner that sees `LINKED` and wants to cancel takes the
//! lock and checks again. Linking an entry takes one compare-and-swap and a plain store
//! (see `ListLock`), and so does cancelling it. Dropping an entry that has fired takes
//! neither.
//!
//! # Without the lock
//!
//! The owner does two things to a linked entry without the lock:
//!
//! * **It polls the entry with the waker that the entry has.** Only the owner writes the
//!   waker; firing reads it out and writes nothing. So the owner can compare its words,
//!   without what they point to. If the entry fires at the same time, that same waker is
//!   called after this poll has begun, so the task is polled again.
//! * **It postpones the entry**, with a plain store to `when`. The entry stays in its
//!   slot until that comes up, and is then linked where it belongs. If it fires at the
//!   same time, for the earlier tick, the store may come too late. So the thread that
//!   fires leaves the tick that it fired for in `placed`. An owner that finds it before
//!   its own tick has been *overtaken*: the entry does not count as elapsed. The task has
//!   been woken for nothing, polls, and links the entry again. So no timer is early.
//!
//! Everything else takes the lock and checks the state again: to change the waker, or to
//! bring the tick forward. An entry whose tick is brought forward keeps its slot if the
//! slot does not come up too late.
//!
//! # No timer is lost
//!
//! A linked entry is in the ring for a tick that is not after `when`. The owner links it
//! by `when`, which only grows without the lock, and moves the entry if necessary when it
//! brings `when` forward. A slot that comes up is emptied. So it is enough that a thread
//! turns the wheel at the tick at which the first entry comes up.
//!
//! A worker calls [`Wheel::next_tick`] before it sleeps, which returns that tick, and
//! notes it in `promised` under the same lock. A thread that links an entry in another
//! worker's wheel compares with `promised` under the lock, and unparks the worker if the
//! entry is earlier. If it takes the lock before the worker asks, the answer includes its
//! entry. If it takes the lock afterwards, it sees the promise; unparking leaves a token,
//! so it does not matter whether the worker sleeps yet. A worker that links an entry in
//! its own wheel asks before it sleeps.
//!
//! `earliest` is the same tick for threads that only decide whether to turn the wheel: a
//! worker between two tasks, or the monitor. It is written under the lock and read
//! without it. It may be too early, if timers have been cancelled. It is never too late
//! for a thread that has linked the entry, or has synchronized with the thread that
//! linked it.
//!
//! # A timer that starts with a tick that has come
//!
//! A timer whose tick has come when it is linked is due at once. The wheel knows the present tick
//! from the last look of its worker, which notes it in `seen` without the lock, or from the last
//! turn. Both are ticks that have come, so a timer that is due at once is not early. The present of
//! the wheel does not change between two looks. So a timer for the moment at which it starts is linked
//! like any other, and a task that starts such timers in a loop waits for a tick with each.
//!
//! # The end of a runtime
//!
//! Timers may outlive their runtimes, so wheels are never freed. A wheel that is not needed
//! any more is kept for the next runtime (`wheels.rs`), and each runtime gives its wheels a
//! number that was never used before, the `epoch`. A timer knows its wheel and its epoch.
//! At the end of the runtime, under the lock, the epoch of the wheel is cleared, and then
//! all entries are unlinked and marked as `ENDED`. So an entry of an old epoch is never
//! linked: linking checks the epoch under the lock and finds that the runtime has ended. So
//! a timer needs no reference count.
//!
//! A timer that moves to another thread stays in its wheel as long as it is linked. When
//! it is linked the next time, it goes to the wheel of the worker that it is on, if
//! that is one of the same runtime (of the same epoch).

mod entry;
mod links;
mod slots;
#[cfg(test)]
mod tests;
mod timer;

use std::cell::{Cell, UnsafeCell};
use std::sync::Arc;

use blitz_io_core::{ListLock, Wake, Wakes};
use blitz_io_futex::atomic::{AtomicU64, Ordering};
use blitz_io_observe::trace;

use self::entry::{ENDED, Entry, FIRED};
use self::slots::Slots;
pub use self::timer::Timer;

/// Wakes the worker with this number, so that it asks for its next tick again.
pub type Unpark = Arc<dyn Fn(usize) + Send + Sync>;

/// The epoch of a wheel that belongs to no runtime.
pub const CLOSED: u64 = 0;

/// The timers of one worker; see the module documentation.
#[repr(align(128))]
pub struct Wheel {
    lock: ListLock,
    /// The epoch of the runtime that it belongs to.
    epoch: AtomicU64,
    /// The time at which the runtime began, in nanoseconds (see `ticks.rs`).
    origin: AtomicU64,
    /// The tick before which nothing is due.
    earliest: AtomicU64,
    /// The tick that had come when the worker looked last.
    seen: AtomicU64,
    /// The tick at which the worker will turn the wheel without being unparked.
    promised: Cell<u64>,
    /// How to wake the wheel's worker, and the worker's number.
    unpark: UnsafeCell<Option<(Unpark, usize)>>,
    slots: Slots,
}

// SAFETY: fields that are not atomic are used under the lock only.
unsafe impl Send for Wheel {}
// SAFETY: the lock also orders the uses through shared references.
unsafe impl Sync for Wheel {}

impl Wheel {
    /// Makes a wheel that is never moved or freed, and is still to be [opened](Self::open).
    #[must_use]
    pub fn leak() -> &'static Self {
        let wheel: &'static Self = Box::leak(Box::new(Self {
            lock: ListLock::new(),
            epoch: AtomicU64::new(CLOSED),
            origin: AtomicU64::new(0),
            earliest: AtomicU64::new(u64::MAX),
            seen: AtomicU64::new(0),
            promised: Cell::new(0),
            unpark: UnsafeCell::new(None),
            slots: Slots::new(),
        }));
        wheel.slots.close();
        wheel
    }

    /// Gives it to a runtime that began at `origin`. It must hold no timers, and no thread may use it.
    pub fn open(&self, epoch: u64, origin: u64) {
        self.lock.locked(|| {
            self.slots.restart();
            self.promised.set(0);
            self.earliest.store(u64::MAX, Ordering::Relaxed);
            self.seen.store(0, Ordering::Relaxed);
            self.origin.store(origin, Ordering::Relaxed);
            self.epoch.store(epoch, Ordering::Relaxed);
        });
    }

    /// Sets how to wake the worker that turns it, and the number of that worker.
    pub fn set_unpark(&self, unpark: Unpark, worker: usize) {
        let mut other = Some((unpark, worker));
        self.lock.locked(|| {
            // SAFETY: `unpark` is only used under the lock, which this thread holds.
            std::mem::swap(unsafe { &mut *self.unpark.get() }, &mut other);
        });
        // The former one is dropped without the lock.
        drop(other);
    }

    /// Returns the epoch of the runtime that it belongs to.
    #[inline]
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Returns the time at which the runtime began.
    #[inline]
    #[must_use]
    pub fn origin(&self) -> u64 {
        self.origin.load(Ordering::Relaxed)
    }

    /// Returns the tick before which nothing is due, as far as this thread knows; `u64::MAX` if
    /// there is no timer.
    #[inline]
    #[must_use]
    pub fn earliest(&self) -> u64 {
        self.earliest.load(Ordering::Relaxed)
    }

    /// Returns the tick until which the worker may sleep. A thread that adds an earlier timer
    /// unparks the worker.
    pub fn next_tick(&self) -> Option<u64> {
        let next = self.lock.locked(|| {
            let next = self.find_next();
            self.promised.set(next);
            next
        });
        (next != u64::MAX).then_some(next)
    }

    /// Finds the next tick, and stores it in `earliest`. Under the lock.
    fn find_next(&self) -> u64 {
        let next = self.slots.next_tick().unwrap_or(u64::MAX);
        self.earliest.store(next, Ordering::Relaxed);
        next
    }

    /// The worker looks at the clock, which shows the tick `now`. Timers that start from now on
    /// are due at once if their tick is not after that.
    #[inline]
    pub fn see(&self, now: u64) {
        self.seen.store(now, Ordering::Relaxed);
    }

    /// Under the lock. Returns the tick up to which timers are due.
    #[inline]
    fn present(&self) -> u64 {
        self.slots.elapsed().max(self.seen.load(Ordering::Relaxed))
    }

    /// Fires the timers that are due at tick `now`, and returns how many.
    #[inline]
    pub fn turn(&self, now: u64) -> usize {
        if self.earliest() > now {
            return 0;
        }
        self.turn_now(now)
    }

    #[cold]
    fn turn_now(&self, now: u64) -> usize {
        self.finish_all(FIRED, || self.slots.due(now))
    }

    /// Marks the entries that `next` gives, under the lock, as `state`, and wakes their
    /// tasks, in batches, without it. Returns how many entries that were.
    fn finish_all(&self, state: u32, next: impl Fn() -> *const Entry) -> usize {
        let mut finished = 0;
        loop {
            let mut wakes = Wakes::new();
            let all = self.lock.locked(|| {
                while !wakes.is_full() {
                    let entry = next();
                    if entry.is_null() {
                        // The thread may be another than the worker, which then keeps its
                        // former promise for nothing.
                        self.promised.set(self.find_next());
                        return true;
                    }
                    finished += 1;
                    // SAFETY: it is linked, and we hold the lock.
                    if let Some(waker) = unsafe { self.slots.finish(entry, state) } {
                        wakes.push(Wake::Task(waker));
                    }
                }
                false
            });
            {
                let _due = trace::Waking::new(trace::Source::Timer);
                wakes.wake();
            }
            if all {
                return finished;
            }
        }
    }

    /// Under the lock. Puts an entry, which is in no ring, where it comes up at tick
    /// `when`, and updates `earliest`. `is_own`: on the worker's thread. Returns whether
    /// the worker is to be unparked.
    ///
    /// # Safety
    ///
    /// The entry is alive and does not move until it is unlinked.
    #[inline]
    unsafe fn add(&self, entry: &Entry, when: u64, is_own: bool) -> bool {
        // SAFETY: the entry is alive, does not move until it is unlinked, and is in no ring.
        unsafe { self.slots.place(entry, when) };
        if when < self.earliest() {
            self.earliest.store(when, Ordering::Relaxed);
        }
        if is_own || when >= self.promised.get() {
            return false;
        }
        // It is unparked once, and asks again before it sleeps.
        self.promised.set(when);
        true
    }

    /// Unparks the worker. Without the lock.
    #[cold]
    fn call_worker(&self) {
        // SAFETY: `unpark` is only used under the lock, which this thread holds.
        let unpark = (self.lock).locked(|| unsafe { (*self.unpark.get()).clone() });
        if let Some((unpark, worker)) = unpark {
            unpark(worker);
        }
    }

    /// Takes it away from its runtime. The timers that are still linked end, and their
    /// tasks are woken.
    pub fn shut(&self) {
        let unpark = self.lock.locked(|| {
            self.epoch.store(CLOSED, Ordering::Relaxed);
            // SAFETY: `unpark` is only used under the lock, which this thread holds.
            unsafe { (*self.unpark.get()).take() }
        });
        drop(unpark);
        self.finish_all(ENDED, || self.slots.any());
    }
}
