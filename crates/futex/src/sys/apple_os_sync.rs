//! `os_sync_wait_on_address` and its relatives, from `<os/os_sync_wait_on_address.h>`.

use std::io;
use std::mem::transmute;
use std::time::Duration;

use libc::{c_int, c_void};

use super::function;
use crate::Scope;

const SHARED: u32 = 1;
const CLOCK_MACH_ABSOLUTE_TIME: u32 = 32;
const SIZE: usize = size_of::<u32>();

/// No single sleep is longer than this: long timeouts are reported to be refused.
const LONGEST: Duration = Duration::from_secs(60);

type Wait = unsafe extern "C" fn(*mut c_void, u64, usize, u32) -> c_int;
type WaitWithTimeout = unsafe extern "C" fn(*mut c_void, u64, usize, u32, u32, u64) -> c_int;
type Wake = unsafe extern "C" fn(*mut c_void, usize, u32) -> c_int;

pub(super) struct Calls {
    wait: Wait,
    wait_with_timeout: WaitWithTimeout,
    wake_by_address_any: Wake,
    wake_by_address_all: Wake,
}

/// Returns the four functions, if this system has all of them.
pub(super) fn find() -> Option<Calls> {
    let wait = function(c"os_sync_wait_on_address");
    let wait_with_timeout = function(c"os_sync_wait_on_address_with_timeout");
    let wake_any = function(c"os_sync_wake_by_address_any");
    let wake_all = function(c"os_sync_wake_by_address_all");
    let found = [wait, wait_with_timeout, wake_any, wake_all];
    if found.iter().any(|function| function.is_null()) {
        return None;
    }
    // SAFETY: none of them is null, and these are the types that the system's header
    // declares for functions of these names.
    unsafe {
        Some(Calls {
            wait: transmute::<*mut c_void, Wait>(wait),
            wait_with_timeout: transmute::<*mut c_void, WaitWithTimeout>(wait_with_timeout),
            wake_by_address_any: transmute::<*mut c_void, Wake>(wake_any),
            wake_by_address_all: transmute::<*mut c_void, Wake>(wake_all),
        })
    }
}

fn flags(scope: Scope) -> u32 {
    match scope {
        Scope::Private => 0,
        Scope::Shared => SHARED,
    }
}

impl Calls {
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
        let (value, flags) = (u64::from(expected), flags(scope));
        let result = match timeout {
            // SAFETY: the caller guarantees that `address` is valid, and it is only read.
            None => unsafe { (self.wait)(address, value, SIZE, flags) },
            Some(timeout) => {
                let nanos = timeout.min(LONGEST).as_nanos() as u64;
                let clock = CLOCK_MACH_ABSOLUTE_TIME;
                // SAFETY: the caller guarantees that `address` is valid, and it is only read.
                unsafe { (self.wait_with_timeout)(address, value, SIZE, flags, clock, nanos) }
            }
        };
        // A non-negative result is the number of threads that still sleep.
        if result >= 0 { Ok(()) } else { Err(errno()) }
    }

    /// Wakes one sleeper, and returns whether the kernel may know more.
    pub(super) fn wake_one(&self, address: *const (), scope: Scope) -> bool {
        // SAFETY: a wake uses nothing but the address.
        unsafe { (self.wake_by_address_any)(address.cast_mut().cast(), SIZE, flags(scope)) >= 0 }
    }

    pub(super) fn wake_all(&self, address: *const (), scope: Scope) {
        // SAFETY: a wake uses nothing but the address.
        unsafe { (self.wake_by_address_all)(address.cast_mut().cast(), SIZE, flags(scope)) };
    }
}

fn errno() -> c_int {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
