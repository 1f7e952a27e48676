//! Threads. Each is one of the system's. Those that the code of a run starts are counted: they are no part of the simulation.

use std::ffi::{c_int, c_void};

use super::{Real, with};

type Start = extern "C" fn(*mut c_void) -> *mut c_void;

/// # Safety
///
/// As of the system's function.
pub(super) unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    type Create = unsafe extern "C" fn(
        *mut libc::pthread_t,
        *const libc::pthread_attr_t,
        Start,
        *mut c_void,
    ) -> c_int;
    static REAL: Real<Create> = Real::new(c"pthread_create");
    let Some(create) = REAL.get() else {
        return libc::ENOSYS;
    };
    with(|run| {
        run.system().threads.add("pthread_create");
        Some(())
    });
    // SAFETY: the caller's promise.
    unsafe { create(thread, attributes, start, argument) }
}
