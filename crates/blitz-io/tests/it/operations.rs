//! Each operation that is awaited is a point, also one that need not wait. So is the first one after a task has begun or gone on.
//! A race which only that point shows is found. These are the rows of the table "Points" of the book's page "Threads, clocks,
//! and the pool".

#![allow(
    clippy::async_yields_async,
    reason = "an operation is made before the task that polls it"
)]

use std::cell::Cell;
use std::future::{Future, poll_fn, ready};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use blitz_io::sim::{Builder, Cause, Schedule};
use blitz_io::sync::{
    Barrier, CancellationToken, Mutex, Notify, OnceCell, RwLock, Semaphore, broadcast, mpmc, mpsc,
    oneshot, watch,
};
use blitz_io::task::{self, JoinSet, TaskTracker};
use blitz_io::time;

type Future_<T> = Pin<Box<dyn Future<Output = T>>>;
/// Makes an operation, which is polled in another task.
type Make = fn() -> Future_<Future_<()>>;
/// The number that the tasks of a race change.
type Number = Rc<Cell<u32>>;

const EXHAUSTIVE: Schedule = Schedule::Exhaustive { preemptions: None };

/// Returns the failure of a search by these many seeds, and that of an exhaustive one.
fn search<F>(seeds: u64, test: impl Fn() -> F + Clone) -> [Result<u64, Cause>; 2]
where
    F: Future<Output = ()> + 'static,
{
    [Builder::new().seeds(seeds), {
        Builder::new().seeds(100_000).schedule(EXHAUSTIVE)
    }]
    .map(|builder| {
        let checked = builder.max_steps(1_000).shrink(false).check(test.clone());
        checked
            .map(|report| report.runs())
            .map_err(|failure| failure.cause().clone())
    })
}

/// Requires that 100 seeds and an exhaustive search find that an update is lost.
#[track_caller]
fn is_found<F>(name: &str, test: impl Fn() -> F + Clone)
where
    F: Future<Output = ()> + 'static,
{
    for found in search(100, test) {
        let is_lost = |cause: &Cause| cause.to_string().contains("an update is lost");
        assert!(found.as_ref().is_err_and(is_lost), "{name}: {found:?}");
    }
}

/// Requires that no order shows that an update is lost.
#[track_caller]
fn is_no_point<F>(name: &str, test: impl Fn() -> F + Clone)
where
    F: Future<Output = ()> + 'static,
{
    let found = search(100, test);
    assert!(found.iter().all(Result::is_ok), "{name}: {found:?}");
}

/// Loads the number, awaits the operation, and stores it one higher.
async fn update(number: Number, operation: impl Future) {
    let before = number.get();
    operation.await;
    number.set(before + 1);
}

/// Two tasks, each of which updates a number over an operation of its own.
async fn race(make: Make) {
    let number = Number::default();
    let operations = [make().await, make().await];
    let tasks = operations.map(|operation| task::spawn_local(update(number.clone(), operation)));
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(number.get(), 2, "an update is lost");
}

/// `operation => what it needs, made before`.
macro_rules! make {
    ($operation:expr) => {
        make!($operation => _nothing = ())
    };
    ($operation:expr => $needs:ident = $made:expr) => {
        || {
            Box::pin(async {
                #[allow(unused_mut, reason = "some operations change it")]
                let mut $needs = $made;
                let operation: Future_<()> = Box::pin(async move {
                    // All of it: a channel keeps both ends.
                    _ = &$needs;
                    _ = $operation;
                });
                operation
            })
        }
    };
}

#[track_caller]
fn are_points(operations: &[(&str, Make)]) {
    for &(name, make) in operations {
        is_found(name, move || race(make));
    }
}

#[track_caller]
fn are_no_points(operations: &[(&str, Make)]) {
    for &(name, make) in operations {
        is_no_point(name, move || race(make));
    }
}

#[test]
fn locks_that_are_free() {
    are_points(&[
        ("Mutex::lock", make!(Mutex::new(()).lock().await)),
        (
            "lock_owned",
            make!(Arc::new(Mutex::new(())).lock_owned().await),
        ),
        ("RwLock::read", make!(RwLock::new(()).read().await)),
        ("RwLock::write", make!(RwLock::new(()).write().await)),
        ("acquire", make!(Semaphore::new(1).acquire().await.is_ok())),
        (
            "acquire_many",
            make!(Semaphore::new(3).acquire_many(2).await.is_ok()),
        ),
        (
            "get_or_init",
            make!(OnceCell::new().get_or_init(|| ready(1)).await),
        ),
        (
            "get_or_init of a set cell",
            make!(OnceCell::from(1).get_or_init(|| ready(1)).await),
        ),
        (
            "get_or_try_init of a set cell",
            make!(
                OnceCell::from(1)
                    .get_or_try_init(|| ready(Err(())))
                    .await
                    .is_ok()
            ),
        ),
        (
            "OnceCell::wait of a set cell",
            make!(OnceCell::from(1).wait().await),
        ),
    ]);
}

#[test]
fn events_that_have_happened() {
    are_points(&[
        (
            "notified",
            make!(notify.notified().await => notify = {
                let notify = Notify::new();
                notify.notify_one();
                notify
            }),
        ),
        (
            "notified, enabled",
            make!({
                let mut notified = std::pin::pin!(notify.notified());
                notified.as_mut().enable();
                notified.await;
            } => notify = {
                let notify = Notify::new();
                notify.notify_one();
                notify
            }),
        ),
        ("Barrier::wait", make!(Barrier::new(1).wait().await)),
        (
            "cancelled",
            make!(token.cancelled().await => token = {
                let token = CancellationToken::new();
                token.cancel();
                token
            }),
        ),
        (
            "TaskTracker::wait",
            make!(tracker.wait().await => tracker = {
                let tracker = TaskTracker::new();
                tracker.close();
                tracker
            }),
        ),
    ]);
}

#[test]
fn channels_with_values_or_room() {
    are_points(&[
        (
            "mpsc send",
            make!(ends.0.send(1).await => ends = mpsc::channel(1)),
        ),
        (
            "mpsc reserve",
            make!(ends.0.reserve().await.is_ok() => ends = mpsc::channel::<u8>(1)),
        ),
        (
            "mpsc recv",
            make!(ends.1.recv().await => ends = {
                let ends = mpsc::channel(1);
                ends.0.try_send(1).unwrap();
                ends
            }),
        ),
        (
            "mpsc recv_many",
            make!(ends.1.recv_many(&mut Vec::new(), 2).await => ends = {
                let ends = mpsc::channel(1);
                ends.0.try_send(1).unwrap();
                ends
            }),
        ),
        (
            "unbounded recv",
            make!(ends.1.recv().await => ends = {
                let ends = mpsc::unbounded_channel();
                ends.0.send(1).unwrap();
                ends
            }),
        ),
        (
            "mpsc closed",
            make!(sender.closed().await => sender = mpsc::channel::<u8>(1).0),
        ),
        (
            "mpmc send",
            make!(ends.0.send(1).await => ends = mpmc::bounded(1)),
        ),
        (
            "mpmc recv",
            make!(ends.1.recv().await => ends = {
                let ends = mpmc::bounded(1);
                ends.0.try_send(1).unwrap();
                ends
            }),
        ),
        (
            "mpmc closed",
            make!(sender.closed().await => sender = mpmc::bounded::<u8>(1).0),
        ),
        (
            "oneshot receiver",
            make!(receiver.await => receiver = {
                let (sender, receiver) = oneshot::channel();
                sender.send(1).unwrap();
                receiver
            }),
        ),
        (
            "oneshot closed",
            make!(sender.closed().await => sender = oneshot::channel::<u8>().0),
        ),
        (
            "watch changed",
            make!(ends.1.changed().await => ends = {
                let ends = watch::channel(0);
                ends.0.send_replace(1);
                ends
            }),
        ),
        (
            "wait_for",
            make!(ends.1.wait_for(|_| true).await.is_ok() => ends = watch::channel(0)),
        ),
        (
            "watch closed",
            make!(sender.closed().await => sender = watch::channel(0).0),
        ),
        (
            "broadcast recv",
            make!(ends.1.recv().await => ends = {
                let ends = broadcast::channel(1);
                ends.0.send(1).unwrap();
                ends
            }),
        ),
    ]);
}

#[test]
fn tasks_and_timers() {
    are_points(&[
        (
            "JoinHandle",
            make!(handle.await => handle = {
                let handle = task::spawn(async {});
                while !handle.is_finished() {
                    task::yield_now().await;
                }
                handle
            }),
        ),
        (
            "join_next",
            make!(set.join_next().await => set = {
                let mut set = JoinSet::new();
                let handle = set.spawn(async {});
                while !handle.is_finished() {
                    task::yield_now().await;
                }
                set
            }),
        ),
        ("sleep", make!(time::sleep(Duration::ZERO).await)),
        (
            "tick",
            make!(time::interval(Duration::from_secs(1)).tick().await),
        ),
        (
            "timeout",
            make!(
                time::timeout(Duration::from_secs(1), Mutex::new(()).lock())
                    .await
                    .is_ok()
            ),
        ),
        ("yield_now", make!(task::yield_now().await)),
        ("consume_budget", make!(task::consume_budget().await)),
        ("spawn_blocking", make!(task::spawn_blocking(|| {}).await)),
    ]);
}

#[test]
#[cfg(feature = "io-util")]
fn streams_in_memory() {
    use blitz_io::io::{AsyncReadExt, AsyncWriteExt, duplex};
    are_points(&[
        ("write", make!(ends.0.write(b"x").await => ends = duplex(1))),
        (
            "read",
            make!(ends.1.read(&mut [0]).await => ends = {
                let mut ends = duplex(1);
                ends.0.write_all(b"x").await.unwrap();
                ends
            }),
        ),
    ]);
}

/// The operations of the branches are points.
#[test]
fn branches() {
    are_points(&[
        (
            "select!",
            make!(blitz_io::select! {
                () = lock() => {}
                () = std::future::pending() => {}
            }),
        ),
        ("join!", make!(blitz_io::join!(ready(1), lock()).0)),
    ]);
}

/// A call that does not await lets no other task run.
#[test]
fn calls_that_do_not_await_are_no_points() {
    are_no_points(&[
        ("no call", make!(())),
        ("a future that is ready", make!(ready(1).await)),
        (
            "select! without operations",
            make!(blitz_io::select! {
                _ = ready(1) => {}
                _ = ready(2) => {}
            }),
        ),
        (
            "join! without operations",
            make!(blitz_io::join!(ready(1), ready(2))),
        ),
        ("try_lock", make!(Mutex::new(()).try_lock().is_ok())),
        (
            "try_acquire",
            make!(Semaphore::new(1).try_acquire().is_ok()),
        ),
        ("add_permits", make!(Semaphore::new(1).add_permits(1))),
        (
            "try_send",
            make!(ends.0.try_send(1).unwrap() => ends = mpsc::channel(1)),
        ),
        (
            "try_recv",
            make!(ends.1.try_recv().is_ok() => ends = mpsc::channel::<u8>(1)),
        ),
        (
            "unbounded send",
            make!(ends.0.send(1).is_ok() => ends = mpsc::unbounded_channel()),
        ),
        ("notify_one", make!(Notify::new().notify_one())),
        ("notify_waiters", make!(Notify::new().notify_waiters())),
        ("oneshot send", make!(oneshot::channel().0.send(1).is_ok())),
        ("watch send", make!(watch::channel(0).0.send_replace(1))),
        (
            "broadcast send",
            make!(broadcast::channel(1).0.send(1).is_ok()),
        ),
        ("OnceCell::set", make!(OnceCell::new().set(1).is_ok())),
        ("cancel", make!(CancellationToken::new().cancel())),
        ("spawn", make!(drop(task::spawn(async {})))),
        ("abort", make!(task::spawn(async {}).abort())),
        ("is_finished", make!(task::spawn(async {}).is_finished())),
        (
            "unconstrained",
            make!(task::unconstrained(Mutex::new(()).lock()).await),
        ),
    ]);
}

/// Two tasks do this with a number, which both have increased at the end.
async fn twice<F: Future + 'static>(work: impl Fn(Number) -> F) {
    let number = Number::default();
    let tasks = [0; 2].map(|_| {
        let work = work(number.clone());
        task::spawn_local(async { drop(work.await) })
    });
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(number.get(), 2, "an update is lost");
}

async fn lock() {
    drop(Mutex::new(()).lock().await);
}

#[test]
fn the_first_operation_of_a_task() {
    is_found("of a task", || twice(|number| update(number, lock())));
}

#[test]
fn the_first_operation_after_a_wait() {
    is_found("a sleep", || {
        twice(|number| async move {
            time::sleep(Duration::from_millis(1)).await;
            update(number, lock()).await;
        })
    });
    is_found("a yield", || {
        twice(|number| async move {
            task::yield_now().await;
            update(number, lock()).await;
        })
    });
    is_found("a wake-up", || async {
        let (number, permits) = (Number::default(), Rc::new(Semaphore::new(0)));
        let tasks = [0; 2].map(|_| {
            let (number, permits) = (number.clone(), permits.clone());
            task::spawn_local(async move {
                permits.acquire().await.unwrap().forget();
                update(number, lock()).await;
            })
        });
        permits.add_permits(2);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(number.get(), 2, "an update is lost");
    });
}

/// Waits for a wake-up by another task, which is no operation.
fn once_woken() -> impl Future<Output = ()> {
    let mut waker: Option<Waker> = None;
    poll_fn(move |context| {
        if waker.is_some() {
            return Poll::Ready(());
        }
        let waker = waker.insert(context.waker().clone());
        let waker = waker.clone();
        task::spawn(async move { waker.wake() });
        Poll::Pending
    })
}

/// The waker is that of a future of the program, which is no operation.
#[test]
fn the_first_operation_after_a_wait_for_something_else() {
    is_found("a wait of the program's", || {
        twice(|number| async move {
            lock().await;
            once_woken().await;
            update(number, lock()).await;
        })
    });
}

/// The other branch waits for an operation, and is not polled before this one.
#[test]
fn the_first_operation_after_a_change() {
    is_found("a change", || {
        twice(|number| async move {
            let (sender, receiver) = oneshot::channel();
            let other = async {
                once_woken().await;
                Notify::new().notify_one();
                update(number, lock()).await;
                sender.send(1).unwrap();
            };
            _ = futures_util::future::join(other, receiver).await;
        })
    });
}

/// The future of `block_on`, in which the test runs.
#[test]
fn the_first_operation_of_the_test() {
    is_found("the test", || async {
        let number = Number::default();
        let same = number.clone();
        let task = task::spawn_local(async move { same.set(same.get() + 1) });
        update(number.clone(), lock()).await;
        task.await.unwrap();
        assert_eq!(number.get(), 2, "an update is lost");
    });
}

#[test]
fn the_first_operation_of_a_child() {
    is_found("two children of a scope", || async {
        let number = Arc::new(std::sync::Mutex::new(0));
        task::scope(async |scope| {
            for _ in 0..2 {
                let number = number.clone();
                scope.spawn(async move {
                    let before = *number.lock().unwrap();
                    lock().await;
                    *number.lock().unwrap() = before + 1;
                });
            }
        })
        .await;
        assert_eq!(*number.lock().unwrap(), 2, "an update is lost");
    });
    is_found("two tasks of a set", || async {
        let number = Number::default();
        let mut set = JoinSet::new();
        for _ in 0..2 {
            set.spawn_local(update(number.clone(), lock()));
        }
        while set.join_next().await.is_some() {}
        assert_eq!(number.get(), 2, "an update is lost");
    });
}

/// An operation of a branch before this one waits.
#[test]
fn the_first_operation_of_a_branch() {
    is_found("a branch", || {
        twice(|number| async move {
            let (sender, receiver) = oneshot::channel();
            // Unlike `join!`, it always begins with the first one.
            let other = async {
                update(number, lock()).await;
                sender.send(1).unwrap();
            };
            _ = futures_util::future::join(receiver, other).await;
        })
    });
}

/// A gate that opens between the look at the flag and the wait hangs, though a free lock is all that comes between.
#[test]
fn a_lost_wake_up_over_a_free_lock() {
    struct Gate {
        is_open: Cell<bool>,
        opens: Notify,
        audit: Mutex<u32>,
    }
    let test = || async {
        let gate = Rc::new(Gate {
            is_open: Cell::new(false),
            opens: Notify::new(),
            audit: Mutex::new(0),
        });
        let same = gate.clone();
        let waiter = task::spawn_local(async move {
            if !same.is_open.get() {
                *same.audit.lock().await += 1;
                same.opens.notified().await;
            }
        });
        task::spawn_local(async move {
            gate.is_open.set(true);
            gate.opens.notify_waiters();
        });
        waiter.await.unwrap();
    };
    for found in search(100, test) {
        assert_eq!(found, Err(Cause::Deadlock));
    }
}

/// Both tasks lock the same lock, which is free: 100 seeds find it, whatever the schedule is.
#[test]
fn a_lost_update_over_a_free_lock_is_found_by_a_hundred_seeds() {
    let test = || async {
        let shared = Rc::new((Number::default(), Mutex::new(())));
        let tasks = [0; 2].map(|_| {
            let shared = shared.clone();
            task::spawn_local(async move {
                let before = shared.0.get();
                let _guard = shared.1.lock().await;
                shared.0.set(before + 1);
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(shared.0.get(), 2, "an update is lost");
    };
    for text in ["portfolio", "random", "pct:3", "pos", "surw", "guided"] {
        let builder = Builder::new().seeds(100).schedule(text.parse().unwrap());
        assert!(builder.check(test).is_err(), "{text}");
    }
    is_found("a shared lock", test);
}

/// An operation that waits asks once: none of its later polls is a point, or these tasks would preempt each other for ever.
#[test]
fn operations_that_wait_have_few_orders() {
    let runs = |test: fn() -> Future_<()>| {
        let [_, runs] = search(1, test);
        runs.unwrap()
    };
    // The other task runs before this one, before its operation, or when it waits.
    let watched = || -> Future_<()> {
        Box::pin(async {
            let (sender, mut receiver) = watch::channel(0);
            task::spawn(async move { receiver.changed().await });
            task::spawn(async move { sender.send(1) });
        })
    };
    let received = || -> Future_<()> {
        Box::pin(async {
            let (sender, mut receiver) = broadcast::channel(1);
            task::spawn(async move { receiver.recv().await });
            task::spawn(async move { sender.send(1) });
        })
    };
    let in_time = || -> Future_<()> {
        Box::pin(async {
            let (sender, receiver) = oneshot::channel();
            task::spawn(time::timeout(Duration::from_secs(1), receiver));
            task::spawn(async move { sender.send(1) });
        })
    };
    assert_eq!([runs(watched), runs(received), runs(in_time)], [3; 3]);
}
