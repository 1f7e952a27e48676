//! Helpers for several test files. Not every file needs all of them.
#![allow(dead_code)]

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Nothing in the tests takes this long, however busy the machine is.
pub const FOREVER: Duration = Duration::from_secs(900);

pub fn in_forever() -> Instant {
    Instant::now() + FOREVER
}

/// Polls until the condition holds.
#[track_caller]
pub fn eventually(mut condition: impl FnMut() -> bool) {
    let deadline = in_forever();
    while !condition() {
        assert!(Instant::now() < deadline, "it never came true");
        thread::sleep(Duration::from_micros(200));
    }
}

/// Blocks the other tests of the file. In the portable table words share locks, so another
/// test could keep a thread of this one from sleeping although it already looks asleep.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Changes the word and wakes all sleepers when dropped, so that a failed assertion leaves
/// no thread asleep.
pub struct AtEndWakeAll<'a>(pub &'a AtomicU32);

impl Drop for AtEndWakeAll<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
        blitz_io_futex::wake_all(self.0);
    }
}

/// Threads that identify themselves just before they go to sleep.
pub struct Sleepers {
    ids: Vec<AtomicU32>,
}

impl Sleepers {
    pub fn new(threads: usize) -> Self {
        Self {
            ids: (0..threads).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// Announces that the calling thread will sleep next. (It must not sleep before that.)
    pub fn enter(&self, thread: usize) {
        self.ids[thread].store(thread_id(), Ordering::SeqCst);
    }

    /// Waits until all threads have entered and sleep. Where the system does not tell, it
    /// gives them time.
    pub fn wait_until_asleep(&self) {
        eventually(|| self.ids.iter().all(|id| id.load(Ordering::SeqCst) != 0));
        let all_sleep = || {
            let mut ids = self.ids.iter().map(|id| id.load(Ordering::SeqCst));
            ids.all(|id| sleeps("self", id))
        };
        // Check more than once, because threads may wait for each other before they sleep.
        eventually(|| {
            (0..4).all(|_| {
                thread::sleep(BETWEEN_LOOKS);
                all_sleep()
            })
        });
    }
}

#[cfg(target_os = "linux")]
const BETWEEN_LOOKS: Duration = Duration::from_micros(100);

#[cfg(not(target_os = "linux"))]
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

#[cfg(target_os = "linux")]
pub fn thread_id() -> u32 {
    // SAFETY: the call takes no arguments and cannot fail.
    let id = unsafe { libc::syscall(libc::SYS_gettid) };
    u32::try_from(id).unwrap()
}

#[cfg(target_os = "linux")]
pub fn sleeps(process: &str, thread: u32) -> bool {
    let read = |file| std::fs::read_to_string(format!("/proc/{process}/task/{thread}/{file}"));
    let stat = read("stat").unwrap();
    // The format is "id (name) state …", and the name may contain anything.
    let (_, rest) = stat.rsplit_once(')').unwrap();
    // A thread that was preempted on its way to sleep still runs, and only this file shows it.
    let running = read("syscall").is_ok_and(|call| call.starts_with("running"));
    rest.trim_start().starts_with('S') && !running
}

#[cfg(not(target_os = "linux"))]
pub fn thread_id() -> u32 {
    1
}

#[cfg(not(target_os = "linux"))]
pub fn sleeps(_process: &str, _thread: u32) -> bool {
    true
}
