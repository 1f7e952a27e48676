//! Waits without a time limit on the thread of a run; see [`stuck`](super::super::stuck).

use std::ffi::{c_int, c_long};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use blitz_io_observe::{decisions, has_clock_thread, is_simulated};

use super::super::stuck::{Part, SLICE, watch};
use super::with;
use crate::sim::joiners::Joiners;

/// The status of a process of which a test has failed, as of a panic of its main thread.
const FAILED: c_int = 101;

/// The word for which a thread waits.
pub(super) struct Word {
    pub(super) address: usize,
    /// The wait is for this value.
    pub(super) value: u32,
    /// No other process has it.
    pub(super) is_private: bool,
}

/// Waits, and says so if that takes long, if this thread is in a run. Without a time, `wait` has no limit.
///
/// # Safety
///
/// The address is that of a word, which lives as long as the wait.
pub(super) unsafe fn wait(word: &Word, wait: impl Fn(Option<Duration>) -> c_long) -> c_long {
    // Under `blitz sim`, a thread that wakes again and again would never be part of a deadlock. A wait within a watched one is
    // that of the message.
    let begins = with(|run| (!is_simulated() && run.system().begin_watch()).then_some(()));
    if begins.is_none() {
        return wait(None);
    }
    let part = || {
        let result = wait(Some(SLICE));
        // SAFETY: the address of this thread's `errno` is valid.
        let error = unsafe { *libc::__errno_location() };
        if result == -1 && error == libc::ETIMEDOUT {
            Part::TimedOut
        } else {
            Part::Ended((result, error))
        }
    };
    // SAFETY: the caller's promise.
    let is_hopeless = || decisions::with_system(|| unsafe { is_hopeless(word) });
    let ended = watch(is_hopeless, part, tell);
    with(|run| {
        run.system().end_watch();
        Some(())
    });
    match ended {
        Some((result, error)) => {
            // The look at the threads may have changed it.
            // SAFETY: the address of this thread's `errno` is valid.
            unsafe { *libc::__errno_location() = error };
            result
        }
        // SAFETY: the call has no preconditions.
        None => unsafe { libc::_exit(FAILED) },
    }
}

/// Prints the message about the current task. A thread of its own makes the text: that needs hash maps, whose keys in this
/// thread are the run's.
fn tell(is_hopeless: bool) {
    let Some((waiting, task)) = with(|run| run.waiting(is_hopeless)) else {
        return;
    };
    decisions::with_system(|| {
        let write = move || write_error(&waiting.describe(task));
        if let Ok(thread) = thread::Builder::new().spawn(write) {
            _ = thread.join();
        }
    });
}

/// Writes to the standard error, of which the harness would keep a text until the test has ended.
fn write_error(text: &str) {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        // SAFETY: the pointer and the length are those of the bytes.
        let count = unsafe { libc::write(libc::STDERR_FILENO, rest.as_ptr().cast(), rest.len()) };
        match usize::try_from(count) {
            Ok(count @ 1..) => rest = &rest[count..],
            _ => return,
        }
    }
}

/// Returns `true` if no other thread can end the wait; see [`stuck`](super::super::stuck).
///
/// # Safety
///
/// The address is that of a word.
unsafe fn is_hopeless(word: &Word) -> bool {
    word.is_private && no_other_thread_runs() && {
        // SAFETY: the caller's promise.
        let word_now = unsafe { AtomicU32::from_ptr(word.address as *mut u32) };
        word_now.load(Ordering::SeqCst) == word.value
    }
}

/// Returns `true` if the process has this thread, those that wait to join it, and at most the main thread of the harness of
/// Rust's tests, which sleeps.
fn no_other_thread_runs() -> bool {
    let Some(threads) = threads() else {
        return false;
    };
    let joiners = Joiners::current();
    // The thread of the inspector's clock sleeps and stores the time.
    let idle = 1 + joiners.count() + u64::from(has_clock_thread());
    match threads.checked_sub(idle) {
        Some(0) => true,
        // `are_of_harness` starts a thread, so the count is repeated.
        Some(1) => joiners.are_of_harness() && main_sleeps_alone(idle + 1),
        _ => false,
    }
}

/// Returns `true` if the main thread waits for a futex while the process has this number of threads.
fn main_sleeps_alone(count: u64) -> bool {
    let before = sleeps_of_main();
    before.is_some() && threads() == Some(count) && sleeps_of_main() == before
}

/// Returns how often the main thread has begun to sleep, if it waits for a futex.
fn sleeps_of_main() -> Option<u64> {
    let main = std::process::id();
    let read = |file| fs::read_to_string(format!("/proc/self/task/{main}/{file}")).ok();
    let call = read("syscall")?;
    let number: c_long = call.split(' ').next()?.trim().parse().ok()?;
    let status = read("status")?;
    let mut lines = status.lines();
    let sleeps = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    let sleeps = sleeps.trim().parse().ok()?;
    (number == libc::SYS_futex).then_some(sleeps)
}

/// Returns the number of this process's threads.
fn threads() -> Option<u64> {
    // The folder has one folder for each, and is linked twice without them.
    fs::metadata("/proc/self/task").ok()?.nlink().checked_sub(2)
}
