//! Events of operations that do not wait and may wake other tasks: notifications, added permits, values of oneshot channels.

use std::sync::Arc;

use blitz_io::sync::{Notify, Semaphore, oneshot};
use blitz_io::task;

use crate::events::{fails, has_lines};

#[test]
fn a_notification_says_whether_a_task_waits() {
    let failure = fails(|| async {
        let notify = Arc::new(Notify::new());
        notify.notify_waiters();
        notify.notify_one();
        notify.notify_last();
        notify.notified().await;
        for is_for_all in [false, true] {
            let same = notify.clone();
            let waits = task::spawn(async move { same.notified().await });
            while !format!("{notify:?}").contains("waiters: 1") {
                task::yield_now().await;
            }
            if is_for_all {
                notify.notify_waiters();
            } else {
                notify.notify_one();
            }
            waits.await.unwrap();
        }
        panic!("on purpose");
    });
    has_lines(
        &failure,
        &[
            "notifies Notify #1, for which no task waits, at ",
            "notifies Notify #1, for which no task waits: the notification is stored, at ",
            "notifies Notify #1, which has a stored notification, at ",
            "notifies Notify #1, at ",
            "notifies all waiters of Notify #1, at ",
        ],
    );
    let events = failure.events();
    let lines = events.lines().filter(|line| line.contains("notifies "));
    for line in lines.clone() {
        assert!(line.contains("notifications.rs:"), "{events}");
    }
    assert_eq!(lines.count(), 5, "{events}");
}

/// A scope tells its owner by a `Notify` of its own, and a child its result by a channel of its own: those are no events.
#[test]
fn notifications_within_other_operations_are_none() {
    let failure = fails(|| async {
        let tracker = task::TaskTracker::new();
        tracker.close();
        tracker.wait().await;
        let sum = task::scope(async |scope| {
            let child = scope.spawn(async { 1 });
            child.await.unwrap()
        });
        assert_eq!(sum.await, 1);
        panic!("on purpose");
    });
    let events = failure.events();
    for part in ["notifies ", "sends to oneshot"] {
        assert!(!events.contains(part), "{events}");
    }
}

#[test]
fn permits_are_added() {
    let failure = fails(|| async {
        let semaphore = Semaphore::new(0);
        semaphore.add_permits(2);
        assert!(semaphore.add_permits_within(1, 3).is_ok());
        assert!(semaphore.add_permits_within(1, 3).is_err());
        panic!("on purpose");
    });
    let parts = [
        "adds 2 permits to Semaphore #1, at ",
        "adds 1 permit to Semaphore #1, at ",
    ];
    has_lines(&failure, &parts);
    let events = failure.events();
    assert_eq!(events.matches(": adds ").count(), 2, "{events}");
}

#[test]
fn one_value_is_sent_or_the_receiver_is_closed() {
    let failure = fails(|| async {
        let (sender, receiver) = oneshot::channel();
        sender.send(1).unwrap();
        assert_eq!(receiver.await, Ok(1));
        let (sender, receiver) = oneshot::channel();
        drop(receiver);
        assert_eq!(sender.send(2), Err(2));
        panic!("on purpose");
    });
    let parts = [
        "sends to oneshot::Receiver #1, at ",
        "finds oneshot::Receiver #2 closed, at ",
    ];
    has_lines(&failure, &parts);
}
