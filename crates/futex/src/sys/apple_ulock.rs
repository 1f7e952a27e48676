//! `__ulock_wait` and its relatives, from the kernel's `<sys/ulock.h>`.

use std::mem::transmute;
use std::time::Duration;

use libc::{c_int, c_void};

use super::function;
use crate::Scope;

const COMPARE_AND_WAIT: u32 = 1;
const COMPARE_AND_WAIT_SHARED: u32 = 3;
const WAKE_ALL: u32 = 0x0000_0100;
/// Makes the call return the negative error instead of setting `errno`.
const NO_ERRNO: u32 = 0x0100_0000;

/// Takes the timeout in microseconds; zero means forever.
type WaitMicros = unsafe extern "C" fn(u32, *mut c_void, u64, u32) -> c_int;
/// Takes the timeout in nanoseconds; zero means forever. The last argument must be zero.
type WaitNanos = unsafe extern "C" fn(u32, *mut c_void, u64, u64, u64) -> c_int;
type Wake = unsafe extern "C" fn(u32, *mut c_void, u64) -> c_int;

pub(super) struct Calls {
    wait: Wait,
    wake: Wake,
}

enum Wait {
    /// `__ulock_wait2`, since macOS 11.
    Nanos(WaitNanos),
    /// `__ulock_wait`, since macOS 10.12.
    Micros(WaitMicros),
}

/// Returns the functions, if this system has them.
pub(super) fn find() -> Option<Calls> {
    let wait = function(c"__ulock_wait");
    let wait2 = function(c"__ulock_wait2");
    let wake = function(c"__ulock_wake");
    if wake.is_null() || (wait.is_null() && wait2.is_null()) {
        return None;
    }
    let wait = if wait2.is_null() {
        // SAFETY: `wait` is not null here, and this is the type that the kernel's header
        // declares for a function of this name.
        Wait::Micros(unsafe { transmute::<*mut c_void, WaitMicros>(wait) })
    } else {
        // SAFETY: `wait2` is not null here, and this is the type that the kernel's header
        // declares for it.
        Wait::Nanos(unsafe { transmute::<*mut c_void, WaitNanos>(wait2) })
    };
    // SAFETY: `wake` is not null here, and this is the type that the kernel's header declares for
    // it.
    let wake = unsafe { transmute::<*mut c_void, Wake>(wake) };
    Some(Calls { wait, wake })
}

fn operation(scope: Scope) -> u32 {
    match scope {
        Scope::Private => COMPARE_AND_WAIT | NO_ERRNO,
        Scope::Shared => COMPARE_AND_WAIT_SHARED | NO_ERRNO,
    }
}

impl Calls {
    pub(super) fn name(&self) -> &'static str {
        match self.wait {
            Wait::Nanos(_) => "__ulock_wait2",
            Wait::Micros(_) => "__ulock_wait",
        }
    }

    /// Sleeps once, for at most `timeout`, which is not zero.
    ///
    /// # Safety
    ///
    /// `address` points to four aligned bytes that stay valid during the call.
    pub(super) unsafe fn wait(
        &self,
        address: *const (),
        expected: u32,
        timeout: Option<Duration>,
        scope: Scope,
    ) -> Result<(), c_int> {
        let address = address.cast_mut().cast();
        let (operation, value) = (operation(scope), u64::from(expected));
        let result = match self.wait {
            Wait::Nanos(wait) => {
                let nanos = timeout.map_or(0, |timeout| {
                    u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX)
                });
                // SAFETY: the caller guarantees that `address` is valid, and it is only
                // read.
                unsafe { wait(operation, address, value, nanos, 0) }
            }
            Wait::Micros(wait) => {
                let micros = timeout.map_or(0, |timeout| {
                    let micros = timeout.as_nanos().div_ceil(1000);
                    u32::try_from(micros).unwrap_or(u32::MAX)
                });
                // SAFETY: the caller guarantees that `address` is valid, and it is only read.
                unsafe { wait(operation, address, value, micros) }
            }
        };
        // A non-negative result is the number of threads that still sleep.
        if result >= 0 { Ok(()) } else { Err(-result) }
    }

    /// Wakes one sleeper, and returns whether the kernel may know more.
    pub(super) fn wake_one(&self, address: *const (), scope: Scope) -> bool {
        self.wake(operation(scope), address)
    }

    pub(super) fn wake_all(&self, address: *const (), scope: Scope) {
        self.wake(operation(scope) | WAKE_ALL, address);
    }

    fn wake(&self, operation: u32, address: *const ()) -> bool {
        let address = address.cast_mut().cast();
        loop {
            // SAFETY: a wake uses nothing but the address.
            match unsafe { (self.wake)(operation, address, 0) } {
                result if result == -libc::EINTR => {}
                result => return result >= 0,
            }
        }
    }
}
