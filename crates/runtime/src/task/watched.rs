//! A cell without a lock, which the model checker watches. Who may use it when is
//! said by the task's state.

/// See the head of this file.
#[cfg(not(loom))]
pub(crate) struct Watched<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> Watched<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    /// Gives a pointer that may be read.
    #[inline(always)]
    pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    /// Gives a pointer that may be written.
    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

#[cfg(loom)]
pub(crate) type Watched<T> = loom::cell::UnsafeCell<T>;
