//! macOS, iOS and their relatives: the best of three mechanisms that the system has, found
//! by name when the first thread needs it.
//!
//! 1. `os_sync_wait_on_address`, public, since macOS 14.4 and iOS 17.4.
//! 2. `__ulock_wait2` or `__ulock_wait`, private, on all earlier systems. The feature
//!    `app-store` leaves them out, including their names.
//! 3. The table of sleepers.
//!
//! Timeouts are relative, and a zero would mean "forever". A wait that finds another value
//! reports success, so the word is compared here first. A wake reports whether the kernel
//! knew the address, but the kernel still knows it for a moment after the last sleeper was
//! woken, so that report is not a count.

use std::ffi::CStr;
use std::io;
use std::sync::OnceLock;
use std::time::Instant;

use libc::{c_int, c_void};

use crate::atomic::AtomicU32;
use crate::sys::prim::table;
use crate::word::Word;
use crate::{Scope, WaitAny, WaitResult};

#[path = "any.rs"]
mod any;
#[path = "groupless.rs"]
mod groupless;
#[path = "apple_os_sync.rs"]
mod os_sync;
#[path = "relative.rs"]
mod relative;

#[cfg_attr(not(feature = "app-store"), path = "apple_ulock.rs")]
#[cfg_attr(feature = "app-store", path = "apple_no_ulock.rs")]
mod ulock;

pub(crate) use groupless::{wait_in_group, wake_group};

pub(crate) const COUNTS_WAKES: bool = false;

/// A wake of at least this many threads wakes all: no process has as many threads.
const ALL: usize = 1 << 20;

enum Mechanism {
    OsSync(os_sync::Calls),
    Ulock(ulock::Calls),
    Table,
}

fn mechanism() -> &'static Mechanism {
    static MECHANISM: OnceLock<Mechanism> = OnceLock::new();
    MECHANISM.get_or_init(|| {
        None.or_else(|| os_sync::find().map(Mechanism::OsSync))
            .or_else(|| ulock::find().map(Mechanism::Ulock))
            .unwrap_or(Mechanism::Table)
    })
}

/// Returns the address of a function of the system, or null if the system lacks it.
fn function(name: &CStr) -> *mut c_void {
    // SAFETY: `name` is a C string, and the handle asks for all libraries.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

pub(crate) fn name() -> &'static str {
    match mechanism() {
        Mechanism::OsSync(_) => "os_sync_wait_on_address",
        Mechanism::Ulock(calls) => calls.name(),
        Mechanism::Table => "the table of mutexes and condition variables",
    }
}

pub(crate) fn supports_shared() -> bool {
    !matches!(mechanism(), Mechanism::Table)
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
    match mechanism() {
        Mechanism::OsSync(calls) => relative::wait(word, expected, deadline, |left| {
            // SAFETY: `word` is borrowed, so its four bytes can be compared while this
            // thread is in the call.
            woken(unsafe { calls.wait(address, expected, left, scope) })
        }),
        Mechanism::Ulock(calls) => relative::wait(word, expected, deadline, |left| {
            // SAFETY: `word` is borrowed, so its four bytes can be compared while this thread is
            // in the call.
            woken(unsafe { calls.wait(address, expected, left, scope) })
        }),
        Mechanism::Table => table().wait(word, expected, deadline, None),
    }
}

/// Returns whether a call that ended with `result` was woken; if not, it is made again.
fn woken(result: Result<(), c_int>) -> bool {
    match result {
        Ok(()) => true,
        // The page was not in memory, and the kernel does not fetch it for its comparison.
        // The comparison in this process before the next call does.
        Err(libc::EFAULT) => false,
        Err(libc::EINTR | libc::ETIMEDOUT) => false,
        Err(libc::ENOMEM) => {
            std::thread::yield_now();
            false
        }
        Err(error) => panic!(
            "waiting on an address failed: {}",
            io::Error::from_raw_os_error(error)
        ),
    }
}

pub(crate) fn wake(address: *const (), n: usize, scope: Scope) -> usize {
    let (wake_one, wake_all): (&dyn Fn() -> bool, &dyn Fn()) = match mechanism() {
        Mechanism::OsSync(calls) => (&|| calls.wake_one(address, scope), &|| {
            calls.wake_all(address, scope)
        }),
        Mechanism::Ulock(calls) => (&|| calls.wake_one(address, scope), &|| {
            calls.wake_all(address, scope)
        }),
        Mechanism::Table => return table().wake(address, n, None),
    };
    any::wake_before(address, n, scope, |n| {
        if n >= ALL {
            wake_all();
        } else {
            // Until the kernel knows of no more sleepers.
            let _ = (0..n).all(|_| wake_one());
        }
        0 // known to have been woken
    })
}
