//! A lock that costs its owner no read-modify-write.
//!
//! One thread, the *owner*, takes the lock millions of times a second. Another thread, a
//! *revoker*, takes it rarely: to steal, to take over the data of an owner whose thread is
//! blocked, or at shutdown. A biased lock guards data of one worker of the runtime (its LIFO
//! slot, its claimed tasks, its list of tasks) or of the fork-join pool (its forks).
//!
//! # Protocol
//!
//! The owner sets `busy`, reads `revoking`, does its work and clears `busy`. A revoker takes
//! the mutex, sets `revoking`, makes every thread of the process pass a fence (`heavy`), and
//! reads `busy`. If the owner is busy, [`try_lock_remote`](BiasedLock::try_lock_remote) gives
//! up and [`lock_remote`](BiasedLock::lock_remote) waits; otherwise the revoker does its work.
//! In the end it clears `revoking` and releases the mutex. An owner that finds `revoking` set
//! clears `busy`, *answers* by changing `releases`, and does its work under the mutex instead.
//!
//! The fence interrupts the owner's processor, and under some hypervisors waits for it for
//! milliseconds. An owner that uses the lock in the meantime makes it superfluous. So
//! `try_lock_remote` first waits for an answer, for about as long as the last fences took.
//!
//! **Mutual exclusion.** After the revoker's fence, the revoker sees that the owner is busy, or
//! the owner will see `revoking`. The asymmetric fences promise this. In the second case both use
//! the mutex. `busy` (release and acquire) or the mutex makes the work of one visible to the
//! other. An owner that reads the `revoking` that a revoker has cleared acquires the work of that
//! revoker.
//!
//! An answer is as good as the fence:
//!
//! 1. The revoker sets `revoking`, then changes `releases`.
//! 2. The owner answers by changing the value of `releases` that the revoker wrote.
//! 3. So the owner was not busy at its answer, and it sees `revoking` from then on.
//!
//! **No lost wake-up.**
//!
//! 1. A waiting revoker sleeps on `releases`. It read that value before it found `busy` set.
//! 2. The owner clears `busy` as it sets it: it publishes the change, then reads `revoking`.
//! 3. The revoker's fence came before its look at `busy`. So an owner that was busy at that look
//!    sees `revoking` after it has cleared `busy`, changes `releases` and wakes the revoker.
//!
//! An owner that has to wait sleeps in the mutex. So both ends of every wait sleep, and neither
//! can keep a thread of lower priority from running.
//!
//! This is how the reservations of biased locks are revoked (Kawachiya, Koseki and Onodera,
//! "Lock Reservation", 2002).

use std::time::{Duration, Instant};

use crate::fences;
use crate::lock::ListLock;
use crate::pause::look_for;
use blitz_io_futex::atomic::{AtomicU8, AtomicU32, Ordering};
use blitz_io_futex::{wait, wake_one};

const NO: u8 = 0;
const YES: u8 = 1;

/// A lock that is biased towards one thread; see the module documentation.
pub struct BiasedLock {
    /// The owner holds the lock, or is about to.
    busy: AtomicU8,
    /// A revoker holds the mutex.
    revoking: AtomicU8,
    /// Changes when the owner lets a revoker have the lock, and when one asks it to.
    releases: AtomicU32,
    mutex: ListLock,
}

impl BiasedLock {
    /// Creates an unlocked lock.
    #[allow(clippy::new_without_default, reason = "an owner makes it for itself")]
    pub fn new() -> Self {
        Self {
            busy: AtomicU8::new(NO),
            revoking: AtomicU8::new(NO),
            releases: AtomicU32::new(0),
            mutex: ListLock::new(),
        }
    }

    /// Runs `work`, which must not panic, with the lock.
    ///
    /// # Safety
    ///
    /// The caller is the owner. Only one thread is the owner, and each former owner's calls are
    /// ordered before it.
    #[inline(always)]
    pub unsafe fn lock<R>(&self, work: impl FnOnce() -> R) -> R {
        if self.publish_busy(YES) {
            return self.lock_contended(work);
        }
        let result = work();
        if self.publish_busy(NO) {
            self.wake_revoker();
        }
        result
    }

    /// Sets `busy`. Returns `true` if there is a revoker.
    #[inline(always)]
    fn publish_busy(&self, busy: u8) -> bool {
        fences::publish(&self.busy, busy, &self.revoking) != NO
    }

    #[cold]
    fn lock_contended<R>(&self, work: impl FnOnce() -> R) -> R {
        self.publish_busy(NO);
        self.wake_revoker();
        self.mutex.locked(work)
    }

    #[cold]
    fn wake_revoker(&self) {
        self.releases.fetch_add(1, Ordering::AcqRel);
        wake_one(&raw const self.releases);
    }

    fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Acquire) != NO
    }

    /// Runs `work`, which must not panic, with the lock, unless the owner holds it.
    #[cold]
    pub fn try_lock_remote<R>(&self, work: impl FnOnce() -> R) -> Option<R> {
        self.mutex.locked(|| {
            self.revoking.store(YES, Ordering::SeqCst);
            let asked = self.ask();
            if !self.is_answered(asked) {
                fence();
            }
            let result = (!self.is_busy()).then(work);
            self.revoking.store(NO, Ordering::Release);
            result
        })
    }

    /// Asks the owner to answer, after `revoking` is set.
    fn ask(&self) -> u32 {
        self.releases.fetch_add(1, Ordering::AcqRel).wrapping_add(1)
    }

    /// Waits for the owner's answer for as long as a fence would take. Returns `true` if it came.
    fn is_answered(&self, asked: u32) -> bool {
        look_for(FENCES.time(), || {
            self.releases.load(Ordering::Acquire) != asked
        })
    }

    /// Acquires these locks one after the other, and runs `work` with the value beside each.
    /// `work` must not panic. One fence serves for all owners.
    ///
    /// # Safety
    ///
    /// The caller owns none of them, and no two calls have locks in common.
    #[cold]
    pub unsafe fn lock_remote<'a, T>(
        locks: impl Iterator<Item = (&'a Self, T)> + Clone,
        work: &mut impl FnMut(T),
    ) {
        Self::revoke(locks.clone(), &mut || {
            fence();
            for (lock, given) in locks.clone() {
                lock.wait_for_owner();
                work(given);
            }
        });
    }

    /// Calls `then` while all of these are being revoked.
    fn revoke<'a, T>(mut locks: impl Iterator<Item = (&'a Self, T)>, then: &mut dyn FnMut()) {
        let Some((lock, _)) = locks.next() else {
            return then();
        };
        lock.mutex.locked(|| {
            lock.revoking.store(YES, Ordering::SeqCst);
            Self::revoke(locks, then);
            lock.revoking.store(NO, Ordering::Release);
        });
    }

    fn wait_for_owner(&self) {
        loop {
            let releases = self.releases.load(Ordering::Acquire);
            if !self.is_busy() {
                return;
            }
            wait(&self.releases, releases);
        }
    }
}

fn fence() {
    FENCES.measure(fences::heavy);
}

static FENCES: FenceTime = FenceTime(std::sync::atomic::AtomicU32::new(0));

/// The duration of a fence in nanoseconds: the mean of the last ones. It is no part of the protocol,
/// and so not an atomic of the model's.
struct FenceTime(std::sync::atomic::AtomicU32);

impl FenceTime {
    /// An owner that has not used the lock for this long is not about to.
    const LONGEST: u32 = 100_000;

    fn time(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed).into())
    }

    fn measure(&self, fence: impl FnOnce()) {
        let began = Instant::now();
        fence();
        let last = began.elapsed().as_nanos().min(Self::LONGEST.into()) as u32;
        // Others may measure at the same time; then one of the two is not counted.
        let mean = self.0.load(Ordering::Relaxed);
        self.0.store(mean - mean / 4 + last / 4, Ordering::Relaxed);
    }
}
