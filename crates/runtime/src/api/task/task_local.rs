//! `task_local!`: values that belong to a task, not to a thread.
//!
//! The value stays in the future that sets it ([`TaskLocalFuture`]); it is never moved.
//! While the future is polled, a thread-local cell points to it: a scope, which moves with the
//! fiber that is in it (`scopes.rs` of blitz-io-core). So reading a value costs no read-modify-write,
//! and polling a scope writes a few words, however large the value is.
//!
//! The cell also has a flag for a running closure that borrows the value. While it is set, no scope of the
//! same key may begin. That is a scope, too. If the closure's fiber suspends in it, the closure holds the
//! [`Lease`] of the slot that has the value. The slot may be outside of the fiber, and must then
//! outlive the closure. A future that is dropped drops its fiber first, which unwinds it and
//! so ends the closure. If the lease is held even then, the slot ends the process.

use blitz_io_core::{Lease, error_text, scopes};
use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
use std::mem;
use std::panic::RefUnwindSafe;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll};
use std::thread;

use pin_project_lite::pin_project;

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
pub struct Place<T>(Cell<State<T>>);

struct State<T> {
    /// The slot of the innermost scope; null if there is none, or if that one's
    /// value has been taken.
    slot: *const Slot<T>,
    /// A running closure borrows the value.
    is_borrowed: bool,
}

impl<T> Clone for State<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for State<T> {}

impl<T> Place<T> {
    /// Creates a key without a value.
    #[doc(hidden)]
    #[allow(clippy::new_without_default, reason = "only for the macro")]
    pub const fn new() -> Self {
        Self(Cell::new(State {
            slot: ptr::null(),
            is_borrowed: false,
        }))
    }
}

/// The place of a value. A fiber may have a reference to it that lives while the slot's owner has an
/// exclusive one, so it is never moved.
struct Slot<T> {
    value: UnsafeCell<Option<T>>,
    lease: Lease,
    _pinned: PhantomPinned,
}

// SAFETY: a shared reference gives only shared ones to the value.
unsafe impl<T: Sync> Sync for Slot<T> {}
impl<T: RefUnwindSafe> RefUnwindSafe for Slot<T> {}

impl<T> Slot<T> {
    fn new(value: T) -> Self {
        Self {
            value: UnsafeCell::new(Some(value)),
            lease: Lease::new(),
            _pinned: PhantomPinned,
        }
    }

    fn get(&self) -> Option<&T> {
        // SAFETY: only `take` changes it, to which the caller gives an exclusive reference.
        unsafe { &*self.value.get() }.as_ref()
    }

    /// Takes the value, unless a fiber waits with a reference to it.
    fn take(self: Pin<&mut Self>) -> Option<T> {
        if self.lease.is_held() {
            return None;
        }
        // SAFETY: the reference is exclusive, and a closure with a reference to the value would either
        // hold the lease, or run within a scope, which has a reference to the slot.
        unsafe { &mut *self.value.get() }.take()
    }
}

impl<T> Drop for Slot<T> {
    fn drop(&mut self) {
        if self.lease.is_held() {
            leased();
        }
    }
}

#[cold]
fn leased() -> ! {
    eprintln!(
        "fatal error: a task-local value was dropped while a fiber waits in `LocalKey::with` with a \
         reference to it"
    );
    std::process::abort()
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
            slot: Slot::new(value),
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
        match self.within(&Slot::new(value), f) {
            Some(result) => result,
            None => borrowed(),
        }
    }

    /// Returns this thread's state of the key.
    #[inline]
    fn state(&'static self) -> *const Cell<State<T>> {
        const { assert!(!mem::needs_drop::<Place<T>>()) };
        self.place.with(|Place(state)| ptr::from_ref(state))
    }

    /// Runs `f` while the key has the value in `slot`. `None` if a closure borrows a
    /// value of the key, or a fiber of another thread this value.
    #[inline]
    fn within<R>(&'static self, slot: &Slot<T>, f: impl FnOnce() -> R) -> Option<R> {
        let place = self.state();
        // SAFETY: nothing drops the state, so it is alive as long as this thread.
        if unsafe { &*place }.get().is_borrowed || slot.lease.is_held_elsewhere() {
            return None;
        }
        let state = State {
            slot: slot.get().map_or(ptr::null(), |_| slot),
            is_borrowed: false,
        };
        // SAFETY: it has no destructor.
        Some(unsafe { scopes::with(place, state, f) })
    }

    /// Calls `f` with the value.
    ///
    /// A fiber may wait in `f`. It must end before the scope that has the value does, as it
    /// does if it is a part of the scope's future: otherwise the end of the scope ends the process.
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
        let place = self.state();
        // SAFETY: nothing drops the state, so it is alive as long as this thread.
        let State { slot, .. } = unsafe { &*place }.get();
        // SAFETY: it is that of the innermost scope, which borrows the slot until it ends; or that of a
        // closure around this one, which holds the lease.
        let Some((value, lease)) = unsafe { slot.as_ref() }
            .and_then(|slot| slot.get().map(|value| (value, &raw const slot.lease)))
        else {
            return Err(AccessError);
        };
        let borrowed = State {
            slot,
            is_borrowed: true,
        };
        // SAFETY: the state has no destructor. `f` cannot end a scope that it has not begun, and cannot
        // begin one because of `is_borrowed`. So the slot stays borrowed, and only shared, while `f` runs or,
        // if a fiber suspends in it, while the lease is held. All of that is on this thread: see `within`.
        Ok(unsafe { scopes::leasing(place, borrowed, lease, || f(value)) })
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
        #[pin]
        slot: Slot<T>,
        #[pin]
        future: Option<F>,
        #[pin]
        _pinned: PhantomPinned,
    }

    impl<T: 'static, F> PinnedDrop for TaskLocalFuture<T, F> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            if mem::needs_drop::<F>() && this.future.is_some() {
                // Dropped with its value in place, except inside a closure that borrows a
                // value of the key; but always before the value, to which a fiber in it may
                // have a reference.
                let (slot, mut future) = (this.slot.into_ref(), this.future);
                if this.key.within(&slot, || future.set(None)).is_none() {
                    future.set(None);
                }
            }
        }
    }
}

impl<T: 'static, F> TaskLocalFuture<T, F> {
    /// Takes the value; `None` if it has been taken before, or if a fiber waits in
    /// [`with`](LocalKey::with) with a reference to it.
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
        let (slot, mut future) = (this.slot.into_ref(), this.future);
        let result = this.key.within(&slot, || {
            let result = future.as_mut().as_pin_mut()?.poll(cx);
            if result.is_ready() {
                future.set(None);
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
        // The value need not be `Sync`.
        let value: &dyn fmt::Debug = if self.slot.lease.is_held_elsewhere() {
            &format_args!("<borrowed>")
        } else {
            match self.slot.get() {
                Some(value) => value,
                None => &format_args!("<missing>"),
            }
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
