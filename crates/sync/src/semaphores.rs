//! Error and permit implementations that the semaphores of threads and of tasks share.

use blitz_io_core::error_text;

/// The semaphore cannot hold that many permits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OverRelease(pub(crate) ());

error_text! {
    Display for OverRelease {
        _ => "number of added permits would overflow MAX_PERMITS or the bound",
    }
}

/// Implements `Display` and `Error` for the two errors of a semaphore.
macro_rules! errors {
    ($acquire:ident, $try_acquire:ident) => {
        blitz_io_core::error_text! {
            Display for $acquire {
                _ => $try_acquire::Closed,
            }
            Display for $try_acquire {
                Self::Closed => "semaphore closed",
                Self::NoPermits => "no permits available",
            }
        }
    };
}

/// Implements the methods of permits for a type that has a pointer to its semaphore, and a number
/// of `permits`. `$may_move`: it borrows nothing, so it may move to another task.
macro_rules! permits {
    (
        $permit:ident $(<$lifetime:lifetime>)?, $semaphore:ident: $pointer:ty, may_move: $may_move:literal;
        $(#[$merge:meta])* merge;
        $(#[$split:meta])* split;
    ) => {
        impl $(<$lifetime>)? $permit $(<$lifetime>)? {
            #[inline]
            pub(super) fn new($semaphore: $pointer, permits: usize) -> Self {
                Self { $semaphore, permits }
            }

            $(#[$merge])*
            #[track_caller]
            pub fn merge(&mut self, mut other: Self) {
                assert!(
                    std::ptr::eq(&*self.$semaphore, &*other.$semaphore),
                    "merging permits from different semaphore instances"
                );
                let sum = self.permits.checked_add(other.permits);
                self.permits = sum.expect("number of permits overflowed");
                other.permits = 0;
            }

            $(#[$split])*
            pub fn split(&mut self, n: usize) -> Option<Self> {
                self.permits = self.permits.checked_sub(n)?;
                self.$semaphore.note_guard(Acquirer::at_once(), $may_move);
                Some(Self::new(Clone::clone(&self.$semaphore), n))
            }

            /// Returns how many permits these are.
            #[must_use]
            pub fn num_permits(&self) -> usize {
                self.permits
            }
        }

        impl $(<$lifetime>)? Drop for $permit $(<$lifetime>)? {
            #[inline]
            fn drop(&mut self) {
                self.$semaphore.give_back(self.permits, $may_move);
            }
        }
    };
}

pub(crate) use {errors, permits};
