//! The scheduler that runs all tasks on the thread in `block_on`.

use std::cell::Cell;
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_runtime::runtime::{Builder, Handle, Runtime, UnhandledPanic};
use blitz_io_runtime::task::LocalSet;
use blitz_io_runtime::{task, time};
use blitz_io_testing::Drops;
use futures_util::stream::{FuturesUnordered, StreamExt};

fn new() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn panic_text(run: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().unwrap()).to_owned(),
    }
}

#[test]
fn tasks_run_on_the_thread_that_blocks() {
    let runtime = new();
    let here = thread::current().id();
    let task = runtime.spawn(async { thread::current().id() });
    assert_eq!(runtime.block_on(task).unwrap(), here);
    let runtime = Arc::new(runtime);
    let other = runtime.clone();
    let task = runtime.spawn(async { thread::current().id() });
    let there = thread::spawn(move || other.block_on(task).unwrap());
    let id = there.thread().id();
    assert_eq!(there.join().unwrap(), id);
    assert_eq!(runtime.metrics().worker_thread_id(0), Some(id));
}

#[test]
fn first_in_first_out() {
    let runtime = new();
    let order = Arc::new(Mutex::new(Vec::new()));
    runtime.block_on(async {
        let tasks: Vec<_> = (0..100)
            .map(|n| {
                let order = order.clone();
                task::spawn(async move {
                    order.lock().unwrap().push(n);
                    task::yield_now().await;
                    order.lock().unwrap().push(100 + n);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    assert!(order.lock().unwrap().iter().copied().eq(0..200));
}

#[test]
fn others_wake_the_thread_that_sleeps() {
    let runtime = new();
    // In both ways: a task that is woken, and the future of `block_on` itself.
    for direct in [false, true] {
        for round in 0..200_u64 {
            let (sender, receiver) = futures_channel(round);
            let waits = receiver;
            let got = if direct {
                runtime.block_on(waits)
            } else {
                let task = runtime.spawn(waits);
                runtime.block_on(task).unwrap()
            };
            assert_eq!(got, round);
            sender.join().unwrap();
        }
    }
}

/// A thread that sends a number after a while, and a future that receives it.
fn futures_channel(number: u64) -> (thread::JoinHandle<()>, impl Future<Output = u64> + Send) {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let thread = thread::spawn(move || {
        thread::sleep(Duration::from_micros(number * 3));
        sender.send(number).unwrap();
    });
    (thread, async move { receiver.await.unwrap() })
}

#[test]
fn others_spawn_while_the_thread_sleeps_or_works() {
    let runtime = new();
    let done = Arc::new(AtomicUsize::new(0));
    const EACH: usize = 2000;
    let threads: Vec<_> = (0..3)
        .map(|n| {
            let (handle, done) = (runtime.handle().clone(), done.clone());
            thread::spawn(move || {
                for i in 0..EACH {
                    let done = done.clone();
                    drop(handle.spawn(async move {
                        task::yield_now().await;
                        done.fetch_add(1, SeqCst);
                    }));
                    if i % 50 == n {
                        thread::sleep(Duration::from_micros(200));
                    }
                }
            })
        })
        .collect();
    runtime.block_on(async {
        while done.load(SeqCst) < 3 * EACH {
            time::sleep(Duration::from_millis(1)).await;
        }
    });
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    let metrics = runtime.metrics();
    assert_eq!(metrics.spawned_tasks_count(), 3 * EACH as u64);
    assert!(metrics.remote_schedule_count() >= 3 * EACH as u64);
    assert!(metrics.worker_poll_count(0) >= 6 * EACH as u64);
    assert_eq!(metrics.num_alive_tasks(), 0);
}

#[test]
fn a_busy_task_keeps_nobody_waiting() {
    let runtime = new();
    let polls = Arc::new(AtomicUsize::new(0));
    let count = polls.clone();
    runtime.spawn(poll_fn(move |context| {
        count.fetch_add(1, SeqCst);
        context.waker().wake_by_ref();
        Poll::<()>::Pending
    }));
    runtime.block_on(async {
        // Timers,
        time::sleep(Duration::from_millis(5)).await;
        // tasks from elsewhere,
        let handle = Handle::current();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        thread::spawn(move || drop(handle.spawn(async { sender.send(()).unwrap() })));
        receiver.await.unwrap();
        // and the future of `block_on`.
        let before = polls.load(SeqCst);
        task::yield_now().await;
        assert!(polls.load(SeqCst) - before <= 61);
    });
}

#[test]
fn a_future_that_yields_leaves_timers_their_turn() {
    let runtime = new();
    runtime.block_on(async {
        let timer = task::spawn(time::sleep(Duration::from_millis(5)));
        while !timer.is_finished() {
            task::yield_now().await;
        }
    });
}

#[test]
fn who_yields_has_its_turn_though_others_never_wait() {
    let runtime = new();
    runtime.spawn(poll_fn(|context| {
        context.waker().wake_by_ref();
        Poll::<()>::Pending
    }));
    let yields = runtime.spawn(async {
        for _ in 0..20 {
            task::yield_now().await;
        }
    });
    runtime.block_on(yields).unwrap();
}

#[test]
fn yields_within_other_wakers() {
    // These wake their own task through a waker of theirs.
    new().block_on(async {
        let mut all: FuturesUnordered<_> = (0..50)
            .map(|n| async move {
                for _ in 0..n {
                    task::yield_now().await;
                }
                n
            })
            .collect();
        let mut sum = 0;
        while let Some(n) = all.next().await {
            sum += n;
        }
        assert_eq!(sum, (0..50).sum::<i32>());
        let in_task = task::spawn(async {
            let mut all: FuturesUnordered<_> = (0..50).map(|_| task::yield_now()).collect();
            let mut count = 0;
            while all.next().await.is_some() {
                count += 1;
            }
            count
        });
        assert_eq!(in_task.await.unwrap(), 50);
        let joined = task::spawn(async {
            futures_util::future::join(task::yield_now(), task::yield_now()).await
        });
        joined.await.unwrap();
    });
}

#[test]
fn many_threads_take_turns() {
    let runtime = Arc::new(new());
    let turns = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..6_u64)
        .map(|n| {
            let (runtime, turns) = (runtime.clone(), turns.clone());
            thread::spawn(move || {
                for i in 0..100 {
                    let counts = turns.clone();
                    let got = runtime.block_on(async move {
                        let task = task::spawn(async move {
                            if i % 10 == n {
                                time::sleep(Duration::from_micros(300)).await;
                            }
                            counts.fetch_add(1, SeqCst);
                            n + i
                        });
                        task.await.unwrap()
                    });
                    assert_eq!(got, n + i);
                }
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    assert_eq!(turns.load(SeqCst), 600);
}

#[test]
fn who_waits_for_its_turn_takes_it_when_the_other_leaves() {
    let runtime = Arc::new(new());
    for _ in 0..50 {
        let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
        let (begun, has_begun) = mpsc::channel();
        let other = runtime.clone();
        // Drives the runtime, until it gets a message.
        let driver = thread::spawn(move || {
            other.block_on(async {
                begun.send(()).unwrap();
                receiver.await.unwrap();
            })
        });
        has_begun.recv().unwrap();
        let other = runtime.clone();
        let waiter = thread::spawn(move || {
            other.block_on(async {
                // Once the first thread has left, only the thread that drives the runtime
                // completes this.
                for _ in 0..20 {
                    task::spawn(task::yield_now()).await.unwrap();
                    time::sleep(Duration::from_micros(100)).await;
                }
            })
        });
        thread::sleep(Duration::from_micros(500));
        sender.send(()).unwrap();
        driver.join().unwrap();
        waiter.join().unwrap();
    }
}

#[test]
fn wakers_of_block_on_may_outlive_the_runtime() {
    let runtime = new();
    let kept: Arc<Mutex<Vec<Waker>>> = Arc::default();
    runtime.block_on(poll_fn(|context| {
        let mut kept = kept.lock().unwrap();
        kept.push(context.waker().clone());
        assert!(kept[0].will_wake(context.waker()));
        if kept.len() < 3 {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    }));
    drop(runtime);
    for waker in kept.lock().unwrap().drain(..) {
        waker.wake_by_ref();
        waker.wake();
    }
}

#[test]
fn a_panic_may_end_the_runtime() {
    let runtime = Builder::new_current_thread()
        .unhandled_panic(UnhandledPanic::ShutdownRuntime)
        .build()
        .unwrap();
    let drops = Drops::new();
    let value = drops.counted(());
    let other = runtime.spawn(async move {
        let _value = value;
        pending::<()>().await
    });
    let text = panic_text(|| {
        runtime.block_on(async {
            drop(task::spawn(async { panic!("boom") }));
            pending::<()>().await
        })
    });
    assert_eq!(
        text,
        "a spawned task panicked and the runtime is configured to shut down on unhandled panic"
    );
    assert_eq!(drops.count(), 1);
    assert!(pollster::block_on(other).unwrap_err().is_cancelled());
    let late = runtime.spawn(async {});
    assert!(pollster::block_on(late).unwrap_err().is_cancelled());
    panic_text(|| runtime.block_on(pending()));
}

#[test]
fn a_panic_may_be_ignored() {
    let runtime = Builder::new_current_thread()
        .unhandled_panic(UnhandledPanic::Ignore)
        .build()
        .unwrap();
    runtime.block_on(async {
        assert!(
            task::spawn(async { panic!("boom") })
                .await
                .unwrap_err()
                .is_panic()
        );
        assert_eq!(task::spawn(async { 1 }).await.unwrap(), 1);
    });
}

#[test]
fn a_paused_clock_jumps_when_there_is_nothing_to_do() {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let begin = time::Instant::now();
        let sleeps: Vec<_> = (1..=5)
            .map(|n| task::spawn(time::sleep(Duration::from_secs(n * 1000))))
            .collect();
        for sleep in sleeps {
            sleep.await.unwrap();
        }
        assert_eq!(begin.elapsed().as_secs(), 5000);
        time::advance(Duration::from_secs(1)).await;
        assert_eq!(begin.elapsed().as_secs(), 5001);
    });
}

#[test]
fn a_paused_clock_waits_for_blocking_work() {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let begin = time::Instant::now();
        let work = task::spawn_blocking(|| thread::sleep(Duration::from_millis(20)));
        let limit = time::timeout(Duration::from_secs(3600), work);
        limit.await.unwrap().unwrap();
        assert!(begin.elapsed() < Duration::from_secs(3600));
    });
}

#[test]
fn hooks_see_the_thread_sleep() {
    let (parks, unparks) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (count_parks, count_unparks) = (parks.clone(), unparks.clone());
    let spawned = Arc::new(AtomicBool::new(false));
    let spawns = spawned.clone();
    let runtime = Builder::new_current_thread()
        .enable_time()
        .on_thread_park(move || {
            if count_parks.fetch_add(1, SeqCst) == 0 {
                // Work that comes from the hook is done before the thread sleeps.
                let spawns = spawns.clone();
                task::spawn(async move { spawns.store(true, SeqCst) });
            }
        })
        .on_thread_unpark(move || {
            count_unparks.fetch_add(1, SeqCst);
        })
        .build()
        .unwrap();
    // A timer that is due when the hook has run keeps the thread awake.
    let end = Instant::now() + Duration::from_secs(900);
    let is_done = || parks.load(SeqCst) >= 2 && spawned.load(SeqCst);
    while !is_done() && Instant::now() < end {
        runtime.block_on(async { time::sleep(Duration::from_millis(5)).await });
    }
    assert!(spawned.load(SeqCst));
    assert!(parks.load(SeqCst) >= 2);
    assert_eq!(parks.load(SeqCst), unparks.load(SeqCst));
    assert!(runtime.metrics().worker_park_count(0) >= 1);
    assert_eq!(runtime.metrics().worker_park_unpark_count(0) % 2, 0);
}

#[test]
fn a_runtime_within_blocking_work_within_a_runtime() {
    let outer = new();
    let sum = outer.block_on(async {
        let inner = task::spawn_blocking(|| {
            let inner = new();
            let task = inner.spawn(async { 20 });
            inner.block_on(async { task.await.unwrap() + 1 })
        });
        inner.await.unwrap() + 21
    });
    assert_eq!(sum, 42);
}

#[test]
fn an_entered_runtime_is_not_the_one_that_runs() {
    let (one, other) = (new(), new());
    one.block_on(async {
        let guard = other.enter();
        let there = task::spawn(async { 1 });
        assert_eq!(other.metrics().num_alive_tasks(), 1);
        assert_eq!(one.metrics().num_alive_tasks(), 0);
        drop(guard);
        let here = task::spawn(async { 2 });
        assert_eq!(here.await.unwrap(), 2);
        assert!(!there.is_finished());
    });
    other.block_on(async {});
    other.block_on(task::yield_now());
    assert_eq!(other.metrics().num_alive_tasks(), 0);
}

#[test]
fn values_that_may_not_be_sent_stay() {
    let cell = Cell::new(1);
    let sum = new().block_on(async {
        let inside = &cell;
        task::yield_now().await;
        inside.set(inside.get() + 1);
        inside.get()
    });
    assert_eq!((sum, cell.get()), (2, 2));
}

#[test]
fn large_futures() {
    let large = [7_u8; 100_000];
    let runtime = new();
    let task = runtime.spawn(async move {
        task::yield_now().await;
        large.iter().map(|&n| u64::from(n)).sum::<u64>()
    });
    assert_eq!(runtime.block_on(task).unwrap(), 700_000);
}

#[test]
fn what_has_been_done_is_counted() {
    let runtime = new();
    let metrics = runtime.metrics();
    runtime.block_on(async {
        let tasks: Vec<_> = (0..10).map(|_| task::spawn(task::yield_now())).collect();
        assert_eq!(metrics.worker_local_queue_depth(0), 10);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(metrics.worker_local_queue_depth(0), 0);
    });
    assert_eq!(metrics.worker_local_schedule_count(0), 10);
    assert_eq!(metrics.spawned_tasks_count(), 10);
    assert_eq!(metrics.remote_schedule_count(), 0);
    assert_eq!(metrics.worker_poll_count(0), 20);
    let busy = metrics.worker_total_busy_duration(0);
    let mean = metrics.worker_mean_poll_time(0);
    assert!(
        Duration::ZERO < mean && mean <= busy,
        "{mean:?} of {busy:?}"
    );

    // One that another task wakes.
    let (sender, receiver) = tokio::sync::oneshot::channel();
    runtime.block_on(async {
        let waits = task::spawn(receiver);
        task::yield_now().await;
        task::spawn(async move { sender.send(()) });
        waits.await.unwrap().unwrap();
    });
    assert_eq!(metrics.worker_local_schedule_count(0), 13);

    // Those that are still queued at the end.
    runtime.block_on(async { drop(task::spawn(pending::<()>())) });
    assert_eq!(metrics.worker_local_queue_depth(0), 1);
    drop(runtime);
    assert_eq!(metrics.worker_local_queue_depth(0), 0);
}

#[test]
fn who_spends_its_budget_is_counted() {
    async fn spends(times: usize) {
        for _ in 0..times * 128 {
            task::consume_budget().await;
        }
    }
    let (runtime, other) = (new(), new());
    let metrics = runtime.metrics();
    runtime.block_on(spends(1));
    assert_eq!(metrics.budget_forced_yield_count(), 0);
    // The future itself, and a task.
    runtime.block_on(spends(3));
    assert_eq!(metrics.budget_forced_yield_count(), 2);
    runtime.block_on(async { task::spawn(spends(2)).await.unwrap() });
    assert_eq!(metrics.budget_forced_yield_count(), 3);
    // Yields of another runtime on this thread are not this one's.
    other.block_on(spends(2));
    runtime.block_on(task::yield_now());
    assert_eq!(metrics.budget_forced_yield_count(), 3);
    assert_eq!(other.metrics().budget_forced_yield_count(), 1);
}

/// A set that ends for a panic drops its other tasks first, and takes in no more; one that
/// does not end continues.
#[test]
fn a_panic_ends_a_set_of_local_tasks_if_it_is_to() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let mut set = LocalSet::new();
    set.unhandled_panic(UnhandledPanic::ShutdownRuntime);
    let held = Rc::new(());
    let other = held.clone();
    let waiting = set.spawn_local(async move {
        std::future::pending::<()>().await;
        drop(other);
    });
    let panics = set.spawn_local(async { panic!("boom") });
    for _ in 0..2 {
        let ran = AssertUnwindSafe(|| set.block_on(&runtime, std::future::pending::<()>()));
        let panic = catch_unwind(ran).unwrap_err();
        let said = panic.downcast_ref::<&str>().unwrap();
        assert!(
            said.contains("configured to shutdown on unhandled panic"),
            "{said}"
        );
        assert_eq!(Rc::strong_count(&held), 1);
    }
    assert!(runtime.block_on(waiting).unwrap_err().is_cancelled());
    assert!(runtime.block_on(panics).unwrap_err().is_panic());
    let late = set.spawn_local(async {});
    assert!(runtime.block_on(late).unwrap_err().is_cancelled());
    drop(set);

    let mut set = LocalSet::new();
    set.unhandled_panic(UnhandledPanic::Ignore);
    let panics = set.spawn_local(async { panic!("boom") });
    let joined = set.block_on(&runtime, panics);
    assert!(joined.unwrap_err().is_panic());
    assert_eq!(set.block_on(&runtime, async { 7 }), 7);
}

/// Another thread may have woken a task of a set that ends, and not have put it into the
/// set's queue yet: the set waits for that.
#[test]
fn a_set_ends_while_others_wake_its_tasks() {
    let wakers: Mutex<Vec<Waker>> = Mutex::default();
    let done = AtomicBool::new(false);
    let held = Rc::new(());
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(SeqCst) {
                    let wakers = wakers.lock().unwrap().clone();
                    wakers.iter().for_each(Waker::wake_by_ref);
                }
            });
        }
        let runtime = new();
        for _ in 0..500 {
            let set = LocalSet::new();
            let (found, finds) = mpsc::channel();
            for _ in 0..8 {
                let (held, found) = (held.clone(), found.clone());
                set.spawn_local(poll_fn(move |cx| {
                    _ = (&held, found.send(cx.waker().clone()));
                    Poll::<()>::Pending
                }));
            }
            set.block_on(&runtime, task::yield_now());
            *wakers.lock().unwrap() = finds.try_iter().collect();
            set.block_on(&runtime, task::yield_now());
            drop(set);
            assert_eq!(Rc::strong_count(&held), 1);
        }
        done.store(true, SeqCst);
    });
}
