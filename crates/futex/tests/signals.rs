//! Signals that arrive during a wait.
#![cfg(unix)]

mod common;

use std::os::unix::thread::JoinHandleExt;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{mem, ptr};

use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_futex::{WaitAny, WaitResult, wait_any, wait_deadline, wake_all};
use common::{Sleepers, eventually};

static HANDLED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn handler(_signal: libc::c_int) {
    HANDLED.fetch_add(1, Ordering::SeqCst);
}

/// Installs a handler. `SA_RESTART` in `flags` lets the system restart interrupted calls.
fn install_handler(signal: libc::c_int, flags: libc::c_int) {
    // SAFETY: all zeros is a valid `sigaction`, and the handler does nothing that is
    // forbidden in a handler.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = handler as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = flags;
        assert_eq!(libc::sigaction(signal, &action, ptr::null_mut()), 0);
    }
}

/// Interrupts the thread once, and returns after the handler has run.
fn interrupt<T>(thread: &JoinHandle<T>, signal: libc::c_int) {
    let before = HANDLED.load(Ordering::SeqCst);
    // SAFETY: the thread was not joined yet, so its handle is valid.
    let result = unsafe { libc::pthread_kill(thread.as_pthread_t() as libc::pthread_t, signal) };
    if result == 0 && !thread.is_finished() {
        eventually(|| HANDLED.load(Ordering::SeqCst) > before || thread.is_finished());
    }
}

const KINDS: [(libc::c_int, libc::c_int); 2] =
    [(libc::SIGUSR1, 0), (libc::SIGUSR2, libc::SA_RESTART)];

struct Sleeper {
    word: AtomicU32,
    bedroom: Sleepers,
}

impl Sleeper {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            word: AtomicU32::new(0),
            bedroom: Sleepers::new(1),
        })
    }
}

/// One test, because the counter and the handlers belong to the process.
#[test]
fn signals_neither_end_nor_prolong_a_wait() {
    for (signal, flags) in KINDS {
        install_handler(signal, flags);
        does_not_end_a_wait(signal);
        does_not_end_a_wait_on_many_words(signal);
        does_not_prolong_a_wait(signal);
    }
}

fn does_not_end_a_wait(signal: libc::c_int) {
    let shared = Sleeper::new();
    let sleeper = thread::spawn({
        let shared = shared.clone();
        move || {
            shared.bedroom.enter(0);
            wait_deadline(&shared.word, 0, None)
        }
    });
    for _ in 0..20 {
        shared.bedroom.wait_until_asleep();
        interrupt(&sleeper, signal);
        assert!(!sleeper.is_finished());
    }
    shared.bedroom.wait_until_asleep();
    shared.word.store(1, Ordering::SeqCst);
    wake_all(&shared.word);
    assert_eq!(sleeper.join().unwrap(), WaitResult::Woken);
}

fn does_not_end_a_wait_on_many_words(signal: libc::c_int) {
    let shared = Sleeper::new();
    let sleeper = thread::spawn({
        let shared = shared.clone();
        move || {
            let other = AtomicU32::new(0);
            shared.bedroom.enter(0);
            wait_any(&[(&other, 0), (&shared.word, 0)], None).unwrap()
        }
    });
    for _ in 0..20 {
        shared.bedroom.wait_until_asleep();
        interrupt(&sleeper, signal);
        assert!(!sleeper.is_finished());
    }
    shared.bedroom.wait_until_asleep();
    shared.word.store(1, Ordering::SeqCst);
    wake_all(&shared.word);
    assert_eq!(sleeper.join().unwrap(), WaitAny::Woken(1));
}

fn does_not_prolong_a_wait(signal: libc::c_int) {
    const TIMEOUT: Duration = Duration::from_millis(200);
    let shared = Sleeper::new();
    let sleeper = thread::spawn({
        let shared = shared.clone();
        move || {
            let deadline = Instant::now() + TIMEOUT;
            let result = wait_deadline(&shared.word, 0, deadline);
            assert!(Instant::now() >= deadline);
            result
        }
    });
    // A wait that started over with each signal would never end.
    eventually(|| {
        interrupt(&sleeper, signal);
        sleeper.is_finished()
    });
    assert_eq!(sleeper.join().unwrap(), WaitResult::TimedOut);
}
