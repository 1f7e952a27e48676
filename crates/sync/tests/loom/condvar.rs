//! Models of the queue of waiting threads as a condition variable uses it.

use crate::model;

use std::sync::Arc;

use blitz_io_core::exclusive::{Exclusive, HELD};
use blitz_io_sync::thread::core::{Ended, NotifyQueue};
use loom::cell::UnsafeCell;
use loom::thread;
use model::{model_in_order as model, soon};

/// A number of items under a lock, and the threads that wait for one.
struct Items {
    lock: Exclusive,
    items: UnsafeCell<u32>,
    waiters: NotifyQueue,
}

// SAFETY: the number is used by the owner of the lock only, which loom checks.
unsafe impl Sync for Items {}
// SAFETY: a number may go anywhere.
unsafe impl Send for Items {}

impl Items {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            lock: Exclusive::new(),
            items: UnsafeCell::new(0),
            waiters: NotifyQueue::new(),
        })
    }

    fn locked<R>(&self, with: impl FnOnce(&mut u32) -> R) -> R {
        self.lock.lock(HELD);
        // SAFETY: we own the lock.
        let result = self.items.with_mut(|items| with(unsafe { &mut *items }));
        self.lock.unlock();
        result
    }

    fn put(&self) {
        self.locked(|items| *items += 1);
        self.waiters.notify_one();
    }

    /// Takes an item, or leaves when a deadline passes.
    fn take(&self, has_deadline: bool) -> bool {
        self.lock.lock(HELD);
        loop {
            // SAFETY: we own the lock.
            let taken = self.items.with_mut(|items| unsafe {
                let any = *items > 0;
                *items -= u32::from(any);
                any
            });
            if taken {
                self.lock.unlock();
                return true;
            }
            let node = NotifyQueue::node((&raw const self.lock).cast());
            // SAFETY: the node is not moved, and `sleep` returns before it goes.
            unsafe { self.waiters.join(&node) };
            self.lock.unlock();
            let ended = self.waiters.sleep(&node, has_deadline.then(soon));
            self.lock.lock(HELD);
            if ended == Ended::PassesOn {
                self.waiters.pass_on();
            }
            if ended == Ended::TimedOut {
                self.lock.unlock();
                return false;
            }
        }
    }
}

#[test]
fn a_notification_reaches_the_waiter() {
    model(2, || {
        let items = Items::new();
        let other = items.clone();
        let taker = thread::spawn(move || assert!(other.take(false)));
        items.put();
        taker.join().unwrap();
    });
}

#[test]
fn two_items_for_two_waiters() {
    model(1, || {
        let items = Items::new();
        let takers = [(); 2].map(|()| {
            let items = items.clone();
            thread::spawn(move || assert!(items.take(false)))
        });
        items.put();
        items.put();
        takers.into_iter().for_each(|taker| taker.join().unwrap());
    });
}

/// A waiter that times out does not keep a notification that the other needs.
#[test]
fn no_notification_is_spent_on_one_who_leaves() {
    model(1, || {
        let items = Items::new();
        let hasty = {
            let items = items.clone();
            thread::spawn(move || items.take(true))
        };
        let patient = {
            let items = items.clone();
            thread::spawn(move || assert!(items.take(false)))
        };
        blitz_io_futex::model::expire();
        items.put();
        if hasty.join().unwrap() {
            items.put();
        }
        patient.join().unwrap();
    });
}

/// Two threads are notified at once, and the second is woken by the first.
fn all_are_notified() {
    let items = Items::new();
    let takers = [(); 2].map(|()| {
        let items = items.clone();
        thread::spawn(move || assert!(items.take(false)))
    });
    items.locked(|items| *items += 2);
    items.waiters.notify_all();
    takers.into_iter().for_each(|taker| taker.join().unwrap());
    assert!(!items.waiters.notify_one());
}

#[test]
fn all_who_are_notified_are_woken() {
    model(2, all_are_notified);
}

/// The first waiter, or the second, times out while both are notified at once.
#[test]
fn a_wake_is_passed_on_past_one_who_leaves() {
    model(1, || {
        let items = Items::new();
        let hasty = {
            let items = items.clone();
            thread::spawn(move || items.take(true))
        };
        let patient = {
            let items = items.clone();
            thread::spawn(move || assert!(items.take(false)))
        };
        items.locked(|items| *items += 2);
        items.waiters.notify_all();
        blitz_io_futex::model::expire();
        hasty.join().unwrap();
        patient.join().unwrap();
    });
}
