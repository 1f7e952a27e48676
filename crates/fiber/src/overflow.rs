//! The end of the process when a fiber overflows its stack, with a message.
//!
//! A use of a stack's guard is a fault, which the system reports as `SIGSEGV` (or `SIGBUS`) on
//! the thread. The handler runs on the thread's alternate stack. It compares the address with
//! the guard of the fiber that runs there. If it is another address, it leaves the signal to the
//! previous handler, such as the one of Rust's standard library for the stacks of
//! threads.

use std::cell::UnsafeCell;
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::sync::Once;

use crate::running;

/// The size in bytes of an alternate stack that a thread has from us.
const SIGNAL_STACK: usize = 64 * 1024;

const SIGNALS: [libc::c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// The previous handlers.
struct Former(UnsafeCell<[MaybeUninit<libc::sigaction>; 2]>);

// SAFETY: written by `install`, once, and before `install` sets the handler that reads it.
unsafe impl Sync for Former {}

static FORMER: Former = Former(UnsafeCell::new([MaybeUninit::uninit(); 2]));

/// The alternate stack of a thread, if this crate has installed it.
pub(crate) struct SignalStack(Option<ptr::NonNull<libc::c_void>>);

/// Installs the handler if that was not done yet, and gives this thread an alternate stack if it
/// has none.
pub(crate) fn watch() -> SignalStack {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(install);
    let mut now = MaybeUninit::<libc::stack_t>::uninit();
    // SAFETY: only asks, into memory of the right size.
    let asked = unsafe { libc::sigaltstack(ptr::null(), now.as_mut_ptr()) };
    // SAFETY: initialised if the call has succeeded.
    if asked != 0 || unsafe { now.assume_init() }.ss_flags & libc::SS_DISABLE == 0 {
        return SignalStack(None);
    }
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANON;
    // SAFETY: a new mapping wherever the system chooses.
    let stack = unsafe { libc::mmap(ptr::null_mut(), SIGNAL_STACK, rights, flags, -1, 0) };
    if stack == libc::MAP_FAILED {
        return SignalStack(None);
    }
    set_signal_stack(stack, 0);
    SignalStack(ptr::NonNull::new(stack))
}

fn set_signal_stack(stack: *mut libc::c_void, flags: libc::c_int) {
    // SAFETY: all zeros are a value of this type.
    let mut new: libc::stack_t = unsafe { mem::zeroed() };
    new.ss_sp = stack;
    new.ss_size = SIGNAL_STACK;
    new.ss_flags = flags;
    // SAFETY: the caller's stack stays until the thread has another one or none.
    unsafe { libc::sigaltstack(&raw const new, ptr::null_mut()) };
}

impl Drop for SignalStack {
    fn drop(&mut self) {
        if let Some(stack) = self.0 {
            set_signal_stack(ptr::null_mut(), libc::SS_DISABLE);
            // SAFETY: this guard owns the mapping, and the thread has just stopped using it.
            unsafe { libc::munmap(stack.as_ptr(), SIGNAL_STACK) };
        }
    }
}

fn install() {
    for (number, signal) in SIGNALS.into_iter().enumerate() {
        // SAFETY: all zeros are a value of this type.
        let mut new: libc::sigaction = unsafe { mem::zeroed() };
        new.sa_sigaction = handle as *const () as usize;
        new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: `install` runs once, and no handler reads the place before it is written.
        unsafe {
            let former = (*FORMER.0.get())[number].as_mut_ptr();
            libc::sigaction(signal, ptr::null(), former);
            libc::sigaction(signal, &raw const new, ptr::null_mut());
        }
    }
}

extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the system gives the handler the information of a fault.
    let address = unsafe { (*info).si_addr() }.addr();
    running::with_current(|running| {
        if let Some(running) = running {
            let stack = running.stack();
            if (stack.low..stack.low + stack.guard).contains(&address) {
                end(running.name(), stack.size);
            }
        }
    });
    pass_on(signal, info, context);
}

/// Ends the process with a message. Nothing here allocates or locks.
fn end(name: Option<&str>, size: usize) -> ! {
    let mut digits = [0; 20];
    let text = [
        "\nfiber '",
        name.unwrap_or("<unnamed>"),
        "' has overflowed its stack of ",
        decimal(size, &mut digits),
        " bytes\nfatal runtime error: stack overflow, aborting\n",
    ];
    for part in text {
        // SAFETY: writes the bytes of a string.
        unsafe { libc::write(libc::STDERR_FILENO, part.as_ptr().cast(), part.len()) };
    }
    // SAFETY: ends the process.
    unsafe { libc::abort() }
}

fn decimal(mut number: usize, digits: &mut [u8; 20]) -> &str {
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    std::str::from_utf8(&digits[first..]).unwrap_or("?")
}

/// Leaves a signal to the previous handler.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let number = usize::from(signal == SIGNALS[1]);
    // SAFETY: written before this handler was installed.
    let former = unsafe { (*FORMER.0.get())[number].assume_init_ref() };
    match former.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => {
            // The faulting instruction runs again, and ends the process.
            // SAFETY: all zeros are the default action.
            let default: libc::sigaction = unsafe { mem::zeroed() };
            // SAFETY: sets the default action of a signal.
            unsafe { libc::sigaction(signal, &raw const default, ptr::null_mut()) };
        }
        handler if former.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: the flag says that the handler is of this type.
            let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                unsafe { mem::transmute(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: without the flag a handler is of this type.
            let handler: extern "C" fn(libc::c_int) = unsafe { mem::transmute(handler) };
            handler(signal);
        }
    }
}
