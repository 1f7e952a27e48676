//! The clock of a runtime, which tests can pause and advance.
//!
//! A clock that has never been paused is the system's: reading it takes one more load, of a
//! flag for the whole process. After that a runtime's clock is the time that it showed when
//! it was last paused or resumed and, while it runs, the moment at which it was resumed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant as StdInstant};

use blitz_io_observe::{decisions, trace};
use blitz_io_sync::thread::Mutex;

/// `true` if any clock of the process has ever been paused.
static ANY_ALTERED: AtomicBool = AtomicBool::new(false);

/// A runtime's clock; see the module documentation.
pub(crate) struct Clock {
    /// `true` if the clock may be paused: the runtime has one thread.
    may_pause: bool,
    /// `true` if the clock has ever been paused, so that it may differ from the system's.
    altered: AtomicBool,
    state: Mutex<State>,
}

struct State {
    /// Its time when it was last paused or resumed.
    base: StdInstant,
    /// The time of the last resumption, by the system's clock; `None` while it is paused.
    runs_since: Option<StdInstant>,
    /// Number of operations that keep the clock from being advanced automatically.
    holds: usize,
}

impl State {
    fn now(&self) -> StdInstant {
        match self.runs_since {
            Some(start) => self.base + start.elapsed(),
            None => self.base,
        }
    }

    /// Returns `true` if the clock is paused, and may be advanced automatically.
    fn may_move(&self) -> bool {
        self.runs_since.is_none() && self.holds == 0
    }
}

impl Clock {
    /// Creates a clock that shows the system's time.
    ///
    /// # Panics
    ///
    /// If it is to be paused and `may_pause` is `false`.
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

    /// Returns `true` if this is the system's clock.
    #[inline]
    pub(crate) fn is_real(&self) -> bool {
        !self.altered.load(Ordering::Acquire)
    }

    /// Returns the current time.
    #[inline]
    pub(crate) fn now(&self) -> StdInstant {
        if self.is_real() {
            StdInstant::now()
        } else {
            self.state.lock().now()
        }
    }

    /// Returns the moment of the system's clock at which it will show `time`. For a paused clock,
    /// the moment at which it would if it ran.
    pub(crate) fn real(&self, time: StdInstant) -> StdInstant {
        if self.is_real() {
            return time;
        }
        StdInstant::now() + time.saturating_duration_since(self.now())
    }

    pub(crate) fn pause(&self) -> Result<(), &'static str> {
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

    pub(crate) fn resume(&self) -> Result<(), &'static str> {
        let mut state = self.state.lock();
        if state.runs_since.is_some() {
            return Err("time is not frozen");
        }
        state.runs_since = Some(StdInstant::now());
        Ok(())
    }

    /// Advances it. It must be paused.
    pub(crate) fn advance(&self, duration: Duration) -> Result<(), &'static str> {
        let mut state = self.state.lock();
        if state.runs_since.is_some() {
            return Err("time is not frozen");
        }
        state.base += duration;
        // A simulation judges its properties, which may read the clock.
        drop(state);
        trace::advanced(duration);
        decisions::advanced(duration);
        Ok(())
    }

    /// Sets it back. Returns `false` if it is not paused, or an operation keeps it.
    #[cfg(feature = "sim")]
    pub(crate) fn restart(&self, at: StdInstant) -> bool {
        let mut state = self.state.lock();
        let may_move = state.may_move();
        if may_move {
            state.base = at;
        }
        may_move
    }

    /// Keeps it from being advanced automatically while an operation runs that it should
    /// wait for, such as blocking work. Undone by [`release`](Self::release).
    pub(crate) fn hold(&self) {
        if self.may_pause {
            self.state.lock().holds += 1;
        }
    }

    /// Undoes one [`hold`](Self::hold). Returns whether the clock may be advanced now.
    pub(crate) fn release(&self) -> bool {
        if !self.may_pause {
            return false;
        }
        let mut state = self.state.lock();
        state.holds -= 1;
        state.may_move()
    }

    /// Returns `true` if the clock is paused, and is to be advanced when nothing else is left to do.
    #[inline]
    pub(crate) fn moves_when_idle(&self) -> bool {
        !self.is_real() && self.state.lock().may_move()
    }
}

/// Returns `true` if any clock of the process has ever been paused.
#[inline]
pub(crate) fn is_any_altered() -> bool {
    ANY_ALTERED.load(Ordering::Acquire)
}
