//! `DeadlockPanics`: a future that panics once it can certainly never end.

use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use blitz_io_observe::{Caller, Root};

use crate::findings::finding_of;
use crate::report::report;
use crate::snapshot::{Finding, Snapshot, Waiter};
use crate::watchdog::Watchdog;

/// The time between the snapshots that are compared.
const INTERVAL: Duration = Duration::from_millis(250);

/// Returns a future that does what `future` does, and panics with a report once `future` certainly
/// never ends. That is so if it waits for itself, or for tasks and threads that wait for each other.
///
/// A thread of its own judges the waits. `#[blitz_io::test(deadlock = "panic")]` runs the test in
/// such a future.
///
/// # Panics
///
/// The future panics in the case that is described above, and if the system has no thread.
///
/// # Examples
///
/// ```
/// let future = blitz_io_inspect::panic_on_deadlock(async { 1 + 1 });
/// # drop(future);
/// ```
#[track_caller]
pub fn panic_on_deadlock<F: Future>(future: F) -> DeadlockPanics<F> {
    let caller = Location::caller();
    let root = Root::new(future, Caller::at(caller));
    let shared = Arc::new(Mutex::new(Shared::default()));
    let (waiter, found) = (Waiter::Task(root.id()), shared.clone());
    let watchdog = Watchdog::with_judge(INTERVAL, move |earlier: &Snapshot, later: &Snapshot| {
        let Some(finding) = finding_of(earlier, later, waiter) else {
            return;
        };
        let text = text(&finding, later);
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        found.report = Some(text);
        let waker = found.waker.take();
        drop(found);
        if let Some(waker) = waker {
            waker.wake();
        }
    });
    DeadlockPanics {
        root,
        shared,
        _watchdog: watchdog,
    }
}

fn text(finding: &Finding, snapshot: &Snapshot) -> String {
    report(snapshot, std::slice::from_ref(finding))
}

/// See [`panic_on_deadlock`].
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct DeadlockPanics<F> {
    root: Root<F>,
    shared: Arc<Mutex<Shared>>,
    _watchdog: Watchdog,
}

impl<F> fmt::Debug for DeadlockPanics<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeadlockPanics").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Shared {
    report: Option<String>,
    waker: Option<Waker>,
}

impl<F: Future> Future for DeadlockPanics<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: only `root` is pinned, which is not moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: it is a field of a pinned value.
        let root = unsafe { Pin::new_unchecked(&mut this.root) };
        if let Poll::Ready(output) = root.poll(context) {
            return Poll::Ready(output);
        }
        let mut shared = this.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(report) = shared.report.take() {
            drop(shared);
            panic!("this never ends\n{report}");
        }
        let old = shared.waker.replace(context.waker().clone());
        drop(shared);
        // Foreign code runs without the lock.
        drop(old);
        Poll::Pending
    }
}
