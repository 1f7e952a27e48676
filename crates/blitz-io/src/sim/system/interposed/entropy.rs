//! Random numbers.

use std::ffi::{c_int, c_uint, c_void};

use super::{HAS_DRAWN, Real, fail, with};

/// The most bytes that `getentropy` returns.
const MOST: usize = 256;

/// Fills the bytes, if this thread is in a run that is not busy.
///
/// # Safety
///
/// `buffer` points to this number of bytes that may be written.
pub(super) unsafe fn fill(buffer: *mut c_void, length: usize) -> bool {
    HAS_DRAWN.set(true);
    if buffer.is_null() || length > isize::MAX as usize {
        return false;
    }
    let filled = with(|run| {
        // SAFETY: the caller's promise. The bytes need no value before: they are set to zero first.
        let bytes = unsafe {
            buffer.cast::<u8>().write_bytes(0, length);
            std::slice::from_raw_parts_mut(buffer.cast(), length)
        };
        run.fill(bytes).then_some(())
    });
    filled.is_some()
}

/// # Safety
///
/// As of the system's function.
pub(super) unsafe extern "C" fn getrandom(
    buffer: *mut c_void,
    length: usize,
    flags: c_uint,
) -> isize {
    type GetRandom = unsafe extern "C" fn(*mut c_void, usize, c_uint) -> isize;
    static REAL: Real<GetRandom> = Real::new(c"getrandom");
    // SAFETY: the caller's promise.
    if unsafe { fill(buffer, length) } {
        return length as isize;
    }
    match REAL.get() {
        // SAFETY: the caller's promise.
        Some(getrandom) => unsafe { getrandom(buffer, length, flags) },
        None => fail(libc::ENOSYS) as isize,
    }
}

/// # Safety
///
/// As of the system's function.
pub(super) unsafe extern "C" fn getentropy(buffer: *mut c_void, length: usize) -> c_int {
    type GetEntropy = unsafe extern "C" fn(*mut c_void, usize) -> c_int;
    static REAL: Real<GetEntropy> = Real::new(c"getentropy");
    // SAFETY: the caller's promise.
    if length <= MOST && unsafe { fill(buffer, length) } {
        return 0;
    }
    match REAL.get() {
        // SAFETY: the caller's promise.
        Some(getentropy) => unsafe { getentropy(buffer, length) },
        None => fail(libc::ENOSYS),
    }
}
