//! `Builder::on_worker_stalled` names the task that blocks a worker. Every wait here ends by what
//! the hook does, so nothing depends on how long it takes.

use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use blitz_io_runtime::runtime::{Builder, Runtime};
use blitz_io_runtime::task;

const AFTER: Duration = Duration::from_millis(5);

/// A report of the hook.
#[derive(Debug)]
struct Report {
    worker: usize,
    task: task::Id,
    name: Option<String>,
    line: Option<u32>,
    elapsed: Duration,
    debug: String,
}

/// A runtime whose hook sends its reports.
fn watched(mut builder: Builder) -> (Runtime, Receiver<Report>) {
    let (send, reports) = mpsc::channel();
    builder.on_worker_stalled(AFTER, move |stalled| {
        let report = Report {
            worker: stalled.worker(),
            task: stalled.task_id(),
            name: stalled.task_name().map(str::to_owned),
            line: stalled.spawned_at().map(|at| at.line()),
            elapsed: stalled.elapsed(),
            debug: format!("{stalled:?}"),
        };
        let _ = send.send(report);
    });
    (builder.build().unwrap(), reports)
}

fn workers(count: usize) -> Builder {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(count);
    builder
}

#[test]
fn a_blocked_worker_is_told_once_for_each_poll() {
    let (runtime, reports) = watched(workers(1));
    let metrics = runtime.metrics();
    assert_eq!(metrics.worker_current_poll(0), None);
    let mut line = 0;
    for _ in 0..2 {
        let (end, ends) = mpsc::channel::<()>();
        line = line!() + 1;
        let task = runtime.spawn(async move { ends.recv().unwrap_err() });
        let report = reports.recv().unwrap();
        assert_eq!((report.worker, report.task), (0, task.id()));
        assert_eq!((report.name, report.line), (None, Some(line)));
        assert!(report.elapsed >= AFTER);
        assert!(report.debug.contains("spawned_at: Some"));
        // The metric is that of the same poll, which is the first and was not counted yet.
        assert!(metrics.worker_current_poll(0).unwrap() >= AFTER);
        drop(end);
        runtime.block_on(task).unwrap();
    }
    assert!(line > 0);
    // The handler was called once for each poll.
    drop(runtime);
    assert!(reports.try_recv().is_err());
}

#[test]
fn all_workers_may_be_stalled() {
    let (runtime, reports) = watched(workers(3));
    let (end, ends): (Vec<_>, Vec<_>) = (0..3).map(|_| mpsc::channel::<()>()).unzip();
    let tasks: Vec<_> = ends
        .into_iter()
        .map(|ends| runtime.spawn(async move { ends.recv().unwrap_err() }))
        .collect();
    let mut told: Vec<_> = (0..3).map(|_| reports.recv().unwrap().task).collect();
    told.sort_unstable();
    let mut expected: Vec<_> = tasks.iter().map(task::JoinHandle::id).collect();
    expected.sort_unstable();
    assert_eq!(told, expected);
    drop(end);
    for task in tasks {
        runtime.block_on(task).unwrap();
    }
}

#[test]
fn a_task_of_a_current_thread_runtime_blocks_its_thread() {
    let (runtime, reports) = watched(Builder::new_current_thread());
    let (end, ends) = mpsc::channel::<()>();
    let driver = std::thread::spawn(move || {
        let task = runtime.spawn(async move { ends.recv().unwrap_err() });
        let id = task.id();
        runtime.block_on(task).unwrap();
        id
    });
    let report = reports.recv().unwrap();
    assert_eq!(report.worker, 0);
    drop(end);
    assert_eq!(driver.join().unwrap(), report.task);
}

/// A task that says that it blocks gives its worker to another thread: that worker is not stalled.
#[test]
fn a_thread_that_has_given_its_worker_away_is_no_stalled_worker() {
    let (runtime, reports) = watched(workers(1));
    let (end, ends) = mpsc::channel::<()>();
    let blocks = runtime.spawn(async move { task::block_in_place(|| ends.recv().unwrap_err()) });
    // The worker runs on another thread, and stalls there.
    let (end_other, ends_other) = mpsc::channel::<()>();
    let other = runtime.spawn(async move { ends_other.recv().unwrap_err() });
    loop {
        // Until the first task has given its worker away, a report may name that task.
        let report = reports.recv().unwrap();
        if report.task == other.id() {
            break;
        }
        assert_eq!(report.task, blocks.id());
    }
    drop(end_other);
    runtime.block_on(other).unwrap();
    drop(end);
    runtime.block_on(blocks).unwrap();
    // The worker notes the end of a poll after the join handle was woken.
    while runtime.metrics().worker_current_poll(0).is_some() {
        std::thread::yield_now();
    }
}

#[test]
#[should_panic(expected = "index")]
fn there_is_no_such_worker() {
    let (runtime, _reports) = watched(workers(1));
    let _ = runtime.metrics().worker_current_poll(1);
}
