//! The parkers of idle workers.
//!
//! The only thread of a current-thread runtime parks in a [`Driver`]: that of
//! `blitz_io_driver` with I/O, and a [`Parker`] without. The workers of a multi-thread
//! runtime wait together in [`Drivers`], or each in a [`Parker`] of its own: see `idle.rs`.

#[cfg(not(loom))]
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
#[cfg(feature = "io")]
use std::{cell::Cell, sync::Arc};

use blitz_io_core::{Parker, default_is_new};
#[cfg(feature = "io")]
use blitz_io_driver::Wakers;

/// A driver in which at most one thread parks; any thread may unpark it.
#[derive(Debug)]
pub enum Driver {
    /// Without I/O.
    Parker(Parker),
    /// A driver with I/O.
    #[cfg(feature = "io")]
    Io(Arc<blitz_io_driver::Driver>),
}

default_is_new!(Driver);

impl Driver {
    /// Creates a driver that has not been unparked yet, without I/O.
    pub fn new() -> Self {
        Self::Parker(Parker::new())
    }

    /// Returns the driver of a current-thread runtime.
    #[cfg(not(loom))]
    pub(crate) fn of(common: &crate::common::Common) -> Self {
        #[cfg(feature = "io")]
        if let Some(drivers) = &common.io {
            return Self::Io(drivers.at(0).clone());
        }
        _ = common;
        Self::new()
    }

    /// Sleeps until it is unparked, or was since the last time, until `deadline`, or until
    /// an event has woken a task. Returns whether it was unparked.
    pub fn park(&self, deadline: Option<Instant>) -> bool {
        match self {
            Self::Parker(parker) => parker.park(deadline),
            #[cfg(feature = "io")]
            Self::Io(driver) => waking(|wakers| driver.park(deadline, wakers)),
        }
    }

    /// Wakes the tasks whose events have happened, without waiting. For any thread.
    #[inline]
    pub fn poll(&self) {
        match self {
            Self::Parker(_) => {}
            #[cfg(feature = "io")]
            Self::Io(driver) => {
                if driver.has_sources() {
                    waking(|wakers| driver.poll(wakers));
                }
            }
        }
    }

    /// Returns `true` if events may happen.
    #[inline]
    pub fn has_sources(&self) -> bool {
        match self {
            Self::Parker(_) => false,
            #[cfg(feature = "io")]
            Self::Io(driver) => driver.has_sources(),
        }
    }

    /// Ends the park of its thread, or the next one if it is not parked.
    pub fn unpark(&self) {
        match self {
            Self::Parker(parker) => parker.unpark(),
            #[cfg(feature = "io")]
            Self::Io(driver) => driver.unpark(),
        }
    }
}

/// Wakes the wakers that `poll` has gathered. The memory for them stays with the thread, so that a
/// poll allocates nothing.
#[cfg(feature = "io")]
fn waking<R>(poll: impl FnOnce(&mut Wakers) -> R) -> R {
    thread_local! {
        static WAKERS: Cell<Wakers> = const { Cell::new(Wakers::new()) };
    }
    // A thread that ends may have given it up already; and a waker may poll, too.
    let mut wakers = WAKERS.try_with(Cell::take).unwrap_or_default();
    let result = poll(&mut wakers);
    wakers.wake_all();
    _ = WAKERS.try_with(|kept| kept.set(wakers));
    result
}

#[cfg(feature = "io")]
pub(crate) use blitz_io_driver::Reports;

/// The reports of a wait or a poll, besides the events that have woken tasks.
#[cfg(all(not(feature = "io"), not(loom)))]
#[derive(Clone, Copy, Default)]
pub(crate) struct Reports {
    /// It has taken a wake-up.
    pub(crate) woken: bool,
    /// It has taken the event of the timer.
    pub(crate) expired: bool,
}

/// The drivers of a multi-thread runtime, in which its workers wait together. Without I/O
/// there is one, and no worker ever waits in it.
#[cfg(not(loom))]
pub(crate) struct Drivers {
    #[cfg(feature = "io")]
    drivers: Box<[Arc<blitz_io_driver::Driver>]>,
    /// Workers wait in the drivers.
    are_in_use: AtomicBool,
}

#[cfg(not(loom))]
impl Drivers {
    pub(crate) fn of(common: &crate::common::Common) -> Self {
        #[cfg(not(feature = "io"))]
        let _ = common;
        Self {
            #[cfg(feature = "io")]
            drivers: (common.io.as_ref()).map_or_else(Box::default, |io| io.all().into()),
            are_in_use: AtomicBool::new(false),
        }
    }

    /// Returns the number of drivers, at least 1.
    pub(crate) fn len(&self) -> usize {
        #[cfg(feature = "io")]
        return self.drivers.len().max(1);
        #[cfg(not(feature = "io"))]
        1
    }

    /// Returns how many workers, on so many processors, may wait in one driver: more
    /// would wake for events for which there is no processor.
    pub(crate) fn most_waiting(&self, workers: usize, processors: usize) -> usize {
        #[cfg(feature = "io")]
        if !blitz_io_driver::Driver::IS_SHARED {
            return 1;
        }
        workers.min(processors).div_ceil(self.len())
    }

    /// Returns `true` if workers wait in the drivers.
    #[inline]
    pub(crate) fn are_in_use(&self) -> bool {
        self.are_in_use.load(Ordering::Relaxed)
    }

    /// Workers wait in the drivers from now on. Returns whether they did before.
    #[cfg(feature = "io")]
    pub(crate) fn begin_to_use(&self) -> bool {
        self.are_in_use.load(Ordering::Acquire) || self.are_in_use.swap(true, Ordering::AcqRel)
    }
}

#[cfg(feature = "io")]
impl Drivers {
    /// Returns the driver, if events may happen.
    #[inline]
    fn active(&self, driver: usize) -> Option<&blitz_io_driver::Driver> {
        let driver = self.drivers.get(driver)?;
        driver.has_sources().then_some(driver)
    }

    /// Waits until an event has woken a task, a wake-up, a timer, or `deadline`.
    pub(crate) fn wait(&self, driver: usize, deadline: Option<Instant>) -> Reports {
        waking(|wakers| self.drivers[driver].wait(deadline, wakers))
    }

    /// Wakes the tasks whose events have happened.
    #[inline]
    pub(crate) fn poll(&self, driver: usize) -> Reports {
        let active = self.active(driver);
        active.map_or_else(Reports::default, |driver| {
            waking(|wakers| driver.poll(wakers))
        })
    }

    /// Returns `true` if events may happen in a driver.
    pub(crate) fn has_sources(&self, driver: usize) -> bool {
        self.active(driver).is_some()
    }

    /// Ends the wait of one worker.
    pub(crate) fn wake(&self, driver: usize) {
        self.drivers[driver].wake();
    }

    /// Ends the wait of one worker by `deadline`. `false` if the system has no timer for that,
    /// or no worker ever waits.
    pub(crate) fn wake_by(&self, driver: usize, deadline: Instant) -> bool {
        self.are_in_use() && self.drivers[driver].wake_by(deadline)
    }

    /// Submits the queued operations of this thread's worker, which is not going to poll.
    pub(crate) fn flush(&self, driver: usize) {
        if let Some(driver) = self.active(driver) {
            waking(|wakers| driver.flush(wakers));
        }
    }
}

#[cfg(all(not(feature = "io"), not(loom)))]
impl Drivers {
    pub(crate) fn wait(&self, _driver: usize, _deadline: Option<Instant>) -> Reports {
        unreachable!("no worker waits in a driver that there is not")
    }

    #[inline]
    pub(crate) fn poll(&self, _driver: usize) -> Reports {
        Reports::default()
    }

    pub(crate) fn has_sources(&self, _driver: usize) -> bool {
        false
    }

    pub(crate) fn wake(&self, _driver: usize) {}

    pub(crate) fn wake_by(&self, _driver: usize, _deadline: Instant) -> bool {
        false
    }

    pub(crate) fn flush(&self, _driver: usize) {}
}
