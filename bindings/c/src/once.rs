//! One-time initialisation: a flag, and a permit for the caller that runs the function.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use blitz_io::sync::Semaphore;

use crate::error::{BLITZ_EINVAL, entry};
use crate::mutex::take_masked;
use crate::storage::Storage;
use crate::wait::Limit;

/// Runs a function once, by value. Initialise it with `BLITZ_ONCE_INIT`, or with zeros. It needs
/// no destruction. Do not copy or move it after its first use. Threads and fibers may use one
/// together.
#[repr(C)]
pub struct blitz_once {
    state: u32,
    config: u32,
    space: [u64; 9],
}

pub(crate) struct Once {
    is_done: AtomicBool,
    turn: Semaphore,
}

// SAFETY: the fields are as required.
unsafe impl Storage for blitz_once {
    type Primitive = Once;

    fn new(_: u32) -> Once {
        Once {
            is_done: AtomicBool::new(false),
            turn: Semaphore::const_new(1),
        }
    }
}

/// Calls `function(argument)` in the calling thread or fiber, if no call has done so yet. If
/// another call is doing it, suspends the calling fiber, or blocks the calling thread, until that
/// has ended. What the function did is visible after this call. The function may wait. A function
/// that calls this with the same `once` waits for ever.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `once` or `function` is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_once_call(
    once: *mut blitz_once,
    function: Option<extern "C" fn(argument: *mut c_void)>,
    argument: *mut c_void,
) -> c_int {
    entry(|| {
        let once = blitz_once::of(once)?;
        let function = function.ok_or(BLITZ_EINVAL)?;
        if once.is_done.load(Ordering::Acquire) {
            return Ok(());
        }
        take_masked(&once.turn, 1, Limit::Never)?;
        if !once.is_done.load(Ordering::Relaxed) {
            function(argument);
            once.is_done.store(true, Ordering::Release);
        }
        once.turn.add_permits(1);
        Ok(())
    })
}

/// Returns whether the function has run. Its effects are visible if so. False if `once` is NULL.
/// Does not wait.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_once_is_done(once: *mut blitz_once) -> bool {
    crate::error::entry_or(false, || {
        blitz_once::of(once).is_ok_and(|once| once.is_done.load(Ordering::Acquire))
    })
}
