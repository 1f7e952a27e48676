//! A value that is made when it is first looked at.
//!
//! A [`Once`] tells which of two things the storage holds: the closure until
//! the first look, the value after it, and nothing when the closure has
//! panicked. All waiting is done by the `Once`.

use super::once::{OnPoison, Once, OnceState};
use super::reentrancy;
use crate::macros::const_unless_loom;
use std::cell::UnsafeCell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr;

const LAZY_POISONED: &str = "LazyLock instance has previously been poisoned";

/// A value that is made when it is first looked at, by whichever thread comes
/// first.
///
/// It has the interface of `std::sync::LazyLock`, including the parts that are
/// not stable there yet. When the closure panics, the value cannot be had any
/// more: every later look panics, too.
///
/// Looking at a value that is there costs one load and one comparison.
///
/// # Examples
///
/// ```
/// use blitz_io::thread::LazyLock;
///
/// static SQUARES: LazyLock<Vec<u32>> = LazyLock::new(|| (0..10).map(|n| n * n).collect());
///
/// assert_eq!(SQUARES[7], 49);
/// ```
pub struct LazyLock<T, F = fn() -> T> {
    once: Once,
    data: UnsafeCell<Data<T, F>>,
}

union Data<T, F> {
    /// Before the first look: the `Once` is new.
    init: ManuallyDrop<F>,
    /// After it: the `Once` is done.
    value: ManuallyDrop<T>,
}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    const_unless_loom! {
        /// Creates a value that `f` will make.
        ///
        /// # Examples
        ///
        /// ```
        /// use blitz_io::thread::LazyLock;
        ///
        /// let name = "Ada".to_string();
        /// let greeting = LazyLock::new(|| format!("Hello, {name}"));
        /// assert_eq!(*greeting, "Hello, Ada");
        /// ```
        #[inline]
        pub const fn new(f: F) -> Self {
            Self {
                once: Once::new(),
                data: UnsafeCell::new(Data { init: ManuallyDrop::new(f) }),
            }
        }
    }

    /// Returns the value, which is made now if it was not before. Dereferencing does the
    /// same.
    ///
    /// # Panics
    ///
    /// When the closure panics, now or earlier, and when it is called from
    /// within the closure, where it could only wait for ever.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::LazyLock;
    ///
    /// let lazy = LazyLock::new(|| 92);
    /// assert_eq!(LazyLock::force(&lazy), &92);
    /// ```
    #[inline]
    #[track_caller]
    pub fn force(this: &Self) -> &T {
        if !this.once.is_completed() {
            this.initialise();
        }
        // SAFETY: the `Once` is done: it was seen to be, or `initialise` has
        // returned.
        unsafe { this.get_unchecked() }
    }

    /// Returns the value, to be changed. It is made now if it was not before.
    ///
    /// # Panics
    ///
    /// When the closure panics, now or earlier.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::LazyLock;
    ///
    /// let mut lazy = LazyLock::new(|| 90);
    /// *LazyLock::force_mut(&mut lazy) += 2;
    /// assert_eq!(*lazy, 92);
    /// ```
    #[inline]
    #[track_caller]
    pub fn force_mut(this: &mut Self) -> &mut T {
        LazyLock::force(this);
        // SAFETY: `force` returns only when the `Once` is done.
        unsafe { this.get_unchecked_mut() }
    }

    /// Takes the lock apart.
    ///
    /// # Errors
    ///
    /// Returns the closure if the value has not been made.
    ///
    /// # Panics
    ///
    /// When the closure has panicked.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::LazyLock;
    ///
    /// let lazy = LazyLock::new(|| 92);
    /// LazyLock::force(&lazy);
    /// assert_eq!(LazyLock::into_inner(lazy).ok(), Some(92));
    /// ```
    #[track_caller]
    pub fn into_inner(this: Self) -> Result<T, F> {
        let state = this.once.state();
        assert!(!state.poisoned(), "{LAZY_POISONED}");
        let this = ManuallyDrop::new(this);
        // SAFETY: `this` is not dropped and goes out of scope, so the data that
        // is read here has no second owner.
        let data = unsafe { ptr::read(&this.data) }.into_inner();
        if state.done() {
            // SAFETY: the `Once` is done, so the data is the value.
            Ok(ManuallyDrop::into_inner(unsafe { data.value }))
        } else {
            // SAFETY: nobody else has the lock, so no closure is running; the
            // `Once` is new, and the data is the closure.
            Err(ManuallyDrop::into_inner(unsafe { data.init }))
        }
    }

    #[cold]
    #[track_caller]
    fn initialise(&self) {
        if let Some(claim) = self.once.claim(OnPoison::Panic(LAZY_POISONED)) {
            let data = self.data.get();
            // SAFETY: the claim makes this thread the only one to touch the
            // data, and a claim on a lock that is not poisoned is the first. So
            // the data is the closure. It is read once: the `Once` never becomes
            // new again.
            let init = unsafe { ManuallyDrop::take(&mut (*data).init) };
            let value = reentrancy::enter(&self.once, init);
            // SAFETY: as above; the closure has moved out, so nothing is lost.
            unsafe {
                data.write(Data {
                    value: ManuallyDrop::new(value),
                })
            };
            claim.complete();
        }
    }
}

impl<T, F> LazyLock<T, F> {
    /// Returns the value, if it has been made. Never waits.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::LazyLock;
    ///
    /// let lazy = LazyLock::new(|| 92);
    /// assert_eq!(LazyLock::get(&lazy), None);
    /// LazyLock::force(&lazy);
    /// assert_eq!(LazyLock::get(&lazy), Some(&92));
    /// ```
    #[inline]
    pub fn get(this: &Self) -> Option<&T> {
        if this.once.is_completed() {
            // SAFETY: the `Once` is done.
            Some(unsafe { this.get_unchecked() })
        } else {
            None
        }
    }

    /// Returns the value, if it has been made, to be changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::LazyLock;
    ///
    /// let mut lazy = LazyLock::new(|| 90);
    /// assert_eq!(LazyLock::get_mut(&mut lazy), None);
    /// LazyLock::force(&lazy);
    /// assert_eq!(LazyLock::get_mut(&mut lazy), Some(&mut 90));
    /// ```
    #[inline]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        if this.once.is_completed() {
            // SAFETY: the `Once` is done.
            Some(unsafe { this.get_unchecked_mut() })
        } else {
            None
        }
    }

    /// # Safety
    ///
    /// The `Once` must be done, and this thread must have seen it with acquire
    /// ordering or made it so.
    #[inline]
    unsafe fn get_unchecked(&self) -> &T {
        // SAFETY: the `Once` is done, so the data is the value, and whoever
        // changes it again needs a `&mut` to the lock.
        unsafe { &(*self.data.get()).value }
    }

    /// # Safety
    ///
    /// As for `get_unchecked`.
    #[inline]
    unsafe fn get_unchecked_mut(&mut self) -> &mut T {
        // SAFETY: the `Once` is done, so the data is the value.
        unsafe { &mut self.data.get_mut().value }
    }
}

impl<T, F> Drop for LazyLock<T, F> {
    fn drop(&mut self) {
        match self.once.state() {
            // SAFETY: the data is the closure, and nobody looks at it again.
            OnceState::New => unsafe { ManuallyDrop::drop(&mut self.data.get_mut().init) },
            // SAFETY: the data is the value, and nobody looks at it again.
            OnceState::Done => unsafe { ManuallyDrop::drop(&mut self.data.get_mut().value) },
            // The closure has moved out, and no value has come in its place.
            OnceState::Poisoned | OnceState::InProgress => {}
        }
    }
}

// SAFETY: `&LazyLock` hands out `&T` on any thread, which needs `T: Sync`; the
// value may be made on one thread and dropped on another, which needs `T: Send`;
// the closure may be called on another thread than it was made on, but by one
// thread only, which needs `F: Send`.
unsafe impl<T: Sync + Send, F: Send> Sync for LazyLock<T, F> {}

impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[inline]
    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T, F: FnOnce() -> T> DerefMut for LazyLock<T, F> {
    #[inline]
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        LazyLock::force_mut(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    /// A value that `T::default` will make.
    #[inline]
    fn default() -> Self {
        Self::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple = f.debug_tuple("LazyLock");
        match LazyLock::get(self) {
            Some(value) => tuple.field(value),
            None => tuple.field(&format_args!("<uninit>")),
        };
        tuple.finish()
    }
}
