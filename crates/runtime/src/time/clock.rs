//! The clock of a runtime, which tests can stop and move on.
//!
//! A clock that has never been stopped is the system's: looking at it takes one
//! more load, of a flag for the whole process. After that each runtime's clock is
//! a moment at which it stood, and, if it runs, the moment at which it was started.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant as StdInstant};

use blitz_sync::thread::Mutex;

use super::{Instant, here};

/// Whether any clock of the process has ever been stopped.
static ANY_ALTERED: AtomicBool = AtomicBool::new(false);

/// What a program is told that asks for a clock where there is none.
const OUTSIDE: &str = "time cannot be frozen from outside the Tokio runtime";

/// A runtime's clock. See the head of this file.
pub(crate) struct Clock {
    /// It may be stopped: the runtime has one thread.
    may_pause: bool,
    /// It has been stopped once, and may differ from the system's.
    altered: AtomicBool,
    state: Mutex<State>,
}

struct State {
    /// What it showed when it was last stopped or started.
    base: StdInstant,
    /// When it was last started, by the system's clock; `None` while it stands.
    runs_since: Option<StdInstant>,
    /// How many want it to stay where it stands.
    holds: usize,
}

impl State {
    fn now(&self) -> StdInstant {
        match self.runs_since {
            Some(start) => self.base + start.elapsed(),
            None => self.base,
        }
    }
}

impl Clock {
    /// A clock that shows the system's time.
    ///
    /// # Panics
    ///
    /// If it is to stand still and `may_pause` is `false`.
    #[track_caller]
    pub(crate) fn new(may_pause: bool, start_paused: bool) -> Self {
        let now = StdInstant::now();
        let clock = Self {
            may_pause,
            altered: AtomicBool::new(false),
            state: Mutex::new(State {
                base: now,
                runs_since: Some(now),
                holds: 0,
            }),
        };
        if start_paused {
            if let Err(why) = clock.pause() {
                panic!("{why}");
            }
        }
        clock
    }

    /// What it shows.
    #[inline]
    pub(crate) fn now(&self) -> StdInstant {
        self.at(StdInstant::now)
    }

    /// Whether it is the system's.
    #[inline]
    fn is_real(&self) -> bool {
        !self.altered.load(Ordering::Acquire)
    }

    /// What it shows when the system's clock shows `real`.
    #[inline]
    pub(super) fn at(&self, real: impl FnOnce() -> StdInstant) -> StdInstant {
        if self.is_real() {
            real()
        } else {
            self.state.lock().now()
        }
    }

    /// The moment of the system's clock at which it will show `time`, if it runs; and
    /// while it stands, the one at which it would if it ran.
    pub(super) fn real(&self, time: StdInstant) -> StdInstant {
        if self.is_real() {
            return time;
        }
        StdInstant::now() + time.saturating_duration_since(self.now())
    }

    fn pause(&self) -> Result<(), &'static str> {
        if !self.may_pause {
            return Err(
                "`time::pause()` requires the `current_thread` Tokio runtime. \
                 This is the default Runtime used by `#[tokio::test].",
            );
        }
        let mut state = self.state.lock();
        if state.runs_since.is_none() {
            return Err("time is already frozen");
        }
        state.base = state.now();
        state.runs_since = None;
        self.altered.store(true, Ordering::Release);
        ANY_ALTERED.store(true, Ordering::Release);
        Ok(())
    }

    fn resume(&self) -> Result<(), &'static str> {
        let mut state = self.state.lock();
        if state.runs_since.is_some() {
            return Err("time is not frozen");
        }
        state.runs_since = Some(StdInstant::now());
        Ok(())
    }

    /// Moves it on. It must stand still.
    pub(super) fn advance(&self, duration: Duration) -> Result<(), &'static str> {
        let mut state = self.state.lock();
        if state.runs_since.is_some() {
            return Err("time is not frozen");
        }
        state.base += duration;
        Ok(())
    }

    /// Keeps it where it is while it stands and something goes on that it should wait
    /// for, such as blocking work. To be taken back by [`release`](Self::release).
    pub(crate) fn hold(&self) {
        if self.may_pause {
            self.state.lock().holds += 1;
        }
    }

    /// Takes back one [`hold`](Self::hold). Whether the clock may be moved on for it.
    pub(crate) fn release(&self) -> bool {
        if !self.may_pause {
            return false;
        }
        let mut state = self.state.lock();
        state.holds -= 1;
        state.holds == 0 && state.runs_since.is_none()
    }

    /// Whether it stands, and is to be moved on when nothing else is left to do.
    #[inline]
    pub(crate) fn moves_when_idle(&self) -> bool {
        if self.is_real() {
            return false;
        }
        let state = self.state.lock();
        state.runs_since.is_none() && state.holds == 0
    }
}

/// Whether the current runtime's clock is the system's.
#[inline]
pub(super) fn is_real() -> bool {
    !ANY_ALTERED.load(Ordering::Acquire)
        || here::with_clock(|clock| clock.is_none_or(Clock::is_real))
}

/// See [`Instant::now`].
#[inline]
pub(super) fn now() -> Instant {
    if ANY_ALTERED.load(Ordering::Acquire) {
        return altered_now();
    }
    Instant::from_std(StdInstant::now())
}

#[cold]
fn altered_now() -> Instant {
    Instant::from_std(here::with_clock(|clock| {
        clock.map_or_else(StdInstant::now, Clock::now)
    }))
}

#[track_caller]
fn alter(how: impl FnOnce(&Clock) -> Result<(), &'static str>) {
    let result = here::with_clock(|clock| how(clock.ok_or(OUTSIDE)?));
    if let Err(why) = result {
        panic!("{why}");
    }
}

/// Stops the clock of the current runtime, which must be of the current-thread
/// flavour.
///
/// [`Instant::now`] stands still from now on. When nothing is left to do but to wait
/// for timers, the clock jumps to the next one, so that a test need not wait. It does
/// not while blocking work goes on (`spawn_blocking`). [`advance`] moves it by hand.
///
/// `Builder::start_paused` begins with a clock that stands.
///
/// # Panics
///
/// If the clock stands already, if this is not a current-thread runtime, or outside
/// of one.
///
/// # Examples
///
/// ```
/// use blitz_runtime::{runtime::Builder, time::{self, Duration, Instant}};
///
/// let runtime = Builder::new_current_thread().enable_time().build().unwrap();
/// runtime.block_on(async {
///     time::pause();
///     let start = Instant::now();
///     time::sleep(Duration::from_secs(3600)).await;
///     assert!(start.elapsed() >= Duration::from_secs(3600));
/// });
/// ```
#[track_caller]
pub fn pause() {
    alter(Clock::pause);
}

/// Lets the clock of the current runtime run again.
///
/// # Panics
///
/// If it does not stand, or outside of a runtime.
///
/// # Examples
///
/// ```
/// use blitz_runtime::{runtime::Builder, time};
///
/// let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
/// runtime.block_on(async { time::resume() });
/// ```
#[track_caller]
pub fn resume() {
    alter(Clock::resume);
}

/// Moves the clock of the current runtime on by `duration`, at once, and lets the
/// other tasks run.
///
/// All timers that are due then fire together; their tasks may not have run yet when
/// the future is ready. To let them run one after the other, `sleep` instead.
///
/// # Panics
///
/// If the clock does not stand, outside of a runtime, or if the moment can not be
/// represented.
///
/// # Cancel safety
///
/// The first poll moves the clock, also if the future is dropped after it.
///
/// # Examples
///
/// ```
/// use blitz_runtime::{runtime::Builder, time::{self, Duration, Instant}};
///
/// let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
/// runtime.block_on(async {
///     let start = Instant::now();
///     time::advance(Duration::from_secs(1)).await;
///     assert_eq!(start.elapsed(), Duration::from_secs(1));
/// });
/// ```
pub async fn advance(duration: Duration) {
    alter(|clock| clock.advance(duration));
    here::turn_all();
    crate::task::yield_now().await;
}
