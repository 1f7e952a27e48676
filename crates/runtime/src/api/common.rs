//! Settings, hooks and timers, which runtimes of both flavours have.

use std::sync::Arc;

use crate::api::config::Config;
use crate::api::hooks::Hooks;
#[cfg(feature = "io")]
use crate::api::io::IoDrivers;
use crate::api::metrics::{ReadyClock, Totals};
use crate::api::runtime_id::Id;
use crate::api::seed::Seeds;
use crate::api::stalls::Stalls;
use crate::api::timers::{Clock, Wheels};
use crate::kernel::context::Current;
use blitz_io_core::ThreadId;
use blitz_io_observe::Kept;

/// State that a runtime's threads share, apart from the scheduler and the pool.
pub(crate) struct Common {
    /// The thread that tasks of a `LocalRuntime` stay on, if it is one.
    pub(crate) local_thread: Option<ThreadId>,
    pub(crate) id: Id,
    /// The clock of `time::Instant`.
    pub(crate) clock: Arc<Clock>,
    /// The I/O drivers; `None` if I/O has not been enabled.
    #[cfg(feature = "io")]
    pub(crate) io: Option<IoDrivers>,
    /// The timers; `None` if they have not been enabled.
    pub(crate) time: Option<Wheels>,
    pub(crate) hooks: Hooks,
    /// The polls that take too long, if there is a hook for them.
    pub(crate) stalls: Option<Arc<Stalls>>,
    pub(crate) config: Config,
    /// Random numbers that can be had again.
    pub(crate) seeds: Seeds,
    pub(crate) totals: Totals,
    pub(crate) ready_clock: ReadyClock,
    /// Makes the runtime known to `blitz top`.
    pub(crate) registered: Kept,
}

impl Common {
    /// Returns `true` if a hook, the watch for stalls or the latency clock observes each poll.
    pub(crate) fn observes_polls(&self) -> bool {
        self.hooks.polls() || self.stalls.is_some() || self.ready_clock.is_on()
    }

    /// Ends the waits for I/O, after the tasks have ended.
    pub(crate) fn shut_down_io(&self) {
        #[cfg(feature = "io")]
        if let Some(drivers) = &self.io {
            drivers.shut_down();
        }
    }
}

/// A counted reference to a runtime, for code below the schedulers.
pub(crate) trait RuntimeRef: Clone + Send + 'static {
    /// Returns the entry of a thread's context that makes this runtime the current one.
    fn as_current(&self) -> Current;

    fn common(&self) -> &Common;

    /// Wakes the worker at `index`, if it sleeps, so that it looks at its timers.
    fn unpark(&self, index: usize);
}
