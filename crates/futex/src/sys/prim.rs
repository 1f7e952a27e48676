//! The table on the standard library's locks.
//!
//! Each process has its own: in a child after `fork`, the threads that sleep in the parent's table do not
//! exist, and a bucket that another thread had locked would stay locked.

pub(super) use std::sync::Condvar;
use std::sync::PoisonError;
use std::time::Instant;

pub(crate) use crate::source::{Mutex, MutexGuard};

use super::table::{Bucket, Queue, Table};
use crate::per_process::StaticPerProcess;

/// Two sleepers in one bucket only cost each other a little time.
pub(super) const BUCKETS: usize = 64;

static TABLE: StaticPerProcess<Table> = StaticPerProcess::new(empty(), empty);

const fn empty() -> Table {
    Table::new([const { Bucket(Mutex::new(Queue::new(Clock))) }; BUCKETS])
}

/// Returns the table of this process.
pub(super) fn table() -> &'static Table {
    &TABLE
}

/// The real clock.
pub(super) struct Clock;

impl Clock {
    pub(super) fn has_passed(&self, deadline: Instant) -> bool {
        deadline <= Instant::now()
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No panic can happen between changes that belong together, so a poisoned queue is
    // consistent.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits on the condition variable. May return early.
pub(super) fn sleep<'a, T>(
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
    deadline: Option<Instant>,
) -> MutexGuard<'a, T> {
    match deadline {
        None => condvar.wait(guard).unwrap_or_else(PoisonError::into_inner),
        Some(deadline) => {
            let left = deadline.saturating_duration_since(Instant::now());
            let result = condvar.wait_timeout(guard, left);
            result.unwrap_or_else(PoisonError::into_inner).0
        }
    }
}

#[cfg(all(test, unix, not(miri)))]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use super::*;
    use crate::WaitResult;
    use crate::word::Word;

    /// Returns `true` if `is_so` returns true in a child process, which a hang would end.
    fn in_child(is_so: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child calls only the code under test, and the allocator, which the C library
        // makes usable in a child.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: it has no preconditions.
            unsafe { libc::alarm(60) };
            let status = i32::from(!is_so());
            // SAFETY: it ends this process without running what the test harness registered.
            unsafe { libc::_exit(status) };
        }
        let mut status = 0;
        // SAFETY: `status` is a place for a number.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
    }

    #[test]
    fn a_bucket_that_is_locked_at_a_fork_is_free_in_the_child() {
        let word = AtomicU32::new(0);
        let parent = table();
        let _locked = parent.lock_all();
        assert!(in_child(|| table().wake(word.address(), 1, None) == 0));
    }

    #[test]
    fn a_sleeper_of_the_parent_takes_no_wake_of_the_child() {
        let word = AtomicU32::new(0);
        thread::scope(|scope| {
            let sleeper = scope.spawn(|| table().wait(&word, 0, None, None));
            while table().entries_of(word.address()) == 0 {
                thread::yield_now();
            }
            assert!(in_child(|| table().wake(word.address(), 1, None) == 0));
            word.store(1, Ordering::Release);
            assert_eq!(table().wake(word.address(), 1, None), 1);
            assert_eq!(sleeper.join().unwrap(), WaitResult::Woken);
        });
    }
}
