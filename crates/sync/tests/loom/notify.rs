//! Models of `Notify`.

use crate::model;

use std::sync::Arc;
use std::task::Waker;

use blitz_io_sync::task::Notify;
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use model::{block_on, model_in_order as model, poll};

/// A `Notify`, and a number that is handed over with a notification.
struct Shared {
    notify: Notify,
    number: UnsafeCell<u32>,
}

// SAFETY: the models are about whether the `Notify` orders the uses of the
// number.
unsafe impl Sync for Shared {}
// SAFETY: it is a number.
unsafe impl Send for Shared {}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            notify: Notify::new(),
            number: UnsafeCell::new(0),
        })
    }

    fn write(&self) {
        // SAFETY: the model checker finds out whether it is.
        self.number.with_mut(|number| unsafe { *number += 1 });
    }

    fn read(&self) -> u32 {
        // SAFETY: the model checker finds out whether it is.
        self.number.with(|number| unsafe { *number })
    }
}

fn spawn<R: 'static>(
    shared: &Arc<Shared>,
    run: impl FnOnce(&Shared) -> R + 'static,
) -> thread::JoinHandle<R> {
    let shared = shared.clone();
    thread::spawn(move || run(&shared))
}

/// Returns `true` if a notification is stored. Takes it.
fn is_stored(notify: &Notify) -> bool {
    let mut next = Box::pin(notify.notified());
    next.as_mut().enable()
}

fn one_waits() {
    model(3, || {
        let shared = Shared::new();
        let other = spawn(&shared, |shared| {
            shared.write();
            shared.notify.notify_one();
        });
        block_on(shared.notify.notified());
        assert_eq!(shared.read(), 1);
        other.join().unwrap();
        assert!(!is_stored(&shared.notify));
    });
}

/// The second of two notifications may find the first one stored. The waiter that takes it still
/// sees the work that came before the second.
fn a_coalesced_notification() {
    model(3, || {
        let shared = Shared::new();
        shared.notify.notify_one();
        let done = Arc::new(AtomicBool::new(false));
        let other = {
            let done = done.clone();
            spawn(&shared, move |shared| {
                shared.write();
                shared.notify.notify_one();
                // Not the store that orders the number.
                done.store(true, Ordering::Relaxed);
            })
        };
        if done.load(Ordering::Relaxed) {
            block_on(shared.notify.notified());
            assert_eq!(shared.read(), 1);
        }
        other.join().unwrap();
    });
}

/// Two wait already, and get one each.
fn two_wait_for_two() {
    model(3, || {
        let shared = Shared::new();
        let mut futures = [(); 2].map(|()| Box::pin(shared.notify.notified()));
        for future in &mut futures {
            assert!(!future.as_mut().enable());
        }
        let others = [(); 2].map(|()| spawn(&shared, |shared| shared.notify.notify_one()));
        for future in futures {
            block_on(future);
        }
        others.into_iter().for_each(|other| other.join().unwrap());
        assert!(!is_stored(&shared.notify));
    });
}

/// A future is dropped after this many polls. The notification goes to the other waiter, or is
/// stored.
fn one_is_dropped(polls: usize) {
    model(3, move || {
        let shared = Shared::new();
        let other = spawn(&shared, |shared| shared.notify.notify_one());
        let mut taken = false;
        {
            let mut future = Box::pin(shared.notify.notified());
            for _ in 0..polls {
                taken = taken || poll(future.as_mut(), Waker::noop()).is_ready();
            }
        }
        other.join().unwrap();
        assert_eq!(is_stored(&shared.notify), !taken);
    });
}

fn one_is_dropped_before_another(notify: fn(&Notify)) {
    model(3, move || {
        let shared = Shared::new();
        let mut first = Box::pin(shared.notify.notified());
        assert!(!first.as_mut().enable());
        let second = spawn(&shared, |shared| block_on(shared.notify.notified()));
        let other = spawn(&shared, move |shared| notify(&shared.notify));
        drop(first);
        other.join().unwrap();
        second.join().unwrap();
        assert!(!is_stored(&shared.notify));
    });
}

/// A future that exists is covered, polled or not.
fn all_are_notified(polls: usize) {
    model(3, move || {
        let shared = Shared::new();
        let mut future = Box::pin(shared.notify.notified());
        let other = spawn(&shared, |shared| {
            shared.write();
            shared.notify.notify_waiters();
        });
        let mut done = false;
        for _ in 0..polls {
            done = done || poll(future.as_mut(), Waker::noop()).is_ready();
        }
        if !done {
            block_on(future);
        }
        assert_eq!(shared.read(), 1);
        other.join().unwrap();
        assert!(!is_stored(&shared.notify));
    });
}

/// One waiter comes before and one during the call: with the call and one more notification, both
/// go on.
fn one_comes_during_notify_waiters() {
    model(3, || {
        let shared = Shared::new();
        let mut old = Box::pin(shared.notify.notified());
        assert!(!old.as_mut().enable());
        let other = spawn(&shared, |shared| shared.notify.notify_waiters());
        let new = spawn(&shared, |shared| {
            let mut new = Box::pin(shared.notify.notified());
            new.as_mut().enable();
            block_on(new);
        });
        block_on(old);
        shared.notify.notify_one();
        new.join().unwrap();
        other.join().unwrap();
    });
}

/// All waiters are notified while a later one comes. The later one's notification is not spent on
/// a waiter that is being notified anyway.
fn all_and_then_one(waiters: usize) {
    model(3, move || {
        let shared = Shared::new();
        let mut olds: Vec<_> = (0..waiters)
            .map(|_| Box::pin(shared.notify.notified()))
            .collect();
        for old in &mut olds {
            assert!(!old.as_mut().enable());
        }
        let mut new = None;
        let other = spawn(&shared, |shared| shared.notify.notify_waiters());
        // The call has begun, or even ended.
        let begun = poll(olds[0].as_mut(), Waker::noop()).is_ready();
        if begun {
            let new = new.insert(Box::pin(shared.notify.notified()));
            new.as_mut().enable();
            shared.notify.notify_one();
        }
        other.join().unwrap();
        for old in &mut olds {
            assert!(poll(old.as_mut(), Waker::noop()).is_ready());
        }
        if let Some(mut new) = new {
            assert!(poll(new.as_mut(), Waker::noop()).is_ready(), "a lost one");
        }
    });
}

/// A thread and a task, and one notification for each.
fn a_thread_waits_beside_a_task() {
    model(3, || {
        let shared = Shared::new();
        let mut future = Box::pin(shared.notify.notified());
        assert!(!future.as_mut().enable());
        let thread = spawn(&shared, |shared| {
            shared.notify.notify_one();
            shared.notify.notified().blocking_wait();
        });
        block_on(future);
        shared.notify.notify_one();
        thread.join().unwrap();
        assert!(!is_stored(&shared.notify));
    });
}

/// A thread whose time may be up when the notification comes.
fn a_thread_gives_up() {
    model(3, || {
        let shared = Shared::new();
        let thread = spawn(&shared, |shared| {
            let soon = std::time::Duration::from_secs(1);
            shared.notify.notified().blocking_wait_timeout(soon)
        });
        let other = spawn(&shared, |shared| shared.notify.notify_one());
        blitz_io_futex::model::expire();
        let notified = thread.join().unwrap();
        other.join().unwrap();
        assert_eq!(is_stored(&shared.notify), !notified);
    });
}

#[test]
fn a_notification_arrives() {
    one_waits();
}

#[test]
fn a_notification_that_finds_one_stored_is_seen() {
    a_coalesced_notification();
}

#[test]
fn a_notification_survives_the_drop_of_its_future() {
    one_is_dropped(0);
    one_is_dropped(1);
    one_is_dropped(2);
}

#[test]
fn what_one_leaves_reaches_the_next() {
    one_is_dropped_before_another(Notify::notify_one);
    one_is_dropped_before_another(Notify::notify_last);
}

#[test]
fn everybody_who_was_there_is_notified() {
    all_are_notified(0);
    all_are_notified(1);
    all_are_notified(2);
}

#[test]
fn who_comes_during_notify_waiters_can_be_notified() {
    one_comes_during_notify_waiters();
}

#[test]
fn a_notification_is_not_spent_on_the_covered() {
    all_and_then_one(1);
    all_and_then_one(2);
}

#[test]
fn each_of_two_gets_one() {
    two_wait_for_two();
}

#[test]
fn threads_wait_too() {
    a_thread_waits_beside_a_task();
    a_thread_gives_up();
}

/// One call of `notify_waiters` ends one wait of those that follow each other.
fn one_call_covers_once() {
    model(2, || {
        let shared = Shared::new();
        let caller = shared.clone();
        let call = thread::spawn(move || caller.notify.notify_waiters());
        let first = std::pin::pin!(shared.notify.notified()).enable();
        let second = first && std::pin::pin!(shared.notify.notified()).enable();
        assert!(!second, "covered twice");
        call.join().unwrap();
    });
}

#[test]
fn a_call_covers_only_what_was_there() {
    one_call_covers_once();
}

/// A call without waiters, then one that finds a waiter: the future that both cover sees the work
/// before both.
fn two_calls_cover_one_future() {
    model(3, || {
        let shared = Shared::new();
        let mut future = Box::pin(shared.notify.notified());
        let done = Arc::new(AtomicBool::new(false));
        let other = {
            let done = done.clone();
            spawn(&shared, move |shared| {
                shared.write();
                shared.notify.notify_waiters();
                // Not the store that orders the number.
                done.store(true, Ordering::Relaxed);
            })
        };
        // A future of this thread joins the queue, so that its call takes the lock.
        let mut own = Box::pin(shared.notify.notified());
        own.as_mut().enable();
        shared.notify.notify_waiters();
        if done.load(Ordering::Relaxed) {
            assert!(poll(future.as_mut(), Waker::noop()).is_ready());
            assert_eq!(shared.read(), 1);
        }
        other.join().unwrap();
    });
}

#[test]
fn a_call_without_waiters_is_seen() {
    two_calls_cover_one_future();
}
