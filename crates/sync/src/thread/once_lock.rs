//! A cell that is written once.
//!
//! A value beside a [`Once`]: with the state `DONE`, the value is initialised and will not be
//! written again while it is shared. The `Once` does all waiting, and its file has the proof.
//!
//! The value is an `Option`, though the `Once` knows whether it is initialised. So the cell needs
//! no `Drop` of its own, and the compiler sees that dropping a cell of references uses none of
//! them.
//!
//! An initialiser that panics or fails leaves the `Once` poisoned, which here means no more than
//! "empty, and a thread has tried".

use super::Once;
use super::once::OnPoison;
use crate::cell_traits::cell_traits;
use blitz_io_core::const_unless_loom;
use blitz_io_core::deadline;
use blitz_io_core::scopes;
use blitz_io_observe::named;
use std::cell::UnsafeCell;
use std::convert::Infallible;
use std::fmt;
use std::mem;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::{Duration, Instant};

/// A cell that can be written once, from any thread, and then only be read.
///
/// It has the interface of `std::sync::OnceLock`, including the parts that are
/// not stable there yet, and timed waits.
///
/// Reading a filled cell is one load and one comparison.
///
/// # Examples
///
/// ```
/// use blitz_io::thread::OnceLock;
///
/// fn primes() -> &'static [u32] {
///     static PRIMES: OnceLock<Vec<u32>> = OnceLock::new();
///     PRIMES.get_or_init(|| (2..100).filter(|n| (2..*n).all(|d| n % d != 0)).collect())
/// }
///
/// assert_eq!(primes()[..4], [2, 3, 5, 7]);
/// ```
pub struct OnceLock<T> {
    once: Once,
    /// There exactly when `once` is done.
    value: UnsafeCell<Option<T>>,
}

impl<T> OnceLock<T> {
    const_unless_loom! {
        /// Creates an empty cell.
        ///
        /// # Examples
        ///
        /// ```
        /// use blitz_io::thread::OnceLock;
        ///
        /// static NAME: OnceLock<String> = OnceLock::new();
        /// assert!(NAME.get().is_none());
        /// ```
        #[inline]
        #[must_use]
        pub const fn new() -> Self {
            Self {
                once: Once::new(),
                value: UnsafeCell::new(None),
            }
        }
    }

    /// Returns the value, if the cell is filled. Never waits.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::OnceLock;
    ///
    /// let cell = OnceLock::new();
    /// assert_eq!(cell.get(), None);
    /// cell.set(92).unwrap();
    /// assert_eq!(cell.get(), Some(&92));
    /// ```
    #[inline]
    pub fn get(&self) -> Option<&T> {
        let is_filled = self.once.is_completed();
        // SAFETY: the `Once` is done.
        is_filled.then(|| unsafe { self.get_unchecked() })
    }

    /// Returns the value, if the cell is filled, to be changed. The `&mut` shows that no other
    /// thread has the cell.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::OnceLock;
    ///
    /// let mut cell = OnceLock::from(90);
    /// *cell.get_mut().unwrap() += 2;
    /// assert_eq!(cell.get(), Some(&92));
    /// ```
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        let is_filled = self.once.is_completed();
        // SAFETY: the `Once` is done.
        is_filled.then(|| unsafe { self.get_unchecked_mut() })
    }

    /// Fills the cell.
    ///
    /// Waits if another thread is just running the closure of
    /// [`get_or_init`](OnceLock::get_or_init).
    ///
    /// # Errors
    ///
    /// Gives `value` back if the cell is filled already.
    ///
    /// # Panics
    ///
    /// When it is called from within the closure that fills the same cell.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::OnceLock;
    ///
    /// let cell = OnceLock::new();
    /// assert_eq!(cell.set("first"), Ok(()));
    /// assert_eq!(cell.set("second"), Err("second"));
    /// assert_eq!(cell.get(), Some(&"first"));
    /// ```
    #[inline]
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        self.try_insert(value).map(drop).map_err(|(_, value)| value)
    }

    /// Fills the cell and returns its value.
    ///
    /// Waits if another thread is just running the closure of
    /// [`get_or_init`](OnceLock::get_or_init).
    ///
    /// # Errors
    ///
    /// If the cell is filled already, returns its value and `value`.
    ///
    /// # Panics
    ///
    /// When it is called from within the closure that fills the same cell.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::OnceLock;
    ///
    /// let cell = OnceLock::new();
    /// assert_eq!(cell.try_insert(1), Ok(&1));
    /// assert_eq!(cell.try_insert(2), Err((&1, 2)));
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_insert(&self, value: T) -> Result<&T, (&T, T)> {
        let claim = match self.once.try_claim() {
            None => self.once.claim(OnPoison::Retry),
            claim => claim,
        };
        if let Some(claim) = claim {
            // SAFETY: the claim makes this thread the only one to touch the
            // value, and there is none to be dropped.
            unsafe { self.value.get().write(Some(value)) };
            claim.complete();
            // SAFETY: the `Once` is done.
            Ok(unsafe { self.get_unchecked() })
        } else {
            // SAFETY: a claim is refused only by a `Once` that is done.
            Err((unsafe { self.get_unchecked() }, value))
        }
    }

    /// Returns the value. If the cell is empty, `f` makes it.
    ///
    /// Of many threads that find the cell empty, one runs its closure and the
    /// others wait for it. If that closure panics, another thread's turn comes.
    ///
    /// # Panics
    ///
    /// When `f` panics, which leaves the cell empty, and when it is called from
    /// within the closure that fills the same cell, where it could only wait for
    /// ever.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::OnceLock;
    ///
    /// let cell = OnceLock::new();
    /// assert_eq!(cell.get_or_init(|| 92), &92);
    /// assert_eq!(cell.get_or_init(|| unreachable!()), &92);
    /// ```
    #[inline]
    #[track_caller]
    pub fn get_or_init<F: FnOnce() -> T>(&self, f: F) -> &T {
        match self.get_or_try_init(|| Ok::<T, Infallible>(f())) {
            Ok(value) => value,
            Err(never) => match never {},
        }
    }

    /// Returns the value, to be changed. If the cell is empty, `f` makes it.
    ///
    /// # Panics
    ///
    /// When `f` panics, which leaves the cell empty.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::OnceLock;
    ///
    /// let mut cell = OnceLock::new();
    /// *cell.get_mut_or_init(|| 90) += 2;
    /// assert_eq!(cell.get(), Some(&92));
    /// ```
    #[inline]
    #[track_caller]
    pub fn get_mut_or_init<F: FnOnce() -> T>(&mut self, f: F) -> &mut T {
        self.get_or_init(f);
        // SAFETY: `get_or_init` returns only when the `Once` is done.
        unsafe { self.get_unchecked_mut() }
    }

    /// Returns the value. If the cell is empty, `f` makes it, or fails to.
    ///
    /// # Errors
    ///
    /// Returns the error of `f`, which leaves the cell empty.
    ///
    /// # Panics
    ///
    /// When `f` panics, which leaves the cell empty, and when it is called from
    /// within the closure that fills the same cell.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::OnceLock;
    ///
    /// let cell = OnceLock::new();
    /// assert!(cell.get_or_try_init(|| "x".parse::<u8>()).is_err());
    /// assert_eq!(cell.get_or_try_init(|| "7".parse::<u8>()), Ok(&7));
    /// ```
    #[inline]
    #[track_caller]
    pub fn get_or_try_init<F, E>(&self, f: F) -> Result<&T, E>
    where
        F: FnOnce() -> Result<T, E>,
    {
        if !self.once.is_completed() {
            self.initialise(f)?;
        }
        // SAFETY: `initialise` succeeds only when the `Once` is done.
        Ok(unsafe { self.get_unchecked() })
    }

    /// Empties the cell and returns its value.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::OnceLock;
    ///
    /// let mut cell = OnceLock::from(92);
    /// assert_eq!(cell.take(), Some(92));
    /// assert_eq!(cell.take(), None);
    /// ```
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        mem::take(self).into_inner()
    }

    /// Returns the value of the cell.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::OnceLock;
    ///
    /// assert_eq!(OnceLock::from(92).into_inner(), Some(92));
    /// assert_eq!(OnceLock::<u8>::new().into_inner(), None);
    /// ```
    #[inline]
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// Waits until the cell is filled, and returns its value.
    ///
    /// # Panics
    ///
    /// When it is called from within the closure that fills the same cell.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::OnceLock;
    ///
    /// let cell = OnceLock::new();
    /// std::thread::scope(|s| {
    ///     s.spawn(|| assert_eq!(cell.wait(), &92));
    ///     cell.set(92).unwrap();
    /// });
    /// ```
    #[inline]
    #[track_caller]
    pub fn wait(&self) -> &T {
        self.once.wait_force();
        // SAFETY: a wait without a deadline ends only when the `Once` is done.
        unsafe { self.get_unchecked() }
    }

    /// Waits until the cell is filled, for no longer than `timeout`.
    /// Returns its value, or `None` after the timeout.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::OnceLock;
    /// use std::time::Duration;
    ///
    /// let cell = OnceLock::<u8>::new();
    /// assert_eq!(cell.wait_timeout(Duration::from_millis(1)), None);
    /// ```
    #[inline]
    #[track_caller]
    #[must_use = "the time may be up with the cell empty"]
    pub fn wait_timeout(&self, timeout: Duration) -> Option<&T> {
        match self.get() {
            None => self.wait_for_value(deadline::after(timeout)),
            value => value,
        }
    }

    /// Waits until the cell is filled, for no longer than until `deadline`.
    /// Returns its value, or `None` after the deadline.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::OnceLock;
    /// use std::time::Instant;
    ///
    /// let cell = OnceLock::from(92);
    /// assert_eq!(cell.wait_deadline(Instant::now()), Some(&92));
    /// ```
    #[inline]
    #[track_caller]
    #[must_use = "the time may be up with the cell empty"]
    #[doc(alias = "wait_until")]
    pub fn wait_deadline(&self, deadline: Instant) -> Option<&T> {
        self.wait_for_value(Some(deadline))
    }

    #[track_caller]
    fn wait_for_value(&self, deadline: Option<Instant>) -> Option<&T> {
        let is_filled = self.once.wait_for_outcome(OnPoison::Retry, deadline);
        // SAFETY: the `Once` is done.
        is_filled.then(|| unsafe { self.get_unchecked() })
    }

    /// Makes the `Once` done, by `f` or by waiting for others.
    #[cold]
    #[track_caller]
    fn initialise<F, E>(&self, f: F) -> Result<(), E>
    where
        F: FnOnce() -> Result<T, E>,
    {
        let Some(claim) = self.once.claim(OnPoison::Retry) else {
            return Ok(());
        };
        let value = scopes::marked(&self.once, f)?;
        // SAFETY: the claim makes this thread the only one to touch the value,
        // and there is none to be dropped.
        unsafe { self.value.get().write(Some(value)) };
        claim.complete();
        Ok(())
    }

    /// # Safety
    ///
    /// The `Once` must be done, and this thread must have seen it with acquire
    /// ordering or made it so.
    #[inline]
    unsafe fn get_unchecked(&self) -> &T {
        // SAFETY: the `Once` is done, so the value was written before, and changing it again
        // needs a `&mut` to the cell.
        unsafe { (*self.value.get()).as_ref().unwrap_unchecked() }
    }

    /// # Safety
    ///
    /// As for `get_unchecked`.
    #[inline]
    unsafe fn get_unchecked_mut(&mut self) -> &mut T {
        // SAFETY: the `Once` is done, so there is a value.
        unsafe { self.value.get_mut().as_mut().unwrap_unchecked() }
    }
}

// SAFETY: `&OnceLock<T>` hands out `&T` on any thread, which needs `T: Sync`,
// and lets one thread put in a `T` which another takes out or drops, which needs
// `T: Send`.
unsafe impl<T: Sync + Send> Sync for OnceLock<T> {}
// SAFETY: sending the cell sends the value in it, and nothing else.
unsafe impl<T: Send> Send for OnceLock<T> {}

impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple = f.debug_tuple("OnceLock");
        match self.get() {
            Some(value) => tuple.field(value),
            None => tuple.field(&format_args!("<uninit>")),
        };
        tuple.finish()
    }
}

impl<T> From<T> for OnceLock<T> {
    /// Creates a filled cell.
    #[inline]
    fn from(value: T) -> Self {
        let cell = Self::new();
        let filled = cell.set(value);
        debug_assert!(filled.is_ok(), "no other thread has the cell");
        cell
    }
}

named!(OnceLock<T>: once.object);

cell_traits!(OnceLock);
