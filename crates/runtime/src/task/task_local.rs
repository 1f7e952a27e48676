//! `task_local!`: values that belong to a task, not to a thread.
//!
//! The value stays in the future that sets it ([`TaskLocalFuture`]); it is never moved.
//! While the future is polled, a thread-local cell points to it. The poll restores the
//! cell before it ends. So reading a value costs one access to a thread-local without a
//! destructor, and polling a scope writes two words, however large the value is.
//!
//! The cell also counts the running closures that borrow the value: while there is one,
//! no scope of the same key may begin.

use blitz_io_core::{OnDrop, error_text};
use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
use std::mem;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll};
use std::thread;

use pin_project_lite::pin_project;

use super::counted::Counted;

/// Declares keys of task-local values, of type [`LocalKey`].
///
/// Any number of `static` declarations may follow each other; attributes and
/// visibility stay as written. A key has no value at first:
/// [`scope`](LocalKey::scope) sets one for a future.
///
/// ```
/// use blitz_io::task_local;
///
/// task_local! {
///     pub static REQUEST: u64;
///
///     #[allow(unused)]
///     static USER: String;
/// }
///
/// assert_eq!(REQUEST.sync_scope(7, || REQUEST.get()), 7);
/// assert!(REQUEST.try_get().is_err());
/// ```
///
/// [`LocalKey`]: crate::task::LocalKey
/// [`LocalKey::scope`]: crate::task::LocalKey::scope
#[macro_export]
macro_rules! task_local {
    () => {};

    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty $(; $($rest:tt)*)?) => {
        $(#[$attribute])*
        $visibility static $name: $crate::task::LocalKey<$type> = {
            ::std::thread_local! {
                static __PLACE: $crate::task::Place<$type> =
                    const { $crate::task::Place::new() };
            }

            $crate::task::LocalKey { place: __PLACE }
        };
        $($crate::task_local!($($rest)*);)?
    };
}

/// A key of task-local values, made by [`task_local!`](crate::task_local).
///
/// It has a value while a future of [`scope`](Self::scope) is polled, or within the
/// closure of [`sync_scope`](Self::sync_scope). Scopes may be nested; the innermost
/// counts.
///
/// ```
/// blitz_io::task_local! {
///     static DEPTH: u32;
/// }
///
/// # pollster::block_on(async {
/// DEPTH
///     .scope(1, async {
///         assert_eq!(DEPTH.get(), 1);
///         DEPTH.scope(2, async { assert_eq!(DEPTH.get(), 2) }).await;
///         assert_eq!(DEPTH.get(), 1);
///     })
///     .await;
/// # });
/// ```
pub struct LocalKey<T: 'static> {
    #[doc(hidden)]
    pub place: thread::LocalKey<Place<T>>,
}

/// The thread-local state of a key.
#[doc(hidden)]
pub struct Place<T> {
    /// The value of the innermost scope; null if there is none, or if that one's
    /// value has been taken.
    value: Cell<*const T>,
    /// How many running closures borrow the value.
    looking: Cell<usize>,
}

impl<T> Place<T> {
    /// A key without a value.
    #[doc(hidden)]
    #[allow(clippy::new_without_default, reason = "only for the macro")]
    pub const fn new() -> Self {
        Self {
            value: Cell::new(ptr::null()),
            looking: Cell::new(0),
        }
    }
}

/// Panics because a scope began while a closure borrowed the value of the same key.
#[cold]
#[track_caller]
fn borrowed() -> ! {
    panic!("cannot enter a task-local scope while the task-local storage is borrowed")
}

impl<T: 'static> LocalKey<T> {
    /// Returns a future that runs `f` with `value` under this key.
    ///
    /// The value is dropped together with the returned future, or taken out of it by
    /// [`take_value`](TaskLocalFuture::take_value). `f` is dropped as soon as it has
    /// completed, and always with the value in place.
    ///
    /// # Panics
    ///
    /// Polling the future panics inside a closure of [`with`](Self::with) or
    /// [`try_with`](Self::try_with) on the same key.
    ///
    /// ```
    /// blitz_io::task_local! {
    ///     static NUMBER: u32;
    /// }
    ///
    /// # pollster::block_on(async {
    /// let twice = NUMBER.scope(21, async { NUMBER.get() * 2 }).await;
    /// assert_eq!(twice, 42);
    /// # });
    /// ```
    pub fn scope<F>(&'static self, value: T, f: F) -> TaskLocalFuture<T, F>
    where
        F: Future,
    {
        TaskLocalFuture {
            key: self,
            slot: Some(value),
            future: Some(f),
            _pinned: PhantomPinned,
        }
    }

    /// Calls `f` with `value` under this key, and drops the value.
    ///
    /// # Panics
    ///
    /// Inside a closure of [`with`](Self::with) or [`try_with`](Self::try_with) on
    /// the same key.
    ///
    /// ```
    /// blitz_io::task_local! {
    ///     static NUMBER: u32;
    /// }
    ///
    /// assert_eq!(NUMBER.sync_scope(1, || NUMBER.get()), 1);
    /// ```
    #[track_caller]
    pub fn sync_scope<F, R>(&'static self, value: T, f: F) -> R
    where
        F: FnOnce() -> R,
    {
        match self.within(&Some(value), f) {
            Some(result) => result,
            None => borrowed(),
        }
    }

    /// Runs `f` while the key has the value in `slot`. `None` if a closure borrows a
    /// value of the key.
    #[inline]
    fn within<R>(&'static self, slot: &Option<T>, f: impl FnOnce() -> R) -> Option<R> {
        let value = slot.as_ref().map_or(ptr::null(), ptr::from_ref);
        let replace = |place: &Place<T>| {
            let is_free = place.looking.get() == 0;
            is_free.then(|| place.value.replace(value))
        };
        let outer = self.place.with(replace)?;
        let _leave = OnDrop(|| self.place.with(|place| place.value.set(outer)));
        Some(f())
    }

    /// Calls `f` with the value.
    ///
    /// # Panics
    ///
    /// If the key has no value here.
    ///
    /// ```
    /// blitz_io::task_local! {
    ///     static NAME: String;
    /// }
    ///
    /// NAME.sync_scope("blitz".into(), || {
    ///     assert_eq!(NAME.with(|name| name.len()), 5);
    /// });
    /// ```
    #[track_caller]
    pub fn with<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        match self.try_with(f) {
            Ok(result) => result,
            Err(_) => panic!("cannot access a task-local storage value without setting it first"),
        }
    }

    /// Calls `f` with the value.
    ///
    /// # Errors
    ///
    /// If the key has no value here.
    ///
    /// ```
    /// blitz_io::task_local! {
    ///     static NAME: String;
    /// }
    ///
    /// assert!(NAME.try_with(|name| name.len()).is_err());
    /// ```
    #[inline]
    pub fn try_with<F, R>(&'static self, f: F) -> Result<R, AccessError>
    where
        F: FnOnce(&T) -> R,
    {
        self.place.with(|place| {
            let value = place.value.get();
            if value.is_null() {
                return Err(AccessError);
            }
            let _looking = Counted::new(&place.looking);
            // SAFETY: the value lies in the slot of the scope that this thread is
            // in. Only `within` writes the pointer, and it restores the former one before
            // it gives the slot back. `f` cannot leave a scope that it has not entered,
            // and `looking` keeps it from entering one. So the slot stays borrowed, and
            // only shared, while `f` runs.
            Ok(f(unsafe { &*value }))
        })
    }
}

impl<T: Clone + 'static> LocalKey<T> {
    /// Returns a clone of the value.
    ///
    /// # Panics
    ///
    /// If the key has no value here.
    ///
    /// ```
    /// blitz_io::task_local! {
    ///     static NUMBER: u32;
    /// }
    ///
    /// assert_eq!(NUMBER.sync_scope(3, || NUMBER.get()), 3);
    /// ```
    #[track_caller]
    pub fn get(&'static self) -> T {
        self.with(T::clone)
    }

    /// Returns a clone of the value.
    ///
    /// # Errors
    ///
    /// If the key has no value here.
    ///
    /// ```
    /// blitz_io::task_local! {
    ///     static NUMBER: u32;
    /// }
    ///
    /// assert_eq!(NUMBER.try_get().unwrap_or(9), 9);
    /// ```
    pub fn try_get(&'static self) -> Result<T, AccessError> {
        self.try_with(T::clone)
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("LocalKey { .. }")
    }
}

pin_project! {
    /// A future that runs another one with a value under a [`LocalKey`].
    ///
    /// Made by [`LocalKey::scope`]. As cancel safe as the future inside.
    ///
    /// ```
    /// blitz_io::task_local! {
    ///     static NUMBER: u32;
    /// }
    ///
    /// # pollster::block_on(async {
    /// let scope = NUMBER.scope(1, async { NUMBER.get() });
    /// assert_eq!(scope.await, 1);
    /// # });
    /// ```
    pub struct TaskLocalFuture<T, F>
    where
        T: 'static,
    {
        key: &'static LocalKey<T>,
        slot: Option<T>,
        #[pin]
        future: Option<F>,
        #[pin]
        _pinned: PhantomPinned,
    }

    impl<T: 'static, F> PinnedDrop for TaskLocalFuture<T, F> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            if mem::needs_drop::<F>() && this.future.is_some() {
                // Dropped with its value in place; inside a closure that borrows the
                // value, it is dropped with the other fields instead.
                let mut future = this.future;
                let _ = this.key.within(this.slot, || future.set(None));
            }
        }
    }
}

impl<T: 'static, F> TaskLocalFuture<T, F> {
    /// Takes the value; `None` if it has been taken before.
    ///
    /// If the future has not completed yet, the key has no value in the rest of it.
    ///
    /// ```
    /// blitz_io::task_local! {
    ///     static NUMBER: u32;
    /// }
    ///
    /// # pollster::block_on(async {
    /// let mut scope = Box::pin(NUMBER.scope(42, async {}));
    /// scope.as_mut().await;
    /// assert_eq!(scope.as_mut().take_value(), Some(42));
    /// assert_eq!(scope.as_mut().take_value(), None);
    /// # });
    /// ```
    pub fn take_value(self: Pin<&mut Self>) -> Option<T> {
        self.project().slot.take()
    }
}

impl<T: 'static, F: Future> Future for TaskLocalFuture<T, F> {
    type Output = F::Output;

    #[track_caller]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mut slot = this.future;
        let result = this.key.within(this.slot, || {
            let result = slot.as_mut().as_pin_mut()?.poll(cx);
            if result.is_ready() {
                slot.set(None);
            }
            Some(result)
        });
        match result {
            Some(Some(result)) => result,
            Some(None) => panic!("`TaskLocalFuture` polled after completion"),
            None => borrowed(),
        }
    }
}

impl<T, F> fmt::Debug for TaskLocalFuture<T, F>
where
    T: fmt::Debug + 'static,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value: &dyn fmt::Debug = match &self.slot {
            Some(value) => value,
            None => &format_args!("<missing>"),
        };
        f.debug_struct("TaskLocalFuture")
            .field("value", value)
            .finish()
    }
}

/// The error of [`LocalKey::try_with`]: the key has no value here.
///
/// ```
/// use blitz_io::task_local;
///
/// task_local!(static USER: u32);
///
/// assert!(USER.try_with(|user| *user).is_err());
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct AccessError;

error_text! {
    Display for AccessError {
        _ => "task-local value not set",
    }
}
