//! `OnceCell`: a value that is made once, by a future.
//!
//! The protocol is that of `write_once`: the task that gets the turn runs the future, and gives
//! the turn up if that is dropped, fails or panics.

use blitz_io_core::error_text;
use std::fmt::{self, Debug};
use std::future::Future;

use super::write_once::{Refused, WriteOnce};
use crate::cell_traits::cell_traits;
use blitz_io_core::const_unless_loom;

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
    cell: WriteOnce<T>,
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
            Self { cell: WriteOnce::new() }
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
            Self { cell: WriteOnce::with(value) }
        }
    }

    /// Returns whether there is a value.
    #[inline]
    #[must_use]
    pub fn initialized(&self) -> bool {
        self.cell.is_set()
    }

    /// Returns the value, if there is one.
    #[inline]
    #[must_use]
    pub fn get(&self) -> Option<&T> {
        self.cell.get()
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
        self.cell.get_mut()
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
        self.cell.set(value).map_err(|(why, value)| match why {
            Refused::Set => SetError::AlreadyInitializedError(value),
            Refused::Busy => SetError::InitializingError(value),
        })
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
    pub async fn get_or_init<F, Fut>(&self, f: F) -> &T
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = T>,
    {
        if let Some(value) = self.get() {
            return value;
        }
        match self.cell.turn().await {
            Ok(turn) => turn.fill(f().await),
            Err(value) => value,
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
    pub async fn get_or_try_init<E, F, Fut>(&self, f: F) -> Result<&T, E>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        if let Some(value) = self.get() {
            return Ok(value);
        }
        match self.cell.turn().await {
            Ok(turn) => Ok(turn.fill(f().await?)),
            Err(value) => Ok(value),
        }
    }

    /// Initialises as [`get_or_init`](OnceCell::get_or_init) does, for a thread: blocks while
    /// another task or thread makes the value, and makes it with `f` otherwise.
    ///
    /// Tasks that want to make the value wait during that time. A call from within `f` never
    /// ends.
    ///
    /// ```
    /// use blitz_io::sync::OnceCell;
    ///
    /// let cell = OnceCell::new();
    /// assert_eq!(cell.blocking_get_or_init(|| 1), &1);
    /// assert_eq!(cell.blocking_get_or_init(|| 2), &1);
    /// ```
    #[inline]
    pub fn blocking_get_or_init(&self, f: impl FnOnce() -> T) -> &T {
        if let Some(value) = self.get() {
            return value;
        }
        match self.cell.blocking_turn() {
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
    /// ```
    /// use blitz_io::sync::OnceCell;
    ///
    /// let cell = OnceCell::new();
    /// assert!(cell.blocking_get_or_try_init(|| "x".parse::<u32>()).is_err());
    /// assert_eq!(cell.blocking_get_or_try_init(|| "1".parse()), Ok(&1));
    /// ```
    #[inline]
    pub fn blocking_get_or_try_init<E>(&self, f: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        if let Some(value) = self.get() {
            return Ok(value);
        }
        match self.cell.blocking_turn() {
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
    pub async fn wait(&self) -> &T {
        match self.get() {
            Some(value) => value,
            None => self.cell.value().await,
        }
    }

    /// Waits as [`wait`](OnceCell::wait) does, for a thread.
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
    pub fn blocking_wait(&self) -> &T {
        self.get().unwrap_or_else(|| self.cell.blocking_value())
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
        self.cell.into_inner()
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
        self.cell.take()
    }
}

impl<T> From<T> for OnceCell<T> {
    fn from(value: T) -> Self {
        Self::const_new_with(value)
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceCell")
            .field("value", &self.get())
            .finish()
    }
}

cell_traits!(OnceCell);

/// Why [`OnceCell::set`] has not set the value, and the value.
#[derive(Debug, PartialEq, Eq)]
pub enum SetError<T> {
    /// There was a value already.
    AlreadyInitializedError(T),
    /// One was being made.
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
