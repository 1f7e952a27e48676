//! System calls that do not come through libc's symbols: by an instruction of the program, or inside of libc.
//!
//! A filter of the kernel (`seccomp`) lets pass the calls of this object and the harmless ones
//! (`dispatch::HARMLESS`). Everything else raises SIGSYS in the thread that calls, and the handler passes
//! the call to `dispatch`. The thread may lose the baton in the handler, like anywhere else.
//!
//! The fork server installs the filter once, before the first run, and each run inherits it: see `start`.
//!
//! Two kinds of threads reach the handler without the baton: one that has not had it yet, and one that
//! ends. Both are inside of libc, so their calls go to the kernel. They may wait there for a lock of libc that the
//! thread with the baton releases. So a release that comes as a system call wakes waiters in the kernel, too.
//!
//! While a thread is created, both threads may be inside of libc at the same time, and it depends on time which one
//! has to wait for a lock. So a wait, a yield, and a release that concerns no simulated waiter are no points
//! then: they go to the kernel.

use core::ffi::{c_int, c_void};

use crate::c::{self, DlPhdrInfo, nr};
use crate::dispatch::{self, CLONE, CLONE3, HARMLESS};
use crate::end;
use crate::files;
use crate::futex;
use crate::handlers::{self, SIGSYS};
use crate::state::{active, sim};
use crate::step;
use crate::sys;

const CLONE_THREAD: u32 = 0x10000;
const ANONYMOUS: u32 = 0x20;
const STANDARD_ERROR: usize = 2;
/// The operation of a futex call, without the flags.
const FUTEX_OPERATION: usize = 127;
const WAKE: usize = 1;
const WAKE_BITSET: usize = 10;

#[repr(C)]
#[derive(Clone, Copy)]
struct Instruction {
    code: u16,
    yes: u8,
    no: u8,
    value: u32,
}

const LOAD: u16 = 0x20;
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const HAS_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;
const ALLOW: u32 = 0x7fff_0000;
const TRAP: u32 = 0x0003_0000;

/// Returns where the code of the file lies that has an address.
pub unsafe fn code_of(address: usize) -> (usize, usize) {
    let mut range = (address as u64, 0u64);
    if c::dl_iterate_phdr(find_code, (&raw mut range).cast()) == 0 {
        return (0, 0);
    }
    (range.0 as usize, range.1 as usize)
}

/// Replaces an address by the start and the end of the code in which it is.
unsafe extern "C" fn find_code(info: *mut DlPhdrInfo, _: usize, range: *mut c_void) -> c_int {
    let info = &*info;
    let range = &mut *range.cast::<(u64, u64)>();
    let wanted = range.0;
    for at in 0..usize::from(info.phnum) {
        let segment = &*info.phdr.add(at);
        let start = info.addr + segment.vaddr;
        // Loaded, and executable.
        if segment.kind == 1
            && segment.flags & 1 != 0
            && (start..start + segment.memsz).contains(&wanted)
        {
            *range = (start, start + segment.memsz);
            return 1;
        }
    }
    0
}

/// Installs the filter and its handler. Returns `false` if the kernel refuses the filter.
pub unsafe fn install() -> bool {
    let range = code_of(install as *const () as usize);
    // Not on the stack for signals, which may be small.
    handlers::install(SIGSYS, handle as *const (), 0);

    let mut program = vec![];
    let mut add = |code, yes, no, value| {
        program.push(Instruction {
            code,
            yes,
            no,
            value,
        })
    };
    // The address of the call, in two halves: the code of this object is in one range of the lower.
    add(LOAD, 0, 0, 12);
    add(EQUAL, 0, 4, (range.0 >> 32) as u32);
    add(LOAD, 0, 0, 8);
    add(AT_LEAST, 0, 2, range.0 as u32);
    add(AT_LEAST, 1, 0, range.1 as u32);
    add(RETURN, 0, 0, ALLOW);
    add(LOAD, 0, 0, 0);
    if files::is_on() {
        // A mapping of a file, by the flags.
        add(EQUAL, 0, 4, nr::MMAP as u32);
        add(LOAD, 0, 0, 40);
        add(HAS_BIT, 1, 0, ANONYMOUS);
        add(RETURN, 0, 0, TRAP);
        add(RETURN, 0, 0, ALLOW);
    }
    let is_trapped = |number: &u16| files::is_on() && files::CALLS.contains(number);
    for number in HARMLESS.iter().chain(&[CLONE3]) {
        if is_trapped(number) {
            continue;
        }
        add(EQUAL, 0, 1, u32::from(*number));
        add(RETURN, 0, 0, ALLOW);
    }
    add(EQUAL, 0, 3, u32::from(CLONE));
    add(LOAD, 0, 0, 16);
    add(HAS_BIT, 0, 1, CLONE_THREAD);
    add(RETURN, 0, 0, ALLOW);
    add(RETURN, 0, 0, TRAP);
    let filter = (program.len() as u64, program.as_ptr());
    // No new privileges: without this, only root may filter.
    sys::call(nr::PRCTL, [38, 1, 0, 0, 0, 0]);
    sys::call(nr::SECCOMP, [1, 0, &raw const filter as usize, 0, 0, 0]) == 0
}

/// The parts of the kernel's signal frame that are needed.
#[repr(C)]
pub struct Context {
    flags: u64,
    link: u64,
    stack: [u64; 3],
    /// R8 to R15, RDI, RSI, RBP, RBX, RDX, RAX, RCX, RSP, RIP.
    pub registers: [usize; 17],
    /// RFLAGS.
    pub flags_register: usize,
}

/// Returns `true` for the calls of a thread that begins or ends: it waits for a lock of libc or of a sanitizer, asks
/// where its stack is or what time it is, or prints the last words of one of them.
fn is_of_libc(number: usize, first: usize) -> bool {
    const CALLS: [usize; 4] = [
        nr::FUTEX,
        nr::SCHED_YIELD,
        nr::SCHED_GETAFFINITY,
        nr::CLOCK_GETTIME,
    ];
    CALLS.contains(&number) || (number, first) == (nr::WRITE, STANDARD_ERROR)
}

unsafe extern "C" fn handle(_: c_int, info: *const i32, context: *mut Context) {
    let registers = &mut (*context).registers;
    let errno = *c::__errno_location();
    let number = *info.add(6) as usize;
    let a = [
        registers[8],
        registers[9],
        registers[12],
        registers[2],
        registers[0],
        registers[1],
    ];
    let holds = active() && {
        let s = sim();
        s.me().tid == sys::gettid()
    };
    let is_wake = number == nr::FUTEX && matches!(a[1] & FUTEX_OPERATION, WAKE | WAKE_BITSET);
    let is_beside = holds
        && sim().is_creating
        && match number {
            nr::FUTEX => !(is_wake && futex::has_waiters(a)),
            nr::SCHED_YIELD => true,
            _ => false,
        };
    let result = if is_beside {
        sys::call(number, a)
    } else if holds {
        let result = dispatch::call(number, a, registers[16]);
        if is_wake {
            sys::call(number, a);
        }
        result
    } else if is_of_libc(number, a[0]) || !active() {
        sys::call(number, a)
    } else {
        end::escaped_elsewhere(number, registers[16]);
    };
    (*context).registers[13] = result as usize;
    if holds {
        step::settle(context);
    }
    *c::__errno_location() = errno;
}
