//! Copies the registers and the stack of another thread of this process.
//!
//! The thread makes the copy itself, in the handler of a signal that is sent to it alone.
//!
//! # The signal
//!
//! It is `SIGURG`, if its action is the default one, which is to ignore it. So a signal that is still
//! pending when the thread calls `exec` does not end the new program, as each signal would whose default
//! action is to do so: `exec` sets the action back, and keeps what is pending. (Go's scheduler uses the same
//! signal.) If the program handles `SIGURG`, its handler stays, and there are no copies. The signal is not
//! sent to a thread that blocks it, or has not handled one yet. It restarts system calls, apart from those
//! that the system never restarts: such a call returns `EINTR`. So only a report with that option
//! (`blitz why --stacks`) sends the signal.
//!
//! Nor is the signal sent to a thread with a filter of system calls (seccomp): the handler makes calls that the
//! filter may answer with the end of the process.
//!
//! # The handler
//!
//! Only what a handler may do: it reads its argument, makes system calls, fills `COPIED`, and restores
//! `errno`. It takes no lock, allocates nothing, and follows no pointer of the stack:
//! `process_vm_readv` copies the memory at the stack pointer page by page, and stops where none is mapped.
//! It runs on the thread's alternate stack, if there is one, which may have room for a few kilobytes only: so
//! all that is large is in `COPIED`.
//!
//! # How the copy comes to the asking thread
//!
//! By a [`Request`], which says why only one thread uses the buffer. Once a millisecond the asking thread
//! checks if the buffer is filled, so no wake-up can be lost.

use std::ffi::{c_int, c_void};
use std::fs;
use std::mem;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_observe::Request;

use crate::proc_files::is_filtered;
use crate::unwind::{REGISTERS, Registers};

const PAGE: usize = 4096;
/// So much of a stack is copied at most.
const PAGES: usize = 64;

static COPIED: Request<Copied> = Request::new(Copied {
    registers: Registers {
        pc: 0,
        values: [None; REGISTERS],
    },
    parts: [const {
        libc::iovec {
            iov_base: std::ptr::null_mut(),
            iov_len: 0,
        }
    }; PAGES + 1],
    length: 0,
    stack: [0; PAGES * PAGE],
});
/// The signal, or 0.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

struct Copied {
    registers: Registers,
    /// The parts of the stack.
    parts: [libc::iovec; PAGES + 1],
    /// The length of the part of `stack` that is a copy.
    length: usize,
    stack: [u8; PAGES * PAGE],
}

// SAFETY: the pointers of the parts mean nothing outside of the handler.
unsafe impl Send for Copied {}

/// Returns the registers of a thread and the memory at its stack pointer, or why there is no copy. Calls must not
/// overlap.
pub(crate) fn capture(
    thread: u32,
    deadline: Instant,
) -> Result<(Registers, Vec<u8>), &'static str> {
    let status = fs::read_to_string(format!("/proc/self/task/{thread}/status"));
    let status = status.map_err(|_| "/proc does not have it")?;
    if is_filtered(&status) {
        return Err("it has a filter of system calls (seccomp), which may forbid the copy");
    }
    let signal = signal().ok_or("the program handles SIGURG")?;
    let masks = masks(&status).ok_or("/proc does not say which signals it blocks")?;
    let bit = 1 << (signal - 1);
    if masks.blocked & bit != 0 {
        return Err("it blocks the signal");
    }
    if masks.pending & bit != 0 || !COPIED.ask(thread.into()) {
        return Err("it has not answered an earlier signal");
    }
    // SAFETY: the call takes numbers only. The signal's action is our handler.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal) } == 0;
    while sent && !COPIED.is_filled() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
    let copy = COPIED.end(thread.into(), |copied| {
        (copied.registers, copied.stack[..copied.length].to_vec())
    });
    copy.ok_or("it did not run in time")
}

/// Returns the signal, as a mask of the system; 0 if there is none yet.
pub(crate) fn mask() -> u64 {
    match SIGNAL.load(Ordering::Relaxed) {
        0 => 0,
        signal => 1 << (signal - 1),
    }
}

/// Returns the signal whose action is the handler, and installs it if need be.
pub(crate) fn signal() -> Option<c_int> {
    match SIGNAL.load(Ordering::Relaxed) {
        0 => install(),
        signal => (action(signal)? == handler()).then_some(signal),
    }
}

fn install() -> Option<c_int> {
    let signal = libc::SIGURG;
    if action(signal) != Some(libc::SIG_DFL) {
        return None;
    }
    // SAFETY: all zeros is a valid action.
    let mut new: libc::sigaction = unsafe { mem::zeroed() };
    new.sa_sigaction = handler();
    new.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
    // SAFETY: the pointers are to an action and its mask. The handler does only what a handler may do.
    let result = unsafe {
        libc::sigfillset(&raw mut new.sa_mask);
        libc::sigaction(signal, &raw const new, std::ptr::null_mut())
    };
    if result != 0 {
        return None;
    }
    SIGNAL.store(signal, Ordering::Relaxed);
    Some(signal)
}

/// Returns the action of a signal.
fn action(signal: c_int) -> Option<usize> {
    // SAFETY: all zeros is a valid action.
    let mut current: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: the pointer is to an action that the call may write.
    let result = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut current) };
    (result == 0).then_some(current.sa_sigaction)
}

fn handler() -> usize {
    let handler: unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = copy;
    handler as usize
}

/// The signals of a thread, as masks of the system.
struct Masks {
    blocked: u64,
    pending: u64,
}

fn masks(status: &str) -> Option<Masks> {
    let mask = |name| {
        let mut lines = status.lines();
        let digits = lines.find_map(|line| line.strip_prefix(name))?;
        u64::from_str_radix(digits.trim(), 16).ok()
    };
    Some(Masks {
        blocked: mask("SigBlk:")?,
        pending: mask("SigPnd:")?,
    })
}

/// The handler of the signal: see the section *The handler* above.
unsafe extern "C" fn copy(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system has put the thread's state there. The other calls have no preconditions.
    let (context, errno, thread) = unsafe {
        let context = &*context.cast::<libc::ucontext_t>();
        (
            context,
            *libc::__errno_location(),
            libc::syscall(libc::SYS_gettid),
        )
    };
    COPIED.fill(thread as u64, |copied| {
        copied.registers = registers(context);
        copy_stack(copied, copied.registers.stack_pointer());
    });
    // SAFETY: the call returns the address of the variable of this thread.
    unsafe { *libc::__errno_location() = errno };
}

/// Copies memory from this address on. Its parts end where pages do: the system copies a part, or nothing
/// of it.
fn copy_stack(copied: &mut Copied, address: u64) {
    let mut next = address as usize;
    let end = next.saturating_add(copied.stack.len());
    for part in &mut copied.parts {
        part.iov_len = (PAGE - next % PAGE).min(end - next);
        part.iov_base = next as *mut c_void;
        next += part.iov_len;
    }
    let local = libc::iovec {
        iov_base: copied.stack.as_mut_ptr().cast(),
        iov_len: copied.stack.len(),
    };
    let (count, parts) = (copied.parts.len() as libc::c_ulong, copied.parts.as_ptr());
    // SAFETY: the buffer has this many bytes. The system checks the other addresses.
    let length =
        unsafe { libc::process_vm_readv(libc::getpid(), &raw const local, 1, parts, count, 0) };
    copied.length = usize::try_from(length).unwrap_or(0);
}

#[cfg(target_arch = "x86_64")]
fn registers(context: &libc::ucontext_t) -> Registers {
    const ORDER: [c_int; 16] = [
        libc::REG_RAX,
        libc::REG_RDX,
        libc::REG_RCX,
        libc::REG_RBX,
        libc::REG_RSI,
        libc::REG_RDI,
        libc::REG_RBP,
        libc::REG_RSP,
        libc::REG_R8,
        libc::REG_R9,
        libc::REG_R10,
        libc::REG_R11,
        libc::REG_R12,
        libc::REG_R13,
        libc::REG_R14,
        libc::REG_R15,
    ];
    let of_context = &context.uc_mcontext.gregs;
    let mut values = [None; REGISTERS];
    for (value, index) in values.iter_mut().zip(ORDER) {
        *value = Some(of_context[index as usize] as u64);
    }
    Registers {
        pc: of_context[libc::REG_RIP as usize] as u64,
        values,
    }
}

#[cfg(target_arch = "aarch64")]
fn registers(context: &libc::ucontext_t) -> Registers {
    let of_context = &context.uc_mcontext;
    let mut values = [None; REGISTERS];
    let of_context_and_stack = of_context.regs.iter().chain([&of_context.sp]);
    for (value, &register) in values.iter_mut().zip(of_context_and_stack) {
        *value = Some(register);
    }
    Registers {
        pc: of_context.pc,
        values,
    }
}
