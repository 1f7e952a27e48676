//! Small programs on our protocols, with three to eight threads and a few operations of each.
//!
//! As ordinary tests they take no time and prove little: `.ci/sim-atomics` runs each of them in as many orders of its
//! atomic operations as it has time for. So they have to be short, and to fail if anything is lost.

#![cfg(unix)]

mod channels;
#[cfg(feature = "net")]
mod io;
mod locks;
#[cfg(feature = "ipc")]
mod messages;
#[cfg(all(feature = "pool", feature = "pipeline"))]
mod parallel;
mod small;
#[cfg(feature = "rt")]
mod tasks;

use std::thread;

/// Runs a closure in this many threads, with the number of each.
fn each(threads: usize, body: impl Fn(usize) + Sync) {
    let body = &body;
    thread::scope(|scope| {
        for me in 0..threads {
            scope.spawn(move || body(me));
        }
    });
}

/// Waits for a thread that does nothing. In a simulation, all other threads fall asleep before that one begins, unless the
/// schedule preempts one of them.
fn all_others_sleep() {
    thread::spawn(|| {}).join().unwrap();
}
