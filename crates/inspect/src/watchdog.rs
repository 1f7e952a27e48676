//! `Watchdog`: looks for findings while a test or service runs.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::findings::findings;
use crate::reader::waits;
use crate::reported::Reported;
use crate::snapshot::{Certainty, Finding, Snapshot};

/// A thread that judges the waits of this process once an interval, until this is dropped.
///
/// It reports what `blitz why` has the exit statuses 2 and 3 for: certain findings, and probable ones except those that
/// [may end](Finding::may_end) by themselves. Two handlers of a web service that wait for each other are a probable
/// deadlock, as their client could close its connection. [`certain_only`](WatchdogBuilder::certain_only) leaves out all
/// probable ones.
///
/// Each finding is reported once. One that was probable is reported again if it becomes certain. If the same tasks go on
/// and hang later again, that is another finding.
///
/// With the feature `tracing`, a finding is also an event with the target `blitz_io::inspect`: of the level *error* if it is
/// certain, and *warn* if it is probable. Its message is the summary, and its field `kind` is the kind.
///
/// # Examples
///
/// A program writes each finding, and its waits with their lines, into its log:
///
/// ```
/// use std::time::Duration;
/// use blitz_io_inspect::Watchdog;
///
/// let _watchdog = Watchdog::new(Duration::from_secs(1), |finding| eprintln!("{finding}"));
/// ```
///
/// A service that a supervisor starts again ends if a hang is certain, and only says it otherwise:
///
/// ```
/// use std::time::Duration;
/// use blitz_io_inspect::{Certainty, Watchdog};
///
/// let _watchdog = Watchdog::new(Duration::from_secs(5), |finding| {
///     eprintln!("{finding}");
///     if finding.certainty == Certainty::Certain {
///         std::process::abort();
///     }
/// });
/// ```
#[derive(Debug)]
pub struct Watchdog {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Starts the thread, which calls `report` once for each finding that is certain, and for each probable one that does not
    /// end by itself.
    ///
    /// # Panics
    ///
    /// Panics if the system has no thread.
    #[must_use = "a dropped watchdog ends"]
    pub fn new(interval: Duration, report: impl FnMut(&Finding) + Send + 'static) -> Self {
        Self::builder().start(interval, report)
    }

    /// Returns the options that [`new`](Self::new) has, to change them.
    pub fn builder() -> WatchdogBuilder {
        WatchdogBuilder::default()
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

/// The options of a [`Watchdog`].
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use blitz_io_inspect::Watchdog;
///
/// let _watchdog = Watchdog::builder()
///     .certain_only(true)
///     .start(Duration::from_secs(1), |finding| panic!("{finding}"));
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "only `start` starts the watchdog"]
pub struct WatchdogBuilder {
    is_certain_only: bool,
}

impl WatchdogBuilder {
    /// Leaves out all probable findings, or reports them again. Without a call, they are reported.
    pub fn certain_only(mut self, is_certain_only: bool) -> Self {
        self.is_certain_only = is_certain_only;
        self
    }

    /// Starts the thread, which calls `report` once for each finding.
    ///
    /// # Panics
    ///
    /// Panics if the system has no thread.
    #[must_use = "a dropped watchdog ends"]
    pub fn start(
        self,
        interval: Duration,
        mut report: impl FnMut(&Finding) + Send + 'static,
    ) -> Watchdog {
        let mut reported = Reported::default();
        Watchdog::with_judge(interval, move |earlier, later| {
            let mut found = findings(earlier, later);
            found.retain(|finding| self.wants(finding));
            for finding in reported.new_of(found, later) {
                #[cfg(feature = "tracing")]
                tell(&finding);
                report(&finding);
            }
        })
    }

    fn wants(&self, finding: &Finding) -> bool {
        match finding.certainty {
            Certainty::Certain => true,
            Certainty::Probable => !self.is_certain_only && !finding.may_end(),
        }
    }
}

#[cfg(feature = "tracing")]
fn tell(finding: &Finding) {
    const TARGET: &str = "blitz_io::inspect";
    let (kind, summary) = (finding.kind.as_str(), finding.summary.as_str());
    match finding.certainty {
        Certainty::Certain => tracing::error!(target: TARGET, kind, "{summary}"),
        Certainty::Probable => tracing::warn!(target: TARGET, kind, "{summary}"),
    }
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
