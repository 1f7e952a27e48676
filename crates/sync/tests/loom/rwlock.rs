//! Models of the shared core, which is all of `RwLock`.

use crate::model;

use std::sync::Arc;

use blitz_io_sync::thread::core::Shared;
use loom::cell::UnsafeCell;
use loom::thread;
use model::{model, model_in_order, soon};

/// A number in which loom finds a writer beside any other thread.
struct Watched {
    lock: Shared,
    value: UnsafeCell<u32>,
}

// SAFETY: the value is used as the lock allows, which loom checks.
unsafe impl Sync for Watched {}
// SAFETY: a number may go anywhere.
unsafe impl Send for Watched {}

impl Watched {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            lock: Shared::new(),
            value: UnsafeCell::new(0),
        })
    }

    fn look(&self) -> u32 {
        // SAFETY: the caller has shared access.
        self.value.with(|value| unsafe { *value })
    }

    fn add_one(&self) {
        self.value.with_mut(|value| {
            // SAFETY: the caller has exclusive access.
            unsafe { *value += 1 }
        });
    }

    fn read(&self) -> u32 {
        self.lock.lock_shared(None);
        let value = self.look();
        self.lock.unlock_shared();
        value
    }

    fn write(&self) {
        self.lock.lock_exclusive(None);
        self.add_one();
        self.lock.unlock();
    }
}

fn spawn(watched: &Arc<Watched>, run: impl FnOnce(&Watched) + 'static) -> thread::JoinHandle<()> {
    let watched = watched.clone();
    thread::spawn(move || run(&watched))
}

fn a_reader_and_a_writer() {
    model(3, || {
        let watched = Watched::new();
        let writer = spawn(&watched, Watched::write);
        watched.read();
        writer.join().unwrap();
        assert_eq!(watched.read(), 1);
        assert!(!watched.lock.is_locked());
    });
}

fn two_readers_and_a_writer() {
    model(2, || {
        let watched = Watched::new();
        let threads = [
            spawn(&watched, |watched| _ = watched.read()),
            spawn(&watched, |watched| _ = watched.read()),
        ];
        watched.write();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(watched.read(), 1);
    });
}

fn two_writers_and_a_reader() {
    model(2, || {
        let watched = Watched::new();
        let threads = [
            spawn(&watched, Watched::write),
            spawn(&watched, |watched| _ = watched.read()),
        ];
        watched.write();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(watched.read(), 2);
    });
}

/// A thread that reads, reads again while a writer waits for it.
fn a_recursive_reader() {
    model(3, || {
        let watched = Watched::new();
        let writer = spawn(&watched, Watched::write);
        watched.lock.lock_shared(None);
        let before = watched.look();
        watched.lock.lock_shared_recursive(None);
        assert_eq!(watched.look(), before);
        watched.lock.unlock_shared();
        watched.lock.unlock_shared();
        writer.join().unwrap();
    });
}

/// Time passes at any moment: readers become residents, a writer gives up.
fn time_passes() {
    model(2, || {
        let watched = Watched::new();
        watched.lock.lock_exclusive(None);
        let reader = spawn(&watched, |watched| _ = watched.read());
        let writer = spawn(&watched, |watched| {
            if watched.lock.lock_exclusive(Some(soon())) {
                watched.add_one();
                watched.lock.unlock();
            }
        });
        blitz_io_futex::model::expire();
        watched.lock.unlock();
        reader.join().unwrap();
        writer.join().unwrap();
        assert!(!watched.lock.is_locked());
    });
}

/// A writer that drains gives up; the readers it kept out must not sleep on.
fn a_draining_writer_gives_up() {
    model(2, || {
        let watched = Watched::new();
        watched.lock.lock_shared(None);
        let writer = spawn(&watched, |watched| {
            if watched.lock.lock_exclusive(Some(soon())) {
                watched.add_one();
                watched.lock.unlock();
            }
        });
        let reader = spawn(&watched, |watched| _ = watched.read());
        blitz_io_futex::model::expire();
        watched.look();
        watched.lock.unlock_shared();
        reader.join().unwrap();
        writer.join().unwrap();
        assert!(watched.lock.try_lock_exclusive());
    });
}

fn upgrades_and_downgrades() {
    model(2, || {
        let watched = Watched::new();
        let other = spawn(&watched, |watched| {
            watched.read();
            watched.write();
        });
        watched.lock.lock_upgradable(None);
        let before = watched.look();
        watched.lock.upgrade(None);
        // No other thread wrote in between.
        assert_eq!(watched.look(), before);
        watched.add_one();
        watched.lock.downgrade_to_upgradable();
        assert_eq!(watched.look(), before + 1);
        watched.lock.downgrade();
        assert_eq!(watched.look(), before + 1);
        watched.lock.unlock_shared();
        other.join().unwrap();
        watched.lock.lock_exclusive(None);
        watched.lock.downgrade();
        assert_eq!(watched.look(), 2);
        watched.lock.unlock_shared();
        assert!(!watched.lock.is_locked());
    });
}

fn an_upgradable_reader_lets_readers_in() {
    model(3, || {
        let watched = Watched::new();
        watched.lock.lock_exclusive(None);
        let reader = spawn(&watched, |watched| _ = watched.read());
        watched.lock.downgrade_to_upgradable();
        // The reader gets in while we stay upgradable.
        reader.join().unwrap();
        watched.lock.unlock();
    });
}

/// A writer announces itself while the lock is downgraded; the reader that comes
/// with it must not sleep through that.
fn a_reader_beside_a_writer_that_announces() {
    model(2, || {
        let watched = Watched::new();
        watched.lock.lock_exclusive(None);
        let writer = spawn(&watched, Watched::write);
        let reader = spawn(&watched, |watched| _ = watched.read());
        watched.lock.downgrade_to_upgradable();
        reader.join().unwrap();
        watched.lock.unlock();
        writer.join().unwrap();
    });
}

/// A release is about to wake the readers while the next owner wakes a writer.
fn readers_and_a_writer_are_woken_at_once() {
    model_in_order(2, || {
        let watched = Watched::new();
        watched.lock.lock_exclusive(None);
        let reader = spawn(&watched, |watched| _ = watched.read());
        let writer = spawn(&watched, Watched::write);
        let next = spawn(&watched, |watched| {
            if watched.lock.try_lock_exclusive() {
                watched.lock.unlock();
            }
        });
        watched.lock.unlock();
        for thread in [reader, writer, next] {
            thread.join().unwrap();
        }
    });
}

#[test]
fn a_writer_is_woken_beside_readers() {
    readers_and_a_writer_are_woken_at_once();
}

#[test]
fn a_reader_is_not_lost_beside_a_writer() {
    a_reader_beside_a_writer_that_announces();
}

#[test]
fn one_of_each() {
    a_reader_and_a_writer();
}

#[test]
fn readers_share_and_the_writer_waits() {
    two_readers_and_a_writer();
}

#[test]
fn writers_take_turns_and_readers_fit_in() {
    two_writers_and_a_reader();
}

#[test]
fn reading_again_does_not_wait_for_the_writer() {
    a_recursive_reader();
}

#[test]
fn late_readers_and_hasty_writers() {
    time_passes();
}

#[test]
fn a_writer_that_gives_up_lets_readers_in() {
    a_draining_writer_gives_up();
}

#[test]
fn every_change_of_rank() {
    upgrades_and_downgrades();
}

#[test]
fn downgrading_wakes_readers() {
    an_upgradable_reader_lets_readers_in();
}
