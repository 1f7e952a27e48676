//! Steps: single instructions of the program, by the processor's trap flag.
//!
//! While the flag is set, each instruction raises SIGTRAP. So instructions are counted exactly, on every
//! machine: a processor's own counters are missing in most virtual machines, and count a few too many
//! on some others. A step takes a microsecond or two, and ten in a virtual machine whose host sees
//! each access to the debug registers. Two subjects need steps:
//!
//! - *windows* (with `Region::preempt`): a thread that begins, or returns from a point, executes a drawn number
//!   of instructions, and then another one may run, if the thread has not reached the next point before;
//! - *loops without a call*: `survey` finds one, and `loops` counts its rounds with breakpoints.
//!
//! # Where a window ends
//!
//! Only instructions of the program's own file are counted, and only there the baton is handed on. libc and
//! this object may hold locks of libc in between. A function of theirs that the program calls is executed at full speed
//! (`resume`), if the kernel allows breakpoints; otherwise it is stepped and not counted.
//!
//! The next point ends a window ([`close`]). Many calls are no points: memory, stacks for signals, names, clocks. A window
//! goes on over these, and so does a survey. Otherwise no window would reach the closure of a thread, because std makes some
//! of these calls before it. Two kinds of system calls end a window although they are no points. One may block SIGTRAP, and the
//! kernel would then end the process. The others start a thread, which would inherit the flag.
//!
//! # Code that this object calls
//!
//! This object may call code of the program's file, such as an allocator that takes malloc's place and that a function of libc
//! uses, after a point (`getaddrinfo`). It must not lose the baton there. So [`is_for_object`] looks at the stack. The first instruction outside of this object belongs to a called
//! function if its return address is in this object. The function has returned when the stack pointer is above that address.
//! The start routine of a thread and a function that is called once are exceptions ([`calls_program`]).
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
use crate::resume;
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
/// Calls that start a thread or a process: clone, fork, vfork, clone3.
const STARTS: [usize; 4] = [56, 57, 58, 435];
/// Interrupted calls of the kernel start again.
const RESTART: c_int = 0x1000_0000;

/// Where the code of this object and of the program's file is.
static mut OBJECT: (usize, usize) = (0, 0);
static mut PROGRAM: (usize, usize) = (0, 0);
/// Instructions that are left of the window; zero: there is none.
static mut LEFT: u32 = 0;
/// The stack pointer at the last instruction, if that was one of this object; zero: it was not.
static mut STACK: usize = 0;
/// Where the return address of a function lies that this object has called and that has not returned; zero: there is none.
static mut RETURN: usize = 0;
/// The next function that this object calls is one of the program, and works for the program.
static mut IS_START: bool = false;
/// The stack pointer at the last instruction, if that was one of the program; zero: it was not.
static mut CALLER: usize = 0;

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
    (STACK, RETURN, IS_START, CALLER) = (0, 0, false, 0);
    if !resume::set(return_address()) {
        set_flag();
    }
}

/// Returns the address in the caller of this object at which the running call returns. The frames of this object have
/// frame pointers, and a handler of a signal returns to libc.
unsafe fn return_address() -> usize {
    let mut frame: *const usize;
    asm!("mov {}, rbp", out(reg) frame, options(nomem, nostack, preserves_flags));
    while contains(OBJECT, *frame.add(1)) {
        frame = *frame as *const usize;
    }
    *frame.add(1)
}

/// This object is about to call code of the program that works for the program.
pub unsafe fn calls_program() {
    IS_START = true;
    if LEFT != 0 && resume::is_set() {
        resume::clear();
        set_flag();
    }
}

/// Closes the window: the thread is at a point, or ends.
pub unsafe fn close() {
    if LEFT != 0 {
        LEFT = 0;
        resume::clear();
        clear_flag();
    }
}

/// Moves the flag of a window to the context to which a handler returns.
pub unsafe fn settle(context: *mut Context) {
    if LEFT != 0 && !resume::is_set() {
        clear_flag();
        STACK = 0;
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
        BREAKPOINT if resume::hit((*context).registers[16]) => {
            (*context).registers[16] -= 1;
            if LEFT != 0 && holds() {
                (STACK, RETURN) = (0, 0);
                stepped(context);
            }
            true
        }
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
    if holds() && !sim().has_left {
        survey::start();
        (*context).flags_register |= TRAP_FLAG;
    }
    true
}

/// An instruction was executed, and the next one is at RIP.
unsafe fn stepped(context: *mut Context) {
    (*context).flags_register &= !TRAP_FLAG;
    loops::put_back();
    let registers = &(*context).registers;
    let (call, stack, at) = (registers[13], registers[15], registers[16]);
    let is_for_object = LEFT != 0 && is_for_object(at, stack);
    let caller = CALLER;
    CALLER = 0;
    if is_system_call(at) {
        if call == RT_SIGPROCMASK || STARTS.contains(&call) {
            LEFT = 0;
            resume::clear();
            survey::stop();
        }
        survey::pass();
    } else if contains(PROGRAM, at) {
        CALLER = stack;
        survey::step(at);
        match LEFT {
            _ if is_for_object => {}
            0 => {}
            1 => {
                sim().region().stepped += 1;
                LEFT = 0;
                survey::stop();
                baton::preempted();
                settle(context);
            }
            _ => {
                sim().region().stepped += 1;
                LEFT -= 1;
            }
        }
    } else {
        survey::pass();
        // Lower after a call, and equal after the jump of a stub.
        if LEFT != 0 && caller != 0 && stack <= caller {
            resume::set(*(stack as *const usize));
        }
    }
    if LEFT != 0 && !resume::is_set() || survey::is_on() {
        (*context).flags_register |= TRAP_FLAG;
    }
}

/// Returns `true` if the next instruction is one of this object, or of a function that this object has called.
unsafe fn is_for_object(at: usize, stack: usize) -> bool {
    if stack > RETURN {
        RETURN = 0;
    }
    if contains(OBJECT, at) {
        STACK = stack;
        return true;
    }
    let before = STACK;
    STACK = 0;
    if before != 0 {
        let is_start = IS_START;
        IS_START = false;
        // After a return, the stack pointer is higher. After a jump at a function's end, the return address is the caller's.
        let is_called = stack <= before && contains(OBJECT, *(stack as *const usize));
        if is_called && !is_start && RETURN == 0 {
            RETURN = stack;
        }
    }
    RETURN != 0
}

unsafe fn is_system_call(at: usize) -> bool {
    let code = at as *const u8;
    *code == 0x0f && *code.add(1) == 0x05
}
