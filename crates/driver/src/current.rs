//! The driver of the thread that asks, which a runtime knows.
//!
//! A runtime depends on the driver, and not the other way round. So a runtime says here
//! how to find the driver of the current worker, and a source that is to be registered
//! asks here.

use std::fmt;
use std::sync::{Arc, OnceLock};

use blitz_sync::internals::timers::NO_RUNTIME;

use crate::driver::Driver;

/// Finds the driver of the current thread.
pub type Find = fn() -> Result<Arc<Driver>, NoDriver>;

static FIND: OnceLock<Find> = OnceLock::new();

/// Why there is no driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoDriver {
    /// The thread is in no runtime.
    NoRuntime,
    /// The thread's runtime was built without I/O.
    Disabled,
}

/// What Tokio says, because people search for it.
impl fmt::Display for NoDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoRuntime => NO_RUNTIME,
            Self::Disabled => {
                "A Tokio 1.x context was found, but IO is disabled. Call `enable_io` on the runtime builder to enable IO."
            }
        })
    }
}

/// Makes `find` the way to the current driver. The first call counts.
pub fn install(find: Find) {
    FIND.get_or_init(|| find);
}

/// The driver of the current thread.
///
/// # Panics
///
/// If there is none.
#[must_use]
#[track_caller]
pub fn driver() -> Arc<Driver> {
    match try_driver() {
        Ok(driver) => driver,
        Err(why) => panic!("{why}"),
    }
}

/// The driver of the current thread.
///
/// # Errors
///
/// Why there is none.
pub fn try_driver() -> Result<Arc<Driver>, NoDriver> {
    let find = FIND.get().copied().unwrap_or(|| Err(NoDriver::NoRuntime));
    find()
}
