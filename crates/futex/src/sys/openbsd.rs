//! OpenBSD: `futex(2)`, which is Linux's futex with relative timeouts.

use std::io;
use std::ptr;
use std::time::Instant;

use libc::{c_int, time_t, timespec};

use crate::atomic::AtomicU32;
use crate::word::Word;
use crate::{Scope, WaitAny, WaitResult};

#[path = "any.rs"]
mod any;
#[path = "groupless.rs"]
mod groupless;
#[path = "relative.rs"]
mod relative;

pub(crate) use groupless::{wait_in_group, wake_group};

pub(crate) const COUNTS_WAKES: bool = true;

pub(crate) fn name() -> &'static str {
    "futex"
}

pub(crate) fn supports_shared() -> bool {
    true
}

pub(crate) fn has_wait_any() -> bool {
    false
}

pub(crate) fn wait_any(
    words: &[(&AtomicU32, u32)],
    deadline: Option<Instant>,
    scope: Scope,
) -> WaitAny {
    any::wait_any(words, deadline, scope)
}

pub(crate) fn wait<W: Word>(
    word: &W,
    expected: u32,
    deadline: Option<Instant>,
    scope: Scope,
) -> WaitResult {
    let address = word.address();
    relative::wait(word, expected, deadline, |left| {
        // The kernel shortens long sleeps.
        let timeout = left.map(|left| timespec {
            tv_sec: time_t::try_from(left.as_secs()).unwrap_or(time_t::MAX),
            tv_nsec: left.subsec_nanos().into(),
        });
        let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: `word` is borrowed, so the kernel can compare its four aligned bytes (it does
        // not write). `timeout` is null or points to the local variable above.
        let result = unsafe {
            libc::futex(
                address.cast_mut().cast(),
                libc::FUTEX_WAIT | private_flag(scope),
                expected as c_int,
                timeout,
                ptr::null_mut(),
            )
        };
        // Releases differ in where they report the error.
        let error = match result {
            0 => return true,
            -1 => io::Error::last_os_error(),
            number => io::Error::from_raw_os_error(number),
        };
        match error.raw_os_error() {
            // Another value, a signal (two kinds), or the timeout.
            Some(libc::EAGAIN | libc::EINTR | libc::ECANCELED | libc::ETIMEDOUT) => false,
            _ => panic!("futex failed: {error}"),
        }
    })
}

pub(crate) fn wake(address: *const (), n: usize, scope: Scope) -> usize {
    any::wake_before(address, n, scope, |n| {
        // SAFETY: a wake does not touch the memory. For a shared word that is no
        // longer mapped it fails.
        let woken = unsafe {
            libc::futex(
                address.cast_mut().cast(),
                libc::FUTEX_WAKE | private_flag(scope),
                c_int::try_from(n).unwrap_or(c_int::MAX),
                ptr::null(),
                ptr::null_mut(),
            )
        };
        usize::try_from(woken).unwrap_or(0)
    })
}

fn private_flag(scope: Scope) -> c_int {
    match scope {
        Scope::Private => libc::FUTEX_PRIVATE_FLAG,
        Scope::Shared => 0,
    }
}
