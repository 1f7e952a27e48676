//! The events of operations whose futures are dropped before they begin, or while they wait.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use blitz_io::inspect::Named;
use blitz_io::sim::Failure;
use blitz_io::sync::{Barrier, CancellationToken, Mutex, Notify, Semaphore, mpmc, mpsc, oneshot};
use blitz_io::task::{self, TaskTracker};
use blitz_io::time;

use crate::events::{fails, has_lines};

/// Returns the failure of a run in which another task runs at the point of this operation, which need not wait, and the operation's
/// future is dropped then.
fn dropped_at_point<F: Future + 'static>(operation: impl Fn() -> F) -> Failure {
    fails(|| {
        let operation = operation();
        async move {
            let other = task::spawn(task::yield_now());
            let has_ended = {
                let mut operation = pin!(operation);
                poll_fn(|context| Poll::Ready(operation.as_mut().poll(context).is_ready())).await
            };
            other.await.unwrap();
            assert!(has_ended, "another task runs");
        }
    })
}

/// Requires that the operation is given up, with these words and a line of this file.
#[track_caller]
fn is_given_up(words: &str, failure: &Failure) {
    let events = failure.events();
    let given_up: Vec<&str> = events
        .lines()
        .filter(|line| line.contains("gives up"))
        .collect();
    let [line] = given_up[..] else {
        panic!("{failure}");
    };
    let is_here = line.contains("given_up.rs:");
    assert!(line.contains(words) && is_here, "`{words}`: {failure}");
    assert!(line.ends_with(": the future is dropped"), "{failure}");
}

#[test]
fn each_operation_is_given_up_at_its_point() {
    let failure = dropped_at_point(|| async { _ = Mutex::new(0).named("log").lock().await });
    is_given_up("gives up locking Mutex \"log\", at ", &failure);
    let failure = dropped_at_point(|| async { _ = Semaphore::new(1).acquire().await });
    is_given_up("gives up acquiring from Semaphore #1, at ", &failure);
    for parties in [0, 1] {
        let failure = dropped_at_point(move || async move { Barrier::new(parties).wait().await });
        is_given_up("gives up waiting for Barrier #1, at ", &failure);
    }
    let failure = dropped_at_point(|| async {
        let notify = Notify::new();
        notify.notify_one();
        notify.notified().await;
    });
    is_given_up("gives up waiting for Notify #1, at ", &failure);
    let failure = dropped_at_point(|| async {
        let tracker = TaskTracker::new();
        tracker.close();
        tracker.wait().await;
    });
    is_given_up("gives up waiting for TaskTracker #1, at ", &failure);
    let failure = dropped_at_point(|| async {
        let token = CancellationToken::new();
        token.cancel();
        token.cancelled().await;
    });
    is_given_up("gives up waiting for CancellationToken", &failure);
}

#[test]
fn each_operation_of_a_channel_is_given_up_at_its_point() {
    let failure = dropped_at_point(|| async {
        let (sender, _receiver) = mpsc::channel(1);
        sender.send(7).await.is_ok()
    });
    is_given_up("gives up sending to mpsc channel #1, at ", &failure);
    let failure = dropped_at_point(|| async {
        let (sender, mut receiver) = mpsc::channel(1);
        sender.try_send(7).unwrap();
        receiver.recv().await
    });
    is_given_up("gives up receiving from mpsc channel #1, at ", &failure);
    let failure = dropped_at_point(|| async {
        let (sender, _receiver) = mpmc::bounded(1);
        sender.send(7).await.is_ok()
    });
    is_given_up("gives up sending to mpmc channel #1, at ", &failure);
    let failure = dropped_at_point(|| async {
        let (sender, receiver) = mpmc::bounded(1);
        sender.try_send(7).unwrap();
        receiver.recv().await
    });
    is_given_up("gives up receiving from mpmc channel #1, at ", &failure);
    let failure = dropped_at_point(|| async {
        let (sender, receiver) = mpmc::bounded::<()>(1);
        drop(receiver);
        sender.closed().await;
    });
    is_given_up(
        "gives up waiting for mpmc::Sender::closed #1, at ",
        &failure,
    );
    let failure = dropped_at_point(|| async {
        let (sender, receiver) = oneshot::channel();
        sender.send(7).unwrap();
        receiver.await
    });
    is_given_up("gives up waiting for oneshot::Receiver #1, at ", &failure);
}

#[test]
fn the_end_of_a_task_is_given_up_at_its_point() {
    let failure = fails(|| async {
        let task = task::spawn(async {});
        task::yield_now().await;
        let is_over = task.is_finished();
        let other = task::spawn(task::yield_now());
        let has_ended = {
            let mut task = pin!(task);
            poll_fn(|context| Poll::Ready(task.as_mut().poll(context).is_ready())).await
        };
        other.await.unwrap();
        assert!(has_ended || !is_over, "another task runs");
    });
    is_given_up("gives up waiting for JoinHandle of task 2, at ", &failure);
}

/// A future that goes past its point after another task has run, and ends, is not given up.
#[test]
fn an_operation_that_ends_is_not_given_up() {
    let failure = fails(|| async {
        let other = task::spawn(task::yield_now());
        let barrier = Barrier::new(1);
        let lock = Mutex::new(0);
        let notify = Notify::new();
        notify.notify_one();
        barrier.wait().await;
        *lock.lock().await = 1;
        notify.notified().await;
        let (sender, mut receiver) = mpsc::channel(1);
        sender.send(1).await.unwrap();
        assert_eq!(receiver.recv().await, Some(1));
        other.await.unwrap();
        panic!("on purpose");
    });
    assert!(!failure.events().contains("gives up"), "{failure}");
}

/// A branch of `select!` is dropped between its two operations, of which the second one has not begun.
#[test]
#[cfg(feature = "macros")]
fn an_operation_that_is_dropped_before_it_begins_is_given_up() {
    let failure = fails(|| async {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let log = Arc::new(Mutex::new(Vec::new()).named("log"));
        let other = log.clone();
        let task = task::spawn(async move {
            sender.send(7).unwrap();
            time::sleep(Duration::from_millis(10)).await;
            other.lock().await.push(0);
        });
        let mut ticks = time::interval(Duration::from_millis(10));
        let mut received = 0;
        loop {
            let value = async {
                let value = receiver.recv().await;
                log.lock().await.push(1);
                value
            };
            blitz_io::select! {
                value = value => match value {
                    Some(_) => received += 1,
                    None => break,
                },
                _ = ticks.tick() => {}
            }
        }
        task.await.unwrap();
        assert_eq!(received, 1, "a value is lost");
    });
    has_lines(
        &failure,
        &[
            "receives from mpsc channel",
            "is about to lock Mutex \"log\"",
            "is preempted",
            "gets a tick of Interval",
            "gives up locking Mutex \"log\", at ",
            ": the future is dropped",
        ],
    );
    // All operations of a step that is preempted are turned away, which is one event.
    let texts = failure.events().lines().map(|line| line.split_once(": "));
    let texts: Vec<_> = texts.collect();
    let is_preempted =
        |text: &Option<(&str, &str)>| text.is_some_and(|text| text.1 == "is preempted");
    let twice = texts
        .windows(2)
        .any(|pair| pair[0] == pair[1] && is_preempted(&pair[0]));
    assert!(!twice, "{failure}");
    assert!(
        failure.events().contains("tests/it/given_up.rs:"),
        "{failure}"
    );
}

#[test]
#[cfg(feature = "macros")]
fn a_value_that_is_not_sent_is_given_up() {
    let failure = fails(|| async {
        let (sender, mut receiver) = mpsc::channel(1);
        let task = task::spawn(async move { receiver.recv().await });
        blitz_io::select! {
            _ = sender.send(7) => {}
            () = task::yield_now() => {}
        }
        drop(sender);
        assert_eq!(task.await.unwrap(), Some(7));
    });
    has_lines(
        &failure,
        &[
            "tries to send to mpsc channel",
            "gives up sending to mpsc channel",
        ],
    );
}
