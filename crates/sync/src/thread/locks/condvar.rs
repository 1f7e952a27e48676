//! `Condvar`: wait until another thread says that something has changed. The algorithm is
//! in `notify_queue.rs`.

use std::time::{Duration, Instant};

use lock_api::{MutexGuard, RawMutex};

use crate::thread::notify_queue::{Ended, NotifyQueue, Waiting};
use blitz_io_core::Node;
use blitz_io_core::deadline;
use blitz_io_core::{debug_is_name, default_is_new};
use blitz_io_observe::named;
use blitz_io_observe::{Blocking, Caller, Kind, Object};

/// A condition variable: threads sleep until another thread notifies them that their condition
/// may have become true.
///
/// It works with the guards of [`Mutex`](super::Mutex) and [`FairMutex`](super::FairMutex), and
/// may be used with several mutexes, also at the same time. Notifications wake in the order in
/// which threads began to wait, and a wait does not end without one. Still, another thread may
/// have undone the change before the woken one has the mutex, so wait in a loop or with
/// [`wait_while`](Condvar::wait_while).
///
/// ```
/// use blitz_io::thread::{Condvar, Mutex};
///
/// let ready = Mutex::new(false);
/// let changed = Condvar::new();
///
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         *ready.lock() = true;
///         changed.notify_one();
///     });
///     let mut ready = ready.lock();
///     changed.wait_while(&mut ready, |ready| !*ready);
///     assert!(*ready);
/// });
/// ```
pub struct Condvar {
    queue: NotifyQueue,
    object: Object,
}

/// The result of a timed wait: whether it ended because of the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Returns `true` if the wait timed out before a notification came.
    #[must_use]
    pub fn timed_out(self) -> bool {
        self.0
    }
}

impl Condvar {
    /// Creates a condition variable without waiters.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            queue: NotifyQueue::new(),
            object: Object::new(),
        }
    }

    /// Notifies the thread that has waited longest. Returns whether there was one.
    #[inline]
    pub fn notify_one(&self) -> bool {
        self.queue.notify_one()
    }

    /// Notifies all threads that wait, and returns how many there were.
    ///
    /// Those that wait with the same mutex are woken one after the other, each when the one
    /// before it has the mutex again.
    #[inline]
    pub fn notify_all(&self) -> usize {
        self.queue.notify_all()
    }

    /// Releases the mutex, waits for a notification, and locks the mutex again.
    #[track_caller]
    pub fn wait<R: RawMutex, T: ?Sized>(&self, guard: &mut MutexGuard<'_, R, T>) {
        self.wait_inner(guard, None, Caller::here());
    }

    /// Waits for as long as `condition` says `true` of the value.
    ///
    /// ```
    /// use blitz_io::thread::{Condvar, Mutex};
    ///
    /// let queue = Mutex::new(vec![1]);
    /// let changed = Condvar::new();
    /// let mut queue = queue.lock();
    /// changed.wait_while(&mut queue, |queue| queue.is_empty());
    /// assert_eq!(queue.pop(), Some(1));
    /// ```
    #[track_caller]
    pub fn wait_while<R, T, F>(&self, guard: &mut MutexGuard<'_, R, T>, condition: F)
    where
        R: RawMutex,
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        self.wait_while_inner(guard, condition, None);
    }

    /// Waits as [`wait`](Condvar::wait) does, but not beyond `deadline`. The mutex is
    /// locked again in either case, however long that takes.
    #[track_caller]
    pub fn wait_until<R: RawMutex, T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, R, T>,
        deadline: Instant,
    ) -> WaitTimeoutResult {
        self.wait_inner(guard, Some(deadline), Caller::here())
    }

    /// Waits as [`wait`](Condvar::wait) does, but not for longer than `timeout`.
    ///
    /// ```
    /// use blitz_io::thread::{Condvar, Mutex};
    /// use std::time::Duration;
    ///
    /// let value = Mutex::new(0);
    /// let nobody_notifies = Condvar::new();
    /// let result = nobody_notifies.wait_for(&mut value.lock(), Duration::from_millis(1));
    /// assert!(result.timed_out());
    /// ```
    #[track_caller]
    pub fn wait_for<R: RawMutex, T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, R, T>,
        timeout: Duration,
    ) -> WaitTimeoutResult {
        self.wait_inner(guard, deadline::after(timeout), Caller::here())
    }

    /// Waits as [`wait_while`](Condvar::wait_while) does, but not beyond `deadline`. Where
    /// the wait timed out, `condition` is not asked again, as with parking_lot.
    #[track_caller]
    pub fn wait_while_until<R, T, F>(
        &self,
        guard: &mut MutexGuard<'_, R, T>,
        condition: F,
        deadline: Instant,
    ) -> WaitTimeoutResult
    where
        R: RawMutex,
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        self.wait_while_inner(guard, condition, Some(deadline))
    }

    /// Waits as [`wait_while`](Condvar::wait_while) does, but not for longer than
    /// `timeout`.
    #[track_caller]
    pub fn wait_while_for<R, T, F>(
        &self,
        guard: &mut MutexGuard<'_, R, T>,
        condition: F,
        timeout: Duration,
    ) -> WaitTimeoutResult
    where
        R: RawMutex,
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        self.wait_while_inner(guard, condition, deadline::after(timeout))
    }

    fn wait_inner<R: RawMutex, T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, R, T>,
        deadline: Option<Instant>,
        caller: Caller,
    ) -> WaitTimeoutResult {
        let node = NotifyQueue::node(std::ptr::from_ref(MutexGuard::mutex(guard)).cast());
        // SAFETY: the node is not moved, and `sleep` returns before it goes, also if a
        // mutex that is not ours panics while it is released.
        unsafe { self.queue.join(&node) };
        let mut wait = Wait {
            queue: &self.queue,
            node: &node,
            ended: None,
        };
        let ended = MutexGuard::unlocked(guard, || {
            let is_timed = deadline.is_some();
            let _waits = Blocking::new(Kind::ThreadCondvar, &self.object, caller, is_timed);
            wait.sleep(deadline)
        });
        drop(wait);
        WaitTimeoutResult(ended == Ended::TimedOut)
    }

    #[track_caller]
    fn wait_while_inner<R, T, F>(
        &self,
        guard: &mut MutexGuard<'_, R, T>,
        mut condition: F,
        deadline: Option<Instant>,
    ) -> WaitTimeoutResult
    where
        R: RawMutex,
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        let mut result = WaitTimeoutResult(false);
        while !result.timed_out() && condition(guard) {
            result = self.wait_inner(guard, deadline, Caller::here());
        }
        result
    }
}

/// One wait. When it is dropped, the thread has the mutex again, or panics.
struct Wait<'a> {
    queue: &'a NotifyQueue,
    node: &'a Node<Waiting>,
    ended: Option<Ended>,
}

impl Wait<'_> {
    fn sleep(&mut self, deadline: Option<Instant>) -> Ended {
        *self.ended.insert(self.queue.sleep(self.node, deadline))
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        let ended = self
            .ended
            .unwrap_or_else(|| self.sleep(Some(Instant::now())));
        if ended == Ended::PassesOn {
            self.queue.pass_on();
        }
    }
}

named!(Condvar: object);

default_is_new!(Condvar);

debug_is_name!(impl Condvar);
