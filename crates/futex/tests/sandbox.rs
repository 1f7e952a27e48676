//! A sandbox that forbids `futex_waitv` after its first use. The library caches its knowledge of
//! the call for the whole process, so this is a separate program.
#![cfg(all(not(feature = "portable"), target_os = "linux", target_arch = "x86_64"))]

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_futex::{WaitAny, wait_any, wake_one};

/// Forbids `futex_waitv` to this thread and to the threads that it starts from now on.
fn enter_sandbox() {
    let step = |code, jt, jf, k| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let forbidden = libc::SYS_futex_waitv as u32;
    let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let mut program = [
        // The number of the system call is the first field that the filter is given.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, forbidden),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, refuse),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the call takes numbers only.
    let promised = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    assert_eq!(promised, 0, "{}", io::Error::last_os_error());
    // SAFETY: the program and its steps live until the call returns; the system
    // makes a copy.
    let entered = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) };
    assert_eq!(entered, 0, "{}", io::Error::last_os_error());
}

#[test]
fn wait_any_goes_on_when_a_sandbox_forbids_it_after_its_first_use() {
    let (a, b) = (AtomicU32::new(1), AtomicU32::new(2));
    let words = [(&a, 1), (&b, 2)];
    let soon = || Instant::now() + Duration::from_millis(1);
    assert_eq!(wait_any(&words, soon()), Ok(WaitAny::TimedOut));
    enter_sandbox();
    assert_eq!(wait_any(&words, soon()), Ok(WaitAny::TimedOut));

    thread::scope(|scope| {
        scope.spawn(|| {
            let deadline = Instant::now() + Duration::from_secs(900);
            while b.load(Ordering::Acquire) == 2 {
                assert_ne!(wait_any(&words, deadline), Ok(WaitAny::TimedOut));
            }
        });
        thread::sleep(Duration::from_millis(20));
        b.store(3, Ordering::Release);
        wake_one(&b);
    });
}
