//! A cell without a lock. A state beside it says which thread may use it when. In a model, loom's cell has its
//! place, which checks that.

/// A cell without a lock: its user makes sure that no other thread uses it at the same time.
#[derive(Debug, Default)]
pub struct Watched<T>(std::cell::UnsafeCell<T>);

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
