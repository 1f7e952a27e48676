//! Parallel work that a task awaits.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

use blitz_io::runtime::Builder;
use blitz_io_pool::{Run, ThreadPool, ThreadPoolBuilder};

use crate::join::pool;

/// A result that reports in which thread it is dropped.
struct Dropped(mpsc::Sender<ThreadId>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.send(thread::current().id()).unwrap();
    }
}

/// Starts a closure in `pool` that ends when `end` is reached a second time. Returns its
/// future.
fn begun<R: Send + 'static>(
    pool: &ThreadPool,
    end: &Arc<Barrier>,
    result: impl FnOnce() -> R + Send + 'static,
) -> Run<R> {
    let (began, end) = (Arc::new(Barrier::new(2)), end.clone());
    let begins = began.clone();
    let future = pool.run(move || {
        begins.wait();
        end.wait();
        result()
    });
    began.wait();
    future
}

#[test]
fn a_task_gets_the_result() {
    let two = pool(2);
    let sum =
        pollster::block_on(two.run(|| blitz_io_pool::map_reduce(0..101, 1, |n| n, |a, b| a + b)));
    assert_eq!(sum, Some(5050));
}

#[test]
fn a_panic_goes_on_in_the_task() {
    let two = pool(2);
    let result = panic::catch_unwind(AssertUnwindSafe(|| {
        pollster::block_on(two.run(|| panic!("in the pool")));
    }));
    assert!(result.is_err());
    assert_eq!(pollster::block_on(two.run(|| 1)), 1);
}

#[test]
fn what_is_cancelled_before_it_begins_never_runs() {
    let one = pool(1);
    let (busy, ran) = (Arc::new(Barrier::new(2)), Arc::new(AtomicUsize::new(0)));
    let gate = busy.clone();
    one.spawn(move || {
        gate.wait();
    });
    let counter = ran.clone();
    drop(one.run(move || counter.fetch_add(1, Ordering::Relaxed)));
    busy.wait();
    assert_eq!(pollster::block_on(one.run(|| 2)), 2);
    assert_eq!(ran.load(Ordering::Relaxed), 0);
}

#[test]
fn a_scope_is_awaited_with_all_of_its_jobs() {
    let (sender, receiver) = mpsc::channel();
    pollster::block_on(pool(2).scope_async(move |scope| {
        for n in 0..10 {
            let sender = sender.clone();
            scope.spawn(move |_| sender.send(n).unwrap());
        }
    }));
    assert_eq!(receiver.into_iter().count(), 10);
}

#[test]
fn what_is_cancelled_after_it_began_runs_to_its_end_and_its_result_is_dropped_there() {
    let (one, end) = (pool(1), Arc::new(Barrier::new(2)));
    let worker = one.install(|| thread::current().id());
    let (sender, dropped) = mpsc::channel();
    let result = Dropped(sender);
    drop(begun(&one, &end, || result));
    assert!(dropped.try_recv().is_err(), "it has not ended");
    end.wait();
    assert_eq!(dropped.recv(), Ok(worker));
    assert_eq!(pollster::block_on(one.run(|| 2)), 2);
}

#[test]
fn a_task_that_is_aborted_leaves_its_closure_to_the_pool() {
    let (one, end) = (pool(1), Arc::new(Barrier::new(2)));
    let (sender, dropped) = mpsc::channel();
    let result = Dropped(sender);
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let future = begun(&one, &end, || result);
    let task = runtime.spawn(async move { drop(future.await) });
    task.abort();
    assert!(runtime.block_on(task).unwrap_err().is_cancelled());
    assert!(dropped.try_recv().is_err(), "it has not ended");
    end.wait();
    dropped.recv_timeout(Duration::from_secs(900)).unwrap();
}

#[test]
fn a_scope_whose_task_is_gone_waits_for_the_jobs_that_borrow_from_it() {
    let (two, end) = (pool(2), Arc::new(Barrier::new(2)));
    let (began, ended) = (Arc::new(Barrier::new(2)), Arc::new(AtomicUsize::new(0)));
    let (sender, dropped) = mpsc::channel();
    let (begins, ends, count) = (began.clone(), end.clone(), ended.clone());
    let future = two.scope_async(move |_| {
        // Dropped when the inner scope, which borrows it, has ended.
        let (borrowed, gates) = (Dropped(sender), (begins, ends));
        blitz_io_pool::scope(|scope| {
            scope.spawn(|_| {
                let _: &Dropped = &borrowed;
                gates.0.wait();
                gates.1.wait();
                count.fetch_add(1, Ordering::SeqCst);
            });
        });
    });
    began.wait();
    drop(future);
    assert!(dropped.try_recv().is_err(), "a job borrows it");
    end.wait();
    dropped.recv_timeout(Duration::from_secs(900)).unwrap();
    assert_eq!(ended.load(Ordering::SeqCst), 1);
}

#[test]
fn a_panic_that_no_task_waits_for_any_more_is_dropped_with_its_result() {
    let end = Arc::new(Barrier::new(2));
    let (sender, told) = mpsc::channel();
    let sender = Mutex::new(sender);
    let one = ThreadPoolBuilder::new()
        .num_threads(1)
        .panic_handler(move |_| sender.lock().unwrap().send(()).unwrap())
        .build()
        .unwrap();
    drop(begun(&one, &end, || panic!("for nobody")));
    end.wait();
    assert_eq!(pollster::block_on(one.run(|| 3)), 3);
    assert!(told.try_recv().is_err(), "it was caught for the task");

    struct PanicsWhenDropped;
    impl Drop for PanicsWhenDropped {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    drop(begun(&one, &end, || PanicsWhenDropped));
    end.wait();
    assert_eq!(told.recv(), Ok(()));
    assert_eq!(pollster::block_on(one.run(|| 4)), 4);
}

#[test]
fn a_panic_of_a_scopes_job_goes_on_in_the_task() {
    let two = pool(2);
    let result = panic::catch_unwind(AssertUnwindSafe(|| {
        pollster::block_on(two.scope_async(|scope| scope.spawn(|_| panic!("a job"))));
    }));
    let payload = result.unwrap_err();
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"a job"));
}

#[test]
fn a_pool_that_is_dropped_still_runs_what_a_task_awaits() {
    let (one, end) = (pool(1), Arc::new(Barrier::new(2)));
    let (first, second) = (begun(&one, &end, || 1), one.run(|| 2));
    drop(one);
    end.wait();
    assert_eq!(pollster::block_on(first) + pollster::block_on(second), 3);
}
