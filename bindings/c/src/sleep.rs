//! Sleeping.

use std::ffi::c_int;

use crate::error::{BLITZ_ETIMEDOUT, entry};
use crate::time::blitz_now_ns;
use crate::wait::{self, Limit};

/// Suspends the calling fiber, or blocks the calling thread, until the deadline.
///
/// Returns `BLITZ_OK`, or `BLITZ_ECANCELED` in a fiber that is cancelled. With `BLITZ_NEVER` only
/// a cancelled fiber returns.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_sleep_until(deadline_ns: u64) -> c_int {
    entry(
        || match wait::on(std::future::pending::<()>(), Limit::at(deadline_ns)) {
            Err(BLITZ_ETIMEDOUT) => Ok(()),
            Err(error) => Err(error),
            Ok(()) => Ok(()),
        },
    )
}

/// Suspends the calling fiber, or blocks the calling thread, for a number of nanoseconds.
///
/// Returns `BLITZ_OK`, or `BLITZ_ECANCELED` in a fiber that is cancelled.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_sleep_ns(nanoseconds: u64) -> c_int {
    blitz_sleep_until(blitz_now_ns().saturating_add(nanoseconds))
}
