//! Models of `OnceCell` and `SetOnce`.

use crate::model;

use std::future::Future;
use std::sync::Arc;
use std::task::{Poll, Waker};

use blitz_io_sync::task::{OnceCell, SetError, SetOnce};
use loom::cell::UnsafeCell;
use loom::thread;
use model::{block_on, model_in_order as model, poll};

/// A number that the model checker watches.
struct Number(UnsafeCell<u32>);

// SAFETY: the models are about whether the cell orders its uses.
unsafe impl Sync for Number {}
// SAFETY: it is a number.
unsafe impl Send for Number {}

impl Number {
    /// Written after it has been made, in the thread that makes the value.
    fn new(number: u32) -> Self {
        let result = Self(UnsafeCell::new(0));
        // SAFETY: no other thread has it yet.
        result.0.with_mut(|inner| unsafe { *inner = number });
        result
    }

    fn read(&self) -> u32 {
        // SAFETY: the model checker finds out whether it is.
        self.0.with(|number| unsafe { *number })
    }
}

type Cell = Arc<OnceCell<Number>>;

fn spawn<R: 'static>(
    cell: &Cell,
    run: impl FnOnce(&OnceCell<Number>) -> R + 'static,
) -> thread::JoinHandle<R> {
    let cell = cell.clone();
    thread::spawn(move || run(&cell))
}

/// Is ready when it is polled for the second time.
fn one_moment() -> impl Future<Output = ()> {
    let mut polled = false;
    std::future::poll_fn(move |context| {
        if std::mem::replace(&mut polled, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

fn init(cell: &OnceCell<Number>, number: u32) -> u32 {
    block_on(async {
        let make = || async {
            one_moment().await;
            Number::new(number)
        };
        cell.get_or_init(make).await.read()
    })
}

fn two_initialise() {
    model(3, || {
        let cell = Cell::default();
        let other = spawn(&cell, |cell| init(cell, 1));
        let here = init(&cell, 2);
        assert_eq!(other.join().unwrap(), here);
        assert_eq!(cell.get().unwrap().read(), here);
    });
}

/// Another thread sees the whole value. (The thread that looks is not the first thread: loom
/// remembers only the last access of an atomic. So it does not try a store that comes after a
/// load by the same thread before earlier loads of others.)
fn one_sets_one_looks() {
    model(3, || {
        let cell = Cell::default();
        let other = spawn(&cell, |cell| cell.get().map(Number::read));
        assert!(cell.set(Number::new(1)).is_ok());
        assert_ne!(other.join().unwrap(), Some(0));
    });
}

/// The initialiser is dropped half way, while another waits.
fn an_initialiser_is_cancelled() {
    model(3, || {
        let cell = Cell::default();
        let mut first = Box::pin(cell.get_or_init(|| async {
            one_moment().await;
            Number::new(1)
        }));
        assert!(poll(first.as_mut(), Waker::noop()).is_pending());
        let second = spawn(&cell, |cell| init(cell, 2));
        drop(first);
        assert_eq!(second.join().unwrap(), 2);
    });
}

/// A task waits for the turn, and is dropped at any stage, while another waits behind it.
fn the_next_is_cancelled_too() {
    model(2, || {
        let cell = Cell::default();
        let make = |number| async move {
            one_moment().await;
            Number::new(number)
        };
        let mut first = Box::pin(cell.get_or_init(|| make(1)));
        let mut second = Box::pin(cell.get_or_init(|| make(2)));
        assert!(poll(first.as_mut(), Waker::noop()).is_pending());
        assert!(poll(second.as_mut(), Waker::noop()).is_pending());
        let third = spawn(&cell, |cell| init(cell, 3));
        drop(first);
        drop(second);
        assert_eq!(third.join().unwrap(), 3);
    });
}

/// An initialiser gives up; a waiter that only wants the value must not get the turn.
fn one_only_waits() {
    model(2, || {
        let cell = Cell::default();
        let mut first = Box::pin(cell.get_or_init(|| async {
            one_moment().await;
            Number::new(1)
        }));
        assert!(poll(first.as_mut(), Waker::noop()).is_pending());
        let waits = spawn(&cell, |cell| block_on(cell.wait()).read());
        let makes = spawn(&cell, |cell| init(cell, 2));
        drop(first);
        assert_eq!(waits.join().unwrap(), 2);
        assert_eq!(makes.join().unwrap(), 2);
    });
}

fn setting_races_initialising() {
    model(3, || {
        let cell = Cell::default();
        let other = spawn(&cell, |cell| init(cell, 1));
        let set = cell.set(Number::new(2));
        let made = other.join().unwrap();
        match set {
            Ok(()) => assert_eq!(made, 2),
            Err(SetError::AlreadyInitializedError(_) | SetError::InitializingError(_)) => {
                assert_eq!(made, 1);
            }
        }
        assert_eq!(cell.get().unwrap().read(), made);
    });
}

fn threads_and_tasks_initialise() {
    model(2, || {
        let cell = Cell::default();
        let task = spawn(&cell, |cell| init(cell, 1));
        let thread = spawn(&cell, |cell| {
            cell.blocking_get_or_init(|| Number::new(2)).read()
        });
        let value = cell.blocking_wait().read();
        assert_eq!(task.join().unwrap(), value);
        assert_eq!(thread.join().unwrap(), value);
    });
}

fn a_task_waits_for_a_set() {
    model(3, || {
        let cell = Arc::new(SetOnce::<Number>::new());
        let other = {
            let cell = cell.clone();
            thread::spawn(move || cell.set(Number::new(7)).is_ok())
        };
        assert_eq!(block_on(cell.wait()).read(), 7);
        assert!(other.join().unwrap());
    });
}

fn some_wait_for_a_set() {
    model(2, || {
        let cell = Arc::new(SetOnce::<Number>::new());
        let task = {
            let cell = cell.clone();
            thread::spawn(move || block_on(cell.wait()).read())
        };
        let thread = {
            let cell = cell.clone();
            thread::spawn(move || cell.blocking_wait().read())
        };
        assert!(cell.set(Number::new(7)).is_ok());
        assert_eq!(task.join().unwrap(), 7);
        assert_eq!(thread.join().unwrap(), 7);
    });
}

/// The deadline of a thread passes while the value is set, and another thread gets the value.
fn one_gives_up_before_the_set() {
    model(2, || {
        let cell = Arc::new(SetOnce::<Number>::new());
        let wait_for = |limit: Option<std::time::Duration>| {
            let cell = cell.clone();
            thread::spawn(move || match limit {
                Some(limit) => cell.blocking_wait_timeout(limit).map(Number::read),
                None => Some(cell.blocking_wait().read()),
            })
        };
        let hasty = wait_for(Some(std::time::Duration::from_secs(1)));
        let patient = wait_for(None);
        blitz_io_futex::model::expire();
        assert!(cell.set(Number::new(7)).is_ok());
        assert!(matches!(hasty.join().unwrap(), None | Some(7)));
        assert_eq!(patient.join().unwrap(), Some(7));
    });
}

/// A waiter is dropped while the value is set, and another one proceeds.
fn one_is_dropped_before_the_set() {
    model(2, || {
        let cell = Arc::new(SetOnce::<Number>::new());
        let other = {
            let cell = cell.clone();
            thread::spawn(move || cell.set(Number::new(7)).is_ok())
        };
        let mut futures = [(); 2].map(|()| Box::pin(cell.wait()));
        for future in &mut futures {
            let _ = poll(future.as_mut(), Waker::noop()).map(Number::read);
        }
        drop(futures);
        assert_eq!(block_on(cell.wait()).read(), 7);
        assert!(other.join().unwrap());
    });
}

#[test]
fn a_deadline_passes_before_the_set() {
    one_gives_up_before_the_set();
}

#[test]
fn one_of_two_initialises() {
    two_initialise();
}

#[test]
fn a_value_is_seen_as_a_whole() {
    one_sets_one_looks();
}

#[test]
fn a_cancelled_initialiser_lets_the_next_try() {
    an_initialiser_is_cancelled();
    the_next_is_cancelled_too();
}

#[test]
fn who_only_waits_gets_the_value() {
    one_only_waits();
}

#[test]
fn a_set_and_an_initialiser_exclude_each_other() {
    setting_races_initialising();
}

#[test]
fn threads_take_part() {
    threads_and_tasks_initialise();
}

#[test]
fn a_set_wakes_all() {
    a_task_waits_for_a_set();
    some_wait_for_a_set();
    one_is_dropped_before_the_set();
}
