//! System calls by instruction. The filter of `trap` lets those of this object pass, so nothing here
//! returns into the simulator.

use core::arch::asm;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::c::{Pollfd, Raw, nr};

/// Calls the kernel.
pub unsafe fn call(number: usize, a: [usize; 6]) -> Raw {
    let result: Raw;
    asm!(
        "syscall",
        inlateout("rax") number as isize => result,
        in("rdi") a[0],
        in("rsi") a[1],
        in("rdx") a[2],
        in("r10") a[3],
        in("r8") a[4],
        in("r9") a[5],
        lateout("rcx") _,
        lateout("r11") _,
        options(nostack),
    );
    result
}

/// Sleeps while `word` holds `value`.
pub unsafe fn futex_wait(word: &AtomicU32, value: u32) {
    call(
        nr::FUTEX,
        [word.as_ptr() as usize, 128, value as usize, 0, 0, 0],
    );
}

/// Wakes the thread that sleeps on `word`.
pub unsafe fn futex_wake(word: &AtomicU32) {
    word.store(1, Ordering::Release);
    call(nr::FUTEX, [word.as_ptr() as usize, 129, 1, 0, 0, 0]);
}

/// Looks which descriptors are ready, without waiting.
pub unsafe fn poll_now(set: &mut [Pollfd]) -> Raw {
    call(nr::POLL, [set.as_mut_ptr() as usize, set.len(), 0, 0, 0, 0])
}

/// Returns the kernel's number of this thread.
pub unsafe fn gettid() -> i32 {
    call(nr::GETTID, [0; 6]) as i32
}

/// Returns the kernel's number of this process.
pub unsafe fn getpid() -> i32 {
    call(nr::GETPID, [0; 6]) as i32
}

/// Ends the process.
pub unsafe fn exit_group(code: i32) -> ! {
    loop {
        call(nr::EXIT_GROUP, [code as usize, 0, 0, 0, 0, 0]);
    }
}

/// Returns `true` while the kernel has a thread of this number in this process.
pub unsafe fn is_alive(tid: i32) -> bool {
    call(nr::TGKILL, [getpid() as usize, tid as usize, 0, 0, 0, 0]) == 0
}
