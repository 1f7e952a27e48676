//! Each operation of a primitive is a point: another task may run before it. `operations.rs` has those of one poll.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use blitz_io::runtime;
use blitz_io::sim::{self, Builder};
use blitz_io::sync::{
    Barrier, CancellationToken, Mutex, Notify, OnceCell, RwLock, Semaphore, broadcast, mpmc, mpsc,
    oneshot, watch,
};
use blitz_io::task::{self, JoinSet};
use blitz_io::time;

type Operation = Pin<Box<dyn Future<Output = ()>>>;

/// Requires that another task can run between two operations of the kind that `operation` makes.
#[track_caller]
fn is_point(operation: impl Fn() -> Operation + Clone + 'static) {
    let report = Builder::new().seeds(60).run(move || {
        let operation = operation.clone();
        async move {
            let between = Rc::new(Cell::new(false));
            let same = between.clone();
            task::spawn_local(async move { sim::sometimes("between", same.get()) });
            // This task has been polled before.
            task::yield_now().await;
            let (first, second) = (operation(), operation());
            first.await;
            between.set(true);
            second.await;
            between.set(false);
        }
    });
    assert!(report.never().is_empty());
}

#[test]
fn locks() {
    is_point(|| Box::pin(async { drop(Mutex::new(()).lock().await) }));
    is_point(|| Box::pin(async { drop(RwLock::new(()).read().await) }));
    is_point(|| Box::pin(async { drop(RwLock::new(()).write().await) }));
    is_point(|| Box::pin(async { drop(Semaphore::new(3).acquire_many(2).await) }));
    is_point(|| Box::pin(async { _ = OnceCell::new().get_or_init(task::yield_now).await }));
}

#[test]
fn events() {
    is_point(|| {
        Box::pin(async {
            let notify = Notify::new();
            notify.notify_one();
            notify.notified().await;
        })
    });
    is_point(|| {
        Box::pin(async {
            let barrier = Barrier::new(2);
            blitz_io::join!(barrier.wait(), barrier.wait());
        })
    });
    is_point(|| {
        Box::pin(async {
            let (sender, receiver) = oneshot::channel();
            sender.send(1).unwrap();
            receiver.await.unwrap();
        })
    });
    is_point(|| {
        Box::pin(async {
            let (sender, mut receiver) = watch::channel(0);
            sender.send_replace(1);
            receiver.changed().await.unwrap();
        })
    });
}

#[test]
fn channels() {
    is_point(|| {
        Box::pin(async {
            let (sender, _receiver) = mpsc::channel(1);
            sender.send(1).await.unwrap();
        })
    });
    is_point(|| {
        Box::pin(async {
            let (sender, mut receiver) = mpsc::unbounded_channel();
            sender.send(1).unwrap();
            assert_eq!(receiver.recv().await, Some(1));
        })
    });
    is_point(|| {
        Box::pin(async {
            let (sender, receiver) = mpmc::bounded(1);
            sender.send(1).await.unwrap();
            assert_eq!(receiver.try_recv(), Ok(1));
        })
    });
    is_point(|| {
        Box::pin(async {
            let (sender, mut receiver) = broadcast::channel(1);
            sender.send(1).unwrap();
            assert_eq!(receiver.recv().await, Ok(1));
        })
    });
}

#[test]
fn tasks_and_timers() {
    is_point(|| Box::pin(async { task::spawn(async {}).await.unwrap() }));
    is_point(|| {
        Box::pin(async {
            let mut set = JoinSet::new();
            set.spawn(async {});
            assert!(set.join_next().await.is_some());
        })
    });
    is_point(|| Box::pin(time::sleep(Duration::ZERO)));
    is_point(|| Box::pin(task::yield_now()));
    is_point(|| Box::pin(task::consume_budget()));
}

/// An operation that needs no `await` is seen before the next one that does.
#[test]
fn a_change_without_an_await_is_followed_by_a_point() {
    let changes: [fn(&Mutex<()>); 6] = [
        |lock| drop(lock.try_lock().unwrap()),
        |_| Notify::new().notify_one(),
        |_| Notify::new().notify_waiters(),
        |_| _ = oneshot::channel().0.send(1),
        |_| CancellationToken::new().cancel(),
        |_| drop(task::spawn(async {})),
    ];
    for change in changes {
        let report = Builder::new().seeds(60).run(move || async move {
            let (between, lock) = (Rc::new(Cell::new(false)), Mutex::new(()));
            let same = between.clone();
            task::spawn_local(async move { sim::sometimes("between", same.get()) });
            task::yield_now().await;
            between.set(true);
            change(&lock);
            // Without the change this would be the first operation of the poll, which is no point.
            drop(lock.lock().await);
            between.set(false);
        });
        assert!(report.never().is_empty());
    }
}

/// The end of a channel is seen before the next operation: both ends, and each kind of channel.
#[test]
fn an_end_that_is_dropped_is_followed_by_a_point() {
    fn between<T: 'static>(name: &'static str, make: fn() -> T, close: fn(&mut T)) {
        let report = Builder::new().seeds(60).run(move || async move {
            let between = Rc::new(Cell::new(false));
            let same = between.clone();
            task::spawn_local(async move { sim::sometimes("between", same.get()) });
            let mut ends = make();
            task::yield_now().await;
            between.set(true);
            close(&mut ends);
            // Without the drop this would be the first operation of the poll, which is no point.
            drop(Mutex::new(()).lock().await);
            between.set(false);
        });
        assert!(report.never().is_empty(), "{name}");
    }
    macro_rules! ends {
        ($($name:literal: $make:expr,)*) => {
            $(
                let make = || {
                    let (sender, receiver) = $make;
                    (Some(sender), Some(receiver))
                };
                between(concat!($name, ", sender"), make, |ends| ends.0 = None);
                between(concat!($name, ", receiver"), make, |ends| ends.1 = None);
            )*
        };
    }
    ends! {
        "mpsc": mpsc::channel::<u8>(1),
        "unbounded mpsc": mpsc::unbounded_channel::<u8>(),
        "mpmc": mpmc::bounded::<u8>(1),
        "oneshot": oneshot::channel::<u8>(),
        "watch": watch::channel(0),
        "broadcast": broadcast::channel::<u8>(1),
    }
    #[cfg(feature = "io-util")]
    ends! { "duplex": blitz_io::io::duplex(1), }
    between(
        "mpsc, close",
        || mpsc::channel::<u8>(1),
        |ends| ends.1.close(),
    );
    between("oneshot, close", oneshot::channel::<u8>, |ends| {
        ends.1.close()
    });
    let make = || {
        let (sender, receiver) = mpsc::channel::<u8>(1);
        (sender.clone().try_reserve_owned().ok(), sender, receiver)
    };
    between("mpsc, permit", make, |ends| ends.0 = None);
}

#[test]
fn an_unconstrained_future_is_not_preempted() {
    let report = Builder::new().seeds(60).run(|| async {
        let between = Rc::new(Cell::new(false));
        let same = between.clone();
        task::spawn_local(async move { sim::sometimes("between", same.get()) });
        task::yield_now().await;
        task::unconstrained(async {
            let lock = Mutex::new(());
            between.set(true);
            for _ in 0..10 {
                drop(lock.lock().await);
            }
            between.set(false);
        })
        .await;
    });
    assert_eq!(report.never(), ["between"]);
}

#[test]
fn an_operation_that_is_turned_away_keeps_its_value() {
    let report = Builder::new().run(|| async {
        let (sender, mut receiver) = mpsc::channel(2);
        for number in 0..3_u32 {
            let sender = sender.clone();
            task::spawn(async move {
                for step in 0..3 {
                    sender.send(number * 3 + step).await.unwrap();
                }
            });
        }
        drop(sender);
        let mut received = Vec::new();
        while let Some(number) = receiver.recv().await {
            received.push(number);
        }
        sim::sometimes("mixed", !received.is_sorted_by_key(|number| number / 3));
        for number in 0..3 {
            let own: Vec<u32> = received
                .iter()
                .copied()
                .filter(|n| n / 3 == number)
                .collect();
            assert!(own.len() == 3 && own.is_sorted());
        }
    });
    assert!(report.never().is_empty());
}

/// A branch behind the preempted branch does nothing in that poll.
#[test]
fn a_preempted_poll_makes_no_other_operation() {
    Builder::new().seeds(200).run(|| async {
        let (first, second) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(false)));
        let (seen_first, seen_second) = (first.clone(), second.clone());
        sim::always("the first branch is first", move || {
            seen_first.get() || !seen_second.get()
        });
        task::spawn(async {});
        task::yield_now().await;
        let lock = Mutex::new(());
        drop(lock.lock().await);
        let one = async {
            drop(lock.lock().await);
            first.set(true);
        };
        let other = async {
            drop(Mutex::new(()).lock().await);
            second.set(true);
        };
        // Unlike `join!`, it always begins with the first one.
        futures_util::future::join(one, other).await;
    });
}

/// The thread is no part of the simulation, but its wake-up comes within a step.
#[test]
fn a_task_that_a_thread_has_woken_is_ready() {
    Builder::new().seeds(100).run(|| async {
        let (sender, receiver) = oneshot::channel();
        let task = task::spawn(async move { assert_eq!(receiver.await, Ok(7)) });
        let other = task::spawn(task::yield_now());
        task::yield_now().await;
        std::thread::scope(|scope| scope.spawn(|| sender.send(7)).join().unwrap()).unwrap();
        task.await.unwrap();
        other.await.unwrap();
    });
}

#[test]
fn a_step_runs_on_any_worker() {
    let report = Builder::new().seeds(60).run(|| async {
        let metrics = runtime::Handle::current().metrics();
        let before = runtime::worker_index().unwrap();
        assert_eq!(runtime::worker_index(), Some(before));
        task::yield_now().await;
        let after = runtime::worker_index().unwrap();
        sim::sometimes("another worker", after != before);
        sim::sometimes("the same worker", after == before);
        assert_eq!(metrics.num_workers(), 4);
        assert!(after < 4);
        assert_eq!(metrics.worker_poll_count(3), 0);
        assert_eq!(metrics.spawned_tasks_count(), 1);
    });
    assert!(report.never().is_empty());
}

#[test]
fn a_local_task_is_one_of_the_simulation_inside_of_a_local_set() {
    let report = Builder::new().seeds(60).run(async || {
        let last = Rc::new(Cell::new(0));
        let spawn = |number| {
            let last = last.clone();
            task::spawn_local(async move { last.set(number) })
        };
        let both = async { [1, 2].map(spawn) };
        for task in task::LocalSet::new().run_until(both).await {
            task.await.unwrap();
        }
        sim::sometimes("the first task is last", last.get() == 1);
        sim::sometimes("the second task is last", last.get() == 2);
    });
    assert!(report.never().is_empty());
}
