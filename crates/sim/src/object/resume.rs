//! Functions that a window does not step, and the breakpoint after each.
//!
//! A step takes microseconds, and far more in a virtual machine whose host sees each access to the debug registers. The
//! instructions of libc and of this object do not count in a window, and were most of its steps. So a function of theirs that
//! the program calls is executed at full speed, and a breakpoint at its return address lets stepping go on. The stack is
//! left as it is: a function may look at its return address (`setjmp`, `dlsym`), and so does the unwinder.
//!
//! # The breakpoint
//!
//! There is at most one. It is in the program's code, which is writable once the first one was set. Only the holder of the
//! baton executes code of the program, and each of its points removes the breakpoint with the window ([`clear`]). A process
//! that the program has forked has a copy, or after `vfork` the same memory: it puts the byte back, and is not stepped.
//!
//! A function that never returns (`longjmp`, an exception) ends the window without a change of threads, unless the thread comes
//! to the breakpoint by another way before its next point. Instructions of a function that libc calls (`qsort`) do not count.

use crate::c::nr;
use crate::loops;
use crate::step;
use crate::sys;

const INT3: u8 = 0xcc;
const PAGE: usize = 4096;

/// Where the breakpoint is; zero: there is none.
static mut AT: usize = 0;
/// The program's byte there.
static mut BYTE: u8 = 0;
/// The program's code is writable.
static mut IS_WRITABLE: bool = false;

/// Returns `true` if a function runs at full speed.
pub unsafe fn is_set() -> bool {
    AT != 0
}

/// Sets the breakpoint. Returns `false` if the address is not in the program, has a breakpoint of a loop, or the kernel
/// refuses to make the code writable.
pub unsafe fn set(at: usize) -> bool {
    clear();
    let (start, end) = step::program();
    if !(start..end).contains(&at) || loops::has(at) || !make_writable(start, end) {
        return false;
    }
    BYTE = *(at as *const u8);
    AT = at;
    (at as *mut u8).write_volatile(INT3);
    true
}

unsafe fn make_writable(start: usize, end: usize) -> bool {
    if !IS_WRITABLE {
        let first = start & !(PAGE - 1);
        let length = end.next_multiple_of(PAGE) - first;
        // Readable, writable and executable.
        IS_WRITABLE = sys::call(nr::MPROTECT, [first, length, 7, 0, 0, 0]) == 0;
    }
    IS_WRITABLE
}

/// Removes the breakpoint.
pub unsafe fn clear() {
    if AT != 0 {
        (AT as *mut u8).write_volatile(BYTE);
        AT = 0;
    }
}

/// Removes the breakpoint if it is the one before this address. Returns `true` if it was.
pub unsafe fn hit(after: usize) -> bool {
    let is_hit = AT != 0 && AT + 1 == after;
    if is_hit {
        clear();
    }
    is_hit
}
