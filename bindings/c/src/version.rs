//! The version of the library, and of its interface.

use std::ffi::{c_char, c_int};

use crate::error::{BLITZ_EABI, entry, record};

/// The version of this interface. It is the number in the name of the shared library,
/// `libblitz.so.0`, and changes when a program must be compiled again.
pub const BLITZ_ABI_VERSION: u32 = 0;

/// Returns the ABI version of the library with which the program runs.
///
/// Any thread or fiber may call this; it does not wait.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_abi_version() -> u32 {
    BLITZ_ABI_VERSION
}

/// Compares the ABI version of the library with that of the header. Call it once at the start as
/// `blitz_check_abi(BLITZ_ABI_VERSION)`, if the program loads the library with `dlopen` or
/// links it statically. The dynamic linker compares the version in the library's name.
///
/// Returns `BLITZ_OK` or `BLITZ_EABI`. With another version, call no function but
/// `blitz_abi_version`, `blitz_version`, `blitz_strerror` and `blitz_last_error`. Any thread or
/// fiber may call this; it does not wait.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn blitz_check_abi(version: u32) -> c_int {
    entry(|| {
        if version == BLITZ_ABI_VERSION {
            return Ok(());
        }
        Err(record(
            BLITZ_EABI,
            format_args!(
                "the program was compiled for version {version} of the interface, and the library has \
                 version {BLITZ_ABI_VERSION}"
            ),
        ))
    })
}

/// Returns the version of the library, such as "0.2.0".
///
/// The text lives as long as the process. Any thread or fiber may call this; it does not wait.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
