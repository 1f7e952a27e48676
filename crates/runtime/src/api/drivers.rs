//! The parkers of idle workers.
//!
//! The only thread of a current-thread runtime parks in a [`Driver`]. The workers of a multi-thread
//! runtime wait together in [`Drivers`], or each in a [`Parker`](blitz_io_core::Parker) of its own: see `idle.rs`.

#[cfg(feature = "io")]
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

#[cfg(feature = "io")]
use blitz_io_driver::waking;

use crate::kernel::driver::Driver;

#[cfg(feature = "io")]
pub(crate) use blitz_io_driver::Reports;

/// The reports of a wait or a poll, besides the events that have woken tasks.
#[cfg(not(feature = "io"))]
#[derive(Clone, Copy, Default)]
pub(crate) struct Reports {
    /// It has taken a wake-up.
    pub(crate) woken: bool,
    /// It has taken the event of the timer.
    pub(crate) expired: bool,
}

/// The drivers of a multi-thread runtime, in which its workers wait together. Without I/O
/// there is one, and no worker ever waits in it.
pub(crate) struct Drivers {
    #[cfg(feature = "io")]
    drivers: Box<[Arc<blitz_io_driver::Driver>]>,
    /// Workers wait in the drivers.
    are_in_use: AtomicBool,
}

impl Drivers {
    pub(crate) fn of(common: &crate::api::common::Common) -> Self {
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

#[cfg(not(feature = "io"))]
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

impl Driver {
    /// Returns the driver of a current-thread runtime.
    pub(crate) fn of(common: &crate::api::common::Common) -> Self {
        #[cfg(feature = "io")]
        if let Some(drivers) = &common.io {
            return Self::Io(drivers.at(0).clone());
        }
        _ = common;
        Self::new()
    }
}
