//! FreeBSD: `_umtx_op(2)`.
//!
//! It compares and sleeps like Linux's futex and takes absolute deadlines. It reports
//! neither that it found another value (so the word is compared here first) nor how many
//! threads it woke.

use std::io;
use std::ptr;
use std::time::Instant;

use libc::{_umtx_time, c_int, c_ulong, c_void};

use crate::atomic::AtomicU32;
use crate::word::Word;
use crate::{Scope, WaitAny, WaitResult};

#[path = "any.rs"]
mod any;
#[path = "groupless.rs"]
mod groupless;
#[path = "monotonic.rs"]
mod monotonic;

pub(crate) use groupless::{wait_in_group, wake_group};

pub(crate) const COUNTS_WAKES: bool = false;

pub(crate) fn name() -> &'static str {
    "_umtx_op"
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
    let timeout = deadline.and_then(umtx_time);
    loop {
        if !word.holds(expected) {
            return WaitResult::ValueChanged;
        }
        // SAFETY: `word` is borrowed, so the kernel can compare its four aligned bytes while this
        // thread is in the call.
        let error = match unsafe { umtx_wait(address, scope, expected, timeout.as_ref()) } {
            Ok(()) => return WaitResult::Woken,
            Err(error) => error,
        };
        match error.raw_os_error() {
            Some(libc::ETIMEDOUT) => return WaitResult::TimedOut,
            Some(libc::EINTR) => {}
            _ => panic!("_umtx_op failed: {error}"),
        }
    }
}

pub(crate) fn wake(address: *const (), n: usize, scope: Scope) -> usize {
    any::wake_before(address, n, scope, |n| {
        let operation = match scope {
            Scope::Private => libc::UMTX_OP_WAKE_PRIVATE,
            Scope::Shared => libc::UMTX_OP_WAKE,
        };
        let n = c_int::try_from(n).unwrap_or(c_int::MAX);
        // SAFETY: a wake does not touch the memory. For a shared word that is no
        // longer mapped it fails.
        unsafe {
            libc::_umtx_op(
                address.cast_mut().cast(),
                operation,
                n as c_ulong,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        0 // known to have been woken
    })
}

/// # Safety
///
/// `address` points to four aligned bytes that stay valid during the call.
unsafe fn umtx_wait(
    address: *const (),
    scope: Scope,
    expected: u32,
    timeout: Option<&_umtx_time>,
) -> io::Result<()> {
    let operation = match scope {
        Scope::Private => libc::UMTX_OP_WAIT_UINT_PRIVATE,
        Scope::Shared => libc::UMTX_OP_WAIT_UINT,
    };
    // The size of the timeout goes where other operations have an address.
    let (size, timeout) = match timeout {
        Some(timeout) => (size_of::<_umtx_time>(), ptr::from_ref(timeout)),
        None => (0, ptr::null()),
    };
    // SAFETY: the caller guarantees that `address` is valid, and it is only read; `timeout`
    // is null or comes from a reference to as many bytes as `size` says, and is only read.
    let result = unsafe {
        libc::_umtx_op(
            address.cast_mut().cast(),
            operation,
            c_ulong::from(expected),
            ptr::without_provenance_mut::<c_void>(size),
            timeout.cast_mut().cast(),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Returns `None` for a deadline that is too far away: the kernel computes internally with
/// 32 bits of seconds, which is 68 years after the start of the machine.
fn umtx_time(deadline: Instant) -> Option<_umtx_time> {
    let (seconds, nanos) = monotonic::at(deadline)?;
    let seconds = i32::try_from(seconds).ok()?;
    Some(_umtx_time {
        _timeout: libc::timespec {
            tv_sec: seconds.into(),
            tv_nsec: nanos.try_into().ok()?,
        },
        _flags: libc::UMTX_ABSTIME,
        _clockid: libc::CLOCK_MONOTONIC as u32,
    })
}
