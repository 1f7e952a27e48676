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
use crate::graph::is_unknown;
use crate::report::report;
use crate::snapshot::{Snapshot, Waiter};
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
    let (id, found) = (root.id(), shared.clone());
    let watchdog = Watchdog::with_judge(INTERVAL, move |earlier: &Snapshot, later: &Snapshot| {
        if finding_of(earlier, later, Waiter::Task(id)).is_none() {
            return;
        }
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        let both = [earlier, later].map(|snapshot| concise(snapshot, id, found.outer));
        let Some(text) = text(&both, id) else { return };
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

/// Returns the report about a future that never ends.
fn text([earlier, later]: &[Snapshot; 2], root: u64) -> Option<String> {
    let finding = finding_of(earlier, later, Waiter::Task(root))?;
    Some(report(later, std::slice::from_ref(&finding)))
}

/// Returns the snapshot without two things that tell the reader nothing. A certain finding needs no thread that sleeps without
/// a record, such as that of a test harness. And the future that judges is no future of the program.
fn concise(snapshot: &Snapshot, root: u64, outer: Option<u64>) -> Snapshot {
    let mut snapshot = snapshot.clone();
    snapshot.waits.retain(|wait| !is_unknown(wait));
    if let Some(outer) = outer {
        merge(&mut snapshot, root, outer);
    }
    snapshot
}

/// Leaves out the future of the `block_on` that polls a `DeadlockPanics`, unless it waits for something else, too. The
/// thread then waits for the future within, which gets the other one's place: that of the test.
fn merge(snapshot: &mut Snapshot, root: u64, outer: u64) {
    let Some(place) = snapshot.task(outer).filter(|task| task.is_root) else {
        return;
    };
    let place = place.location.clone();
    let mut waits = snapshot.waits.iter();
    if waits.any(|wait| wait.waiter == Waiter::Task(outer)) {
        return;
    }
    snapshot.tasks.retain(|task| task.id != outer);
    for task in snapshot.tasks.iter_mut().filter(|task| task.id == root) {
        task.location.clone_from(&place);
    }
    for wait in &mut snapshot.waits {
        if wait.task == Some(outer) {
            wait.task = Some(root);
        }
    }
}

/// The future of [`panic_on_deadlock`].
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
    /// The task, or the future of a `block_on`, that has polled this last.
    outer: Option<u64>,
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
        let outer = blitz_io_observe::Waiter::current();
        shared.outer = outer.is_task().then(|| outer.number());
        let old = shared.waker.replace(context.waker().clone());
        drop(shared);
        // Foreign code runs without the lock.
        drop(old);
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use blitz_io_observe::Kind;

    use super::*;
    use crate::snapshot::{Object, Task, TaskState, Wait};

    fn root(id: u64) -> Task {
        Task {
            id,
            name: String::new(),
            location: format!("tests/pan.rs:{id}"),
            is_root: true,
            state: TaskState::Idle,
            thread: 1,
            poll_ms: None,
            wakers: 1,
            polls: 2,
            child_of: None,
            is_pinned: false,
        }
    }

    fn wait(id: u64, waiter: Waiter, kind: Kind, task: Option<u64>) -> Wait {
        Wait {
            task,
            waiting_ms: 1_000,
            blocks_thread: waiter.task().is_none(),
            ..Wait::example(id, waiter, kind)
        }
    }

    /// Future 3 waits for a lock of its own.
    fn own_lock() -> Wait {
        let object = Object {
            id: 10,
            holder: Some(Waiter::Task(3)),
            ..Object::default()
        };
        Wait {
            object: Some(object),
            ..wait(2, Waiter::Task(3), Kind::Mutex, None)
        }
    }

    /// A thread blocks for future 2, which polls future 3; the thread of the harness sleeps.
    fn snapshot() -> Snapshot {
        Snapshot {
            tasks: vec![root(2), root(3)],
            waits: vec![
                wait(1, Waiter::Thread(1), Kind::BlockOn, Some(2)),
                own_lock(),
                wait(3, Waiter::Thread(5), Kind::UnknownFutex, None),
            ],
            ..Snapshot::default()
        }
    }

    fn text_of(snapshot: &Snapshot) -> String {
        let both = [snapshot, snapshot].map(|snapshot| concise(snapshot, 3, Some(2)));
        text(&both, 3).unwrap()
    }

    #[test]
    fn the_report_has_the_future_of_the_test_once() {
        let text = text_of(&snapshot());
        assert!(
            text.contains("waits 1.0 s for block_on at tests/pan.rs:2"),
            "{text}"
        );
        assert!(text.contains("1 task, 2 waits"), "{text}");
        assert!(
            !text.contains("pan.rs:3") && !text.contains("futex"),
            "{text}"
        );
    }

    /// As in a `select!` with another future.
    #[test]
    fn a_future_that_waits_for_more_stays() {
        let mut snapshot = snapshot();
        snapshot
            .waits
            .push(wait(4, Waiter::Task(2), Kind::Sleep, None));
        let text = text_of(&snapshot);
        assert!(text.contains("for block_on at tests/pan.rs:2"), "{text}");
        assert!(text.contains("block_on at tests/pan.rs:3 waits"), "{text}");
    }
}
