//! `RwLock`, in eight bytes. The algorithm is in `shared.rs`.

use std::time::{Duration, Instant};

use lock_api::{
    RawRwLockDowngrade, RawRwLockFair, RawRwLockRecursive, RawRwLockRecursiveTimed, RawRwLockTimed,
    RawRwLockUpgrade, RawRwLockUpgradeDowngrade, RawRwLockUpgradeFair, RawRwLockUpgradeTimed,
};

use crate::thread::shared::Shared;
use blitz_io_core::deadline;
use blitz_io_observe::{Acquirer, Blocking, Caller, Kind, Object};

/// The lock without the value, the base of [`RwLock`], for use with [`lock_api`].
pub struct RawRwLock(Shared, Object);

/// A reader-writer lock: many readers, or one writer.
///
/// Beside readers and writers it knows *upgradable* readers, of which there is at most one. An
/// upgradable reader shares the lock with other readers and can become the writer without letting
/// another writer in between.
///
/// **Fairness.** A writer that waits keeps new readers out, so readers cannot
/// starve it; for the same reason a thread that already reads must use
/// [`read_recursive`](lock_api::RwLock::read_recursive) to read again, or it may
/// wait for a writer that waits for it. A reader that has waited for two
/// milliseconds is let in before the next writer. Writers are as fair to each
/// other as the threads of a [`Mutex`](super::Mutex).
///
/// A `try_` form may also fail because another thread tries at the same moment.
///
/// **Panics** when a billion readers hold it at once, which takes leaked guards.
///
/// ```
/// use blitz_io::thread::RwLock;
///
/// let scores = RwLock::new(vec![1, 2, 3]);
/// {
///     let (a, b) = (scores.read(), scores.read());
///     assert_eq!(a.len() + b.len(), 6);
/// }
/// scores.write().push(4);
/// assert_eq!(scores.read().len(), 4);
/// ```
pub type RwLock<T> = lock_api::RwLock<RawRwLock, T>;

/// Shared access to the value of an [`RwLock`].
pub type RwLockReadGuard<'a, T> = lock_api::RwLockReadGuard<'a, RawRwLock, T>;

/// Exclusive access to the value of an [`RwLock`].
pub type RwLockWriteGuard<'a, T> = lock_api::RwLockWriteGuard<'a, RawRwLock, T>;

/// Shared access to the value of an [`RwLock`] that can become exclusive.
pub type RwLockUpgradableReadGuard<'a, T> = lock_api::RwLockUpgradableReadGuard<'a, RawRwLock, T>;

/// An [`RwLockReadGuard`] for a part of the value.
pub type MappedRwLockReadGuard<'a, T> = lock_api::MappedRwLockReadGuard<'a, RawRwLock, T>;

/// An [`RwLockWriteGuard`] for a part of the value.
pub type MappedRwLockWriteGuard<'a, T> = lock_api::MappedRwLockWriteGuard<'a, RawRwLock, T>;

/// Creates a reader-writer lock in a constant; the same as [`RwLock::new`].
pub const fn const_rwlock<T>(value: T) -> RwLock<T> {
    RwLock::const_new(<RawRwLock as lock_api::RawRwLock>::INIT, value)
}

// SAFETY: `Shared` never has a writer in beside any other thread (its head argues why). A
// writer's release happens before the next look at `hold`, a reader's before the writer's look at
// the count: both sides are sequentially consistent.
unsafe impl lock_api::RawRwLock for RawRwLock {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self(Shared::new(), Object::new());

    type GuardMarker = super::GuardMarker;

    #[inline]
    #[track_caller]
    fn lock_shared(&self) {
        if !self.0.try_lock_shared() {
            self.wait_to_read(None, Caller::here());
        }
        self.1.acquired_shared();
        self.1.locked(
            Kind::ThreadRead,
            Caller::UNKNOWN,
            Caller::here(),
            Acquirer::current(),
        );
    }

    #[inline]
    #[track_caller]
    fn try_lock_shared(&self) -> bool {
        self.read_if(self.0.try_lock_shared(), Caller::here())
    }

    #[inline]
    unsafe fn unlock_shared(&self) {
        self.1.released_shared();
        self.0.unlock_shared();
    }

    #[inline]
    #[track_caller]
    fn lock_exclusive(&self) {
        if !self.0.try_lock_exclusive() {
            self.wait_to_write(None, Caller::here());
        }
        self.1.acquired();
        self.1.locked(
            Kind::ThreadWrite,
            Caller::UNKNOWN,
            Caller::here(),
            Acquirer::current(),
        );
    }

    #[inline]
    #[track_caller]
    fn try_lock_exclusive(&self) -> bool {
        self.held_if(self.0.try_lock_exclusive(), Caller::here())
    }

    #[inline]
    unsafe fn unlock_exclusive(&self) {
        self.1.released();
        self.0.unlock();
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }

    #[inline]
    fn is_locked_exclusive(&self) -> bool {
        self.0.is_locked_exclusive()
    }
}

// SAFETY: a fair release is a release, and `Shared` excludes writers (its head argues why).
// Readers that leave already leave in favour of a waiting writer.
unsafe impl RawRwLockFair for RawRwLock {
    unsafe fn unlock_shared_fair(&self) {
        self.1.released_shared();
        self.0.unlock_shared();
    }

    unsafe fn unlock_exclusive_fair(&self) {
        self.1.released();
        self.0.unlock_fair();
    }
}

// SAFETY: the writer is counted as a reader before it opens the lock.
unsafe impl RawRwLockDowngrade for RawRwLock {
    unsafe fn downgrade(&self) {
        self.1.downgraded();
        self.0.downgrade();
    }
}

// SAFETY: a resident reader is in only while no writer is.
unsafe impl RawRwLockRecursive for RawRwLock {
    #[inline]
    #[track_caller]
    fn lock_shared_recursive(&self) {
        if !self.0.try_lock_shared() {
            self.wait_to_read_again(None, Caller::here());
        }
        self.1.acquired_shared();
        self.1.locked(
            Kind::ThreadReadAgain,
            Caller::UNKNOWN,
            Caller::here(),
            Acquirer::current(),
        );
    }

    #[inline]
    #[track_caller]
    fn try_lock_shared_recursive(&self) -> bool {
        self.read_if(self.0.try_lock_shared_recursive(), Caller::here())
    }
}

// SAFETY: a resident reader is in only while no writer is, also if its wait has a deadline.
unsafe impl RawRwLockRecursiveTimed for RawRwLock {
    #[track_caller]
    fn try_lock_shared_recursive_for(&self, timeout: Duration) -> bool {
        let caller = Caller::here();
        self.read_if(
            self.wait_to_read_again(deadline::after(timeout), caller),
            caller,
        )
    }

    #[track_caller]
    fn try_lock_shared_recursive_until(&self, deadline: Instant) -> bool {
        let caller = Caller::here();
        self.read_if(self.wait_to_read_again(Some(deadline), caller), caller)
    }
}

// SAFETY: an acquisition that says `true` is one.
unsafe impl RawRwLockTimed for RawRwLock {
    type Duration = Duration;
    type Instant = Instant;

    #[track_caller]
    fn try_lock_shared_for(&self, timeout: Duration) -> bool {
        let caller = Caller::here();
        self.read_if(self.wait_to_read(deadline::after(timeout), caller), caller)
    }

    #[track_caller]
    fn try_lock_shared_until(&self, deadline: Instant) -> bool {
        let caller = Caller::here();
        self.read_if(self.wait_to_read(Some(deadline), caller), caller)
    }

    #[track_caller]
    fn try_lock_exclusive_for(&self, timeout: Duration) -> bool {
        let caller = Caller::here();
        self.held_if(self.wait_to_write(deadline::after(timeout), caller), caller)
    }

    #[track_caller]
    fn try_lock_exclusive_until(&self, deadline: Instant) -> bool {
        let caller = Caller::here();
        self.held_if(self.wait_to_write(Some(deadline), caller), caller)
    }
}

// SAFETY: the upgradable reader owns the writers' side, so no other thread becomes the writer; it
// becomes one itself only when the count of readers is zero.
unsafe impl RawRwLockUpgrade for RawRwLock {
    #[track_caller]
    fn lock_upgradable(&self) {
        if !self.0.try_lock_upgradable() {
            self.wait_to_read_upgradably(None, Caller::here());
        }
        self.1.acquired_beside_readers();
        self.1.locked(
            Kind::ThreadUpgradable,
            Caller::UNKNOWN,
            Caller::here(),
            Acquirer::current(),
        );
    }

    #[track_caller]
    fn try_lock_upgradable(&self) -> bool {
        self.upgradable_if(self.0.try_lock_upgradable(), Caller::here())
    }

    unsafe fn unlock_upgradable(&self) {
        self.1.released();
        self.0.unlock();
    }

    #[track_caller]
    unsafe fn upgrade(&self) {
        if !self.0.try_upgrade() {
            self.wait_to_upgrade(None, Caller::here());
        }
        self.1.acquired();
    }

    unsafe fn try_upgrade(&self) -> bool {
        let upgraded = self.0.try_upgrade();
        if upgraded {
            self.1.acquired();
        }
        upgraded
    }
}

// SAFETY: a fair release of the writers' side is a release of it.
unsafe impl RawRwLockUpgradeFair for RawRwLock {
    unsafe fn unlock_upgradable_fair(&self) {
        self.1.released();
        self.0.unlock_fair();
    }
}

// SAFETY: as for `RawRwLockDowngrade`.
unsafe impl RawRwLockUpgradeDowngrade for RawRwLock {
    unsafe fn downgrade_upgradable(&self) {
        self.1.downgraded();
        self.0.downgrade();
    }

    unsafe fn downgrade_to_upgradable(&self) {
        self.1.acquired_beside_readers();
        self.0.downgrade_to_upgradable();
    }
}

// SAFETY: as for `RawRwLockUpgrade`.
unsafe impl RawRwLockUpgradeTimed for RawRwLock {
    #[track_caller]
    fn try_lock_upgradable_for(&self, timeout: Duration) -> bool {
        let caller = Caller::here();
        self.upgradable_if(
            self.wait_to_read_upgradably(deadline::after(timeout), caller),
            caller,
        )
    }

    #[track_caller]
    fn try_lock_upgradable_until(&self, deadline: Instant) -> bool {
        let caller = Caller::here();
        self.upgradable_if(self.wait_to_read_upgradably(Some(deadline), caller), caller)
    }

    #[track_caller]
    unsafe fn try_upgrade_for(&self, timeout: Duration) -> bool {
        self.wait_to_upgrade(deadline::after(timeout), Caller::here())
    }

    #[track_caller]
    unsafe fn try_upgrade_until(&self, deadline: Instant) -> bool {
        self.wait_to_upgrade(Some(deadline), Caller::here())
    }
}

impl RawRwLock {
    /// The slow path of `lock_shared`, out of line, so that this stays short enough to be inlined.
    #[cold]
    fn wait_to_read(&self, deadline: Option<Instant>, caller: Caller) -> bool {
        let _waits = Blocking::new(Kind::ThreadRead, &self.1, caller, deadline.is_some());
        self.0.lock_shared(deadline)
    }

    /// The slow path of `lock_exclusive`, out of line like that of `lock_shared`.
    #[cold]
    fn wait_to_write(&self, deadline: Option<Instant>, caller: Caller) -> bool {
        let _waits = Blocking::new(Kind::ThreadWrite, &self.1, caller, deadline.is_some());
        self.0.lock_exclusive(deadline)
    }

    /// The slow path of `lock_shared_recursive`.
    #[cold]
    fn wait_to_read_again(&self, deadline: Option<Instant>, caller: Caller) -> bool {
        let is_timed = deadline.is_some();
        let _waits = Blocking::new(Kind::ThreadReadAgain, &self.1, caller, is_timed);
        self.0.lock_shared_recursive(deadline)
    }

    /// The slow path of `lock_upgradable`.
    #[cold]
    fn wait_to_read_upgradably(&self, deadline: Option<Instant>, caller: Caller) -> bool {
        let is_timed = deadline.is_some();
        let _waits = Blocking::new(Kind::ThreadUpgradable, &self.1, caller, is_timed);
        self.0.lock_upgradable(deadline)
    }

    /// The slow path of `upgrade`. From its beginning the thread keeps readers out.
    #[cold]
    fn wait_to_upgrade(&self, deadline: Option<Instant>, caller: Caller) -> bool {
        let is_timed = deadline.is_some();
        let _waits = Blocking::new(Kind::ThreadUpgrade, &self.1, caller, is_timed);
        self.1.acquired();
        let upgraded = self.0.upgrade(deadline);
        if !upgraded {
            self.1.acquired_beside_readers();
        }
        upgraded
    }

    #[inline]
    fn read_if(&self, entered: bool, caller: Caller) -> bool {
        if entered {
            self.1.acquired_shared();
            self.1.locked_at_once(
                Kind::ThreadRead,
                Caller::UNKNOWN,
                caller,
                Acquirer::current(),
            );
        }
        entered
    }

    /// Records the holder. It keeps writers out, but not readers, which may wait for a writer that gives up.
    #[inline]
    fn upgradable_if(&self, entered: bool, caller: Caller) -> bool {
        if entered {
            self.1.acquired_beside_readers();
            self.1.locked_at_once(
                Kind::ThreadUpgradable,
                Caller::UNKNOWN,
                caller,
                Acquirer::current(),
            );
        }
        entered
    }

    #[inline]
    fn held_if(&self, entered: bool, caller: Caller) -> bool {
        if entered {
            self.1.acquired();
            self.1.locked_at_once(
                Kind::ThreadWrite,
                Caller::UNKNOWN,
                caller,
                Acquirer::current(),
            );
        }
        entered
    }
}
