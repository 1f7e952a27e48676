//! The program's handlers of the signals that the simulator needs itself.
//!
//! SIGSEGV stands for a clock that an instruction reads (`tsc`), SIGTRAP for a step (`step`). What the
//! program installs for them is kept in a table, and called for everything else: std looks into its own
//! faults for overflows of the stack, and sees them as before. SIGSYS belongs to the filter (`trap`) alone.

use core::ffi::{c_int, c_void};
use core::mem::zeroed;

use crate::c::Sigaction;
use crate::end;
use crate::real::real;
use crate::state::active;
use crate::trap::Context;

pub const SIGTRAP: c_int = 5;
pub const SIGSEGV: c_int = 11;
pub const SIGSYS: c_int = 31;
const DEFAULT: usize = 0;
const IGNORE: usize = 1;

const NONE: Sigaction = Sigaction {
    handler: DEFAULT,
    mask: [0; 16],
    flags: 0,
    restorer: 0,
};

/// The program's handlers of SIGTRAP and SIGSEGV.
static mut PROGRAM: [Sigaction; 2] = [NONE, NONE];

type Handler = unsafe extern "C" fn(c_int, *const c_void, *mut Context);

/// Returns the table's entry of a signal.
unsafe fn entry(signal: c_int) -> Option<*mut Sigaction> {
    let table = (&raw mut PROGRAM).cast::<Sigaction>();
    match signal {
        SIGTRAP => Some(table),
        SIGSEGV => Some(table.add(1)),
        _ => None,
    }
}

unsafe fn set(signal: c_int, new: *const Sigaction, old: *mut Sigaction) -> c_int {
    real!(
        "sigaction",
        fn(c_int, *const Sigaction, *mut Sigaction) -> c_int
    )(signal, new, old)
}

/// Installs a handler of the simulator, with details and open for itself. What a constructor of the
/// program may have installed is kept.
pub unsafe fn install(signal: c_int, handler: *const (), flags: c_int) {
    let mut action: Sigaction = zeroed();
    action.handler = handler as usize;
    action.flags = 4 | 0x4000_0000 | flags;
    let kept = entry(signal).unwrap_or(core::ptr::null_mut());
    set(signal, &action, kept);
}

/// Calls the program's handler. Without one, the signal ends the process as soon as it comes again.
/// Returns `true` if there was one.
pub unsafe fn forward(signal: c_int, info: *const c_void, context: *mut Context) -> bool {
    let handler = entry(signal).map_or(DEFAULT, |kept| (*kept).handler);
    if matches!(handler, DEFAULT | IGNORE) {
        set(signal, &NONE, core::ptr::null_mut());
        return false;
    }
    core::mem::transmute::<usize, Handler>(handler)(signal, info, context);
    true
}

/// Sets of signals that the program blocks never contain those of the simulator: the kernel ends a process
/// that blocks a signal which an instruction raises.
pub unsafe fn without_ours(set: *const u64, copy: &mut [u64; 16]) -> *const u64 {
    if set.is_null() {
        return set;
    }
    copy[0] = open(*set);
    copy.as_ptr()
}

/// Returns a set of signals without those of the simulator.
fn open(set: u64) -> u64 {
    set & !(1 << (SIGSYS - 1) | 1 << (SIGTRAP - 1))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(signal: c_int, new: *const Sigaction, old: *mut Sigaction) -> c_int {
    if !active() {
        return set(signal, new, old);
    }
    if let Some(kept) = entry(signal) {
        if !old.is_null() {
            core::ptr::copy_nonoverlapping(kept, old, 1);
        }
        if !new.is_null() {
            core::ptr::copy_nonoverlapping(new, kept, 1);
        }
        return 0;
    }
    if new.is_null() {
        return set(signal, new, old);
    }
    // The filter needs it.
    if signal == SIGSYS {
        end::escaped("sigaction of SIGSYS", sigaction as *const () as usize);
    }
    let mut action = core::ptr::read(new);
    action.mask[0] = open(action.mask[0]);
    set(signal, &action, old)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn signal(number: c_int, handler: usize) -> usize {
    if !active() || (entry(number).is_none() && number != SIGSYS) {
        return real!("signal", fn(c_int, usize) -> usize)(number, handler);
    }
    let mut old: Sigaction = zeroed();
    let mut new: Sigaction = zeroed();
    new.handler = handler;
    sigaction(number, &new, &mut old);
    old.handler
}
