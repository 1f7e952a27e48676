//! Timers: wait until a moment, for a time, at intervals, or not for too long.
//!
//! * [`sleep`] and [`sleep_until`] wait.
//! * [`timeout`] and [`timeout_at`] limit the time of a future.
//! * [`interval`] and [`interval_at`] tick.
//! * [`pause`], [`advance`] and [`resume`] are for tests: the clock of a current-thread
//!   runtime is paused and jumps from timer to timer.
//!
//! They need a runtime whose timers are enabled (`Builder::enable_time`). The resolution
//! is one millisecond. A timer is part of the future that waits, so none allocates
//! (an interval does, once). Starting and cancelling one takes two compare-and-swaps,
//! besides what its waker costs; to put one off takes none.
//! Each worker has its own timers, so workers do not wait for each other here.
//!
//! # Examples
//!
//! ```
//! use blitz_io::{runtime::Runtime, time};
//! use std::time::Duration;
//!
//! Runtime::new().unwrap().block_on(async {
//!     time::sleep(Duration::from_millis(5)).await;
//!     let answer = time::timeout(Duration::from_secs(1), async { 42 }).await;
//!     assert_eq!(answer, Ok(42));
//! });
//! ```

mod clock;
mod current;
pub mod error;
mod instant;
mod interval;
mod sleep;
mod timeout;

#[doc(no_inline)]
pub use std::time::Duration;

pub(crate) use self::current::install;
pub use self::{
    clock::{advance, pause, resume},
    instant::Instant,
    interval::{Interval, MissedTickBehavior, interval, interval_at},
    sleep::{Sleep, sleep, sleep_until},
    timeout::{Timeout, timeout, timeout_at},
};

/// What can be added to any moment on any system: about 30 years at most.
fn safe_delay(duration: Duration) -> Duration {
    duration.min(Duration::from_secs(86_400 * 365 * 30))
}
