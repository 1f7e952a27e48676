//! The end that looks at the value, and waits for it to change.

use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

use blitz_io_core::{coop, deadline};
use blitz_io_futex::atomic::Ordering;
use blitz_io_observe::named;
use blitz_io_observe::{CalledAt, Kind};

use super::error::{RecvError, RecvTimeoutError};
use super::{CLOSED, Changed, Shared, Version, lock};
use crate::events;
use crate::model::model_has_failed;
use crate::wait::{Wait, block_until, may_block};

/// The end that looks at the value, and waits for it to change. It can be cloned. Each receiver
/// has its own record of the version that it has seen.
#[derive(Debug)]
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// The version that it has seen last.
    version: Version,
}

impl<T> Receiver<T> {
    pub(super) fn new(shared: Arc<Shared<T>>, version: Version) -> Self {
        Self { shared, version }
    }

    /// Returns the value as it is. It does not count as seen by that.
    ///
    /// No sender can send while this is held: see [`Ref`].
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// let (tx, rx) = watch::channel("hello");
    /// assert_eq!(*rx.borrow(), "hello");
    /// ```
    #[inline]
    #[track_caller]
    pub fn borrow(&self) -> Ref<'_, T> {
        let mut version = self.version;
        look(&self.shared, &mut version)
    }

    /// Returns the value as it is. It counts as seen. In a loop with
    /// [`changed`](Receiver::changed), this is the one to use: with
    /// [`borrow`](Receiver::borrow), a value that is sent between the two is seen
    /// twice.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// let (tx, mut rx) = watch::channel(1);
    /// tx.send(2).unwrap();
    /// assert_eq!(*rx.borrow_and_update(), 2);
    /// assert!(!rx.has_changed().unwrap());
    /// ```
    #[inline]
    #[track_caller]
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        look(&self.shared, &mut self.version)
    }

    /// Returns `true` if there is a value that this receiver has not seen.
    ///
    /// # Errors
    ///
    /// If all senders have been dropped, also if the last value has not been seen.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// let (tx, rx) = watch::channel(1);
    /// assert!(!rx.has_changed().unwrap());
    /// tx.send(2).unwrap();
    /// assert!(rx.has_changed().unwrap());
    /// drop(tx);
    /// assert!(rx.has_changed().is_err());
    /// ```
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        let word = self.shared.word();
        if word & CLOSED != 0 {
            return Err(RecvError(()));
        }
        Ok(self.version != Version::of(word))
    }

    /// Returns `true` if all senders have been dropped.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// let (tx, rx) = watch::channel(1);
    /// assert!(!rx.is_closed());
    /// drop(tx);
    /// assert!(rx.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }

    /// Lets the value count as not seen.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// # pollster::block_on(async {
    /// let (_tx, mut rx) = watch::channel(1);
    /// rx.mark_changed();
    /// rx.changed().await.unwrap();
    /// # });
    /// ```
    pub fn mark_changed(&mut self) {
        self.version = self.version.before();
    }

    /// Lets the value count as seen.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// let (tx, mut rx) = watch::channel(1);
    /// tx.send(2).unwrap();
    /// rx.mark_unchanged();
    /// assert!(!rx.has_changed().unwrap());
    /// ```
    pub fn mark_unchanged(&mut self) {
        self.version = self.shared.current();
    }

    /// Waits until there is a value that this receiver has not seen, and lets it
    /// count as seen.
    ///
    /// # Errors
    ///
    /// If all senders have been dropped and the last value has been seen.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe. If it is given up, no value counts as seen by it.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// # pollster::block_on(async {
    /// let (tx, mut rx) = watch::channel("hello");
    /// std::thread::spawn(move || tx.send("goodbye"));
    /// rx.changed().await.unwrap();
    /// assert_eq!(*rx.borrow(), "goodbye");
    /// assert!(rx.changed().await.is_err());
    /// # });
    /// ```
    #[track_caller]
    pub fn changed(&mut self) -> impl Future<Output = Result<(), RecvError>> {
        CalledAt::new(async move {
            let word = coop::cooperative(Wait::new(self.next_change())).await;
            let seen = mark_seen(&mut self.version, word);
            sees(&self.shared, seen.is_ok());
            seen
        })
    }

    /// Waits until the value is as wanted, beginning with the present one. The last value that
    /// was compared counts as seen.
    ///
    /// # Errors
    ///
    /// If all senders have been dropped, and the last value is not as wanted.
    ///
    /// # Panics
    ///
    /// If `f` does; the channel can be used as before.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: a value that was wanted is returned at once.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// # pollster::block_on(async {
    /// let (tx, mut rx) = watch::channel(0);
    /// std::thread::spawn(move || (1..10).try_for_each(|i| tx.send(i)));
    /// assert_eq!(*rx.wait_for(|&value| value > 8).await.unwrap(), 9);
    /// # });
    /// ```
    #[track_caller]
    pub fn wait_for(
        &mut self,
        f: impl FnMut(&T) -> bool,
    ) -> impl Future<Output = Result<Ref<'_, T>, RecvError>> {
        CalledAt::new(async move { coop::cooperative(self.wait_until(f)).await })
    }

    async fn wait_until(&mut self, mut f: impl FnMut(&T) -> bool) -> Result<Ref<'_, T>, RecvError> {
        let mut is_closed = false;
        loop {
            if let Some(found) = look_for(&self.shared, &mut self.version, is_closed, &mut f) {
                sees(&self.shared, found.is_ok());
                return found;
            }
            let word = Wait::new(self.next_change()).await;
            is_closed = mark_seen(&mut self.version, word).is_err();
        }
    }

    /// Blocks the thread until there is a value that this receiver has not seen, and
    /// lets it count as seen.
    ///
    /// # Errors
    ///
    /// If all senders have been dropped and the last value has been seen.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// let (tx, mut rx) = watch::channel(1);
    /// std::thread::spawn(move || tx.send(2));
    /// rx.blocking_changed().unwrap();
    /// assert_eq!(*rx.borrow(), 2);
    /// ```
    #[track_caller]
    pub fn blocking_changed(&mut self) -> Result<(), RecvError> {
        let _call = may_block();
        self.changed_until(None).unwrap_or(Err(RecvError(())))
    }

    /// Waits as [`blocking_changed`](Receiver::blocking_changed) does, but no longer
    /// than `timeout`.
    ///
    /// # Errors
    ///
    /// [`Timeout`](RecvTimeoutError::Timeout) if `timeout` elapses,
    /// [`Closed`](RecvTimeoutError::Closed) if all senders have been dropped and the last value has
    /// been seen.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::watch::{self, error::RecvTimeoutError};
    /// use std::time::Duration;
    ///
    /// let (tx, mut rx) = watch::channel(1);
    /// let soon = Duration::from_millis(1);
    /// assert_eq!(rx.blocking_changed_timeout(soon), Err(RecvTimeoutError::Timeout));
    /// tx.send(2).unwrap();
    /// assert_eq!(rx.blocking_changed_timeout(soon), Ok(()));
    /// ```
    #[track_caller]
    pub fn blocking_changed_timeout(&mut self, timeout: Duration) -> Result<(), RecvTimeoutError> {
        let _call = may_block();
        in_time(self.changed_until(deadline::after(timeout)))
    }

    /// Waits as [`blocking_changed`](Receiver::blocking_changed) does, but no longer than until
    /// `deadline`.
    ///
    /// # Errors
    ///
    /// As [`blocking_changed_timeout`](Receiver::blocking_changed_timeout).
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    /// use std::time::Instant;
    ///
    /// let (tx, mut rx) = watch::channel(1);
    /// assert!(rx.blocking_changed_deadline(Instant::now()).unwrap_err().is_timeout());
    /// tx.send(2).unwrap();
    /// assert_eq!(rx.blocking_changed_deadline(Instant::now()), Ok(()));
    /// ```
    #[track_caller]
    pub fn blocking_changed_deadline(&mut self, deadline: Instant) -> Result<(), RecvTimeoutError> {
        let _call = may_block();
        in_time(self.changed_until(Some(deadline)))
    }

    /// Blocks the thread until the value is as wanted, beginning with the present
    /// one.
    ///
    /// # Errors
    ///
    /// If all senders have been dropped, and the last value is not as wanted.
    ///
    /// # Panics
    ///
    /// If `f` does. In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// let (tx, mut rx) = watch::channel(0);
    /// std::thread::spawn(move || (1..10).try_for_each(|i| tx.send(i)));
    /// assert_eq!(*rx.blocking_wait_for(|&value| value > 8).unwrap(), 9);
    /// ```
    #[track_caller]
    pub fn blocking_wait_for(
        &mut self,
        f: impl FnMut(&T) -> bool,
    ) -> Result<Ref<'_, T>, RecvError> {
        let _call = may_block();
        self.wait_for_until(f, None).unwrap_or(Err(RecvError(())))
    }

    /// Waits as [`blocking_wait_for`](Receiver::blocking_wait_for) does, but no
    /// longer than `timeout`.
    ///
    /// # Errors
    ///
    /// [`Timeout`](RecvTimeoutError::Timeout) if `timeout` elapses,
    /// [`Closed`](RecvTimeoutError::Closed) if all senders have been dropped, and the last value is
    /// not as wanted.
    ///
    /// # Panics
    ///
    /// As [`blocking_wait_for`](Receiver::blocking_wait_for).
    ///
    /// ```
    /// use blitz_io::sync::watch;
    /// use std::time::Duration;
    ///
    /// let (tx, mut rx) = watch::channel(0);
    /// let soon = Duration::from_millis(1);
    /// assert!(rx.blocking_wait_for_timeout(|&value| value > 0, soon).unwrap_err().is_timeout());
    /// ```
    #[track_caller]
    pub fn blocking_wait_for_timeout(
        &mut self,
        f: impl FnMut(&T) -> bool,
        timeout: Duration,
    ) -> Result<Ref<'_, T>, RecvTimeoutError> {
        let _call = may_block();
        in_time(self.wait_for_until(f, deadline::after(timeout)))
    }

    /// Waits as [`blocking_wait_for`](Receiver::blocking_wait_for) does, but no longer than until
    /// `deadline`.
    ///
    /// # Errors
    ///
    /// As [`blocking_wait_for_timeout`](Receiver::blocking_wait_for_timeout).
    ///
    /// # Panics
    ///
    /// As [`blocking_wait_for`](Receiver::blocking_wait_for).
    ///
    /// ```
    /// use blitz_io::sync::watch;
    /// use std::time::Instant;
    ///
    /// let (_tx, mut rx) = watch::channel(7);
    /// let value = rx.blocking_wait_for_deadline(|&value| value > 0, Instant::now());
    /// assert_eq!(*value.unwrap(), 7);
    /// ```
    #[track_caller]
    pub fn blocking_wait_for_deadline(
        &mut self,
        f: impl FnMut(&T) -> bool,
        deadline: Instant,
    ) -> Result<Ref<'_, T>, RecvTimeoutError> {
        let _call = may_block();
        in_time(self.wait_for_until(f, Some(deadline)))
    }

    /// Returns `true` if both are receivers of the same channel.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// let (_tx, rx) = watch::channel(1);
    /// assert!(rx.same_channel(&rx.clone()));
    /// ```
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    fn next_change(&self) -> Changed<'_, T> {
        Changed {
            shared: &self.shared,
            seen: self.version,
        }
    }

    fn changed_until(&mut self, deadline: Option<Instant>) -> Option<Result<(), RecvError>> {
        let word = block_until(self.next_change(), deadline)?;
        Some(mark_seen(&mut self.version, word))
    }

    #[track_caller]
    fn wait_for_until(
        &mut self,
        mut f: impl FnMut(&T) -> bool,
        deadline: Option<Instant>,
    ) -> Option<Result<Ref<'_, T>, RecvError>> {
        let mut is_closed = false;
        loop {
            let found = look_for(&self.shared, &mut self.version, is_closed, &mut f);
            if found.is_some() {
                return found;
            }
            let word = block_until(self.next_change(), deadline)?;
            is_closed = mark_seen(&mut self.version, word).is_err();
        }
    }
}

/// Returns the result of a wait with a time limit: `None` is that the time elapsed.
fn in_time<R>(result: Option<Result<R, RecvError>>) -> Result<R, RecvTimeoutError> {
    let result = result.ok_or(RecvTimeoutError::Timeout)?;
    result.map_err(|_| RecvTimeoutError::Closed)
}

/// Returns the value, with `true` if it differs from the one seen last, and marks it as seen.
#[inline]
#[track_caller]
fn look<'a, T>(shared: &'a Shared<T>, seen: &mut Version) -> Ref<'a, T> {
    let value = lock::read(&shared.value);
    // The holder of the lock knows that the version is that of the value.
    let current = shared.current();
    let has_changed = *seen != current;
    *seen = current;
    Ref::new(value, has_changed)
}

/// Returns the value if it fulfils the condition. When the channel is closed, a value that was
/// seen has failed the condition before, and there will be no other.
#[track_caller]
fn look_for<'a, T>(
    shared: &'a Shared<T>,
    seen: &mut Version,
    is_closed: bool,
    f: &mut impl FnMut(&T) -> bool,
) -> Option<Result<Ref<'a, T>, RecvError>> {
    let value = look(shared, seen);
    let is_wanted = (!is_closed || value.has_changed()) && f(&value);
    if is_wanted {
        Some(Ok(value))
    } else {
        is_closed.then_some(Err(RecvError(())))
    }
}

/// Says, for the report of a simulation, that the current task has seen a value for which it may have waited, or that none comes.
#[inline(always)]
fn sees<T>(shared: &Shared<T>, is_value: bool) {
    let object = &shared.observed.object;
    if is_value {
        events::seen(object, Kind::WatchReceive);
    } else {
        events::refused(object, Kind::WatchReceive, "closed");
    }
}

/// Marks the version in `word` as seen.
fn mark_seen(seen: &mut Version, word: usize) -> Result<(), RecvError> {
    if Version::of(word) == *seen {
        return Err(RecvError(()));
    }
    *seen = Version::of(word);
    Ok(())
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.shared.receivers.fetch_add(1, Ordering::Relaxed);
        Self::new(self.shared.clone(), self.version)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if !model_has_failed() {
            self.shared.remove_receiver();
        }
    }
}

named!(Receiver<T>: shared.observed.object);

/// Shared access to the value of a channel.
///
/// While it exists, no sender can send. So keep it for a short time only, and not
/// across an `.await`. A thread that has one should not ask for another: it would
/// wait behind a sender that waits for the first.
///
/// ```
/// use blitz_io::sync::watch;
///
/// let (tx, rx) = watch::channel(String::from("hello"));
/// assert_eq!(rx.borrow().len(), 5);
/// assert!(!tx.borrow().is_empty());
/// ```
#[derive(Debug)]
pub struct Ref<'a, T> {
    inner: lock::ReadGuard<'a, T>,
    has_changed: bool,
}

impl<T: RefUnwindSafe> UnwindSafe for Ref<'_, T> {}
impl<T: RefUnwindSafe> RefUnwindSafe for Ref<'_, T> {}

impl<'a, T> Ref<'a, T> {
    #[inline]
    pub(super) fn new(inner: lock::ReadGuard<'a, T>, has_changed: bool) -> Self {
        Self { inner, has_changed }
    }

    /// Returns `true` if the receiver had not seen this value before. Always `false` for a sender's
    /// reference.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// let (tx, mut rx) = watch::channel(1);
    /// assert!(!rx.borrow().has_changed());
    /// tx.send(2).unwrap();
    /// assert!(rx.borrow().has_changed());
    /// assert!(rx.borrow_and_update().has_changed());
    /// assert!(!rx.borrow().has_changed());
    /// ```
    pub fn has_changed(&self) -> bool {
        self.has_changed
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}
