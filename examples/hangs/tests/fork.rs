//! The child of a fork waits for no lock that another thread of its parent held.
#![cfg(unix)]

use std::sync::atomic::{AtomicBool, Ordering};

use blitz_io::inspect::snapshot;
use blitz_io::thread;

const FORKS: usize = 100;

/// The facts about a lock come from a pool, and return there.
fn use_a_lock() {
    drop(thread::Mutex::new(()).lock());
}

#[test]
fn a_child_uses_locks_and_copies_its_records() {
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                use_a_lock();
            }
        });
        for _ in 0..FORKS {
            // SAFETY: the child calls the code under test, the allocator, which the C library makes
            // usable in a child, and `_exit`.
            let child = unsafe { libc::fork() };
            assert!(child >= 0);
            if child == 0 {
                use_a_lock();
                let is_of_child = snapshot().pid == std::process::id();
                // SAFETY: ends the child at once.
                unsafe { libc::_exit(i32::from(!is_of_child)) };
            }
            let mut status = 0;
            // SAFETY: the child is ours, and the pointer is to a number.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            assert_eq!(status, 0);
        }
        ended.store(true, Ordering::Relaxed);
    });
}
