//! hyper's traits on this runtime, and hyper itself.
#![cfg(feature = "hyper")]

use std::cell::Cell;
use std::future::{Future, pending};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use blitz_io_runtime::hyper::{BlitzExecutor, BlitzLocalExecutor, BlitzTimer};
use blitz_io_runtime::runtime::{Builder, Runtime};
use blitz_io_runtime::task::{self, LocalSet};
use blitz_io_runtime::time;
use blitz_io_testing::{implements, poll_once};
use hyper::rt::{Executor, Sleep, Timer};
use tokio::sync::oneshot;

const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(5);

fn current() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

fn multi() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).enable_time().build().unwrap()
}

/// As hyper does it: with no more than the trait.
async fn through(executor: impl Executor<Pin<Box<dyn Future<Output = ()> + Send>>>) -> u32 {
    let (sender, receiver) = oneshot::channel();
    executor.execute(Box::pin(async move { sender.send(7).unwrap() }));
    receiver.await.unwrap()
}

#[test]
fn tasks_are_started() {
    for runtime in [current(), multi()] {
        assert_eq!(runtime.block_on(through(BlitzExecutor::new())), 7);
        let handle = runtime.handle().clone();
        assert_eq!(runtime.block_on(through(handle)), 7);
    }
}

#[test]
fn a_handle_starts_tasks_from_outside() {
    let runtime = multi();
    let (sender, receiver) = oneshot::channel();
    Executor::execute(runtime.handle(), async move { sender.send(8).unwrap() });
    assert_eq!(pollster::block_on(receiver), Ok(8));
}

#[test]
#[should_panic = "there is no reactor running"]
fn there_must_be_a_runtime() {
    BlitzExecutor::new().execute(async {});
}

#[test]
fn local_tasks_are_started() {
    let (runtime, set, sum) = (current(), LocalSet::new(), Rc::new(Cell::new(0)));
    let add = |more| {
        let sum = sum.clone();
        async move { sum.set(sum.get() + more) }
    };
    set.execute(add(1));
    set.block_on(&runtime, async {
        BlitzLocalExecutor::new().execute(add(10));
    });
    runtime.block_on(set);
    assert_eq!(sum.get(), 11);
}

#[test]
fn sleeps_end() {
    for runtime in [current(), multi()] {
        runtime.block_on(async {
            let timer = BlitzTimer::new();
            let began = Instant::now();
            timer.sleep(SHORT).await;
            assert!(began.elapsed() >= SHORT);
            timer.sleep_until(Instant::now() + SHORT).await;
            assert!(began.elapsed() >= 2 * SHORT);
            assert!(timer.now() >= began + 2 * SHORT);
        });
    }
}

#[test]
fn sleeps_are_reset_in_place() {
    current().block_on(async {
        let timer = BlitzTimer::new();
        let mut sleep = timer.sleep(LONG);
        let address = std::ptr::from_ref(&*sleep).cast::<()>();
        assert!(poll_once(sleep.as_mut(), Waker::noop()).is_pending());
        timer.reset(&mut sleep, Instant::now() + SHORT);
        assert_eq!(address, std::ptr::from_ref(&*sleep).cast());
        let began = Instant::now();
        sleep.as_mut().await;
        assert!(began.elapsed() < LONG);
        // A second time, after it has ended.
        timer.reset(&mut sleep, Instant::now() + SHORT);
        assert!(poll_once(sleep.as_mut(), Waker::noop()).is_pending());
        sleep.await;
    });
}

/// A sleep of another timer.
struct Foreign;

impl Future for Foreign {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut std::task::Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

impl Sleep for Foreign {}

#[test]
fn a_foreign_sleep_is_replaced() {
    current().block_on(async {
        let mut sleep: Pin<Box<dyn Sleep>> = Box::pin(Foreign);
        BlitzTimer::new().reset(&mut sleep, Instant::now() + SHORT);
        sleep.await;
    });
}

#[test]
fn the_clock_can_stand_still() {
    let mut builder = Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let (timer, began) = (BlitzTimer::new(), Instant::now());
        let before = timer.now();
        timer.sleep(LONG).await;
        assert!(timer.now() - before >= LONG);
        assert!(began.elapsed() < LONG);
        let limited = time::timeout(LONG, timer.sleep(2 * LONG));
        assert!(limited.await.is_err());
    });
}

#[test]
fn traits() {
    assert!(implements!(BlitzExecutor: Send + Sync + Unpin + Clone + Copy + Default));
    assert!(implements!(BlitzTimer: Send + Sync + Unpin + Clone + Copy + Default));
    assert!(implements!(BlitzExecutor: Executor<std::future::Ready<()>>));
    assert!(!implements!(BlitzExecutor: Executor<std::future::Ready<Rc<()>>>));
    assert!(implements!(BlitzLocalExecutor: Executor<std::future::Ready<Rc<()>>>));
    assert_eq!(format!("{:?}", BlitzTimer::new()), "BlitzTimer");
}

#[test]
fn tasks_that_are_started_may_be_left_alone() {
    let runtime = current();
    runtime.block_on(async {
        BlitzExecutor::new().execute(pending::<()>());
        task::yield_now().await;
    });
    drop(runtime);
}
