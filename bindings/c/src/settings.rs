//! Structures of settings, whose callers may have been compiled with another version of the header.
//!
//! 1. The first field is the size that the structure had then. Later versions add fields at the end, or
//!    give words of `reserved` a meaning; 0 stands for the earlier behaviour.
//! 2. A smaller structure than the first published one is an error: the caller has not set `size`.
//! 3. Fields that a structure of an older header lacks count as 0.
//! 4. Further fields of a newer header must be 0, and so must reserved words: else the caller wants a
//!    feature that this library does not have.

use std::mem::{MaybeUninit, size_of};
use std::ptr;

use crate::args::{bytes, check};
use crate::error::{BLITZ_EINVAL, Outcome, record};

/// The upper limit of the size of a structure of settings.
const LARGEST: usize = 4096;

/// A structure of settings.
///
/// # Safety
///
/// The type is `repr(C)` and begins with the size, a `usize`. Zeros are a value of each field.
pub(crate) unsafe trait Settings: Copy {
    /// The size of the first published version.
    const FIRST_SIZE: usize;

    /// The reserved words.
    fn reserved(&self) -> &[u64];
}

/// Implements [`Settings`] for a structure with the field `reserved`.
macro_rules! settings {
    ($name:ty) => {
        // SAFETY: the fields are as required.
        unsafe impl $crate::settings::Settings for $name {
            const FIRST_SIZE: usize = std::mem::size_of::<$name>();

            fn reserved(&self) -> &[u64] {
                &self.reserved
            }
        }
    };
}
pub(crate) use settings;

/// Reads settings. NULL is an error.
pub(crate) fn read<S: Settings>(settings: *const S) -> Outcome<S> {
    check(settings)?;
    // SAFETY: rule 1, and the trait's contract: each version has the first field.
    let size = unsafe { settings.cast::<usize>().read() };
    if size < S::FIRST_SIZE || size > LARGEST {
        let wanted = size_of::<S>();
        return Err(record(
            BLITZ_EINVAL,
            format_args!("the field `size` of the settings is {size}, and not {wanted}"),
        ));
    }
    let given = bytes(settings.cast(), size)?;
    let (known, more) = given.split_at(size.min(size_of::<S>()));
    let mut copy = MaybeUninit::<S>::zeroed();
    // SAFETY: `known` is not longer than the copy, and another object.
    unsafe { ptr::copy_nonoverlapping(known.as_ptr(), copy.as_mut_ptr().cast(), known.len()) };
    // SAFETY: the caller's fields have valid values, by rule 1, and zeros are those of the others.
    let copy = unsafe { copy.assume_init() };
    if copy.reserved().iter().any(|&word| word != 0) || more.iter().any(|&byte| byte != 0) {
        return Err(record(
            BLITZ_EINVAL,
            "the settings have a field that this version of the library does not know",
        ));
    }
    Ok(copy)
}

/// Reads settings. Returns `None` for NULL.
pub(crate) fn read_if_given<S: Settings>(settings: *const S) -> Outcome<Option<S>> {
    if settings.is_null() {
        Ok(None)
    } else {
        read(settings).map(Some)
    }
}
