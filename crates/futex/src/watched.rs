//! A cell without a lock, which the model checker watches. A state beside it says which
//! thread may use it when.

/// A cell without a lock; see the module documentation.
#[cfg(not(loom))]
#[derive(Debug, Default)]
pub struct Watched<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> Watched<T> {
    /// Creates a cell.
    pub const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    /// Calls `f` with a pointer that may be read.
    #[inline(always)]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    /// Calls `f` with a pointer that may be written.
    #[inline(always)]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

#[cfg(loom)]
#[allow(
    clippy::unsafe_removed_from_name,
    reason = "outside of models it is a type of that name"
)]
pub use loom::cell::UnsafeCell as Watched;
