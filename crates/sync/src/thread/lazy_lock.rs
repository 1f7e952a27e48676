//! A value that is made when it is first looked at.
//!
//! A [`OnceLock`] for the value, beside the closure that makes it. The thread that fills the
//! cell takes the closure out. A closure that panics leaves neither behind. All waiting is
//! done by the cell.

use super::OnceLock;
use blitz_io_core::const_unless_loom;
use std::cell::Cell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};

const LAZY_POISONED: &str = "LazyLock instance has previously been poisoned";

/// A value that is made when it is first looked at, by whichever thread comes
/// first.
///
/// It has the interface of `std::sync::LazyLock`, including the parts that are
/// not stable there yet. When the closure panics, the value cannot be had any
/// more: every later look panics, too.
///
/// Access to an initialised value costs one load and one comparison.
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
    cell: OnceLock<T>,
    /// Belongs to the thread that fills the cell.
    init: Cell<Option<F>>,
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
                cell: OnceLock::new(),
                init: Cell::new(Some(f)),
            }
        }
    }

    /// Returns the value, which is made now if it was not before. Dereferencing does the
    /// same.
    ///
    /// # Panics
    ///
    /// When the closure panics, now or earlier, and when it is called from within the closure,
    /// where the wait would never end.
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
        let make = || this.init.take().map(|init| init()).ok_or(());
        match this.cell.get_or_try_init(make) {
            Ok(value) => value,
            Err(()) => panic!("{LAZY_POISONED}"),
        }
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
        this.cell.get_mut().expect("the value has been made")
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
        match (this.cell.into_inner(), this.init.into_inner()) {
            (Some(value), _) => Ok(value),
            (None, Some(init)) => Err(init),
            (None, None) => panic!("{LAZY_POISONED}"),
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
        this.cell.get()
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
        this.cell.get_mut()
    }
}

// SAFETY: only the thread that fills the cell takes the closure out, so sharing the lock only
// sends it. The value has the bounds of the cell.
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
    /// Creates a lock whose value `T::default` will make.
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
