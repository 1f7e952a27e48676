//! `SetOnce`: a value that is set once, and that others wait for.
//!
//! A [`OnceCell`] whose value no call makes.

use blitz_io_core::{debug_fields, error_text};
use std::fmt::Debug;
use std::time::{Duration, Instant};

use super::once_cell::{OnceCell, SetError};
use crate::cell_traits::cell_traits;
use blitz_io_core::const_unless_loom;

/// A cell whose value is set once, and that can be waited for.
///
/// It takes the place of `tokio::sync::SetOnce`, and works with any executor.
/// Threads may [wait](SetOnce::blocking_wait) too. Reading a set cell is one load.
/// Waiting allocates nothing.
///
/// # Examples
///
/// ```
/// use blitz_io::sync::SetOnce;
///
/// static NAME: SetOnce<&str> = SetOnce::const_new();
///
/// std::thread::scope(|scope| {
///     scope.spawn(|| NAME.set("blitz"));
///     // With the crate pollster.
///     pollster::block_on(async { assert_eq!(NAME.wait().await, &"blitz") });
/// });
/// ```
pub struct SetOnce<T> {
    cell: OnceCell<T>,
}

impl<T> SetOnce<T> {
    const_unless_loom! {
        /// Creates an empty cell.
        ///
        /// ```
        /// use blitz_io::sync::SetOnce;
        ///
        /// assert_eq!(SetOnce::<u32>::new().get(), None);
        /// ```
        #[must_use]
        pub const fn new() -> Self {
            Self { cell: OnceCell::new() }
        }
    }

    const_unless_loom! {
        /// Creates the same as [`new`](SetOnce::new), which is `const` here too.
        #[must_use]
        pub const fn const_new() -> Self {
            Self::new()
        }
    }

    /// Creates a cell with a value, if there is one, else an empty one.
    ///
    /// ```
    /// use blitz_io::sync::SetOnce;
    ///
    /// assert_eq!(SetOnce::new_with(Some(7)).get(), Some(&7));
    /// ```
    #[must_use]
    pub fn new_with(value: Option<T>) -> Self {
        value.map_or_else(Self::new, Self::from)
    }

    const_unless_loom! {
        /// Creates a cell with a value.
        ///
        /// ```
        /// use blitz_io::sync::SetOnce;
        ///
        /// static SEVEN: SetOnce<u32> = SetOnce::const_new_with(7);
        /// assert_eq!(SEVEN.get(), Some(&7));
        /// ```
        #[must_use]
        pub const fn const_new_with(value: T) -> Self {
            Self { cell: OnceCell::const_new_with(value) }
        }
    }

    /// Returns whether there is a value.
    #[inline]
    #[must_use]
    pub fn initialized(&self) -> bool {
        self.cell.initialized()
    }

    /// Returns the value, if there is one.
    #[inline]
    #[must_use]
    pub fn get(&self) -> Option<&T> {
        self.cell.get()
    }

    /// Sets the value, and wakes all waiters.
    ///
    /// # Errors
    ///
    /// Gives the value back if there is one already.
    ///
    /// ```
    /// use blitz_io::sync::{SetOnce, SetOnceError};
    ///
    /// let cell = SetOnce::new();
    /// assert_eq!(cell.set(1), Ok(()));
    /// assert_eq!(cell.set(2), Err(SetOnceError(2)));
    /// ```
    #[inline]
    pub fn set(&self, value: T) -> Result<(), SetOnceError<T>> {
        self.cell.set(value).map_err(|error| match error {
            SetError::AlreadyInitializedError(value) | SetError::InitializingError(value) => {
                SetOnceError(value)
            }
        })
    }

    /// Waits until there is a value.
    ///
    /// # Cancel safety
    ///
    /// A dropped call has no effect.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use blitz_io::sync::SetOnce;
    ///
    /// let cell = SetOnce::from(7);
    /// assert_eq!(cell.wait().await, &7);
    /// # });
    /// ```
    #[track_caller]
    pub fn wait(&self) -> impl Future<Output = &T> {
        self.cell.wait()
    }

    /// Blocks the thread until there is a value.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::SetOnce;
    ///
    /// let cell = SetOnce::new();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| cell.set(7));
    ///     assert_eq!(cell.blocking_wait(), &7);
    /// });
    /// ```
    #[inline]
    #[track_caller]
    #[doc(alias = "wait_blocking")]
    pub fn blocking_wait(&self) -> &T {
        self.cell.blocking_wait()
    }

    /// Blocks the thread until there is a value, but no longer than `timeout`. Returns `None` if it
    /// elapses.
    ///
    /// For threads. A task awaits [`wait`](SetOnce::wait) in a `timeout` of its runtime.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::SetOnce;
    /// use std::time::Duration;
    ///
    /// let cell = SetOnce::new();
    /// assert_eq!(cell.blocking_wait_timeout(Duration::from_millis(1)), None);
    /// cell.set(7)?;
    /// assert_eq!(cell.blocking_wait_timeout(Duration::from_millis(1)), Some(&7));
    /// # Ok::<(), blitz_io::sync::SetOnceError<i32>>(())
    /// ```
    #[track_caller]
    pub fn blocking_wait_timeout(&self, timeout: Duration) -> Option<&T> {
        self.cell.blocking_wait_timeout(timeout)
    }

    /// Blocks the thread until there is a value, but no longer than until `deadline`. Returns `None` if
    /// it passes.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::SetOnce;
    /// use std::time::Instant;
    ///
    /// let cell = SetOnce::from(7);
    /// assert_eq!(cell.blocking_wait_deadline(Instant::now()), Some(&7));
    /// ```
    #[track_caller]
    pub fn blocking_wait_deadline(&self, deadline: Instant) -> Option<&T> {
        self.cell.blocking_wait_deadline(deadline)
    }

    /// Returns the value, if there is one.
    ///
    /// ```
    /// use blitz_io::sync::SetOnce;
    ///
    /// assert_eq!(SetOnce::from(7).into_inner(), Some(7));
    /// ```
    #[must_use]
    pub fn into_inner(self) -> Option<T> {
        self.cell.into_inner()
    }
}

impl<T> From<T> for SetOnce<T> {
    fn from(value: T) -> Self {
        Self::const_new_with(value)
    }
}

debug_fields!(impl<T: Debug> SetOnce<T>, |this| { value: this.get() });

cell_traits!(SetOnce);

/// The value that [`SetOnce::set`] has not set, as there was one already.
#[derive(Debug, PartialEq, Eq)]
pub struct SetOnceError<T>(pub T);

error_text! {
    Display for SetOnceError<T: Debug> {
        _ => "SetOnceError",
    }
}
