//! Scopes that abort all their children.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{hint, thread};

use blitz_io_channel::oneshot;
use blitz_io_runtime::runtime::{Builder, Runtime};
use blitz_io_runtime::task::{
    self, Scope, ScopedJoinHandle, blocking_scope, parallel_scope, scope,
};

fn two_workers() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap()
}

/// Counts how many of it are dropped.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

struct SharedCount(Arc<AtomicUsize>);

impl Drop for SharedCount {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn an_early_return_can_end_the_children_that_borrow() {
    let dropped = AtomicUsize::new(0);
    let result = pollster::block_on(scope(async |s| {
        for _ in 0..3 {
            let counted = Counted(&dropped);
            s.spawn(async move {
                let _counted = counted;
                pending::<()>().await;
            });
        }
        let first = s.spawn(async { "no number".parse::<u32>() });
        let parsed = first.await.unwrap();
        // Its result stays, as it has ended.
        let ended = s.spawn(async { 7 });
        task::yield_now().await;
        assert!(ended.is_finished());
        if parsed.is_err() {
            s.abort_all();
            s.abort_all();
        }
        assert_eq!(ended.await.unwrap(), 7);
        Ok::<u32, std::num::ParseIntError>(parsed? + 1)
    }));
    assert!(result.is_err());
    assert_eq!(dropped.into_inner(), 3);
}

#[test]
fn children_that_are_started_after_all_were_aborted_are_never_polled() {
    let polled = AtomicBool::new(false);
    pollster::block_on(scope(async |s| {
        let new = s.spawn(async { polled.store(true, Ordering::SeqCst) });
        s.abort_all();
        let later = s.spawn(async { polled.store(true, Ordering::SeqCst) });
        assert!(later.is_finished());
        assert!(later.await.unwrap_err().is_cancelled());
        // The body continues, and may wait for children that were aborted.
        assert!(new.await.unwrap_err().is_cancelled());
    }));
    assert!(!polled.into_inner());
}

#[test]
fn a_child_can_abort_all_and_ends_too() {
    let dropped = AtomicUsize::new(0);
    pollster::block_on(scope(async |s| {
        let counted = [(); 2].map(|()| Counted(&dropped));
        let [first, second] = counted;
        s.spawn(async move {
            let _first = first;
            pending::<()>().await;
        });
        let scope = s.clone();
        let waits = s.spawn(async move {
            let _second = second;
            scope.abort_all();
            pending::<()>().await;
        });
        // New, and behind the child that aborts it.
        let unpolled = s.spawn(async {});
        assert!(waits.await.unwrap_err().is_cancelled());
        assert!(unpolled.await.unwrap_err().is_cancelled());
    }));
    assert_eq!(dropped.into_inner(), 2);

    // One that ends in the poll in which it does so has a result.
    let seven = pollster::block_on(scope(async |s| {
        let scope = s.clone();
        let ends = s.spawn(async move {
            scope.abort_all();
            7
        });
        ends.await.unwrap()
    }));
    assert_eq!(seven, 7);
}

#[test]
fn another_thread_can_abort_all_children_of_a_scope_that_waits() {
    let dropped = AtomicUsize::new(0);
    thread::scope(|threads| {
        pollster::block_on(scope(async |s| {
            let (sender, polled) = oneshot::channel();
            let counted = Counted(&dropped);
            s.spawn(async move {
                let _counted = counted;
                sender.send(()).unwrap();
                pending::<()>().await;
            });
            polled.await.unwrap();
            let scope = s.clone();
            threads.spawn(move || scope.abort_all());
        }));
    });
    assert_eq!(dropped.into_inner(), 1);
}

#[test]
fn a_scope_that_has_ended_has_no_children_to_abort() {
    let ended = pollster::block_on(scope(async |s| s.clone()));
    ended.abort_all();
    assert!(ended.spawn(async {}).is_finished());
}

#[test]
fn a_panic_of_a_destructor_is_that_of_its_child() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("of the destructor");
        }
    }
    fn panics<'env>(s: &Scope<'env>) -> ScopedJoinHandle<'env, ()> {
        let panics = Panics;
        s.spawn(async move {
            let _panics = panics;
            pending::<()>().await;
        })
    }
    pollster::block_on(scope(async |s| {
        let child = panics(&s);
        task::yield_now().await;
        s.abort_all();
        assert!(child.await.unwrap_err().is_panic());
    }));
    let unclaimed = std::panic::catch_unwind(|| {
        pollster::block_on(scope(async |s| {
            drop(panics(&s));
            s.abort_all();
        }));
    });
    assert!(unclaimed.is_err());
}

#[test]
fn an_early_return_can_end_the_children_that_run_in_parallel() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let result = two_workers().block_on(parallel_scope(async |scope| {
        for _ in 0..10 {
            let counted = SharedCount(dropped.clone());
            scope.spawn(async move {
                let _counted = counted;
                pending::<()>().await;
            });
        }
        let parsed = scope.spawn(async { "no number".parse::<u32>() });
        let parsed = parsed.await.unwrap();
        if parsed.is_err() {
            scope.abort_all();
        }
        Ok::<u32, std::num::ParseIntError>(parsed? + 1)
    }));
    assert!(result.is_err());
    assert_eq!(dropped.load(Ordering::SeqCst), 10);
}

#[test]
fn a_parallel_child_that_never_waits_ends_by_itself_and_starts_no_others() {
    let is_aborted = Arc::new(AtomicBool::new(false));
    let ran = Arc::new(AtomicBool::new(false));
    two_workers().block_on(parallel_scope(async |scope| {
        let (sender, begun) = oneshot::channel();
        let (is_aborted_too, ran, inner) = (is_aborted.clone(), ran.clone(), scope.clone());
        let child = scope.spawn(async move {
            sender.send(()).unwrap();
            while !is_aborted_too.load(Ordering::Acquire) {
                hint::spin_loop();
            }
            drop(inner.spawn(async {
                task::yield_now().await;
                pending::<()>().await;
            }));
            ran.store(true, Ordering::Release);
        });
        begun.await.unwrap();
        scope.abort_all();
        is_aborted.store(true, Ordering::Release);
        drop(child);
        let later = scope.spawn(pending::<()>());
        assert!(later.await.unwrap_err().is_cancelled());
    }));
    // The scope has waited for it.
    assert!(ran.load(Ordering::Acquire));
}

#[test]
fn a_blocking_scope_can_abort_all_its_children() {
    let runtime = two_workers();
    let dropped = AtomicUsize::new(0);
    let _entered = runtime.enter();
    blocking_scope(|s| {
        let children = [(); 3].map(|()| {
            let counted = Counted(&dropped);
            s.spawn(async move {
                let _counted = counted;
                pending::<()>().await;
            })
        });
        s.abort_all();
        for child in children {
            assert!(s.block_on(child).unwrap_err().is_cancelled());
        }
        let later = s.spawn(pending::<()>());
        assert!(s.block_on(later).unwrap_err().is_cancelled());
    });
    assert_eq!(dropped.into_inner(), 3);
}
