//! The kernel's page with clocks (vDSO).
//!
//! Its functions read the real time without a call: libc's `clock_gettime` is one of them. This object has a
//! function of that name itself, but a library may look libc's up, as sanitizers do. The functions read the processor's
//! counter, again and again if the kernel changes the page meanwhile. So neither the time nor the number of
//! readings would be the same in each run.
//!
//! So each function is replaced by the system call of its name, which the filter of `trap` catches. The call is eight
//! bytes, which are written in one piece before the program's `main`. The kernel gives the process a page of its own
//! at the first write, and the children of the fork server inherit that. A kernel that refuses to write leaves the
//! functions as they are.

use crate::c::{self, nr};
use crate::sys;
use crate::trap;

/// The functions and the system calls of their names.
const FUNCTIONS: [(&core::ffi::CStr, usize); 5] = [
    (c"__vdso_clock_gettime", nr::CLOCK_GETTIME),
    (c"__vdso_clock_getres", nr::CLOCK_GETRES),
    (c"__vdso_gettimeofday", nr::GETTIMEOFDAY),
    (c"__vdso_time", nr::TIME),
    (c"__vdso_getcpu", nr::GETCPU),
];
const PAGE: usize = 4096;

/// Replaces the functions.
pub unsafe fn replace() {
    const LAZY: i32 = 1;
    const NOLOAD: i32 = 4;
    const READ_EXECUTE: usize = 5;
    const ALL: usize = 7;
    let library = c::dlopen(c"linux-vdso.so.1".as_ptr(), LAZY | NOLOAD);
    if library.is_null() {
        return;
    }
    for (name, number) in FUNCTIONS {
        let function = c::dlsym(library, name.as_ptr()) as usize;
        // The kernel does not divide the mapping, so all of its pages change.
        let (start, end) = trap::code_of(function);
        let (start, end) = (start & !(PAGE - 1), end.next_multiple_of(PAGE));
        let pages = |protection| [start, end - start, protection, 0, 0, 0];
        if function == 0 || sys::call(nr::MPROTECT, pages(ALL)) < 0 {
            continue;
        }
        write(function, number as u32);
        sys::call(nr::MPROTECT, pages(READ_EXECUTE));
    }
}

/// Writes `mov eax, NUMBER`, `syscall`, `ret`.
unsafe fn write(function: usize, number: u32) {
    let [a, b, c, d] = number.to_le_bytes();
    let code = u64::from_le_bytes([0xb8, a, b, c, d, 0x0f, 0x05, 0xc3]);
    (function as *mut u64).write_unaligned(code);
}
