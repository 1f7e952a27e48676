//! The driver of the calling thread, as its runtime reports it.
//!
//! A runtime depends on the driver, and not the other way round. So a runtime installs a
//! function here that finds the driver of the current worker, and a source that is to be
//! registered calls it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use blitz_io_core::timers::NO_RUNTIME;

use crate::kernel::driver::Driver;

/// A function that finds the driver of the current thread.
pub type Find = fn() -> Result<Arc<Driver>, NoDriver>;

static FIND: OnceLock<Find> = OnceLock::new();

/// The reason why there is no driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoDriver {
    /// The thread is in no runtime.
    NoRuntime,
    /// The thread's runtime was built without I/O.
    Disabled,
    /// The thread's runtime is that of a simulation.
    Simulated,
}

/// The first two texts are Tokio's, because people search for them.
impl fmt::Display for NoDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoRuntime => NO_RUNTIME,
            Self::Disabled => {
                "A Tokio 1.x context was found, but IO is disabled. Call `enable_io` on the runtime builder to enable IO."
            }
            Self::Simulated => {
                "a simulation has TCP and UDP sockets, but no other source of events of the system: no processes, signals, pipes and Unix sockets"
            }
        })
    }
}

/// Installs `find` as the way to find the current driver. Only the first call has an
/// effect.
pub fn install(find: Find) {
    FIND.get_or_init(|| find);
}

/// Returns the driver of the current thread.
///
/// # Panics
///
/// Panics if there is none.
#[must_use]
#[track_caller]
pub fn driver() -> Arc<Driver> {
    match try_driver() {
        Ok(driver) => driver,
        Err(why) => panic!("{why}"),
    }
}

/// Returns the driver of the current thread.
///
/// # Errors
///
/// Returns the reason why there is none.
pub fn try_driver() -> Result<Arc<Driver>, NoDriver> {
    let find = FIND.get().copied().unwrap_or(|| Err(NoDriver::NoRuntime));
    find()
}
