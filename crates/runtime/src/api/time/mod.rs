//! Timers: sleeps, timeouts, intervals, and a clock that tests can pause.
//!
//! * [`sleep`] and [`sleep_until`] wait for a time.
//! * [`timeout`] and [`timeout_at`] limit the time of a future.
//! * [`interval`] and [`interval_at`] tick.
//! * [`pause`], [`advance`] and [`resume`] are for tests: the clock of a current-thread
//!   runtime is paused and jumps from timer to timer.
//!
//! They need a runtime whose timers are enabled (`Builder::enable_time`). The resolution
//! is 10 microseconds. A timer is part of the future that waits, so it does not allocate
//! (an interval does, once). Starting and cancelling a timer takes two compare-and-swaps,
//! besides the cost of its waker; moving its deadline to a later moment takes none. Each
//! worker has its own timers, so workers do not contend for them.
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
mod hook;
mod instant;
mod interval;
mod sleep;
mod timeout;

#[doc(no_inline)]
pub use std::time::Duration;

#[cfg(feature = "sim")]
#[doc(hidden)]
pub use self::clock::advance_simulated;
#[doc(hidden)]
pub use self::clock::simulated_now;
pub(crate) use self::hook::install;
pub use self::{
    clock::{advance, pause, resume},
    instant::Instant,
    interval::{Interval, MissedTickBehavior, interval, interval_at},
    sleep::{Sleep, sleep, sleep_until},
    timeout::{Timeout, timeout, timeout_at},
};

/// Limits a duration to about 30 years, which can be added to any moment on any system.
fn safe_delay(duration: Duration) -> Duration {
    duration.min(Duration::from_secs(86_400 * 365 * 30))
}
