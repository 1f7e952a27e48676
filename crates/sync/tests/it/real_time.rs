//! Threads of real-time priority, which never let an ordinary thread of their processor run by
//! yielding to it. So a thread that waits for an ordinary one has to sleep. Needs the right to
//! use such priorities.
#![cfg(target_os = "linux")]

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{io, mem, thread};

use blitz_io_core::BiasedLock;
use blitz_io_testing::bind_to_first_processor;
use blitz_io_testing::threads::{Watchdog, work};

/// The time in microseconds after which a real-time thread without a sleep counts as spinning.
const SPINS: libc::rlim_t = 400_000;

static THREAD: AtomicI32 = AtomicI32::new(0);
static HAS_SPUN: AtomicBool = AtomicBool::new(false);

fn set_policy(thread: libc::pid_t, policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    // SAFETY: an all-zero parameter is valid, and the call only reads it.
    let result = unsafe {
        let mut param: libc::sched_param = mem::zeroed();
        param.sched_priority = priority;
        libc::sched_setscheduler(thread, policy, &raw const param)
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The system reports that the real-time thread has spun: it continues as an ordinary one.
extern "C" fn has_spun(_: libc::c_int) {
    HAS_SPUN.store(true, Ordering::Relaxed);
    _ = set_policy(THREAD.load(Ordering::Relaxed), libc::SCHED_OTHER, 0);
}

/// Makes this thread a real-time one, and has the system watch that it does not spin.
fn become_urgent() -> io::Result<()> {
    // SAFETY: the handler makes one system call and one store; the limit is a valid one.
    unsafe {
        THREAD.store(libc::syscall(libc::SYS_gettid) as i32, Ordering::Relaxed);
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = has_spun as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGXCPU, &raw const action, std::ptr::null_mut());
        let mut limit: libc::rlimit = mem::zeroed();
        libc::getrlimit(libc::RLIMIT_RTTIME, &raw mut limit);
        limit.rlim_cur = SPINS.min(limit.rlim_max);
        if libc::setrlimit(libc::RLIMIT_RTTIME, &raw const limit) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    set_policy(0, libc::SCHED_FIFO, 1)
}

/// The owner of a biased lock is interrupted in it by a revoker that it cannot interrupt.
#[test]
fn a_real_time_revoker_does_not_spin_on_an_interrupted_owner() {
    let _dog = Watchdog::new("a_real_time_revoker_does_not_spin_on_an_interrupted_owner");
    let (lock, stop, inside) = (
        BiasedLock::new(),
        AtomicBool::new(false),
        AtomicUsize::new(0),
    );
    let enter = || {
        assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0);
        work(Duration::from_micros(50));
        inside.fetch_sub(1, Ordering::Relaxed);
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            assert!(bind_to_first_processor());
            while !stop.load(Ordering::Relaxed) {
                // SAFETY: this thread is the owner.
                unsafe { lock.lock(enter) };
            }
        });
        let urgent = scope.spawn(|| {
            assert!(bind_to_first_processor());
            become_urgent()?;
            let until = Instant::now() + Duration::from_secs(10);
            for _ in 0..200 {
                if HAS_SPUN.load(Ordering::Relaxed) || Instant::now() > until {
                    break;
                }
                // Wakes up where the owner is, mostly in the lock.
                thread::sleep(Duration::from_micros(300));
                // SAFETY: this thread is not the owner, and the only revoker.
                unsafe { BiasedLock::lock_remote([(&lock, ())].into_iter(), &mut |()| enter()) };
            }
            io::Result::Ok(())
        });
        let done = urgent.join();
        stop.store(true, Ordering::Relaxed);
        match done.unwrap() {
            Ok(()) => assert!(!HAS_SPUN.load(Ordering::Relaxed), "the revoker spins"),
            Err(error) => eprintln!("skipped, there is no right to real-time priorities: {error}"),
        }
    });
}
