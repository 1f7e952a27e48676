//! Fibers that sleep on a futex word of this process. They wait in a table with the protocol of
//! `protocol/words.rs`.
//!
//! Each process has its own table. In a child after `fork`, the fibers of the parent do not exist, so they
//! must not take a wake. Also, a bucket that another thread had locked would stay locked.

use std::ffi::c_int;
use std::sync::atomic::AtomicU32;

use crate::protocol::words::{Slept, Waited, Words};
use blitz_io_core::StaticPerProcess;

use crate::error::BLITZ_ETIMEDOUT;
use crate::wait::{self, Limit};

static TABLE: StaticPerProcess<Words<128>> = StaticPerProcess::new(Words::new(), Words::new);

/// Suspends the calling fiber while all words hold their expected values.
pub(crate) fn sleep(words: &[(&AtomicU32, u32)], limit: Limit) -> Slept<c_int> {
    TABLE.sleep(words, |notified| match wait::on(notified, limit) {
        Ok(()) => Waited::Notified,
        Err(BLITZ_ETIMEDOUT) => Waited::TimedOut,
        Err(error) => Waited::Cancelled(error),
    })
}

/// Wakes up to `n` fibers that sleep on a word, which may be freed. Returns the number of woken fibers.
#[inline]
pub(crate) fn wake(word: *const u32, n: usize) -> usize {
    TABLE.wake(word.cast(), n)
}

#[test]
fn a_fiber_of_the_parent_takes_no_wake_of_a_child() {
    let word = AtomicU32::new(0);
    // While it waits, its entry is in the table.
    let slept = TABLE.sleep(&[(&word, 0)], |_| {
        // SAFETY: the child calls only the code under test, and the allocator, which the C library
        // makes usable in a child.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let woken = wake(word.as_ptr(), 1);
            // SAFETY: it ends this process without running what the test harness registered.
            unsafe { libc::_exit(i32::from(woken != 0)) };
        }
        let mut status = 0;
        // SAFETY: `status` is a place for a number.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0);
        Waited::<()>::TimedOut
    });
    assert_eq!(slept, Slept::TimedOut);
}
