//! Where a fiber may wait, and where it may not.

use std::panic::{AssertUnwindSafe, catch_unwind};

use blitz_io::runtime::{Builder, Handle, Runtime};
use blitz_io::{fiber, task, task_local};

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

fn message(result: std::thread::Result<()>) -> String {
    let payload = result.unwrap_err();
    (payload.downcast_ref::<&str>().map(ToString::to_string))
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap()
}

const NESTED: &str = "Cannot start a runtime from within a runtime";

#[test]
fn a_task_that_is_no_fiber_may_not_block() {
    let runtime = runtime();
    let panicked = runtime.block_on(runtime.spawn(async {
        message(catch_unwind(|| {
            fiber::block_on(std::future::pending::<()>())
        }))
    }));
    assert!(panicked.unwrap().starts_with(NESTED));
}

#[test]
fn a_future_that_a_fiber_waits_for_may_not_suspend_it() {
    let runtime = runtime();
    runtime.block_on(async {
        let fiber = fiber::spawn(|| {
            let nested = async { message(catch_unwind(|| fiber::block_on(async {}))) };
            let message = fiber::block_on(nested);
            // The fiber may wait again.
            fiber::yield_now();
            message
        });
        assert!(fiber.await.unwrap().starts_with(NESTED));
    });
}

#[test]
fn a_fiber_may_not_wait_with_a_guard() {
    let runtime = runtime();
    runtime.block_on(async {
        let fiber = fiber::spawn(|| {
            let handle = Handle::current();
            let guard = handle.enter();
            let panicked = catch_unwind(AssertUnwindSafe(fiber::yield_now));
            drop(guard);
            fiber::yield_now();
            message(panicked)
        });
        assert!(
            fiber
                .await
                .unwrap()
                .contains("holds the guard of `Handle::enter`")
        );
    });
}

#[test]
fn a_local_set_in_a_fiber_does_not_suspend_it() {
    let runtime = runtime();
    runtime.block_on(async {
        let fiber = fiber::spawn(|| {
            let set = task::LocalSet::new();
            let local = set.spawn_local(async { message(catch_unwind(fiber::yield_now)) });
            fiber::block_on(set);
            fiber::block_on(local).unwrap()
        });
        assert!(fiber.await.unwrap().starts_with(NESTED));
    });
}

#[test]
fn a_fiber_runs_a_runtime_in_block_in_place() {
    let outer = runtime();
    outer.block_on(async {
        let fiber = fiber::spawn(|| {
            let value = task::block_in_place(|| {
                let inner = Builder::new_current_thread().build().unwrap();
                inner.block_on(async {
                    let panicked = message(catch_unwind(fiber::yield_now));
                    assert!(panicked.starts_with(NESTED) || panicked.contains("guard"));
                    fiber::spawn(|| {
                        fiber::yield_now();
                        8
                    })
                    .await
                    .unwrap()
                })
            });
            fiber::yield_now();
            value
        });
        assert_eq!(fiber.await.unwrap(), 8);
    });
}

#[test]
fn a_destructor_of_an_output_may_wait() {
    struct Waits;
    impl Drop for Waits {
        fn drop(&mut self) {
            if fiber::is_fiber() {
                let id = task::id();
                fiber::yield_now();
                assert_eq!(task::id(), id);
            }
        }
    }

    let runtime = runtime();
    runtime.block_on(async {
        let fiber = fiber::spawn(|| {
            let own = task::id();
            let done = task::spawn(async { Waits });
            while !done.is_finished() {
                fiber::yield_now();
            }
            drop(done);
            assert_eq!(task::id(), own);
            fiber::yield_now();
        });
        fiber.await.unwrap();
    });
}

task_local! {
    static NUMBER: u32;
}

#[test]
fn a_scope_around_a_fiber_is_seen_in_it() {
    let set = task::LocalSet::new();
    let runtime = Builder::new_current_thread().build().unwrap();
    set.block_on(&runtime, async {
        let fibers: Vec<_> = (0..4)
            .map(|number| {
                let fiber = fiber::run(move || {
                    for _ in 0..10 {
                        fiber::yield_now();
                        assert_eq!(NUMBER.get(), number);
                    }
                });
                task::spawn_local(NUMBER.scope(number, fiber))
            })
            .collect();
        for fiber in fibers {
            fiber.await.unwrap();
        }
        // And a scope around the future that it waits for.
        let inner = fiber::run(|| {
            fiber::block_on(NUMBER.scope(5, async {
                task::yield_now().await;
                NUMBER.get()
            }))
        });
        assert_eq!(inner.await, 5);
    });
}

#[test]
fn a_fiber_yields_when_its_budget_is_used_up() {
    let runtime = Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (sender, mut receiver) = blitz_io::sync::mpsc::unbounded_channel();
        (0..10_000).for_each(|n| sender.send(n).unwrap());
        drop(sender);
        let fiber = fiber::spawn(move || while fiber::block_on(receiver.recv()).is_some() {});
        task::yield_now().await;
        assert!(!fiber.is_finished());
        fiber.await.unwrap();
    });
}
