//! One writer or many readers, in eight bytes: the core of `RwLock`.
//!
//! # States
//!
//! Writers compete for an [`Exclusive`], whose `hold` byte readers look at.
//! Readers count themselves in `readers`. Seen by a reader, `hold` is
//!
//! * open: [`FREE`](blitz_io_core::exclusive::FREE),
//!   [`HANDED_OFF`](blitz_io_core::exclusive::HANDED_OFF) or [`UPGRADABLE`] (some thread has
//!   the right to become the next writer, but lets readers in until then);
//! * [`DRAINING`]: a writer waits for the readers inside; new ones stay out;
//! * [`HELD`]: a writer is inside, or is just about to find out whether readers
//!   are.
//!
//! # Moves
//!
//! A reader counts itself, then looks at `hold`. If it is open, the reader is
//! in; else it takes itself out of the count and waits. A writer takes `hold`
//! to `HELD`, then looks at the count. If it is zero, the writer is in; else it
//! steps back to `DRAINING`, waits until the count is zero, goes to `HELD` and looks at the count
//! again. Both steps of both sides are sequentially consistent, so a reader and a writer cannot
//! both miss the other: at most one is in. They may both see the other and both step back; the
//! reader then waits for the writer.
//!
//! So readers and writers can use different words: a reader need not find `hold` open in the
//! instruction that counts it. And a writer's release is the plain store of `exclusive.rs`.
//!
//! # Residents
//!
//! Some readers do not step back, but stay counted while they wait for `hold` to be anything but
//! `HELD`. `DRAINING` is enough for them, since the writer that drains waits for them. There are
//! two kinds:
//!
//! 1. Recursive readers. Their thread may already be inside, so waiting for a writer that waits
//!    for them would never end.
//! 2. Readers that have waited for longer than [`FAIR_AFTER`]. The next writer finds them
//!    counted, so a stream of writers cannot keep them out. They become residents only while
//!    `hold` is `HELD`. Otherwise a stream of them could keep out the writer that drains.
//!
//! # No wake-up is lost
//!
//! *Readers* sleep on the `Exclusive` while `hold` has the value that they saw; `exclusive.rs`
//! argues for releases. When a writer steps back to `DRAINING` it wakes them the same way, for
//! the residents among them.
//!
//! *A draining writer* sets [`ASLEEP`] in the very word that holds the count, and sleeps while
//! the word keeps that value. The reader that takes the count to zero sees the bit in the value
//! that it changed; it clears it and wakes the writer. There is no second word to look at, so
//! nothing can be missed.
//!
//! # Semantics of `try`
//!
//! A `try` to read fails while a writer holds the lock, waits for it, or tries
//! for it at that moment; a `try` to write likewise, for any other thread. Two
//! attempts at the same moment may therefore both fail.
//!
//! # Source
//!
//! The two sides are Peterson-style flags as in Brandenburg and Anderson's
//! "Spin-Based Reader-Writer Synchronization for Multiprocessor Real-Time
//! Systems"; the names are `parking_lot`'s.

use std::time::Instant;

use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_futex::{WaitResult, wait_deadline, wake_one};

use blitz_io_core::const_unless_loom;
use blitz_io_core::exclusive::{DRAINING, Exclusive, FAIR_AFTER, HELD, UPGRADABLE};
use blitz_io_core::spin::Spin;
use blitz_io_core::{deadline, fences};
use blitz_io_observe as observe;

/// The bit of `readers` that says that the draining writer sleeps.
const ASLEEP: u32 = 1 << 31;
/// The bits of `readers` with the number of counted readers.
const COUNT: u32 = ASLEEP - 1;
/// The greatest number of readers that may be in at once. The rest of the count is for readers that only
/// look.
const MOST_READERS: u32 = COUNT / 2;

/// Shared ownership; see the module documentation.
pub struct Shared {
    exclusive: Exclusive<true>,
    readers: AtomicU32,
}

impl Shared {
    const_unless_loom! {
        /// Creates an open lock without readers.
        pub const fn new() -> Self {
            Self { exclusive: Exclusive::new(), readers: AtomicU32::new(0) }
        }
    }

    /// Returns `true` if a thread is inside, or has the right to be the next writer.
    pub fn is_locked(&self) -> bool {
        self.exclusive.is_held() || self.readers.load(Ordering::Relaxed) & COUNT != 0
    }

    /// Returns `true` if a writer is inside, or waits for readers to leave.
    pub fn is_locked_exclusive(&self) -> bool {
        self.exclusive.hold(Ordering::Relaxed) >= DRAINING
    }

    // Readers.

    /// Enters as a reader, if no writer is in the way.
    #[inline]
    pub fn try_lock_shared(&self) -> bool {
        let before = self.count();
        if self.is_open() && before < MOST_READERS {
            return true;
        }
        self.step_back(before)
    }

    /// Enters as a reader; waits for writers until `deadline`.
    #[inline]
    pub fn lock_shared(&self, deadline: Option<Instant>) -> bool {
        self.try_lock_shared() || self.lock_shared_slow(deadline)
    }

    /// Leaves as a reader.
    #[inline]
    pub fn unlock_shared(&self) {
        let before = self.readers.fetch_sub(1, Ordering::SeqCst);
        if before == ASLEEP | 1 {
            self.wake_writer();
        }
    }

    /// Enters as a reader whose thread may be one already, unless a writer is
    /// inside.
    pub fn try_lock_shared_recursive(&self) -> bool {
        self.lock_shared_resident(Some(deadline::now()))
    }

    /// Enters as a reader whose thread may be one already.
    pub fn lock_shared_recursive(&self, deadline: Option<Instant>) -> bool {
        self.try_lock_shared() || self.lock_shared_resident(deadline)
    }

    /// Counts the caller as a reader. Returns the count before.
    #[inline]
    fn count(&self) -> u32 {
        let before = self.readers.fetch_add(1, Ordering::SeqCst);
        fences::after_rmw();
        before & COUNT
    }

    #[inline]
    fn is_open(&self) -> bool {
        self.exclusive.hold(Ordering::SeqCst) <= UPGRADABLE
    }

    #[cold]
    fn step_back(&self, before: u32) -> bool {
        self.unlock_shared();
        assert!(before < MOST_READERS, "too many readers in an RwLock");
        false
    }

    #[cold]
    fn lock_shared_slow(&self, deadline: Option<Instant>) -> bool {
        if deadline::is_past(deadline) {
            return false;
        }
        let mut fair_at = Some(deadline::now() + FAIR_AFTER);
        let mut spin = Spin::LOCK.yielding();
        loop {
            while spin.turn() {
                if self.is_open() && self.try_lock_shared() {
                    return true;
                }
            }
            let hold = self.exclusive.hold(Ordering::SeqCst);
            if hold <= UPGRADABLE {
                if self.try_lock_shared() {
                    return true;
                }
                continue;
            }
            if hold == HELD && fair_at.is_none() {
                return self.lock_shared_resident(deadline);
            }
            let until = deadline::earlier(deadline, fair_at);
            let result = self.exclusive.sleep_as_reader(hold, until);
            if result == WaitResult::TimedOut && until == deadline {
                return false;
            }
            if result == WaitResult::TimedOut || deadline::is_past(fair_at) {
                // Late. The writer that drains now may go first, no other.
                fair_at = None;
            }
            spin = Spin::LOCK.yielding();
        }
    }

    /// Enters as a resident; see the module documentation.
    #[cold]
    fn lock_shared_resident(&self, deadline: Option<Instant>) -> bool {
        let before = self.count();
        if before >= MOST_READERS {
            return self.step_back(before);
        }
        let is_in = || self.exclusive.hold(Ordering::SeqCst) != HELD;
        loop {
            if is_in() {
                return true;
            }
            if deadline::is_past(deadline) {
                return self.step_back(before);
            }
            if deadline::spin_until(Spin::EVENT, None, is_in) {
                return true;
            }
            if self.exclusive.sleep_as_reader(HELD, deadline) == WaitResult::TimedOut {
                return self.step_back(before);
            }
        }
    }

    /// Wakes the draining writer: the last reader is out.
    #[cold]
    fn wake_writer(&self) {
        // If this fails, another reader is looking in, and will be the last.
        let awake = self
            .readers
            .compare_exchange(ASLEEP, 0, Ordering::SeqCst, Ordering::Relaxed);
        if awake.is_ok() {
            wake_one(&self.readers);
        }
    }

    // Writers.

    /// Enters as the writer, if no other thread is inside.
    #[inline]
    pub fn try_lock_exclusive(&self) -> bool {
        if self.readers.load(Ordering::Relaxed) != 0 || !self.exclusive.try_lock(HELD) {
            return false;
        }
        self.is_empty() || self.give_up()
    }

    /// Enters as the writer; waits for the others until `deadline`.
    #[inline]
    pub fn lock_exclusive(&self, deadline: Option<Instant>) -> bool {
        if !self.exclusive.lock_until(HELD, deadline) {
            return false;
        }
        self.is_empty() || !deadline::is_past(deadline) && self.drain(deadline) || self.give_up()
    }

    /// Leaves as the writer or the upgradable reader.
    #[inline]
    pub fn unlock(&self) {
        self.exclusive.unlock();
    }

    /// Leaves as the writer or the upgradable reader, in favour of the waiting threads.
    pub fn unlock_fair(&self) {
        self.exclusive.unlock_fair();
    }

    /// Makes the writer or upgradable reader a reader, without letting another writer in between.
    pub fn downgrade(&self) {
        self.count();
        self.exclusive.unlock();
    }

    /// Returns `true` if no reader is counted, after the caller closed the lock.
    #[inline]
    fn is_empty(&self) -> bool {
        fences::after_rmw();
        self.readers.load(Ordering::SeqCst) & COUNT == 0
    }

    /// Waits for the readers that are in. The caller is the only writer.
    #[cold]
    fn drain(&self, deadline: Option<Instant>) -> bool {
        loop {
            self.exclusive.weaken(DRAINING);
            if !self.wait_for_readers(deadline) {
                return false;
            }
            self.exclusive.strengthen();
            if self.is_empty() {
                return true;
            }
        }
    }

    fn wait_for_readers(&self, deadline: Option<Instant>) -> bool {
        let is_empty = || self.readers.load(Ordering::Relaxed) & COUNT == 0;
        if deadline::spin_until(Spin::EVENT, None, is_empty) {
            return true;
        }
        loop {
            let readers = self.readers.fetch_or(ASLEEP, Ordering::SeqCst) | ASLEEP;
            let result = match readers {
                ASLEEP => WaitResult::Woken,
                _ => {
                    let _record = observe::sleeping(&self.readers);
                    wait_deadline(&self.readers, readers, deadline)
                }
            };
            let drained = self.readers.load(Ordering::SeqCst) & COUNT == 0;
            if drained || result == WaitResult::TimedOut {
                self.readers.fetch_and(!ASLEEP, Ordering::SeqCst);
                return drained;
            }
        }
    }

    fn give_up(&self) -> bool {
        self.exclusive.unlock();
        false
    }

    // Upgradable readers.

    /// Enters as the upgradable reader, if no writer and no other one is in the
    /// way.
    pub fn try_lock_upgradable(&self) -> bool {
        self.exclusive.try_lock(UPGRADABLE)
    }

    /// Enters as the upgradable reader; waits until `deadline`.
    pub fn lock_upgradable(&self, deadline: Option<Instant>) -> bool {
        self.exclusive.lock_until(UPGRADABLE, deadline)
    }

    /// Makes the upgradable reader the writer; waits for the other readers until
    /// `deadline`, and makes it the upgradable reader again if they do not leave.
    pub fn upgrade(&self, deadline: Option<Instant>) -> bool {
        self.upgrade_or(|| !deadline::is_past(deadline) && self.drain(deadline))
    }

    /// Makes the upgradable reader the writer, if there are no other readers.
    pub fn try_upgrade(&self) -> bool {
        self.readers.load(Ordering::Relaxed) & COUNT == 0 && self.upgrade_or(|| false)
    }

    fn upgrade_or(&self, drain: impl FnOnce() -> bool) -> bool {
        self.exclusive.strengthen();
        let is_writer = self.is_empty() || drain();
        if !is_writer {
            self.exclusive.weaken(UPGRADABLE);
        }
        is_writer
    }

    /// Makes the writer the upgradable reader.
    pub fn downgrade_to_upgradable(&self) {
        self.exclusive.weaken(UPGRADABLE);
    }
}
