//! The parker of an idle worker: with I/O the driver of `blitz_io_driver`, and without a [`Parker`].

use std::time::Instant;
#[cfg(feature = "io")]
use std::{cell::Cell, sync::Arc};

use blitz_io_core::{Parker, default_is_new};
#[cfg(feature = "io")]
use blitz_io_driver::Wakers;
#[cfg(feature = "io")]
use blitz_io_observe::trace;

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
pub fn waking<R>(poll: impl FnOnce(&mut Wakers) -> R) -> R {
    thread_local! {
        static WAKERS: Cell<Wakers> = const { Cell::new(Wakers::new()) };
    }
    // A thread that ends may have given it up already; and a waker may poll, too.
    let mut wakers = WAKERS.try_with(Cell::take).unwrap_or_default();
    let result = poll(&mut wakers);
    {
        let _system = trace::Waking::new(trace::Source::System);
        wakers.wake_all();
    }
    _ = WAKERS.try_with(|kept| kept.set(wakers));
    result
}
