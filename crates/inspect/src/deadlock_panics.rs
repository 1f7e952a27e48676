//! `DeadlockPanics`: a future that panics once it can certainly never end.

use std::fmt;
use std::future::Future;
use std::io::{self, Write};
use std::panic::Location;
use std::pin::Pin;
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use blitz_io_observe::{Caller, Root};

use crate::findings::finding_of;
use crate::graph::is_unknown;
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
/// A blocked thread cannot panic. So the process aborts in two cases, after it has written the report to standard error past
/// the capture of the test harness:
///
/// - `future` itself blocks its thread, as in a second `lock` of a `blitz_io::thread::Mutex`.
/// - Tasks, or closures of `spawn_blocking`, block their threads for ever. The runtime would wait for these threads when it
///   is dropped.
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
    let thread = thread::current().name().unwrap_or("<unnamed>").to_owned();
    let root = Root::new(future, Caller::at(caller));
    let shared = Arc::new(Mutex::new(Shared::default()));
    let (id, found) = (root.id(), shared.clone());
    let watchdog = Watchdog::with_judge(INTERVAL, move |earlier: &Snapshot, later: &Snapshot| {
        if finding_of(earlier, later, Waiter::Task(id)).is_none() {
            return;
        }
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        let both = [earlier, later].map(|snapshot| concise(snapshot, id, found.outer));
        let Some(finding) = finding_of(&both[0], &both[1], Waiter::Task(id)) else {
            return;
        };
        let text = report(&both[1], std::slice::from_ref(&finding));
        if outlasts_panic(&both, id, &finding) {
            abort(&thread, &text);
        }
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

/// Returns `true` if a panic of the future would not end the program. The future is blocked in its poll, or a task or
/// closure of the finding blocks its thread for ever although the future, and all tasks that block no thread, are dropped.
fn outlasts_panic(both: &[Snapshot; 2], root: u64, finding: &Finding) -> bool {
    let root = Waiter::Task(root);
    let [_, later] = both;
    let mut waits = later.waits.iter();
    if waits.any(|wait| wait.waiter == root && wait.blocks_thread) {
        return true;
    }
    let [earlier, later] = both.each_ref().map(|snapshot| after_panic(snapshot, root));
    // A runtime does not wait for the threads of others.
    let mut own = finding.waiters.iter().filter(|it| it.task().is_some());
    own.any(|&waiter| finding_of(&earlier, &later, waiter).is_some())
}

/// Returns the snapshot with the waits that a panic of the future, and the end of its runtime, leave.
fn after_panic(snapshot: &Snapshot, root: Waiter) -> Snapshot {
    let is_other_root = |waiter: Waiter| {
        let task = waiter.task().and_then(|id| snapshot.task(id));
        task.is_some_and(|task| task.is_root)
    };
    let mut left = snapshot.clone();
    left.waits.retain(|wait| {
        let is_for_root = wait.task.is_some() && wait.task == root.task();
        let stays = wait.blocks_thread || is_other_root(wait.waiter);
        wait.waiter != root && !is_for_root && stays
    });
    left
}

/// Writes the report past the capture of a test harness, and aborts. `thread`: the name of the thread, which is that of the
/// test.
fn abort(thread: &str, report: &str) -> ! {
    let text = format!(
        "\nthread '{thread}': this never ends, and a panic cannot end it, as threads are blocked: aborting\n{report}"
    );
    // Standard error may be closed.
    _ = io::stderr().write_all(text.as_bytes());
    process::abort()
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

impl<F> DeadlockPanics<F> {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
struct Shared {
    report: Option<String>,
    waker: Option<Waker>,
    /// The task, or the future of a `block_on`, that polls this, or did so last.
    outer: Option<u64>,
}

impl<F: Future> Future for DeadlockPanics<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: only `root` is pinned, which is not moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        let outer = blitz_io_observe::Waiter::current();
        let outer = outer.is_task().then(|| outer.number());
        this.shared().outer = outer;
        // SAFETY: it is a field of a pinned value.
        let root = unsafe { Pin::new_unchecked(&mut this.root) };
        if let Poll::Ready(output) = root.poll(context) {
            return Poll::Ready(output);
        }
        let mut shared = this.shared();
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
        report(&both[1], &[finding(&both)])
    }

    fn finding([earlier, later]: &[Snapshot; 2]) -> Finding {
        finding_of(earlier, later, Waiter::Task(3)).unwrap()
    }

    /// Returns `true` if the process aborts for this snapshot.
    fn aborts(snapshot: &Snapshot) -> bool {
        let both = [snapshot, snapshot].map(|snapshot| concise(snapshot, 3, Some(2)));
        outlasts_panic(&both, 3, &finding(&both))
    }

    /// Future 3 waits for task 4, which waits for a lock of its own.
    fn of_task(blocks_thread: bool) -> Snapshot {
        let mut snapshot = snapshot();
        snapshot.tasks.push(Task {
            is_root: false,
            ..root(4)
        });
        snapshot.waits[1] = Wait {
            task: Some(4),
            ..wait(2, Waiter::Task(3), Kind::Join, None)
        };
        let object = Object {
            id: 11,
            holder: Some(Waiter::Task(4)),
            ..Object::default()
        };
        snapshot.waits.push(Wait {
            object: Some(object),
            blocks_thread,
            ..wait(4, Waiter::Task(4), Kind::Mutex, None)
        });
        snapshot
    }

    #[test]
    fn a_panic_ends_what_blocks_no_thread() {
        assert!(!aborts(&snapshot()));
        assert!(!aborts(&of_task(false)));
    }

    #[test]
    fn a_future_that_blocks_its_thread_cannot_panic() {
        let mut snapshot = snapshot();
        snapshot.waits[1].blocks_thread = true;
        assert!(aborts(&snapshot));
    }

    #[test]
    fn the_runtime_would_wait_for_a_task_that_blocks_a_thread() {
        assert!(aborts(&of_task(true)));
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
