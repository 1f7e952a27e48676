//! The end of a multi-thread runtime, with tasks in every state.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use blitz_io_runtime::runtime::{Builder, Runtime};
use blitz_io_runtime::task::JoinHandle;
use blitz_io_runtime::{task, time};
use blitz_io_sync::thread::Mutex;

fn runtime(workers: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .unwrap()
}

/// Counts how many there are.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let before = self.0.fetch_sub(1, Ordering::SeqCst);
        assert_ne!(before, 0, "dropped twice");
    }
}

/// Wakes itself whenever it is polled.
struct Restless;

impl Future for Restless {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Starts tasks in every state that there is, thousands of them.
/// Never drops a join handle, and lets the leak detector know where it is.
fn keep(handle: JoinHandle<()>) {
    static KEPT: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());
    KEPT.lock().push(handle);
}

fn start_all(runtime: &Runtime, count: &Arc<AtomicUsize>) {
    for i in 0..5_000 {
        let counted = Counted::new(count);
        match i % 8 {
            0 => drop(runtime.spawn(async move {
                let _counted = counted;
                pending::<()>().await;
            })),
            1 => drop(runtime.spawn(async move {
                let _counted = counted;
                Restless.await;
            })),
            2 => drop(runtime.spawn(async move {
                let _counted = counted;
                loop {
                    task::yield_now().await;
                }
            })),
            3 => drop(runtime.spawn(async move {
                let _counted = counted;
                time::sleep(Duration::from_secs(3600)).await;
            })),
            // The output is dropped by the task, or kept by a join handle.
            4 => drop(runtime.spawn(async move { counted })),
            5 => keep(runtime.spawn(async move {
                drop(counted);
            })),
            6 => {
                let other = runtime.spawn(pending::<()>());
                drop(runtime.spawn(async move {
                    let _counted = counted;
                    let _never = other.await;
                }));
            }
            _ => drop(runtime.spawn(async move {
                let spawned = task::spawn(async move {
                    let _counted = counted;
                    pending::<()>().await;
                });
                let _never = spawned.await;
            })),
        }
    }
}

#[test]
fn every_task_is_dropped_once() {
    for workers in [1, 2, 8] {
        for pause in [0, 1, 20] {
            let count = Arc::new(AtomicUsize::new(0));
            let runtime = runtime(workers);
            start_all(&runtime, &count);
            std::thread::sleep(Duration::from_millis(pause));
            drop(runtime);
            assert_eq!(count.load(Ordering::SeqCst), 0, "{workers} workers");
        }
    }
}

#[test]
fn a_runtime_that_ends_at_once_drops_its_tasks() {
    for round in 0..200 {
        let count = Arc::new(AtomicUsize::new(0));
        let runtime = runtime(1 + round % 4);
        for _ in 0..round % 5 {
            let counted = Counted::new(&count);
            runtime.spawn(async move {
                let _counted = counted;
                pending::<()>().await;
            });
        }
        drop(runtime);
        assert_eq!(count.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn tasks_are_woken_aborted_and_spawned_while_the_runtime_ends() {
    for _ in 0..20 {
        let count = Arc::new(AtomicUsize::new(0));
        let wakers = Arc::new(Mutex::new(Vec::<Waker>::new()));
        let runtime = runtime(2);
        let handle = runtime.handle().clone();
        let mut aborts = Vec::new();
        for _ in 0..500 {
            let (counted, wakers) = (Counted::new(&count), wakers.clone());
            let mut stored = false;
            let task = runtime.spawn(std::future::poll_fn(move |context| {
                let _counted = &counted;
                if !stored {
                    stored = true;
                    wakers.lock().push(context.waker().clone());
                }
                Poll::<()>::Pending
            }));
            aborts.push(task.abort_handle());
        }
        let end = Arc::new(AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !end.load(Ordering::SeqCst) {
                    let all = wakers.lock().clone();
                    all.iter().for_each(Waker::wake_by_ref);
                }
            });
            scope.spawn(|| aborts.iter().for_each(|task| task.abort()));
            scope.spawn(|| {
                for _ in 0..500 {
                    let counted = Counted::new(&count);
                    handle.spawn(async move {
                        let _counted = counted;
                        pending::<()>().await;
                    });
                }
            });
            drop(runtime);
            end.store(true, Ordering::SeqCst);
        });
        assert_eq!(count.load(Ordering::SeqCst), 0);
        // Wakers that outlive the runtime do nothing.
        wakers.lock().drain(..).for_each(Waker::wake);
        assert!(aborts.iter().all(|task| task.is_finished()));
    }
}

#[test]
fn a_drop_that_spawns_and_wakes_is_heard_out() {
    struct Spawns(Arc<AtomicUsize>);
    impl Drop for Spawns {
        fn drop(&mut self) {
            let counted = Counted::new(&self.0);
            let task = task::spawn(async move {
                let _counted = counted;
                pending::<()>().await;
            });
            assert!(task.is_finished(), "the runtime takes tasks while it ends");
        }
    }
    let count = Arc::new(AtomicUsize::new(0));
    let runtime = runtime(2);
    let started = Arc::new(AtomicUsize::new(0));
    for _ in 0..100 {
        let (spawns, started) = (Spawns(count.clone()), started.clone());
        runtime.spawn(async move {
            let _spawns = spawns;
            started.fetch_add(1, Ordering::SeqCst);
            pending::<()>().await;
        });
    }
    while started.load(Ordering::SeqCst) < 100 {
        std::thread::yield_now();
    }
    drop(runtime);
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[test]
fn a_blocked_worker_holds_nobody_else_up() {
    let count = Arc::new(AtomicUsize::new(0));
    let go_on = Arc::new(AtomicBool::new(false));
    let (blocked, is_blocked) = std::sync::mpsc::channel();
    let runtime = runtime(2);
    let counted = Counted::new(&count);
    let go = go_on.clone();
    runtime.spawn(async move {
        let _counted = counted;
        blocked.send(()).unwrap();
        while !go.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        pending::<()>().await;
    });
    is_blocked.recv().unwrap();
    runtime.shutdown_timeout(Duration::from_millis(50));
    assert_eq!(count.load(Ordering::SeqCst), 1);
    go_on.store(true, Ordering::SeqCst);
    let end = Instant::now() + Duration::from_secs(900);
    while count.load(Ordering::SeqCst) != 0 {
        assert!(Instant::now() < end, "the blocked task is never dropped");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_runtime_can_be_dropped_by_its_own_task() {
    let inner = runtime(2);
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Counted::new(&count);
    let handle = inner.handle().clone();
    let task = handle.spawn(async move {
        let _counted = counted;
        inner.shutdown_background();
        pending::<()>().await;
    });
    let outer = runtime(1);
    let error = outer.block_on(task).unwrap_err();
    assert!(error.is_cancelled());
    let end = Instant::now() + Duration::from_secs(900);
    while count.load(Ordering::SeqCst) != 0 {
        assert!(Instant::now() < end, "the task is never dropped");
        std::thread::yield_now();
    }
}

/// A task waits in a scope for its children, from before or after the end has begun.
#[test]
fn who_blocks_for_a_child_gets_to_the_end() {
    for workers in [1, 2, 4] {
        for before in [true, false] {
            let (begun, has_begun) = mpsc::channel();
            let (closed, is_closed) = mpsc::channel();
            let (ended, has_ended) = mpsc::channel();
            let runtime = runtime(workers);
            runtime.spawn(async move {
                if before {
                    begun.send(()).unwrap();
                }
                task::blocking_scope(|scope| {
                    if !before {
                        begun.send(()).unwrap();
                    }
                    is_closed.recv().unwrap();
                    for _ in 0..10 {
                        scope.spawn(task::yield_now());
                    }
                });
                ended.send(()).unwrap();
            });
            has_begun.recv().unwrap();
            let closing = std::thread::spawn(move || drop(runtime));
            std::thread::sleep(Duration::from_millis(20));
            closed.send(()).unwrap();
            has_ended.recv_timeout(Duration::from_secs(900)).unwrap();
            closing.join().unwrap();
        }
    }
}

/// The runtime ends at any moment of a scope.
#[test]
fn scopes_meet_the_end() {
    for round in 0..200_u64 {
        let runtime = runtime(1 + round as usize % 3);
        for _ in 0..3 {
            runtime.spawn(async {
                loop {
                    task::blocking_scope(|scope| {
                        for _ in 0..3 {
                            scope.spawn(task::yield_now());
                        }
                    });
                    task::yield_now().await;
                }
            });
        }
        let end = Instant::now() + Duration::from_micros(round * 7 % 500);
        while Instant::now() < end {
            std::hint::spin_loop();
        }
        drop(runtime);
    }
}

/// A task has blocked its worker until another task is dropped, which that worker has
/// started and which waits. Other workers drop it.
#[test]
fn a_blocked_worker_may_wait_for_the_end_of_its_own_tasks() {
    let (runtime, count) = (runtime(2), Arc::new(AtomicUsize::new(0)));
    let (ready, is_ready) = mpsc::channel();
    let counted = Counted::new(&count);
    runtime.spawn(async move {
        let (held, until_dropped) = mpsc::channel::<()>();
        let (started, has_started) = mpsc::channel();
        task::spawn(async move {
            let _held = held;
            started.send(()).unwrap();
            pending::<()>().await;
        });
        while has_started.try_recv().is_err() {
            task::yield_now().await;
        }
        ready.send(()).unwrap();
        assert!(until_dropped.recv().is_err());
        drop(counted);
    });
    is_ready.recv().unwrap();
    runtime.shutdown_background();
    let end = Instant::now() + Duration::from_secs(900);
    while count.load(Ordering::SeqCst) != 0 {
        assert!(Instant::now() < end, "the task that waits is never dropped");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A worker is blocked until the end has come, with tasks in its queues.
#[test]
fn what_a_blocked_worker_has_queued_is_dropped_by_others() {
    for round in 0..50 {
        let count = Arc::new(AtomicUsize::new(0));
        let (closing, is_closing) = mpsc::channel();
        let (ended, has_ended) = mpsc::channel();
        let runtime = runtime(2 + round % 3);
        let children: Vec<_> = (0..round).map(|_| Counted::new(&count)).collect();
        let left = count.clone();
        runtime.spawn(async move {
            for child in children {
                task::spawn(async move {
                    let _child = child;
                    pending::<()>().await;
                });
            }
            closing.send(()).unwrap();
            let end = Instant::now() + Duration::from_secs(900);
            while left.load(Ordering::SeqCst) > 0 && Instant::now() < end {
                std::thread::sleep(Duration::from_micros(100));
            }
            ended.send(left.load(Ordering::SeqCst)).unwrap();
        });
        is_closing.recv().unwrap();
        runtime.shutdown_background();
        assert_eq!(has_ended.recv().unwrap(), 0, "tasks that were left");
    }
}

/// A worker that ends the tasks keeps its core: no other thread may acquire it and do the same.
#[test]
fn what_ends_with_the_runtime_may_block_in_place() {
    struct Blocks(#[expect(dead_code, reason = "for its drop")] Counted);

    impl Drop for Blocks {
        fn drop(&mut self) {
            task::block_in_place(|| std::thread::sleep(Duration::from_micros(300)));
        }
    }

    for workers in [1, 2, 3] {
        for round in 0..10 {
            let threads = Arc::new(AtomicUsize::new(0));
            let counted = threads.clone();
            let runtime = Builder::new_multi_thread()
                .worker_threads(workers)
                .on_thread_start(move || _ = counted.fetch_add(1, Ordering::SeqCst))
                .build()
                .unwrap();
            let count = Arc::new(AtomicUsize::new(0));
            let started = Arc::new(AtomicUsize::new(0));
            for _ in 0..20 {
                let (blocks, started) = (Blocks(Counted::new(&count)), started.clone());
                runtime.spawn(async move {
                    let _blocks = blocks;
                    started.fetch_add(1, Ordering::SeqCst);
                    pending::<()>().await;
                });
            }
            // A worker that does not know of the end yet hands its core over, as always.
            let hand_over = round % 2 == 0;
            let metrics = runtime.metrics();
            let is_parked = |worker| metrics.worker_park_unpark_count(worker) % 2 == 1;
            let is_ready = || {
                if hand_over {
                    started.load(Ordering::SeqCst) >= 10
                } else {
                    started.load(Ordering::SeqCst) == 20 && (0..workers).all(is_parked)
                }
            };
            while !is_ready() {
                std::thread::yield_now();
            }
            drop(runtime);
            assert_eq!(count.load(Ordering::SeqCst), 0);
            let threads = threads.load(Ordering::SeqCst);
            assert!(threads == workers || hand_over, "{threads} threads");
        }
    }
}
