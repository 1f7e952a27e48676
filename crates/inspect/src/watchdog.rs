//! `Watchdog`: looks for certain findings while a test or service runs.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::findings::findings;
use crate::reader::waits;
use crate::snapshot::{Certainty, Finding, Snapshot, Waiter};

/// A thread that judges the waits of this process once an interval, until this is dropped.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// let _watchdog = blitz_io_inspect::Watchdog::new(Duration::from_secs(1), |finding| {
///     eprintln!("{}", finding.summary);
/// });
/// ```
#[derive(Debug)]
pub struct Watchdog {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Starts the thread, which calls `report` once for each certain finding. With the feature `tracing`,
    /// the finding is also an event of the level *error* with the target `blitz_io::inspect`, whose message
    /// is the summary, and whose field `kind` is the kind.
    ///
    /// # Panics
    ///
    /// Panics if the system has no thread.
    #[must_use = "a dropped watchdog ends"]
    pub fn new(interval: Duration, mut report: impl FnMut(&Finding) + Send + 'static) -> Self {
        let mut known: Vec<Vec<Waiter>> = Vec::new();
        Self::with_judge(interval, move |earlier, later| {
            for finding in findings(earlier, later) {
                let is_certain = finding.certainty == Certainty::Certain;
                if is_certain && !known.contains(&finding.waiters) {
                    #[cfg(feature = "tracing")]
                    tell(&finding);
                    report(&finding);
                    known.push(finding.waiters);
                }
            }
        })
    }

    /// Starts the thread, which gives `judge` two successive snapshots each time.
    pub(crate) fn with_judge(
        interval: Duration,
        mut judge: impl FnMut(&Snapshot, &Snapshot) + Send + 'static,
    ) -> Self {
        let (end, ended) = channel::<()>();
        let body = move || {
            let mut earlier = waits();
            while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let later = waits();
                judge(&earlier, &later);
                earlier = later;
            }
        };
        let thread = thread::Builder::new()
            .name("blitz-watchdog".into())
            .spawn(body);
        let thread = thread.expect("the system has a thread for the watchdog");
        Self {
            end: Some(end),
            thread: Some(thread),
        }
    }
}

#[cfg(feature = "tracing")]
fn tell(finding: &Finding) {
    let kind = finding.kind.as_str();
    tracing::error!(target: "blitz_io::inspect", kind, "{}", finding.summary);
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the callback was printed by its thread.
            _ = thread.join();
        }
    }
}
