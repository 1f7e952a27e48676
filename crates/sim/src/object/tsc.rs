//! The instructions that read the processor's counter (`rdtsc`, `rdtscp`).
//!
//! The kernel can make them raise SIGSEGV. The handler here then returns the simulated time, as a counter
//! of one tick a nanosecond. Everything else goes to the program's own handler (`handlers`).

use core::ffi::{c_int, c_void};

use crate::baton;
use crate::c::nr;
use crate::end;
use crate::handlers::{self, SIGSEGV};
use crate::state::{active, sim};
use crate::sys;
use crate::trap::Context;

/// The fault may be an overflow: the handler runs on the stack for signals.
const ON_STACK: c_int = 0x0800_0000;

/// Lets the instructions raise the signal.
pub unsafe fn install() {
    handlers::install(SIGSEGV, handle as *const (), ON_STACK);
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
    handlers::forward(signal, info, context);
}
