//! The instructions that read the processor's counter (`rdtsc`, `rdtscp`).
//!
//! The kernel can make them raise SIGSEGV. The handler here then returns the simulated time, as a counter
//! of one tick a nanosecond. The program's own handler of SIGSEGV is kept in a table and called for
//! everything else, so a program that looks into its own faults (std does, for overflows of the stack)
//! sees them as before.

use core::ffi::{c_int, c_void};
use core::mem::zeroed;
use core::ptr::null_mut;

use crate::baton;
use crate::c::{Sigaction, nr};
use crate::end;
use crate::real::real;
use crate::state::{active, sim};
use crate::sys;
use crate::trap::Context;

const SIGSEGV: c_int = 11;
const SIGSYS: c_int = 31;
const WITH_DETAILS: c_int = 4;
const DEFAULT: usize = 0;
const IGNORE: usize = 1;

/// The program's handler of SIGSEGV.
static mut PROGRAM: Sigaction = Sigaction {
    handler: DEFAULT,
    mask: [0; 16],
    flags: 0,
    restorer: 0,
};

type Handler = unsafe extern "C" fn(c_int, *const c_void, *mut Context);

unsafe fn set(signal: c_int, new: *const Sigaction, old: *mut Sigaction) -> c_int {
    real!(
        "sigaction",
        fn(c_int, *const Sigaction, *mut Sigaction) -> c_int
    )(signal, new, old)
}

/// Lets the instructions raise the signal, and keeps the handler that a constructor may have installed.
pub unsafe fn install() {
    let mut action: Sigaction = zeroed();
    action.handler = handle as *const () as usize;
    // With details, on the stack for signals (the fault may be an overflow), and open for itself.
    action.flags = WITH_DETAILS | 0x0800_0000 | 0x4000_0000;
    set(SIGSEGV, &action, &raw mut PROGRAM);
    let refused = sys::call(nr::PRCTL, [26, 2, 0, 0, 0, 0]);
    if refused < 0 {
        end::escaped(
            "prctl: the kernel does not trap rdtsc",
            install as *const () as usize,
        );
    }
}

unsafe extern "C" fn handle(signal: c_int, info: *const c_void, context: *mut Context) {
    let registers = &mut (*context).registers;
    // RIP. A fault of a jump to nowhere has an address that cannot be read; its own is then equal to it.
    let at = registers[16];
    let fault = *info.cast::<usize>().add(2);
    let code = at as *const u8;
    let length = match () {
        () if fault == at => 0,
        () if *code == 0x0f && *code.add(1) == 0x31 => 2,
        () if *code == 0x0f && *code.add(1) == 0x01 && *code.add(2) == 0xf9 => 3,
        () => 0,
    };
    if length > 0 && active() {
        baton::advance(50);
        let now = sim().now;
        // RAX, RDX, and the number of the processor in RCX.
        registers[13] = now as u32 as usize;
        registers[12] = (now >> 32) as usize;
        if length == 3 {
            registers[14] = 0;
        }
        registers[16] += length;
        return;
    }
    let program = &raw const PROGRAM;
    match (*program).handler {
        DEFAULT | IGNORE => {
            let default: Sigaction = zeroed();
            // The instruction faults again, and the signal ends the process.
            set(signal, &default, null_mut());
        }
        handler => core::mem::transmute::<usize, Handler>(handler)(signal, info, context),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(signal: c_int, new: *const Sigaction, old: *mut Sigaction) -> c_int {
    if !active() {
        return set(signal, new, old);
    }
    match signal {
        SIGSEGV => {
            if !old.is_null() {
                core::ptr::copy_nonoverlapping(&raw const PROGRAM, old, 1);
            }
            if !new.is_null() {
                core::ptr::copy_nonoverlapping(new, &raw mut PROGRAM, 1);
            }
            0
        }
        // The filter needs it.
        SIGSYS if !new.is_null() => {
            end::escaped("sigaction of SIGSYS", sigaction as *const () as usize)
        }
        _ => set(signal, new, old),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn signal(number: c_int, handler: usize) -> usize {
    if !active() || (number != SIGSEGV && number != SIGSYS) {
        return real!("signal", fn(c_int, usize) -> usize)(number, handler);
    }
    let mut old: Sigaction = zeroed();
    let mut new: Sigaction = zeroed();
    new.handler = handler;
    sigaction(number, &new, &mut old);
    old.handler
}
