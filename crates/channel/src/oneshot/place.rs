//! A place in memory for something that is there only now and then.
//!
//! It is the standard library's cell; under the model checker it is loom's, which
//! finds accesses that race.

use std::mem::MaybeUninit;

#[cfg(loom)]
use loom::cell::UnsafeCell;
#[cfg(not(loom))]
use std::cell::UnsafeCell;

/// See the head of this file. Who may use it, and whether anything is there, is
/// said by the channel's state.
pub struct Place<T>(UnsafeCell<MaybeUninit<T>>);

impl<T> Place<T> {
    blitz_sync::const_unless_loom! {
        /// Nothing is there.
        pub const fn empty() -> Self {
            Self(UnsafeCell::new(MaybeUninit::uninit()))
        }
    }

    /// Puts something there.
    ///
    /// # Safety
    ///
    /// Nobody else uses the place. What was there is forgotten.
    #[inline]
    pub unsafe fn put(&self, value: T) {
        let write = |place: *mut MaybeUninit<T>| {
            // SAFETY: the caller is the only one who uses the place.
            unsafe { (*place).write(value) };
        };
        #[cfg(not(loom))]
        write(self.0.get());
        #[cfg(loom)]
        self.0.with_mut(write);
    }

    /// Takes out what is there.
    ///
    /// # Safety
    ///
    /// Something is there, and nobody else takes it or puts something there.
    #[inline]
    pub unsafe fn take(&self) -> T {
        // SAFETY: it is there, and is read once.
        self.read(|place| unsafe { (*place).assume_init_read() })
    }

    /// Looks at what is there.
    ///
    /// # Safety
    ///
    /// Something was put there, and nobody puts something else there meanwhile.
    /// If somebody may take it meanwhile, `look` must only look at the bytes.
    #[inline]
    pub unsafe fn look<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        // SAFETY: the caller says so.
        self.read(|place| look(unsafe { (*place).assume_init_ref() }))
    }

    #[inline]
    fn read<R>(&self, read: impl FnOnce(*const MaybeUninit<T>) -> R) -> R {
        #[cfg(not(loom))]
        return read(self.0.get());
        #[cfg(loom)]
        return self.0.with(read);
    }
}
