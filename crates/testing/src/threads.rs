//! Threads that are blocked, asleep, busy or told to stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// Long enough for another thread to get stuck, most of the time. No test fails
/// because it was not.
pub const A_WHILE: Duration = Duration::from_millis(20);

/// Nothing that works takes this long, on any machine.
pub const PATIENCE: Duration = Duration::from_secs(900);

/// Returns `true` if the thread is still blocked after a while.
pub fn is_stuck<T>(thread: &ScopedJoinHandle<'_, T>) -> bool {
    thread::sleep(A_WHILE);
    !thread.is_finished()
}

/// Starts a thread, which sleeps in `f` by the time this returns.
pub fn sleeping<'scope, R: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    f: impl FnOnce() -> R + Send + 'scope,
) -> ScopedJoinHandle<'scope, R> {
    let (tell, told) = mpsc::channel();
    let thread = scope.spawn(move || {
        tell.send(ThreadName::current()).unwrap();
        drop(tell);
        f()
    });
    told.recv().unwrap().until_asleep();
    thread
}

/// Waits for `condition`, which other threads make true.
#[track_caller]
pub fn eventually(condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "this did not come true");
        thread::sleep(Duration::from_micros(200));
    }
}

/// Runs `f` in another thread, while this one keeps its locks.
pub fn elsewhere<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| scope.spawn(f).join().unwrap())
}

/// Keeps the processor busy.
pub fn work(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Ends the program if it is not dropped in time: a lost wake-up is a hang, and
/// a hang should have a name.
pub struct Watchdog(Option<mpsc::Sender<()>>);

impl Watchdog {
    /// Watches over `what` from now on.
    pub fn new(what: &'static str) -> Self {
        let (alive, watch) = mpsc::channel();
        thread::spawn(move || {
            if watch.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                eprintln!("{what}: not done after {PATIENCE:?}");
                std::process::exit(101);
            }
        });
        Self(Some(alive))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.0 = None;
    }
}

/// Random numbers that are the same in each run.
pub struct Random(u64);

impl Random {
    /// Starts the sequence of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns the next number, which is below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % limit
    }
}

/// Tells many threads when to end.
#[derive(Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Tells the threads to end.
    pub fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns `true` if the threads are to end.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Sets its [`Stop`] when it is dropped, also by a panic: the other threads of a scope must end
/// before the scope passes the panic on.
pub struct StopAtEnd<'a>(pub &'a Stop);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.now();
    }
}

/// The name of a thread for the system, so that another thread can ask whether
/// it sleeps. Only Linux tells.
#[derive(Clone, Debug)]
pub struct ThreadName(Option<String>);

impl ThreadName {
    /// Returns the name of this thread.
    pub fn current() -> Self {
        let link = std::fs::read_link("/proc/thread-self").ok();
        Self(link.map(|link| format!("/proc/{}", link.display())))
    }

    /// Waits until the thread sleeps; elsewhere for a time in which it should.
    #[track_caller]
    pub fn until_asleep(&self) {
        match &self.0 {
            None => thread::sleep(2 * A_WHILE),
            Some(folder) => eventually(|| is_asleep(folder)),
        }
    }

    /// Waits until the thread sleeps in a futex, without a time-out.
    #[track_caller]
    pub fn until_asleep_for_good(&self) {
        let folder = self.0.as_ref().expect("only Linux tells");
        eventually(|| sleeps_for_good(folder));
    }

    /// Returns how often the thread has gone to sleep so far.
    pub fn sleeps(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("{}/status", self.0.as_ref()?)).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        line.trim().parse().ok()
    }
}

/// Of the system calls that sleep here, only a futex's begins with an address; its fourth
/// argument is the time-out.
fn sleeps_for_good(folder: &str) -> bool {
    let call = std::fs::read_to_string(format!("{folder}/syscall")).unwrap_or_default();
    let arguments: Vec<u64> = call
        .split_whitespace()
        .skip(1)
        .filter_map(|argument| u64::from_str_radix(argument.strip_prefix("0x")?, 16).ok())
        .collect();
    arguments.len() > 3 && arguments[0] >= 4096 && arguments[3] == 0
}

fn is_asleep(folder: &str) -> bool {
    let read = |file| std::fs::read_to_string(format!("{folder}/{file}")).unwrap_or_default();
    let stat = read("stat");
    let state = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    // A thread that was preempted on its way to sleep still runs, and only this file shows it.
    state.starts_with('S') && !read("syscall").starts_with("running")
}
