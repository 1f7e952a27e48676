//! A place in memory for something that is there only now and then.

use std::mem::MaybeUninit;

use blitz_sync::internals::Watched;

/// See the head of this file. Who may use it, and whether anything is there, is
/// said by the channel's state.
pub struct Place<T>(Watched<MaybeUninit<T>>);

impl<T> Place<T> {
    blitz_sync::const_unless_loom! {
        /// Nothing is there.
        pub const fn empty() -> Self {
            Self(Watched::new(MaybeUninit::uninit()))
        }
    }

    /// Puts something there.
    ///
    /// # Safety
    ///
    /// Nobody else uses the place. What was there is forgotten.
    #[inline]
    pub unsafe fn put(&self, value: T) {
        self.0.with_mut(|place| {
            // SAFETY: the caller is the only one who uses the place.
            unsafe { (*place).write(value) };
        });
    }

    /// Takes out what is there.
    ///
    /// # Safety
    ///
    /// Something is there, and nobody else takes it or puts something there.
    #[inline]
    pub unsafe fn take(&self) -> T {
        // SAFETY: it is there, and is read once.
        self.0.with(|place| unsafe { (*place).assume_init_read() })
    }

    /// Looks at what is there.
    ///
    /// # Safety
    ///
    /// Something was put there, and nobody puts something else there meanwhile.
    /// If somebody may take it meanwhile, `look` must only look at the bytes.
    #[inline]
    pub unsafe fn look<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        self.0
            // SAFETY: the caller says so.
            .with(|place| look(unsafe { (*place).assume_init_ref() }))
    }
}
