//! The end of a runtime: in every state of a task, its future and its output are dropped
//! exactly once, and all its waiters are woken.

use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_runtime::runtime::{Builder, Handle, Runtime};
use blitz_io_runtime::task::{self, JoinHandle};
use blitz_io_runtime::time;
use blitz_io_testing::{Counted, Drops};

fn current() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn multi(workers: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .unwrap()
}

fn each() -> [Runtime; 3] {
    [current(), multi(1), multi(3)]
}

/// Values whose drops are counted, and how many there were.
#[derive(Clone, Default)]
struct Made {
    drops: Drops,
    made: Arc<Mutex<usize>>,
}

impl Made {
    fn one(&self) -> Counted {
        *self.made.lock().unwrap() += 1;
        self.drops.counted(())
    }

    #[track_caller]
    fn all_dropped_once(&self) {
        assert_eq!(self.drops.count(), *self.made.lock().unwrap());
    }
}

/// Runs `act` when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A future that wakes itself each time.
async fn restless() {
    poll_fn(|context| {
        context.waker().wake_by_ref();
        Poll::<()>::Pending
    })
    .await
}

/// Waits for ever, and leaves its waker where others find it.
struct LeavesWaker(Arc<Mutex<Vec<Waker>>>, #[allow(dead_code)] Counted);

impl Future for LeavesWaker {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut wakers = self.0.lock().unwrap();
        if !wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            wakers.push(context.waker().clone());
        }
        Poll::Pending
    }
}

fn quiet_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let text = info
                .payload()
                .downcast_ref::<&str>()
                .copied()
                .unwrap_or_default();
            if !text.starts_with("on purpose") {
                before(info);
            }
        }));
    });
}

/// Starts tasks of all kinds, and gives their handles.
fn all_kinds(
    handle: &Handle,
    made: &Made,
    wakers: &Arc<Mutex<Vec<Waker>>>,
) -> Vec<JoinHandle<Counted>> {
    let _guard = handle.enter();
    let mut tasks = Vec::new();
    let mut start = |future: Pin<Box<dyn Future<Output = ()> + Send>>| {
        let (before, after) = (made.one(), made.one());
        tasks.push(handle.spawn(async move {
            let _before = before;
            future.await;
            after
        }));
    };
    start(Box::pin(async {}));
    start(Box::pin(pending()));
    start(Box::pin(restless()));
    start(Box::pin(async {
        loop {
            task::yield_now().await;
        }
    }));
    start(Box::pin(time::sleep(Duration::from_secs(1000))));
    start(Box::pin(async {
        loop {
            time::sleep(Duration::from_millis(1)).await;
        }
    }));
    start(Box::pin(LeavesWaker(wakers.clone(), made.one())));
    start(Box::pin(async { panic!("on purpose: a future") }));
    let guard = OnDrop(|| panic!("on purpose: a drop"));
    start(Box::pin(async move {
        let _guard = guard;
        pending().await
    }));
    let also = made.clone();
    let guard = OnDrop(move || {
        let value = also.one();
        drop(task::spawn(async move { value }));
    });
    start(Box::pin(async move {
        let _guard = guard;
        pending().await
    }));
    let all = wakers.clone();
    let guard = OnDrop(move || {
        for waker in &*all.lock().unwrap() {
            waker.wake_by_ref();
        }
    });
    start(Box::pin(async move {
        let _guard = guard;
        pending().await
    }));
    let also = made.clone();
    start(Box::pin(async move {
        for _ in 0..200 {
            let value = also.one();
            drop(task::spawn(async move {
                task::yield_now().await;
                value
            }));
            task::yield_now().await;
        }
    }));
    let value = made.one();
    start(Box::pin(async move {
        let inner = task::spawn(async move {
            let _value = value;
            pending::<()>().await
        });
        let _ = inner.await;
    }));
    let value = made.one();
    start(Box::pin(async move {
        task::spawn_blocking(move || drop(value)).await.ok();
    }));
    tasks
}

#[test]
fn tasks_in_every_state() {
    quiet_panics();
    for round in 0..40_u64 {
        for runtime in each() {
            let made = Made::default();
            let wakers = Arc::default();
            let mut tasks = Vec::new();
            for _ in 0..3 {
                tasks.extend(all_kinds(runtime.handle(), &made, &wakers));
            }
            for task in tasks.iter().skip(round as usize % 5).step_by(7) {
                task.abort();
            }
            drop(tasks.split_off(2 * tasks.len() / 3));
            if round % 3 != 0 {
                let time = Duration::from_micros(round * 20);
                let _ = runtime.block_on(async { time::timeout(time, task::yield_now()).await });
                runtime.block_on(async { time::sleep(time).await });
            }
            // Some that most probably have not been polled at all.
            tasks.extend(all_kinds(runtime.handle(), &made, &wakers));
            match round % 4 {
                0 => runtime.shutdown_timeout(Duration::from_secs(100)),
                _ => drop(runtime),
            }
            for task in tasks {
                assert!(task.is_finished());
                task.abort();
                match pollster::block_on(task) {
                    Ok(value) => drop(value),
                    Err(error) => assert!(error.is_cancelled() || error.is_panic()),
                }
            }
            for waker in wakers.lock().unwrap().drain(..) {
                waker.wake_by_ref();
                waker.wake();
            }
            made.all_dropped_once();
        }
    }
}

#[test]
fn others_wake_spawn_and_abort_meanwhile() {
    for round in 0..12_u64 {
        for runtime in each() {
            let made = Made::default();
            let wakers = Arc::<Mutex<Vec<Waker>>>::default();
            let stop = AtomicBool::new(false);
            let handle = runtime.handle().clone();
            for _ in 0..20 {
                drop(runtime.spawn(LeavesWaker(wakers.clone(), made.one())));
            }
            thread::scope(|scope| {
                scope.spawn(|| {
                    while !stop.load(SeqCst) {
                        let some: Vec<_> = wakers.lock().unwrap().iter().cloned().collect();
                        some.iter().for_each(Waker::wake_by_ref);
                    }
                });
                scope.spawn(|| {
                    while !stop.load(SeqCst) {
                        let value = made.one();
                        let task = handle.spawn(async move {
                            let _value = value;
                            pending::<()>().await
                        });
                        task.abort();
                        drop(task);
                        let value = made.one();
                        drop(handle.spawn(async move { value }));
                    }
                });
                runtime.block_on(async { time::sleep(Duration::from_micros(round * 50)).await });
                drop(runtime);
                stop.store(true, SeqCst);
            });
            wakers.lock().unwrap().clear();
            made.all_dropped_once();
        }
    }
}

#[test]
fn who_awaits_hears_of_it() {
    for runtime in each() {
        let task = runtime.spawn(pending::<()>());
        let other = thread::spawn(move || pollster::block_on(task));
        runtime.block_on(task::yield_now());
        drop(runtime);
        assert!(other.join().unwrap().unwrap_err().is_cancelled());
    }
}

#[test]
fn a_task_that_runs_ends_when_it_yields() {
    let runtime = multi(2);
    let (started, has_started) = mpsc::channel();
    let ended = Arc::new(AtomicBool::new(false));
    let tell = ended.clone();
    let task = runtime.spawn(async move {
        started.send(()).unwrap();
        thread::sleep(Duration::from_millis(50));
        tell.store(true, SeqCst);
        let end = Instant::now() + Duration::from_secs(900);
        while Instant::now() < end {
            task::yield_now().await;
        }
        unreachable!("cancelled meanwhile");
    });
    has_started.recv().unwrap();
    drop(runtime);
    assert!(ended.load(SeqCst));
    assert!(pollster::block_on(task).unwrap_err().is_cancelled());
}

#[test]
fn blocking_work_that_has_begun_is_waited_for() {
    for runtime in each() {
        let made = Made::default();
        let (value, output) = (made.one(), made.one());
        let (started, has_started) = mpsc::channel();
        let begun = runtime.spawn_blocking(move || {
            started.send(()).unwrap();
            thread::sleep(Duration::from_millis(30));
            drop(value);
            output
        });
        has_started.recv().unwrap();
        drop(runtime);
        assert!(begun.is_finished());
        drop(pollster::block_on(begun).unwrap());
        made.all_dropped_once();
    }
}

#[test]
fn blocking_work_that_has_not_begun_is_run_or_cancelled() {
    let runtime = Builder::new_current_thread()
        .max_blocking_threads(1)
        .build()
        .unwrap();
    let made = Made::default();
    let (started, has_started) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let begun = runtime.spawn_blocking(move || {
        started.send(()).unwrap();
        may_go_on.recv().unwrap();
    });
    has_started.recv().unwrap();
    let value = made.one();
    let queued = runtime.spawn_blocking(move || drop(value));
    let ended = thread::spawn(move || drop(runtime));
    // The shutdown is in progress, and waits for the running job.
    thread::sleep(Duration::from_millis(20));
    assert!(!ended.is_finished());
    go_on.send(()).unwrap();
    if let Err(error) = pollster::block_on(queued) {
        assert!(error.is_cancelled());
    }
    ended.join().unwrap();
    made.all_dropped_once();
    pollster::block_on(begun).unwrap();
}

#[test]
fn a_time_out_is_kept() {
    for runtime in each() {
        let made = Made::default();
        let (value, output, waits) = (made.one(), made.one(), made.one());
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let (started, has_started) = mpsc::channel();
        let stuck = runtime.spawn_blocking(move || {
            started.send(()).unwrap();
            may_go_on.recv().unwrap();
            drop(value);
            output
        });
        has_started.recv().unwrap();
        let waiting = runtime.spawn(async move {
            let _waits = waits;
            pending::<()>().await
        });
        let before = Instant::now();
        runtime.shutdown_timeout(Duration::from_millis(20));
        assert!(before.elapsed() >= Duration::from_millis(20));
        assert!(pollster::block_on(waiting).unwrap_err().is_cancelled());
        assert!(!stuck.is_finished());
        go_on.send(()).unwrap();
        // The job's thread still runs, so its result comes after the runtime has ended.
        drop(pollster::block_on(stuck).unwrap());
        made.all_dropped_once();
    }
}

#[test]
fn in_the_background_nothing_is_waited_for() {
    for outer in each() {
        for inner in each() {
            let (go_on, may_go_on) = mpsc::channel::<()>();
            let (started, has_started) = mpsc::channel();
            let stuck = inner.spawn_blocking(move || {
                started.send(()).unwrap();
                may_go_on.recv().unwrap();
            });
            has_started.recv().unwrap();
            // Within a task, where waiting is not allowed.
            let task = outer.spawn(async move { inner.shutdown_background() });
            outer.block_on(task).unwrap();
            go_on.send(()).unwrap();
            pollster::block_on(stuck).unwrap();
        }
    }
}

#[test]
fn dropped_within_a_task_it_panics_and_yet_ends() {
    quiet_panics();
    for inner in [current(), multi(2)] {
        let outer = current();
        let made = Made::default();
        let value = made.one();
        let task = inner.spawn(async move {
            let _value = value;
            pending::<()>().await
        });
        let text = outer.block_on(async move {
            let panic = catch_unwind(AssertUnwindSafe(|| drop(inner))).unwrap_err();
            panic
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned())
                .or_else(|| panic.downcast_ref::<String>().cloned())
        });
        let text = text.unwrap();
        assert!(
            text.starts_with("Cannot drop a runtime in a context where blocking"),
            "{text}"
        );
        assert!(pollster::block_on(task).unwrap_err().is_cancelled());
        made.all_dropped_once();
    }
}

#[test]
fn the_last_handle_to_a_runtime_may_be_anywhere() {
    for runtime in each() {
        let handle = runtime.handle().clone();
        let metrics = runtime.metrics();
        let task = runtime.spawn(async move {
            let _handle = handle;
            pending::<()>().await
        });
        drop(runtime);
        assert_eq!(metrics.num_alive_tasks(), 0);
        assert!(pollster::block_on(task).unwrap_err().is_cancelled());
        drop(metrics);
    }
}

#[test]
fn a_runtime_may_end_with_its_thread() {
    thread_local! {
        static KEPT: std::cell::RefCell<Option<(Runtime, JoinHandle<()>)>> =
            const { std::cell::RefCell::new(None) };
    }
    for runtime in each() {
        let made = Made::default();
        let value = made.one();
        thread::spawn(move || {
            let task = runtime.spawn(async move {
                let _value = value;
                pending::<()>().await
            });
            KEPT.set(Some((runtime, task)));
        })
        .join()
        .unwrap();
        made.all_dropped_once();
    }
}

#[test]
fn a_future_that_blocks_is_dropped_when_it_panics() {
    quiet_panics();
    for runtime in each() {
        let made = Made::default();
        let value = made.one();
        let result = catch_unwind(AssertUnwindSafe(|| {
            runtime.block_on(async move {
                let _value = value;
                task::yield_now().await;
                panic!("on purpose: in block_on");
            })
        }));
        assert!(result.is_err());
        made.all_dropped_once();
        assert_eq!(runtime.block_on(async { 1 }), 1);
    }
}

#[test]
fn timers_outlive_their_runtime() {
    for runtime in each() {
        let _guard = runtime.enter();
        let mut sleep = Box::pin(time::sleep(Duration::from_millis(5)));
        drop(_guard);
        let first = poll_fn(|context| Poll::Ready(sleep.as_mut().poll(context)));
        assert!(runtime.block_on(first).is_pending());
        drop(runtime);
        drop(sleep);
    }
}
