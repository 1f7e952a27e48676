//! How long tasks are ready before they are polled.
//!
//! The thread that holds a task's token notes the time in the task when it makes the task ready, and a
//! worker looks at it before the poll. Without the feature `schedule-latency` nothing of this is
//! compiled.

use std::time::Duration;
#[cfg(feature = "schedule-latency")]
use std::time::Instant;

#[cfg(feature = "schedule-latency")]
use super::nanos;
use crate::api::config::Config;
use crate::kernel::task::Notified;

/// The clock of a runtime's tasks that become ready.
pub(crate) struct ReadyClock {
    /// The time at which the runtime began, if its user wants to know the latencies.
    #[cfg(feature = "schedule-latency")]
    start: Option<Instant>,
}

#[cfg(feature = "schedule-latency")]
impl ReadyClock {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            start: config.tracks_latency.then(Instant::now),
        }
    }

    /// Returns `true` if the runtime tracks latencies.
    pub(crate) fn is_on(&self) -> bool {
        self.start.is_some()
    }

    /// Notes that the task becomes ready now.
    #[inline]
    pub(crate) fn ready(&self, task: &Notified) {
        if let Some(start) = self.start {
            task.set_ready_at(nanos(start.elapsed()));
        }
    }

    /// Returns how long the task has been ready.
    pub(crate) fn latency(&self, task: &Notified) -> Option<Duration> {
        let ready_at = Duration::from_nanos(task.ready_at());
        Some(self.start?.elapsed().saturating_sub(ready_at))
    }
}

#[cfg(not(feature = "schedule-latency"))]
impl ReadyClock {
    pub(crate) fn new(_: &Config) -> Self {
        Self {}
    }

    pub(crate) fn is_on(&self) -> bool {
        false
    }

    #[inline]
    pub(crate) fn ready(&self, _: &Notified) {}

    pub(crate) fn latency(&self, _: &Notified) -> Option<Duration> {
        None
    }
}
