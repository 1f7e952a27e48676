//! A runtime's timers, for the channels.
//!
//! A runtime depends on the channels, and not the other way round. So a runtime that has timers
//! installs them here, and a channel that needs one finds it here.

use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock;
use std::time::Duration;

/// A timer that is ready at its deadline.
pub type Timer = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

/// A runtime that has timers.
pub trait Timers: Sync {
    /// Panics where there are no timers.
    fn assert_here(&self);

    /// Returns a timer for this time from now on.
    ///
    /// # Panics
    ///
    /// Where there are no timers.
    fn timer(&self, time: Duration) -> Timer;
}

static INSTALLED: OnceLock<&'static dyn Timers> = OnceLock::new();

/// The panic message for a thread without a runtime: Tokio's, because people search for it.
#[cfg(feature = "_tokio_names")]
pub const NO_RUNTIME: &str =
    "there is no reactor running, must be called from the context of a Tokio 1.x runtime";

/// The panic message for a thread without a runtime: Tokio's, because people search for it, and
/// then its meaning here.
#[cfg(not(feature = "_tokio_names"))]
pub const NO_RUNTIME: &str = "there is no reactor running, must be called from the context of a Tokio 1.x runtime \
     (blitz-io: `blitz_io::runtime::Runtime` and `#[blitz_io::main]` start one; if this thread is \
     in a Tokio runtime: that is not blitz-io's)";

/// Makes `timers` the source of timers. The first call counts.
pub fn install(timers: &'static dyn Timers) {
    INSTALLED.get_or_init(|| timers);
}

/// Returns the source of timers.
///
/// # Panics
///
/// If there is none.
pub fn installed() -> &'static dyn Timers {
    match INSTALLED.get() {
        Some(timers) => *timers,
        None => panic!("{NO_RUNTIME}"),
    }
}
