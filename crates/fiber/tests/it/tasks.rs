//! Fibers as tasks: outputs, panics, names, sizes, executors.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use blitz_io::runtime::{self, Runtime};
use blitz_io::sync::{Barrier, Notify, mpsc, oneshot};
use blitz_io::{fiber, task};
use blitz_io_testing::file_of_panic;

fn runtimes() -> [Runtime; 3] {
    let multi = |workers| {
        let mut builder = runtime::Builder::new_multi_thread();
        builder
            .worker_threads(workers)
            .enable_all()
            .build()
            .unwrap()
    };
    let mut current = runtime::Builder::new_current_thread();
    [current.enable_all().build().unwrap(), multi(1), multi(4)]
}

#[test]
fn the_handle_gives_the_output() {
    for runtime in runtimes() {
        let sum = runtime.block_on(async {
            let fibers: Vec<_> = (0..1000).map(|n| fiber::spawn(move || n)).collect();
            let mut sum = 0;
            for fiber in fibers {
                sum += fiber.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, 499_500);
    }
}

#[test]
fn a_panic_is_the_error_of_the_join() {
    for runtime in runtimes() {
        let error = runtime.block_on(async {
            let fiber = fiber::spawn(|| {
                fiber::yield_now();
                std::panic::resume_unwind(Box::new("boom"));
            });
            fiber.await.unwrap_err()
        });
        assert_eq!(error.into_panic().downcast_ref::<&str>(), Some(&"boom"));
        // The stack serves again.
        assert_eq!(
            runtime.block_on(async { fiber::spawn(|| 1).await.unwrap() }),
            1
        );
    }
}

#[test]
fn a_fiber_has_the_runtime_and_the_id_of_its_task() {
    for runtime in runtimes() {
        let handle = runtime.handle().clone();
        runtime.block_on(async {
            let fiber = fiber::spawn(move || {
                let ids = [task::id(), {
                    fiber::yield_now();
                    task::id()
                }];
                assert_eq!(runtime::Handle::current().id(), handle.id());
                let inner = task::spawn(async { 5 });
                assert_eq!(fiber::block_on(inner).unwrap(), 5);
                assert!(fiber::is_fiber());
                ids
            });
            let id = fiber.id();
            assert_eq!(fiber.await.unwrap(), [id, id]);
            assert!(!fiber::is_fiber());
        });
    }
}

#[test]
fn a_fiber_stays_on_its_thread() {
    let [_, _, runtime] = runtimes();
    runtime.block_on(async {
        let fibers: Vec<_> = (0..64)
            .map(|_| {
                fiber::spawn(|| {
                    let local = Rc::new(std::thread::current().id());
                    for round in 0..200 {
                        if round % 2 == 0 {
                            fiber::yield_now();
                        } else {
                            fiber::block_on(async { task::spawn(async {}).await.unwrap() });
                        }
                        assert_eq!(*local, std::thread::current().id());
                    }
                })
            })
            .collect();
        for fiber in fibers {
            fiber.await.unwrap();
        }
    });
}

#[test]
fn a_thread_wakes_fibers_of_sleeping_workers() {
    let [_, one, four] = runtimes();
    for runtime in [one, four] {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let notifies: Vec<_> = (0..16).map(|_| Arc::new(Notify::new())).collect();
        for (number, notify) in notifies.iter().enumerate() {
            let (sender, notify) = (sender.clone(), notify.clone());
            let _guard = runtime.enter();
            fiber::spawn(move || {
                for _ in 0..300 {
                    fiber::block_on(notify.notified());
                    sender.send(number).unwrap();
                }
            });
        }
        for _ in 0..300 {
            for (number, notify) in notifies.iter().enumerate() {
                notify.notify_one();
                assert_eq!(receiver.blocking_recv(), Some(number));
            }
        }
    }
}

#[test]
fn a_fiber_waits_for_a_fiber_within_it() {
    for runtime in runtimes() {
        let sum = runtime.block_on(async {
            let (sender, receiver) = oneshot::channel();
            let outer = fiber::spawn(|| {
                let inner = fiber::run(|| {
                    let innermost = fiber::run(|| fiber::block_on(receiver).unwrap());
                    fiber::yield_now();
                    fiber::block_on(innermost) + 1
                });
                fiber::block_on(inner) + 1
            });
            task::yield_now().await;
            sender.send(40).unwrap();
            outer.await.unwrap()
        });
        assert_eq!(sum, 42);
    }
}

#[test]
fn two_fibers_in_one_task_take_turns() {
    let barrier = Rc::new(Barrier::new(2));
    let waits =
        |barrier: Rc<Barrier>| fiber::run(move || fiber::block_on(barrier.wait()).is_leader());
    let (one, two) = (waits(barrier.clone()), waits(barrier));
    let (one, two) = fiber::block_on(async { blitz_io::join!(one, two) });
    assert!(one != two);
}

/// The fiber goes before the task that has yielded on its thread. While the fiber computes, the other worker runs
/// that task.
#[test]
fn a_fiber_that_computes_delays_no_task_that_has_yielded() {
    let fiber = || {
        let turns = Arc::new(AtomicUsize::new(0));
        let counter = turns.clone();
        let task = task::spawn(async move {
            loop {
                counter.fetch_add(1, Ordering::Relaxed);
                task::yield_now().await;
            }
        });
        fiber::yield_now();
        let before = turns.load(Ordering::Relaxed);
        while turns.load(Ordering::Relaxed) == before {
            std::thread::yield_now();
        }
        task.abort();
    };
    let mut builder = runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).build().unwrap();
    runtime.block_on(async {
        for _ in 0..20 {
            fiber::spawn(fiber).await.unwrap();
        }
    });
}

#[test]
fn other_executors_run_fibers() {
    let fiber = || {
        fiber::run(|| {
            fiber::yield_now();
            let local = Rc::new(6);
            fiber::block_on(async { 7 }) * *local
        })
    };
    assert_eq!(fiber::extent(|| pollster::block_on(fiber())), 42);
    assert_eq!(fiber::block_on(fiber()), 42);
}

#[test]
fn tokio_runs_fibers() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let set = tokio::task::LocalSet::new();
    let main = async {
        let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
        let consumer = tokio::task::spawn_local(fiber::run(move || {
            let mut sum = 0;
            while let Some(number) = fiber::block_on(receiver.recv()) {
                sum += number;
            }
            sum
        }));
        let producer = tokio::task::spawn_local(fiber::run(move || {
            for number in 0..100 {
                fiber::block_on(tokio::time::sleep(std::time::Duration::from_micros(10)));
                fiber::block_on(sender.send(number)).unwrap();
                fiber::yield_now();
            }
        }));
        producer.await.unwrap();
        consumer.await.unwrap()
    };
    let sum = fiber::extent(|| set.block_on(&runtime, main));
    assert_eq!(sum, 4950);
}

#[test]
fn tokio_aborts_fibers() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let set = tokio::task::LocalSet::new();
    let dropped = Rc::new(());
    let held = dropped.clone();
    let main = async {
        let fiber = tokio::task::spawn_local(fiber::run(move || {
            let _held = held;
            fiber::block_on(std::future::pending::<()>());
        }));
        tokio::task::yield_now().await;
        fiber.abort();
        assert!(fiber.await.unwrap_err().is_cancelled());
    };
    fiber::extent(|| set.block_on(&runtime, main));
    assert_eq!(Rc::strong_count(&dropped), 1);
}

#[test]
fn sizes_are_checked() {
    let size = |size| fiber::Builder::new().stack_size(size).run(|| ()).map(drop);
    for bad in [
        0,
        1,
        fiber::MIN_STACK_SIZE - 1,
        fiber::MAX_STACK_SIZE + 1,
        usize::MAX,
    ] {
        let error = size(bad).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
        assert!(error.to_string().contains(&bad.to_string()), "{error}");
    }
    size(fiber::MIN_STACK_SIZE).unwrap();
    size(fiber::MAX_STACK_SIZE).unwrap();
    let guard = |size| fiber::Builder::new().guard_size(size).run(|| ()).map(drop);
    for bad in [fiber::MAX_GUARD_SIZE + 1, usize::MAX] {
        let error = guard(bad).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
        assert!(error.to_string().contains(&bad.to_string()), "{error}");
    }
    guard(0).unwrap();
    guard(fiber::MAX_GUARD_SIZE).unwrap();
}

#[test]
fn a_function_larger_than_the_stack_fits() {
    let large = [7_u8; 100 << 10];
    let function = move || {
        let large = std::hint::black_box(&large);
        large.iter().filter(|&&n| n == 7).count()
    };
    let builder = fiber::Builder::new().stack_size(fiber::MIN_STACK_SIZE);
    assert_eq!(fiber::block_on(builder.run(function).unwrap()), 100 << 10);
}

#[test]
fn outside_of_a_runtime_there_is_an_error() {
    let error = fiber::Builder::new().spawn(|| ()).unwrap_err();
    assert!(error.to_string().contains("no reactor running"), "{error}");
    assert_eq!(file_of_panic(|| fiber::spawn(|| ())), file!());
}

fn depth(left: usize) -> usize {
    let local = [left as u8; 512];
    if left == 0 {
        return 0;
    }
    1 + depth(left - 1) + usize::from(std::hint::black_box(local)[0] == 255 && left == 0)
}

#[test]
fn a_stack_has_the_size_that_was_asked_for() {
    for runtime in runtimes() {
        let builder = fiber::Builder::new().name("deep").stack_size(64 << 20);
        let deep = builder
            .spawn_on(|| depth(40_000), runtime.handle())
            .unwrap();
        assert_eq!(runtime.block_on(deep).unwrap(), 40_000);
    }
}
