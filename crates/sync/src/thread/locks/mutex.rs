//! `Mutex`, in four bytes. The algorithm is `blitz_io_core::exclusive`'s.

use std::time::{Duration, Instant};

use blitz_io_core::deadline;
use blitz_io_core::exclusive::{Exclusive, HELD};
use blitz_io_observe::{Acquirer, Blocking, Caller, Kind, Object};

/// The lock without the value, the base of [`Mutex`], for use with [`lock_api`].
///
/// A release looks at the lock after it has freed it. So, as for any method, the lock must live
/// until `unlock` has returned: unsafe code must not free it merely because it could be locked.
pub struct RawMutex(pub(crate) Exclusive, Object);

/// A mutual exclusion lock.
///
/// Locking is one compare-and-swap; releasing is a plain store where the system
/// has `membarrier` (Linux) or the processor makes it cheap (AArch64). The lock
/// is four bytes, allocates nothing, and does not poison: a panic while it is
/// held releases it.
///
/// **Fairness.** A thread that arrives may overtake sleeping threads, which keeps a busy lock
/// fast. A thread that has waited for two milliseconds ends that. From then on every release
/// hands the lock over in the order of the queue, until all that waited that long have had it. So
/// a wait is bounded by two milliseconds plus, for each thread before it in the queue, the time
/// it holds the lock and the time the system takes to wake it. [`MutexGuard::unlock_fair`] hands
/// over at once.
///
/// ```
/// use blitz_io::thread::Mutex;
///
/// static TOTAL: Mutex<u64> = Mutex::new(0);
///
/// std::thread::scope(|scope| {
///     for i in 1..=4 {
///         scope.spawn(move || *TOTAL.lock() += i);
///     }
/// });
/// assert_eq!(*TOTAL.lock(), 10);
/// ```
pub type Mutex<T> = lock_api::Mutex<RawMutex, T>;

/// The right to use the value of a locked [`Mutex`]; releases it when dropped.
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, RawMutex, T>;

/// A [`MutexGuard`] for a part of the value, as [`MutexGuard::map`] makes it.
pub type MappedMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, RawMutex, T>;

/// Creates a mutex in a constant, for code that is written that way; the same as
/// [`Mutex::new`].
pub const fn const_mutex<T>(value: T) -> Mutex<T> {
    Mutex::const_new(<RawMutex as lock_api::RawMutex>::INIT, value)
}

/// Implements `lock_api`'s traits for a lock made of [`Exclusive`], which it releases with
/// this method.
macro_rules! raw_mutex {
    ($raw:ident, $unlock:ident) => {
        // SAFETY: `Exclusive` never has two owners (its head argues why). A release happens
        // before the next acquisition: the store of `FREE` or `HANDED_OFF` is a release, and
        // every way to take the lock is an acquire of it.
        unsafe impl lock_api::RawMutex for $raw {
            #[allow(clippy::declare_interior_mutable_const)]
            const INIT: Self = Self(Exclusive::new(), Object::new());

            type GuardMarker = super::GuardMarker;

            #[inline]
            #[track_caller]
            fn lock(&self) {
                if !self.0.try_lock(HELD) {
                    self.wait(None, Caller::here());
                }
                self.1.acquired();
                self.1.locked(
                    Kind::ThreadMutex,
                    Caller::UNKNOWN,
                    Caller::here(),
                    Acquirer::current(),
                );
            }

            #[inline]
            #[track_caller]
            fn try_lock(&self) -> bool {
                let locked = self.0.try_lock(HELD);
                if locked {
                    self.1.acquired();
                    let caller = Caller::here();
                    self.1.locked_at_once(
                        Kind::ThreadMutex,
                        Caller::UNKNOWN,
                        caller,
                        Acquirer::current(),
                    );
                }
                locked
            }

            #[inline]
            unsafe fn unlock(&self) {
                self.1.released();
                self.0.$unlock();
            }

            #[inline]
            fn is_locked(&self) -> bool {
                self.0.is_held()
            }
        }

        // SAFETY: a fair release is a release, and as such argued for at `RawMutex`.
        unsafe impl lock_api::RawMutexFair for $raw {
            unsafe fn unlock_fair(&self) {
                self.1.released();
                self.0.unlock_fair();
            }

            unsafe fn bump(&self) {
                if self.0.is_awaited() {
                    self.1.released();
                    self.0.unlock_fair();
                    lock_api::RawMutex::lock(self);
                }
            }
        }

        // SAFETY: a timed acquisition that says `true` has the lock as `lock` has it.
        unsafe impl lock_api::RawMutexTimed for $raw {
            type Duration = Duration;
            type Instant = Instant;

            #[inline]
            #[track_caller]
            fn try_lock_for(&self, timeout: Duration) -> bool {
                lock_api::RawMutex::try_lock(self)
                    || self.lock_until(deadline::after(timeout), Caller::here())
            }

            #[inline]
            #[track_caller]
            fn try_lock_until(&self, deadline: Instant) -> bool {
                self.lock_until(Some(deadline), Caller::here())
            }
        }

        impl $raw {
            #[inline]
            fn lock_until(&self, deadline: Option<Instant>, caller: Caller) -> bool {
                let locked = self.wait(deadline, caller);
                if locked {
                    self.1.acquired();
                    self.1.locked_at_once(
                        Kind::ThreadMutex,
                        Caller::UNKNOWN,
                        caller,
                        Acquirer::current(),
                    );
                }
                locked
            }

            /// The slow path of `lock`, out of line, so that `lock` stays short enough to be inlined.
            #[cold]
            fn wait(&self, deadline: Option<Instant>, caller: Caller) -> bool {
                let is_timed = deadline.is_some();
                let _waits = Blocking::new(Kind::ThreadMutex, &self.1, caller, is_timed);
                self.0.lock_until(HELD, deadline)
            }
        }
    };
}

raw_mutex!(RawMutex, unlock);

pub(super) use raw_mutex;
