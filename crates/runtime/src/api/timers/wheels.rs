//! The timers of a runtime: one wheel for each worker.
//!
//! A scheduler uses them as follows:
//!
//! 1. [`set_unpark`](Wheels::set_unpark), once, before the first worker runs.
//! 2. A thread that becomes a worker calls [`attach`](Wheels::attach), and keeps the
//!    guard as long as it is one. Timers that it starts are in its own wheel then.
//! 3. Before it sleeps, it calls [`next_deadline`](Wheels::next_deadline) and sleeps no
//!    longer. The call must come after everything that this thread did as a worker, and
//!    nothing between the call and the sleep may consume the token of an unpark.
//! 4. When it wakes up, and regularly between tasks, it calls [`look`](Wheels::look). Any
//!    thread may call [`turn_if_due`](Wheels::turn_if_due) for a worker that is stuck.
//! 5. With a paused clock no time passes by sleeping. So if [`Clock::moves_when_idle`] and
//!    nothing is left to do, a worker calls [`auto_advance`](Wheels::auto_advance) instead
//!    of sleeping, and then `look`; it sleeps only if there are no timers.
//! 6. [`shutdown`](Wheels::shutdown), after the last task has ended.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use blitz_io_core::{PerProcess, ThreadId};
use blitz_io_sync::thread::Mutex;

use super::Clock;
use super::ticks;
use crate::kernel::context::{self, Context};
use crate::kernel::wheel::{CLOSED, Unpark, Wheel};

/// Wheels without a runtime, for the next one. Wheels are never freed, because timers that
/// outlive their runtimes access them.
static UNUSED: PerProcess<Mutex<Vec<&'static Wheel>>> = PerProcess::new(Mutex::default);
static LAST_EPOCH: AtomicU64 = AtomicU64::new(CLOSED);

/// The timers of a runtime; see the module documentation.
pub(crate) struct Wheels {
    wheels: Box<[&'static Wheel]>,
    /// The time at which the runtime began, in nanoseconds (see `ticks.rs`).
    origin: u64,
    clock: Arc<Clock>,
}

impl Wheels {
    /// Creates the timers of a runtime that begins now.
    pub(crate) fn new(workers: usize, clock: &Arc<Clock>) -> Self {
        let origin = ticks::nanos(clock.now());
        let epoch = next_epoch();
        let wheels = (0..workers).map(|_| {
            let unused = UNUSED.lock().pop();
            let wheel = unused.unwrap_or_else(Wheel::leak);
            wheel.open(epoch, origin);
            wheel
        });
        Self {
            wheels: wheels.collect(),
            origin,
            clock: clock.clone(),
        }
    }

    /// Sets the function that wakes the worker with a given number, so that it asks for its
    /// next deadline again. It must leave a token for a worker that is not asleep yet. To
    /// avoid a cycle, it should only have a weak reference to the runtime.
    pub(crate) fn set_unpark(&self, unpark: Unpark) {
        for (worker, wheel) in self.wheels.iter().enumerate() {
            wheel.set_unpark(unpark.clone(), worker);
        }
    }

    #[inline]
    fn wheel(&self, worker: usize) -> &'static Wheel {
        self.wheels[worker]
    }

    /// Returns a wheel for a thread that is not a worker.
    pub(crate) fn some_wheel(&self) -> &'static Wheel {
        self.wheel(ThreadId::current().get().get() % self.wheels.len())
    }

    /// Makes this thread use the wheel of this worker until the guard is dropped. This has
    /// an effect only while `Context::worker` is set.
    pub(crate) fn attach(&self, worker: usize) -> Attached {
        Attached(context::with(|context| {
            context.wheel.replace(address(self.wheel(worker)))
        }))
    }

    /// Attaches a thread again that has a guard already, and was not a worker for a while.
    pub(crate) fn attach_again(&self, worker: usize) {
        context::with(|context| context.wheel.set(address(self.wheel(worker))));
    }

    /// Returns the moment of the system's clock until which a worker may sleep; `None` if it may
    /// sleep until it is woken.
    pub(crate) fn next_deadline(&self, worker: usize) -> Option<Instant> {
        self.moment(self.wheel(worker).next_tick()?)
    }

    /// Returns the time after which the first timer of a worker is due, by the runtime's clock.
    pub(crate) fn next_after(&self, worker: usize) -> Option<Duration> {
        let tick = self.wheel(worker).next_tick()?;
        let due = ticks::begin(tick, self.origin)?;
        Some(due.saturating_duration_since(self.clock.now()))
    }

    /// Returns the moment of the system's clock before which no timer of a worker's wheel is due.
    pub(crate) fn earliest(&self, worker: usize) -> Option<Instant> {
        self.moment(self.wheel(worker).earliest())
    }

    /// Returns the moment of the system's clock at which a tick comes; `None` if it is too far away.
    fn moment(&self, tick: u64) -> Option<Instant> {
        Some(self.clock.real(ticks::begin(tick, self.origin)?))
    }

    /// Returns `true` if a worker's wheel may have timers. If not, there is no need to read
    /// the clock for [`look`](Self::look).
    #[inline]
    pub(crate) fn has_timers(&self, worker: usize) -> bool {
        self.wheel(worker).earliest() != u64::MAX
    }

    /// Wakes the tasks whose timers in a worker's wheel are due. Returns how many timers
    /// that were. Reads the clock only if there are timers.
    #[inline]
    pub(crate) fn turn_if_due(&self, worker: usize) -> usize {
        if !self.has_timers(worker) {
            return 0;
        }
        self.wheel(worker).turn(self.tick())
    }

    /// Looks at the timers of a worker, and wakes the tasks of those that are due. Reads the clock
    /// if there are timers, or if tests move it.
    #[inline]
    pub(crate) fn look(&self, worker: usize) {
        if self.has_timers(worker) || !self.clock.is_real() {
            self.look_at_tick(worker, self.tick());
        }
    }

    /// Looks at a worker's timers, for a worker that has just read the system's clock anyway.
    #[inline]
    pub(crate) fn look_at(&self, worker: usize, now: Instant) {
        let tick = if self.clock.is_real() {
            ticks::at(now, self.origin)
        } else {
            self.tick()
        };
        self.look_at_tick(worker, tick);
    }

    #[inline]
    fn look_at_tick(&self, worker: usize, now: u64) {
        let wheel = self.wheel(worker);
        wheel.see(now);
        wheel.turn(now);
    }

    /// Returns the tick that has come.
    #[inline]
    fn tick(&self) -> u64 {
        ticks::at(self.clock.now(), self.origin)
    }

    /// Advances a paused clock to the next timer of a worker. `false` if there is none.
    pub(crate) fn auto_advance(&self, worker: usize) -> bool {
        let Some(tick) = self.wheel(worker).next_tick() else {
            return false;
        };
        let now = self.tick();
        if tick > now {
            // If this fails, the clock is not paused any more, and the timer comes by
            // itself.
            let millis = ticks::to_millis(tick - now);
            _ = self.clock.advance(Duration::from_millis(millis));
        }
        true
    }

    /// Sets the clock and the wheels back to the moment at which the runtime began. Returns `false` if there are timers,
    /// or the clock is not paused.
    #[cfg(feature = "sim")]
    pub(crate) fn restart(&self) -> bool {
        let has_timers = (self.wheels.iter()).any(|wheel| wheel.next_tick().is_some());
        let begin = ticks::begin(0, self.origin);
        if has_timers || !begin.is_some_and(|begin| self.clock.restart(begin)) {
            return false;
        }
        // Timers that were made before have another epoch, and end.
        let epoch = next_epoch();
        (self.wheels.iter()).for_each(|wheel| wheel.open(epoch, self.origin));
        true
    }

    /// Ends all timers. Their tasks are woken, and panic if they poll them again.
    pub(crate) fn shutdown(&self) {
        self.wheels.iter().for_each(|wheel| wheel.shut());
    }
}

impl Drop for Wheels {
    fn drop(&mut self) {
        self.shutdown();
        UNUSED.lock().extend(&self.wheels);
    }
}

/// Undoes [`Wheels::attach`] when it is dropped.
#[must_use]
pub(crate) struct Attached(*const ());

impl Drop for Attached {
    fn drop(&mut self) {
        context::with(|context| context.wheel.set(self.0));
    }
}

/// Returns a number that no runtime has had.
fn next_epoch() -> u64 {
    LAST_EPOCH.fetch_add(1, Ordering::Relaxed) + 1
}

fn address(wheel: &'static Wheel) -> *const () {
    ptr::from_ref(wheel).cast()
}

/// Returns the wheel of the worker that the context's thread is, if it is one and has timers.
#[inline]
pub(crate) fn attached(context: &Context) -> Option<&'static Wheel> {
    if context.worker.get().is_null() {
        return None;
    }
    // SAFETY: `address` put it there, and wheels are never freed.
    unsafe { context.wheel.get().cast::<Wheel>().as_ref() }
}

/// Makes timers that this thread starts from now on go to another worker's wheel.
pub(crate) fn detach() {
    context::with(|context| context.wheel.set(ptr::null()));
}
