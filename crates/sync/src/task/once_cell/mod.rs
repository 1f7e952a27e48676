//! `OnceCell`: a value that is made once, by a future. It is also the core of `SetOnce`, whose
//! values are only set.
//!
//! # States
//!
//! * [`EMPTY`]: there is no value, and none is being made.
//! * [`BUSY`]: the *turn* is taken: a [`Turn`] has it, or a node in which it waits to be picked
//!   up. Only its owner may write the value.
//! * [`SET`]: the value is initialised. This state is final.
//!
//! The state changes under the lock of the queue, and only there:
//!
//! | from | to | by |
//! |---|---|---|
//! | `EMPTY` | `SET` | [`OnceCell::set`], which writes the value under the lock |
//! | `EMPTY` | `BUSY` | the waiter that takes the turn |
//! | `BUSY` | `SET` | the owner of the turn, with the value written |
//! | `BUSY` | `EMPTY` | the owner of the turn, which gives it up when no waiter wants it |
//!
//! Reading is one load. Setting the value costs one read-modify-write, that of the lock. A claim
//! of the state alone would cost the same.
//!
//! In the queue are waiters that want the turn, and waiters that only want the value. A task that
//! gives the turn up leaves the state `BUSY`, and chooses the first that wants the turn: that one
//! has it from then on. Publishing the value chooses all.
//!
//! # No wake-up is lost
//!
//! A waiter joins the queue under the lock, having seen there that the state is
//! not `SET` and, if it wants the turn, that it is `BUSY`. A task that changes the
//! state does it under the lock too, and looks into the queue under the same lock. So
//! one of them comes second and sees the other.
//!
//! A chosen node reads its result from the state. With `SET` there is a value; otherwise the node
//! has the turn, since only its owner could set the value. A future that is dropped having the
//! turn gives it up like any other owner.

mod turn;

use std::cell::UnsafeCell;
use std::fmt::Debug;
use std::future::Future;
use std::marker::PhantomData;
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::time::{Duration, Instant};

use blitz_io_futex::atomic::{AtomicU8, Ordering};

use blitz_io_core::{List, Node, WaitQueue, coop, deadline};
use blitz_io_core::{const_unless_loom, debug_fields, error_text};

use blitz_io_observe::{Caller, Object, named};

use crate::cell_traits::cell_traits;
use turn::WITHOUT_END;

/// There is no value.
const EMPTY: u8 = 0;
/// The turn is taken.
const BUSY: u8 = 1;
/// The value is initialised.
const SET: u8 = 2;

/// A cell whose value is set once, and may be made by a future.
///
/// It takes the place of `tokio::sync::OnceCell`, and works with any executor.
/// Threads may [wait](OnceCell::blocking_wait) for the value and
/// [make it](OnceCell::blocking_get_or_init) too. Reading a set cell is one load.
/// Waiting allocates nothing.
///
/// # Examples
///
/// ```
/// # pollster::block_on(async {
/// use blitz_io::sync::OnceCell;
///
/// static ANSWER: OnceCell<u32> = OnceCell::const_new();
///
/// async fn answer() -> u32 {
///     *ANSWER.get_or_init(|| async { 42 }).await
/// }
///
/// assert_eq!(answer().await, 42);
/// assert_eq!(ANSWER.get(), Some(&42));
/// # });
/// ```
pub struct OnceCell<T> {
    state: AtomicU8,
    /// Initialised exactly when the state is `SET`.
    value: UnsafeCell<MaybeUninit<T>>,
    waiters: WaitQueue<Request>,
    /// The owner of the turn, for reports.
    object: Object,
    /// Dropping the cell drops a `T`.
    owns: PhantomData<T>,
}

// SAFETY: the value goes where the cell goes.
unsafe impl<T: Send> Send for OnceCell<T> {}
// SAFETY: a thread that shares the cell can put a value in, which another thread then reads or
// drops.
unsafe impl<T: Send + Sync> Sync for OnceCell<T> {}

/// The request of a waiter in the queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Request {
    /// The turn, or the value.
    Turn,
    /// The value.
    Value,
}

impl<T> OnceCell<T> {
    const_unless_loom! {
        /// Creates an empty cell.
        ///
        /// ```
        /// use blitz_io::sync::OnceCell;
        ///
        /// assert_eq!(OnceCell::<u32>::new().get(), None);
        /// ```
        #[must_use]
        pub const fn new() -> Self {
            Self {
                state: AtomicU8::new(EMPTY),
                value: UnsafeCell::new(MaybeUninit::uninit()),
                waiters: WaitQueue::new(),
                object: Object::new(),
                owns: PhantomData,
            }
        }
    }

    const_unless_loom! {
        /// Creates the same as [`new`](OnceCell::new), which is `const` here too.
        #[must_use]
        pub const fn const_new() -> Self {
            Self::new()
        }
    }

    /// Creates a cell with a value, if there is one, else an empty one.
    ///
    /// ```
    /// use blitz_io::sync::OnceCell;
    ///
    /// assert_eq!(OnceCell::new_with(Some(7)).get(), Some(&7));
    /// ```
    #[must_use]
    pub fn new_with(value: Option<T>) -> Self {
        value.map_or_else(Self::new, Self::from)
    }

    const_unless_loom! {
        /// Creates a cell with a value.
        ///
        /// ```
        /// use blitz_io::sync::OnceCell;
        ///
        /// static SEVEN: OnceCell<u32> = OnceCell::const_new_with(7);
        /// assert_eq!(SEVEN.get(), Some(&7));
        /// ```
        #[must_use]
        pub const fn const_new_with(value: T) -> Self {
            Self {
                state: AtomicU8::new(SET),
                value: UnsafeCell::new(MaybeUninit::new(value)),
                waiters: WaitQueue::new(),
                object: Object::new(),
                owns: PhantomData,
            }
        }
    }

    /// Returns whether there is a value.
    #[inline]
    #[must_use]
    pub fn initialized(&self) -> bool {
        self.state.load(Ordering::Acquire) == SET
    }

    /// Returns the value, if there is one.
    #[inline]
    #[must_use]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: it has been written, and is not written again while shared.
        self.initialized()
            .then(|| unsafe { (*self.value.get()).assume_init_ref() })
    }

    /// Returns the value, if there is one, to be changed.
    ///
    /// ```
    /// use blitz_io::sync::OnceCell;
    ///
    /// let mut cell = OnceCell::from(1);
    /// *cell.get_mut().unwrap() += 1;
    /// assert_eq!(cell.get(), Some(&2));
    /// ```
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.initialized()
            // SAFETY: in the state `SET` the value is initialised.
            .then(|| unsafe { self.value.get_mut().assume_init_mut() })
    }

    /// Sets the value. Does not wait.
    ///
    /// # Errors
    ///
    /// Gives the value back if there is one already, or if one is just being made.
    ///
    /// ```
    /// use blitz_io::sync::{OnceCell, SetError};
    ///
    /// let cell = OnceCell::new();
    /// assert_eq!(cell.set(1), Ok(()));
    /// assert_eq!(cell.set(2), Err(SetError::AlreadyInitializedError(2)));
    /// ```
    #[inline]
    pub fn set(&self, value: T) -> Result<(), SetError<T>> {
        if self.initialized() {
            return Err(SetError::AlreadyInitializedError(value));
        }
        let mut value = Some(value);
        let mut is_busy = false;
        let set = |_: &mut List<Request>| {
            let state = self.state.load(Ordering::Relaxed);
            is_busy = state == BUSY;
            let Some(value) = value.take_if(|_| state == EMPTY) else {
                return false;
            };
            // SAFETY: the turn is free, and stays free until this is done, as the lock is held.
            unsafe { self.write(value) };
            self.publish();
            true
        };
        self.waiters.notify_each_after(set, |_| {});
        match value {
            None => Ok(()),
            Some(value) if is_busy => Err(SetError::InitializingError(value)),
            Some(value) => Err(SetError::AlreadyInitializedError(value)),
        }
    }

    /// Returns the value; if there is none yet, the future of `f` makes it. A task that calls
    /// this during that time waits for the value.
    ///
    /// If the future is dropped before its end, or panics, the task that has waited longest tries
    /// with its own. A call from within its own future never ends.
    ///
    /// # Cancel safety
    ///
    /// A dropped call leaves the cell as it was, or set. Its future is dropped
    /// with it.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use blitz_io::sync::OnceCell;
    ///
    /// let cell = OnceCell::new();
    /// assert_eq!(cell.get_or_init(|| async { 1 }).await, &1);
    /// assert_eq!(cell.get_or_init(|| async { 2 }).await, &1);
    /// # });
    /// ```
    #[track_caller]
    pub fn get_or_init<F, Fut>(&self, f: F) -> impl Future<Output = &T>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = T>,
    {
        let caller = Caller::here();
        async move {
            if let Some(value) = self.get() {
                coop::at_point().await;
                coop::acted();
                return value;
            }
            match self.turn(caller).await {
                Ok(turn) => turn.fill(f().await),
                Err(value) => value,
            }
        }
    }

    /// Initialises as [`get_or_init`](OnceCell::get_or_init) does, with a future that may fail.
    /// Then the task that has waited longest tries with its own.
    ///
    /// # Errors
    ///
    /// If this call's own future fails.
    ///
    /// # Cancel safety
    ///
    /// As with `get_or_init`.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use blitz_io::sync::OnceCell;
    ///
    /// let cell = OnceCell::new();
    /// assert_eq!(cell.get_or_try_init(|| async { "x".parse() }).await.ok(), None::<&u32>);
    /// assert_eq!(cell.get_or_try_init(|| async { "1".parse() }).await.ok(), Some(&1));
    /// # });
    /// ```
    #[track_caller]
    pub fn get_or_try_init<E, F, Fut>(&self, f: F) -> impl Future<Output = Result<&T, E>>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        let caller = Caller::here();
        async move {
            if let Some(value) = self.get() {
                coop::at_point().await;
                coop::acted();
                return Ok(value);
            }
            match self.turn(caller).await {
                Ok(turn) => Ok(turn.fill(f().await?)),
                Err(value) => Ok(value),
            }
        }
    }

    /// Initialises as [`get_or_init`](OnceCell::get_or_init) does, for a thread: blocks while
    /// another task or thread makes the value, and makes it with `f` otherwise.
    ///
    /// Tasks that want to make the value wait during that time. A call from within `f` never
    /// ends.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::OnceCell;
    ///
    /// let cell = OnceCell::new();
    /// assert_eq!(cell.blocking_get_or_init(|| 1), &1);
    /// assert_eq!(cell.blocking_get_or_init(|| 2), &1);
    /// ```
    #[inline]
    #[track_caller]
    pub fn blocking_get_or_init(&self, f: impl FnOnce() -> T) -> &T {
        coop::assert_may_block();
        if let Some(value) = self.get() {
            return value;
        }
        match self.blocking_turn(Caller::here()) {
            Ok(turn) => turn.fill(f()),
            Err(value) => value,
        }
    }

    /// Initialises as [`get_or_try_init`](OnceCell::get_or_try_init) does, for a thread.
    ///
    /// # Errors
    ///
    /// If this call's own `f` fails.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::OnceCell;
    ///
    /// let cell = OnceCell::new();
    /// assert!(cell.blocking_get_or_try_init(|| "x".parse::<u32>()).is_err());
    /// assert_eq!(cell.blocking_get_or_try_init(|| "1".parse()), Ok(&1));
    /// ```
    #[inline]
    #[track_caller]
    pub fn blocking_get_or_try_init<E>(&self, f: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        coop::assert_may_block();
        if let Some(value) = self.get() {
            return Ok(value);
        }
        match self.blocking_turn(Caller::here()) {
            Ok(turn) => Ok(turn.fill(f()?)),
            Err(value) => Ok(value),
        }
    }

    /// Waits until there is a value, and makes none.
    ///
    /// # Cancel safety
    ///
    /// A dropped call has no effect.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use blitz_io::sync::OnceCell;
    ///
    /// let cell = OnceCell::new();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| cell.set(7));
    ///     // With the crate pollster.
    ///     pollster::block_on(async { assert_eq!(cell.wait().await, &7) });
    /// });
    /// # });
    /// ```
    #[track_caller]
    pub fn wait(&self) -> impl Future<Output = &T> {
        let caller = Caller::here();
        async move {
            match self.get() {
                Some(value) => {
                    coop::at_point().await;
                    coop::acted();
                    value
                }
                None => self.value(caller).await,
            }
        }
    }

    /// Waits as [`wait`](OnceCell::wait) does, for a thread.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::OnceCell;
    ///
    /// let cell = OnceCell::new();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| cell.set(7));
    ///     assert_eq!(cell.blocking_wait(), &7);
    /// });
    /// ```
    #[inline]
    #[track_caller]
    #[doc(alias = "wait_blocking")]
    pub fn blocking_wait(&self) -> &T {
        self.wait_until(None).expect(WITHOUT_END)
    }

    /// Waits as [`blocking_wait`](OnceCell::blocking_wait) does, but no longer than `timeout`. Returns
    /// `None` if it elapses.
    ///
    /// For threads. A task awaits [`wait`](OnceCell::wait) in a `timeout` of its runtime.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::OnceCell;
    /// use std::time::Duration;
    ///
    /// let cell = OnceCell::new();
    /// assert_eq!(cell.blocking_wait_timeout(Duration::from_millis(1)), None);
    /// cell.set(7)?;
    /// assert_eq!(cell.blocking_wait_timeout(Duration::from_millis(1)), Some(&7));
    /// # Ok::<(), blitz_io::sync::SetError<i32>>(())
    /// ```
    #[track_caller]
    pub fn blocking_wait_timeout(&self, timeout: Duration) -> Option<&T> {
        self.wait_until(deadline::after(timeout))
    }

    /// Waits as [`blocking_wait`](OnceCell::blocking_wait) does, but no longer than until `deadline`.
    /// Returns `None` if it passes.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::OnceCell;
    /// use std::time::Instant;
    ///
    /// let cell = OnceCell::from(7);
    /// assert_eq!(cell.blocking_wait_deadline(Instant::now()), Some(&7));
    /// ```
    #[track_caller]
    pub fn blocking_wait_deadline(&self, deadline: Instant) -> Option<&T> {
        self.wait_until(Some(deadline))
    }

    /// Returns the value, if there is one.
    ///
    /// ```
    /// use blitz_io::sync::OnceCell;
    ///
    /// assert_eq!(OnceCell::from(7).into_inner(), Some(7));
    /// ```
    #[must_use]
    pub fn into_inner(self) -> Option<T> {
        let is_set = self.initialized();
        // The value is not dropped, as it is moved out, nor is anything else: no waiter is
        // queued.
        self.state.store(EMPTY, Ordering::Relaxed);
        // SAFETY: the state was `SET`, so the value is initialised. It is `EMPTY` now, so `drop`
        // leaves the value alone.
        is_set.then(|| unsafe { (*self.value.get()).assume_init_read() })
    }

    /// Takes the value out, if there is one. The cell is empty then.
    ///
    /// ```
    /// use blitz_io::sync::OnceCell;
    ///
    /// let mut cell = OnceCell::from(7);
    /// assert_eq!((cell.take(), cell.take()), (Some(7), None));
    /// ```
    pub fn take(&mut self) -> Option<T> {
        mem::take(self).into_inner()
    }
}

impl<T> OnceCell<T> {
    /// Blocks the thread until there is a value, or until the deadline.
    #[inline]
    #[track_caller]
    fn wait_until(&self, deadline: Option<Instant>) -> Option<&T> {
        coop::assert_may_block();
        let caller = Caller::here();
        self.get().or_else(|| self.blocking_value(deadline, caller))
    }

    /// # Safety
    ///
    /// The caller has the turn, or holds the lock with the state `EMPTY`.
    unsafe fn write(&self, value: T) {
        // SAFETY: it is not read before the state is `SET`.
        unsafe { (*self.value.get()).write(value) };
    }

    /// Publishes the value. Under the lock.
    fn publish(&self) {
        self.state.store(SET, Ordering::Release);
    }

    /// Puts the value in and wakes all. For the owner of the turn.
    fn fill(&self, value: T) -> &T {
        // SAFETY: the caller owns the turn, so no other thread writes or reads the value.
        unsafe { self.write(value) };
        self.object.released();
        let publish = |_: &mut List<Request>| {
            self.publish();
            true
        };
        self.waiters.notify_each_after(publish, |_| {});
        // SAFETY: it has just been written, and is not written again while shared.
        unsafe { (*self.value.get()).assume_init_ref() }
    }

    /// Lets the next waiter try. For the owner of the turn.
    #[cold]
    fn give_up(&self) {
        self.object.released();
        let wake = self.waiters.locked(|list| {
            let next = Self::next(list);
            if next.is_null() {
                self.state.store(EMPTY, Ordering::Release);
                return None;
            }
            // SAFETY: it is linked.
            Some(unsafe { list.choose(next) })
        });
        if let Some(wake) = wake {
            wake.wake();
        }
    }

    /// Returns the first waiter that wants the turn, or null.
    fn next(list: &List<Request>) -> *const Node<Request> {
        list.iter()
            .find(|node| node.request == Request::Turn)
            .map_or(ptr::null(), ptr::from_ref)
    }
}

impl<T> From<T> for OnceCell<T> {
    fn from(value: T) -> Self {
        Self::const_new_with(value)
    }
}

impl<T> Drop for OnceCell<T> {
    #[inline]
    fn drop(&mut self) {
        if mem::needs_drop::<T>() && self.initialized() {
            // SAFETY: in the state `SET` the value is initialised, and it is not used any more.
            unsafe { self.value.get_mut().assume_init_drop() };
        }
    }
}

debug_fields!(impl<T: Debug> OnceCell<T>, |this| { value: this.get() });

cell_traits!(OnceCell);

named!(OnceCell<T>: object);

/// The reason why [`OnceCell::set`] has not set the value, with the value.
#[derive(Debug, PartialEq, Eq)]
pub enum SetError<T> {
    /// There was a value already.
    AlreadyInitializedError(T),
    /// A value was being made.
    InitializingError(T),
}

impl<T> SetError<T> {
    /// Returns whether there was a value already.
    #[must_use]
    pub fn is_already_init_err(&self) -> bool {
        matches!(self, Self::AlreadyInitializedError(_))
    }

    /// Returns whether one was being made.
    #[must_use]
    pub fn is_initializing_err(&self) -> bool {
        matches!(self, Self::InitializingError(_))
    }
}

error_text! {
    Display for SetError<T: Debug> {
        Self::AlreadyInitializedError(_) => "AlreadyInitializedError",
        Self::InitializingError(_) => "InitializingError",
    }
}
