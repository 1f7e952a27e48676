//! Workers that park and are called, the states of a task, and the threads of the blocking pool.

use std::future::poll_fn;
use std::task::{Poll, Waker};

use blitz_io::runtime::{Builder, Runtime};
use blitz_io::sync::oneshot;
use blitz_io::task;
use pollster::block_on;

use crate::all_others_sleep;

fn runtime(workers: usize) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(workers).build().unwrap()
}

/// The worker is on its way to sleep when the second task comes.
#[test]
fn one_task_after_the_other_is_injected() {
    let runtime = runtime(1);
    for number in 0..2 {
        let task = runtime.spawn(async move { number });
        assert_eq!(block_on(task).unwrap(), number);
    }
}

#[test]
fn a_task_wakes_another() {
    let runtime = runtime(2);
    let (sender, receiver) = oneshot::channel();
    let waits = runtime.spawn(receiver);
    runtime.spawn(async move { sender.send(7).unwrap() });
    assert_eq!(block_on(waits).unwrap(), Ok(7));
}

/// The thread that wakes waits for the poll to begin, so one preemption of the worker is enough.
#[test]
fn a_task_is_woken_while_it_is_polled() {
    let runtime = runtime(1);
    let (sender, waker) = oneshot::channel::<Waker>();
    let mut sender = Some(sender);
    let task = runtime.spawn(poll_fn(move |cx| match sender.take() {
        Some(sender) => {
            sender.send(cx.waker().clone()).unwrap();
            Poll::Pending
        }
        None => Poll::Ready(7),
    }));
    block_on(waker).unwrap().wake_by_ref();
    assert_eq!(block_on(task).unwrap(), 7);
}

/// The thread that joins waits for the poll to begin, for the same reason.
#[test]
fn a_task_ends_while_it_is_joined() {
    let runtime = runtime(1);
    let (sender, begins) = oneshot::channel();
    let task = runtime.spawn(async move {
        sender.send(()).unwrap();
        7
    });
    block_on(begins).unwrap();
    assert_eq!(block_on(task).unwrap(), 7);
}

#[test]
fn an_abort_meets_the_task() {
    let runtime = runtime(1);
    let task = runtime.spawn(task::yield_now());
    task.abort();
    let ended = block_on(task);
    assert!(ended.is_ok() || ended.unwrap_err().is_cancelled());
}

/// A worker takes its own tasks while the other one steals.
#[test]
fn each_child_runs_once() {
    let runtime = runtime(2);
    all_others_sleep();
    let parent = runtime.spawn(async { [(); 2].map(|()| task::spawn(async { 1 })) });
    let children = block_on(parent).unwrap();
    let sum: i32 = children.into_iter().map(|it| block_on(it).unwrap()).sum();
    assert_eq!(sum, 2);
}

#[test]
fn two_jobs_of_the_blocking_pool() {
    let runtime = runtime(1);
    let jobs = [(); 2].map(|()| runtime.spawn_blocking(|| 1));
    let sum: i32 = jobs.into_iter().map(|job| block_on(job).unwrap()).sum();
    assert_eq!(sum, 2);
}

/// The thread of the first job searches, or is on its way to sleep, when the second job comes.
#[test]
fn one_job_of_the_blocking_pool_after_the_other() {
    let runtime = runtime(1);
    for number in 0..2 {
        let job = runtime.spawn_blocking(move || number);
        assert_eq!(block_on(job).unwrap(), number);
    }
}
