//! What all guards of the task family have in common: they give access to what
//! their method `pointer` points to, and are shown as that is.

/// `Deref`, `Debug` and `Display` of a guard.
macro_rules! guard_reads {
    ([$($parameters:tt)*] $guard:ty => $target:ty) => {
        impl<$($parameters)*> std::ops::Deref for $guard {
            type Target = $target;

            #[inline]
            fn deref(&self) -> &$target {
                // SAFETY: it points to the value of the lock or to a part of it,
                // which nobody changes as long as the guard holds the lock.
                unsafe { &*self.pointer() }
            }
        }

        impl<$($parameters)*> std::fmt::Debug for $guard
        where
            $target: std::fmt::Debug,
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&**self, f)
            }
        }

        impl<$($parameters)*> std::fmt::Display for $guard
        where
            $target: std::fmt::Display,
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&**self, f)
            }
        }
    };
}

/// `DerefMut` of a guard.
macro_rules! guard_writes {
    ([$($parameters:tt)*] $guard:ty) => {
        impl<$($parameters)*> std::ops::DerefMut for $guard {
            #[inline]
            fn deref_mut(&mut self) -> &mut Self::Target {
                // SAFETY: it points to the value of the lock or to a part of it,
                // which nobody else uses as long as the guard holds the lock, and
                // the guard is borrowed exclusively.
                unsafe { &mut *self.pointer() }
            }
        }
    };
}

pub(super) use {guard_reads, guard_writes};
