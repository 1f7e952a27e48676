//! The I/O drivers of a runtime, and which one a source is registered with.
//!
//! Drivers belong to the runtime, not to a worker. The workers wait in them together, so
//! that a worker whose processor is taken away, or whose task computes, holds up no
//! connection.
//!
//! A small machine needs one driver. On a large one, threads that register would contend
//! with events for it, so there is one driver for every [`PROCESSORS_OF_ONE`] processors.
//! A worker's sources go to its own driver, which it shares with some others. A thread
//! that is no worker of the runtime, such as one that blocks for a future, alternates
//! between the drivers.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use blitz_io_driver::current::{self, NoDriver};
use blitz_io_driver::{Driver, Metrics, Wakers};
use blitz_io_observe::decisions;

use crate::api::config::Config;
use crate::api::scheduler;

/// Number of processors that share a driver. Two workers that wait in one driver cost each
/// other next to nothing; many contend for the lock of one kernel object.
const PROCESSORS_OF_ONE: usize = 8;

/// The drivers of a runtime.
pub(crate) struct IoDrivers {
    drivers: Box<[Arc<Driver>]>,
    /// Counter that chooses the driver of a thread that is no worker.
    turn: AtomicUsize,
}

impl IoDrivers {
    /// Makes those that the settings want.
    ///
    /// # Errors
    ///
    /// The system's, as when no more descriptors may be opened.
    pub(crate) fn new(config: &Config) -> io::Result<Option<Self>> {
        // Also without I/O: a source that is registered nevertheless learns why it cannot be.
        current::install(current);
        if !config.enable_io {
            return Ok(None);
        }
        let driver = |_| {
            let driver = Driver::new(config.io_events, config.io_events_busy)?;
            driver.allow_ring(config.enable_io_uring && !is_ring_forbidden());
            Ok(driver)
        };
        let processors = blitz_io_core::processors().min(config.worker_threads);
        let drivers = (0..processors.div_ceil(PROCESSORS_OF_ONE)).map(driver);
        Ok(Some(Self {
            drivers: drivers.collect::<io::Result<_>>()?,
            turn: AtomicUsize::new(0),
        }))
    }

    /// Returns all drivers.
    pub(crate) fn all(&self) -> &[Arc<Driver>] {
        &self.drivers
    }

    /// Returns the driver of the worker at `index`.
    pub(crate) fn at(&self, index: usize) -> &Arc<Driver> {
        &self.drivers[index % self.drivers.len()]
    }

    /// Returns the driver of the worker that this thread is, for something that is about to wait there.
    fn of_worker(&self, handle: &scheduler::Handle) -> Option<&Arc<Driver>> {
        handle.source_expected();
        Some(self.at(handle.own_index()?))
    }

    fn any(&self) -> &Arc<Driver> {
        self.at(self.turn.fetch_add(1, Ordering::Relaxed))
    }

    /// Ends all that waits for I/O, with an error.
    pub(crate) fn shut_down(&self) {
        let mut wakers = Wakers::new();
        for driver in &self.drivers {
            driver.shut_down(&mut wakers);
        }
        wakers.wake_all();
    }

    /// Returns the sum of a counter over all drivers.
    pub(crate) fn sum(&self, of: fn(&Metrics) -> usize) -> u64 {
        let counts = self
            .drivers
            .iter()
            .map(|driver| of(driver.metrics()) as u64);
        counts.sum()
    }
}

/// Returns `true` if the environment forbids the ring.
fn is_ring_forbidden() -> bool {
    std::env::var_os("BLITZ_IO_URING").is_some_and(|value| value == "0")
}

/// Returns the driver for a source that this thread is about to register.
fn current() -> Result<Arc<Driver>, NoDriver> {
    let found = scheduler::with_current(|handle| {
        let drivers = handle.common().io.as_ref()?;
        let own = drivers.of_worker(handle);
        Some(own.unwrap_or_else(|| drivers.any()).clone())
    });
    match found {
        Ok(Some(driver)) => Ok(driver),
        Ok(None) if decisions::is_on() => Err(NoDriver::Simulated),
        Ok(None) => Err(NoDriver::Disabled),
        Err(_) => Err(NoDriver::NoRuntime),
    }
}

/// Returns the driver of the worker that the caller runs on. `None` on other threads, and in a
/// current-thread runtime, whose driver no thread looks at between two calls of `block_on`.
#[doc(hidden)]
#[must_use]
pub fn own_driver() -> Option<Arc<Driver>> {
    let found = scheduler::with_current(|handle| match handle {
        scheduler::Handle::CurrentThread(_) => None,
        scheduler::Handle::MultiThread(_) => {
            let drivers = handle.common().io.as_ref()?;
            drivers.of_worker(handle).cloned()
        }
    });
    found.ok().flatten()
}
