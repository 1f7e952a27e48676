//! Models of `Event`.

use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_futex::model;
use blitz_io_sync::thread::Event;
use loom::cell::UnsafeCell;
use loom::thread::{self, JoinHandle};
// loom's `Arc` can not be dropped after a deadlock was found.
use std::sync::Arc;
use std::time::Duration;

/// The value of a time-out means nothing in a model.
const SOME_TIME: Duration = Duration::from_secs(1);

fn spawn_with<T: 'static, R: 'static>(
    shared: &Arc<T>,
    f: impl FnOnce(&T) -> R + 'static,
) -> JoinHandle<R> {
    let shared = shared.clone();
    thread::spawn(move || f(&shared))
}

/// Lets the others run until `n` of them have announced that they wait.
fn until_announced(event: &Event, n: u32) {
    while event.announced() < n {
        thread::yield_now();
    }
}

/// An event, and a number that must only be read after it.
struct Guarded {
    event: Event,
    number: UnsafeCell<u32>,
}

// SAFETY: the models are about whether the event orders the uses of the number.
unsafe impl Sync for Guarded {}
// SAFETY: it is a number.
unsafe impl Send for Guarded {}

impl Guarded {
    fn new(event: Event) -> Arc<Self> {
        Arc::new(Self {
            event,
            number: UnsafeCell::new(0),
        })
    }

    fn write(&self) {
        // SAFETY: the model checker finds out whether it is.
        self.number.with_mut(|number| unsafe { *number = 7 });
    }

    fn read(&self) -> u32 {
        // SAFETY: the model checker finds out whether it is.
        self.number.with(|number| unsafe { *number })
    }
}

#[test]
fn manual_releases_two_and_shows_what_was_done() {
    loom::model(|| {
        let guarded = Guarded::new(Event::new_manual(false));
        let waiter = |guarded: &Guarded| {
            guarded.event.wait();
            assert_eq!(guarded.read(), 7);
        };
        let waiters = [spawn_with(&guarded, waiter), spawn_with(&guarded, waiter)];
        guarded.write();
        guarded.event.set();
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

fn manual_set_and_reset() {
    loom::model(|| {
        let guarded = Guarded::new(Event::new_manual(false));
        let waiter = spawn_with(&guarded, |guarded| {
            guarded.event.wait();
            assert_eq!(guarded.read(), 7);
        });
        until_announced(&guarded.event, 1);
        guarded.write();
        guarded.event.set();
        guarded.event.reset();
        waiter.join().unwrap();
        assert!(!guarded.event.is_set());
    });
}

#[test]
fn manual_releases_a_waiter_though_a_reset_follows_at_once() {
    manual_set_and_reset();
}

#[test]
fn manual_waiters_of_two_generations() {
    loom::model(|| {
        let event = Arc::new(Event::new_manual(false));
        let first = spawn_with(&event, Event::wait);
        until_announced(&event, 1);
        let setter = spawn_with(&event, |event| {
            event.set();
            event.reset();
        });
        // Comes before, between or after, and is released by the one or the other.
        let second = spawn_with(&event, Event::wait);
        first.join().unwrap();
        setter.join().unwrap();
        event.set();
        second.join().unwrap();
    });
}

#[test]
fn manual_timed_waiter_tells_the_truth() {
    loom::model(|| {
        let guarded = Guarded::new(Event::new_manual(false));
        let clock = thread::spawn(model::expire);
        let waiter = spawn_with(&guarded, |guarded| {
            if guarded.event.wait_timeout(SOME_TIME) {
                assert_eq!(guarded.read(), 7);
            }
        });
        guarded.write();
        guarded.event.set();
        waiter.join().unwrap();
        clock.join().unwrap();
    });
}

#[test]
fn auto_lets_one_through_and_shows_what_was_done() {
    loom::model(|| {
        let guarded = Guarded::new(Event::new_auto(false));
        let waiter = spawn_with(&guarded, |guarded| {
            guarded.event.wait();
            assert_eq!(guarded.read(), 7);
        });
        guarded.write();
        guarded.event.set();
        waiter.join().unwrap();
        assert!(!guarded.event.try_wait());
    });
}

#[test]
fn auto_two_sets_release_two_waiters() {
    loom::model(|| {
        let event = Arc::new(Event::new_auto(false));
        let waiters = [
            spawn_with(&event, Event::wait),
            spawn_with(&event, Event::wait),
        ];
        until_announced(&event, 2);
        event.set();
        event.set();
        for waiter in waiters {
            waiter.join().unwrap();
        }
        assert!(!event.is_set());
    });
}

#[test]
fn auto_release_is_neither_reset_nor_taken_by_a_newcomer() {
    loom::model(|| {
        let event = Arc::new(Event::new_auto(false));
        let waiter = spawn_with(&event, Event::wait);
        until_announced(&event, 1);
        event.set();
        event.reset();
        assert!(!event.try_wait());
        waiter.join().unwrap();
    });
}

#[test]
fn auto_newcomer_and_waiter_share_two_sets() {
    loom::model(|| {
        let event = Arc::new(Event::new_auto(false));
        let waiter = spawn_with(&event, Event::wait);
        event.set();
        if event.try_wait() {
            event.set();
        }
        waiter.join().unwrap();
        assert!(!event.try_wait());
    });
}

fn set_at_the_end_of_the_time() {
    loom::model(|| {
        let event = Arc::new(Event::new_auto(false));
        let clock = thread::spawn(model::expire);
        let waiter = spawn_with(&event, |event| event.wait_timeout(SOME_TIME));
        event.set();
        let waiter_has_it = waiter.join().unwrap();
        clock.join().unwrap();
        assert!(waiter_has_it != event.try_wait(), "the set is lost");
    });
}

#[test]
fn auto_waiter_that_gives_up_leaves_the_set() {
    set_at_the_end_of_the_time();
}

/// Two waiters, one of whom may give up before or after the set.
fn impatient_and_patient(ends: [fn(&Event); 2]) {
    loom::model(move || {
        let event = Arc::new(Event::new_auto(false));
        let impatient = spawn_with(&event, |event| event.wait_timeout(SOME_TIME));
        let patient = spawn_with(&event, Event::wait);
        for end in ends {
            end(&event);
        }
        if impatient.join().unwrap() {
            event.set();
        }
        patient.join().unwrap();
        assert!(!event.is_set());
    });
}

const SET_THEN_EXPIRE: [fn(&Event); 2] = [Event::set, |_| model::expire()];
const EXPIRE_THEN_SET: [fn(&Event); 2] = [|_| model::expire(), Event::set];

#[test]
fn auto_set_that_one_waiter_misses_reaches_the_other() {
    impatient_and_patient(EXPIRE_THEN_SET);
}

#[test]
fn auto_set_before_the_end_of_the_time_reaches_one_of_two() {
    impatient_and_patient(SET_THEN_EXPIRE);
}

/// Two producers, each of whom makes something and sets the event; the consumer
/// waits, and looks at everything each time.
fn two_producers() {
    struct Shared {
        event: Event,
        made: [AtomicU32; 2],
    }
    loom::model(|| {
        let shared = Arc::new(Shared {
            event: Event::new_auto(false),
            made: [AtomicU32::new(0), AtomicU32::new(0)],
        });
        let producers = [0, 1].map(|i| {
            spawn_with(&shared, move |shared| {
                shared.made[i].store(1, Ordering::Relaxed);
                shared.event.set();
            })
        });
        let is_made = |made: &AtomicU32| made.load(Ordering::Relaxed) == 1;
        while !shared.made.iter().all(is_made) {
            shared.event.wait();
        }
        for producer in producers {
            producer.join().unwrap();
        }
    });
}

#[test]
fn auto_set_of_a_set_event_shows_what_was_done() {
    two_producers();
}
