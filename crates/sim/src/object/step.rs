//! Steps: single instructions of the program, by the processor's trap flag.
//!
//! While the flag is set, each instruction raises SIGTRAP. So instructions are counted exactly, on every
//! machine: a processor's own counters are missing in most virtual machines, and count a few too many
//! on some others. A step takes a microsecond or two. Two subjects need steps:
//!
//! - *windows* (with `Region::preempt`): a thread that begins, or returns from a point, executes a drawn number
//!   of instructions, and then another one may run, if the thread has not reached the next point before;
//! - *loops without a call*: `survey` finds one, and `loops` counts its rounds with breakpoints.
//!
//! # Where a window ends
//!
//! Only instructions of the program's own file are counted, and only there the baton is handed on. libc and
//! this object may hold locks of libc in between, and this object's own allocations need them.
//!
//! The flag is set in the last part of a point, and the instructions from there to the end of the point
//! are not counted. A window ends at the next instruction of this object, or at a `syscall` instruction:
//! both are calls. A survey continues there, up to a point, because many calls are none. But the
//! system call that may block SIGTRAP is not stepped over.
//!
//! # Handlers
//!
//! The kernel clears the flag when it calls a handler, and `rt_sigreturn` restores the program's. A point
//! that a handler reaches may open a window: [`settle`] moves the flag to the interrupted context.

use core::arch::asm;
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering;

use crate::baton;
use crate::c::{self, nr};
use crate::handlers::{self, SIGTRAP};
use crate::loops;
use crate::state::{active, sim};
use crate::survey;
use crate::sys;
use crate::trap::{self, Context};

/// The flag in RFLAGS.
const TRAP_FLAG: usize = 0x100;
/// Origin of the signal: a breakpoint, or a thread that sent it.
const BREAKPOINT: i32 = 0x80;
const SENT: i32 = -6;
/// The call that may block SIGTRAP.
const RT_SIGPROCMASK: usize = 14;
/// Interrupted calls of the kernel start again.
const RESTART: c_int = 0x1000_0000;

/// Where the code of this object and of the program's file is.
static mut OBJECT: (usize, usize) = (0, 0);
static mut PROGRAM: (usize, usize) = (0, 0);
/// Instructions that are left of the window; zero: there is none.
static mut LEFT: u32 = 0;
/// The window's thread has left this object.
static mut IS_OUTSIDE: bool = false;

/// Installs the handler. `main` is in the program's file.
pub unsafe fn install(main: usize) {
    OBJECT = trap::code_of(handle as *const () as usize);
    PROGRAM = trap::code_of(main);
    handlers::install(SIGTRAP, handle as *const (), RESTART);
}

/// Returns where the code of the program's file is.
pub unsafe fn program() -> (usize, usize) {
    PROGRAM
}

fn contains(range: (usize, usize), at: usize) -> bool {
    (range.0..range.1).contains(&at)
}

/// Opens a window of the running thread. It is about to return from a point.
pub unsafe fn open(instructions: u32) {
    LEFT = instructions;
    IS_OUTSIDE = false;
    set_flag();
}

/// Closes the window before the baton may change hands.
pub unsafe fn close() {
    if LEFT != 0 {
        LEFT = 0;
        clear_flag();
    }
}

/// Moves the flag of a window to the context to which a handler returns.
pub unsafe fn settle(context: *mut Context) {
    if LEFT != 0 {
        clear_flag();
        IS_OUTSIDE = true;
        (*context).flags_register |= TRAP_FLAG;
    }
}

unsafe fn set_flag() {
    asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq");
}

unsafe fn clear_flag() {
    asm!("pushfq", "and qword ptr [rsp], -0x101", "popfq");
}

/// Returns `true` if this thread has the baton.
pub unsafe fn holds() -> bool {
    active() && sim().region().running.load(Ordering::Relaxed) == sys::gettid() as u32
}

unsafe extern "C" fn handle(signal: c_int, info: *const i32, context: *mut Context) {
    let errno = *c::__errno_location();
    let is_ours = match *info.add(2) {
        BREAKPOINT => {
            let known = loops::hit(context);
            if known {
                // One instruction, the one under the breakpoint.
                (*context).flags_register |= TRAP_FLAG;
            }
            known
        }
        SENT => alarm(context),
        _ => {
            stepped(context);
            true
        }
    };
    if !is_ours && !handlers::forward(signal, info.cast::<c_void>(), context) {
        let me = [sys::getpid() as usize, sys::gettid() as usize];
        sys::call(nr::TGKILL, [me[0], me[1], SIGTRAP as usize, 0, 0, 0]);
    }
    *c::__errno_location() = errno;
}

/// The library sees no point for long: the thread may be in a loop without a call. Returns `false` if the
/// signal is not the library's.
unsafe fn alarm(context: *mut Context) -> bool {
    if !active() || sim().region().alarm.swap(0, Ordering::Relaxed) == 0 {
        return false;
    }
    if holds() {
        survey::start();
        (*context).flags_register |= TRAP_FLAG;
    }
    true
}

/// An instruction was executed, and the next one is at RIP.
unsafe fn stepped(context: *mut Context) {
    (*context).flags_register &= !TRAP_FLAG;
    loops::put_back();
    let at = (*context).registers[16];
    if contains(OBJECT, at) {
        survey::pass();
        if IS_OUTSIDE {
            LEFT = 0;
        }
    } else if is_system_call(at) {
        LEFT = 0;
        if (*context).registers[13] == RT_SIGPROCMASK {
            survey::stop();
        }
        survey::pass();
    } else if contains(PROGRAM, at) {
        IS_OUTSIDE = true;
        survey::step(at);
        match LEFT {
            0 => {}
            1 => {
                LEFT = 0;
                survey::stop();
                baton::preempted();
                settle(context);
            }
            _ => LEFT -= 1,
        }
    } else {
        IS_OUTSIDE = true;
        survey::pass();
    }
    if LEFT != 0 || survey::is_on() {
        (*context).flags_register |= TRAP_FLAG;
    }
}

unsafe fn is_system_call(at: usize) -> bool {
    let code = at as *const u8;
    *code == 0x0f && *code.add(1) == 0x05
}
