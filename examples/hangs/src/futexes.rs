//! Hangs with plain futexes: those of a tool that reads sequences, trims them in parallel and writes them in
//! order, after its mutexes and condition variables had been replaced. And hangs in locks of the standard
//! library, which keep no records.

use std::sync::{Arc, Barrier, Mutex};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use blitz_io::futex::atomic::{AtomicBool, AtomicU32, Ordering};
use blitz_io::futex::{Observed, block_until_different, wait, wait_any, wake_all, wake_one};
use blitz_io::sync::oneshot;

use crate::{is_apart, meeting};

/// Starts a thread with a name.
fn start<'s>(
    scope: &'s Scope<'s, '_>,
    name: &str,
    body: impl FnOnce() + Send + 's,
) -> ScopedJoinHandle<'s, ()> {
    let thread = thread::Builder::new().name(name.into());
    thread
        .spawn_scoped(scope, body)
        .expect("the system has threads")
}

/// Adds one, and wakes the threads that sleep on the counter.
fn count(counter: &AtomicU32) {
    counter.fetch_add(1, Ordering::Release);
    wake_all(counter);
}

/// Sleeps until the counter is above `count`.
#[track_caller]
fn wait_above(count: u32, counter: &AtomicU32) {
    loop {
        let current = counter.load(Ordering::Acquire);
        if current > count {
            return;
        }
        wait(counter, current);
    }
}

/// A writer takes packs from the workers in strict turns, and the reader may be two packs ahead of it. One
/// worker drops all of its first pack, and says nothing to the writer: so the writer waits for the worker,
/// the worker for the reader, and the reader for the writer.
pub fn strict_turns() {
    let given = [AtomicU32::new(0), AtomicU32::new(0)];
    let trimmed = [AtomicU32::new(0), AtomicU32::new(0)];
    let written = AtomicU32::new(0);
    thread::scope(|scope| {
        start(scope, "reader", || {
            for pack in 0.. {
                if pack >= 2 {
                    wait_above(pack - 2, &written);
                }
                count(&given[pack as usize % 2]);
            }
        });
        for worker in 0..2 {
            let (given, trimmed) = (&given[worker], &trimmed[worker]);
            start(scope, "worker", move || {
                for pack in 0.. {
                    wait_above(pack, given);
                    let is_empty = worker == 0 && pack == 0;
                    if !is_empty {
                        count(trimmed);
                    }
                }
            });
        }
        start(scope, "writer", || {
            for pack in 0.. {
                wait_above(pack / 2, &trimmed[pack as usize % 2]);
                count(&written);
            }
        });
    });
}

/// A worker reads whether the input has ended, and then the counter on which it sleeps. The end comes
/// between the two.
pub fn flag_read_too_early() {
    let (events, ended) = (AtomicU32::new(0), AtomicBool::new(false));
    let (has_read, is_told) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        start(scope, "worker", || {
            let ended = ended.load(Ordering::Acquire);
            has_read.wait();
            is_told.wait();
            let seen = events.load(Ordering::Acquire);
            if !ended {
                block_until_different(seen, &events);
            }
        });
        start(scope, "reader", || {
            has_read.wait();
            ended.store(true, Ordering::Release);
            count(&events);
            is_told.wait();
        });
    });
}

/// A writer sleeps on the counters of two workers. Their end is told in a word that is not among these.
pub fn end_in_another_word() {
    let trimmed = [AtomicU32::new(0), AtomicU32::new(0)];
    let ended = AtomicU32::new(0);
    let has_all = Barrier::new(3);
    thread::scope(|scope| {
        start(scope, "writer", || {
            let [a, b] = &trimmed;
            let mut seen = [0, 0];
            while ended.load(Ordering::Acquire) < 2 {
                if seen == [1, 1] {
                    has_all.wait();
                }
                _ = wait_any(&[(a, seen[0]), (b, seen[1])], None);
                seen = [a, b].map(|counter| counter.load(Ordering::Acquire));
            }
        });
        for trimmed in &trimmed {
            start(scope, "worker", || {
                count(trimmed);
                has_all.wait();
                count(&ended);
            });
        }
    });
}

/// A worker ends without a further pack: it wakes the writer, whose counter has not changed.
pub fn counter_stays() {
    let (trimmed, written) = (AtomicU32::new(0), AtomicU32::new(0));
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        start(scope, "writer", || {
            let mut seen = 0;
            while !ended.load(Ordering::Acquire) {
                count(&written);
                seen = block_until_different(seen, &trimmed);
            }
        });
        start(scope, "worker", || {
            wait_above(0, &written);
            count(&trimmed);
            wait_above(1, &written);
            ended.store(true, Ordering::Release);
            wake_all(&trimmed);
        });
    });
}

// ANCHOR: own_lock
/// A lock of the program's own, which says who holds it. Its word: 0 is free, 1 held, 2 held with sleepers.
struct OwnLock {
    state: AtomicU32,
    observed: Observed,
}

impl OwnLock {
    const fn new(name: &'static str) -> Self {
        Self {
            state: AtomicU32::new(0),
            observed: Observed::lock().named(name),
        }
    }

    #[track_caller]
    fn with(&self, body: impl FnOnce()) {
        while self.state.swap(2, Ordering::Acquire) != 0 {
            self.observed.wait(&self.state, 2);
        }
        self.observed.acquired();
        body();
        self.observed.released();
        self.state.store(0, Ordering::Release);
        wake_one(&self.state);
    }
}
// ANCHOR_END: own_lock

/// Two threads take two such locks in two orders.
pub fn two_own_locks() {
    static ACCOUNTS: OwnLock = OwnLock::new("accounts");
    static AUDIT: OwnLock = OwnLock::new("audit");
    let both = Barrier::new(meeting(2));
    thread::scope(|scope| {
        let transfer = start(scope, "transfer", || {
            ACCOUNTS.with(|| {
                both.wait();
                AUDIT.with(|| ());
            });
        });
        if is_apart() {
            transfer.join().expect("it meets no other thread");
        }
        start(scope, "report", || {
            AUDIT.with(|| {
                both.wait();
                ACCOUNTS.with(|| ());
            });
        });
    });
}

/// Two threads take two mutexes of the standard library in two orders.
pub fn two_std_mutexes() {
    let (accounts, audit) = (Mutex::new(()), Mutex::new(()));
    let both = Barrier::new(2);
    thread::scope(|scope| {
        start(scope, "transfer", || lock_both(&accounts, &both, &audit));
        start(scope, "report", || lock_both(&audit, &both, &accounts));
    });
}

fn lock_both(first: &Mutex<()>, both: &Barrier, second: &Mutex<()>) {
    let _first = first.lock();
    both.wait();
    drop(second.lock());
}

fn update(wanted: &Mutex<()>) {
    drop(wanted.lock());
}

/// A task waits for a mutex of the standard library that the future of `block_on` keeps.
pub async fn std_mutex_in_a_task() {
    let lock = Arc::new(Mutex::new(()));
    let wanted = lock.clone();
    if is_apart() {
        let (locked, is_locked) = oneshot::channel();
        thread::spawn(move || {
            let _guard = lock.lock();
            _ = locked.send(());
            thread::sleep(Duration::from_millis(100));
        });
        _ = is_locked.await;
        _ = crate::spawn("blocks", async move { update(&wanted) }).await;
        return;
    }
    #[allow(clippy::await_holding_lock, reason = "the program is to hang")]
    let _guard = lock.lock();
    let task = crate::spawn("blocks", async move { update(&wanted) });
    _ = task.await;
}
