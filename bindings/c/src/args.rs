//! The arguments of C as references of Rust.
//!
//! # Requirements on callers
//!
//! The header states these rules, and the `SAFETY` comments of this crate name them:
//!
//! 1. A pointer is NULL or valid: it is aligned and points to an object of its type that lives,
//!    and keeps its place, until the call returns. An object by value has been initialised with
//!    its initialiser or its `_init` function.
//! 2. A pointer to a result may be written, and no other thread reads it during the call.
//! 3. Bytes that are passed with a length can be read (or written, if the pointer is not const)
//!    and do not change during the call.
//! 4. A handle is used only before the call that takes it.
//! 5. A callback and its argument may be used by the threads that its function names. A callback
//!    returns: it neither throws nor calls `longjmp`.
//!
//! A function of the header that takes a pointer is `unsafe` in Rust, and its contract is these rules
//! (`safety.rs`). The functions of this crate that it calls rely on that.

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::slice;

use crate::element::BLITZ_ELEMENT_MAX;
use crate::error::{Outcome, invalid};

/// Returns the error of a pointer that must not be NULL.
#[cold]
pub(crate) fn null() -> c_int {
    invalid("an argument is NULL")
}

/// Returns the object behind a pointer.
#[inline]
pub(crate) fn arg<'a, T>(pointer: *const T) -> Outcome<&'a T> {
    // SAFETY: rule 1.
    unsafe { pointer.as_ref() }.ok_or_else(null)
}

/// Writes a result.
#[inline]
pub(crate) fn put<T>(pointer: *mut T, value: T) -> Outcome {
    if pointer.is_null() {
        return Err(null());
    }
    // SAFETY: rule 2.
    unsafe { pointer.write(value) };
    Ok(())
}

/// Writes a result that the caller may not want.
#[inline]
pub(crate) fn put_if_wanted<T>(pointer: *mut T, value: T) {
    if !pointer.is_null() {
        // SAFETY: rule 2.
        unsafe { pointer.write(value) };
    }
}

/// Checks the pointer to a result, before there is a result.
#[inline]
pub(crate) fn check<T>(pointer: *const T) -> Outcome {
    if pointer.is_null() {
        Err(null())
    } else {
        Ok(())
    }
}

/// Returns bytes to read. NULL is fine without bytes.
#[inline]
pub(crate) fn bytes<'a>(pointer: *const u8, len: usize) -> Outcome<&'a [u8]> {
    list(pointer, len)
}

/// Returns a list of values to read. NULL is fine without values.
#[inline]
pub(crate) fn list<'a, T>(pointer: *const T, len: usize) -> Outcome<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() || len > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(invalid("a list is NULL or too long"));
    }
    // SAFETY: rule 3, and the length is possible.
    Ok(unsafe { slice::from_raw_parts(pointer, len) })
}

/// Returns bytes to write. NULL is fine without bytes.
#[inline]
pub(crate) fn bytes_mut<'a>(pointer: *mut u8, len: usize) -> Outcome<&'a mut [u8]> {
    list_mut(pointer, len)
}

/// Returns a list of values to write. NULL is fine without values.
#[inline]
pub(crate) fn list_mut<'a, T>(pointer: *mut T, len: usize) -> Outcome<&'a mut [T]> {
    if len == 0 {
        return Ok(&mut []);
    }
    if pointer.is_null() || len > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(invalid("a list is NULL or too long"));
    }
    // SAFETY: rule 3, and the length is possible.
    Ok(unsafe { slice::from_raw_parts_mut(pointer, len) })
}

/// Returns an element to read, of at most `BLITZ_ELEMENT_MAX` bytes. NULL is fine without bytes.
#[inline(always)]
pub(crate) fn element<'a>(pointer: *const u8, size: usize) -> Outcome<&'a [u8]> {
    debug_assert!(size <= BLITZ_ELEMENT_MAX);
    if size == 0 {
        return Ok(&[]);
    }
    check(pointer)?;
    // SAFETY: rule 3, and the size is possible.
    Ok(unsafe { slice::from_raw_parts(pointer, size) })
}

/// Returns an element to write, as `element` does to read.
#[inline(always)]
pub(crate) fn element_mut<'a>(pointer: *mut u8, size: usize) -> Outcome<&'a mut [u8]> {
    debug_assert!(size <= BLITZ_ELEMENT_MAX);
    if size == 0 {
        return Ok(&mut []);
    }
    check(pointer)?;
    // SAFETY: rules 2 and 3, and the size is possible.
    Ok(unsafe { slice::from_raw_parts_mut(pointer, size) })
}

/// Returns a text that ends with a zero.
pub(crate) fn text<'a>(pointer: *const c_char) -> Outcome<&'a str> {
    c_str(pointer)?
        .to_str()
        .map_err(|_| invalid("a text is not UTF-8"))
}

/// Returns a path, or another text of the system in any encoding.
pub(crate) fn os_text<'a>(pointer: *const c_char) -> Outcome<&'a OsStr> {
    Ok(OsStr::from_bytes(c_str(pointer)?.to_bytes()))
}

fn c_str<'a>(pointer: *const c_char) -> Outcome<&'a CStr> {
    check(pointer)?;
    // SAFETY: rule 3; a text ends with a zero.
    Ok(unsafe { CStr::from_ptr(pointer) })
}

/// A pointer of the caller that goes to another thread: rule 5.
pub(crate) struct Foreign<T>(*mut T);

impl<T> Clone for Foreign<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Foreign<T> {}

impl<T> Foreign<T> {
    pub(crate) fn new(pointer: *mut T) -> Self {
        Self(pointer)
    }

    /// Returns the pointer. A method, so that a closure captures the whole value and not the pointer alone.
    pub(crate) fn get(self) -> *mut T {
        self.0
    }
}

// SAFETY: rule 5: the caller is responsible for every use of the pointer.
unsafe impl<T> Send for Foreign<T> {}
// SAFETY: rule 5: the caller is responsible for every use of the pointer, in each thread.
unsafe impl<T> Sync for Foreign<T> {}
