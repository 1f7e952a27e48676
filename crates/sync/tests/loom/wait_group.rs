//! Models of `WaitGroup`.

use blitz_io_futex::atomic::{AtomicBool, Ordering};
use blitz_io_futex::model;
use blitz_io_sync::thread::WaitGroup;
use loom::cell::UnsafeCell;
use loom::thread;
// loom's `Arc` can not be dropped after a deadlock was found.
use std::sync::Arc;
use std::time::Duration;

/// The value of a time-out means nothing in a model.
const SOME_TIME: Duration = Duration::from_secs(1);

/// Set by one member before it leaves, read by threads that have waited.
struct LastWords(UnsafeCell<bool>);

// SAFETY: the models are about whether the group orders the uses of the cell.
unsafe impl Sync for LastWords {}
// SAFETY: it is a plain value.
unsafe impl Send for LastWords {}

impl LastWords {
    fn new() -> Arc<Self> {
        Arc::new(Self(UnsafeCell::new(false)))
    }

    fn speak(&self) {
        // SAFETY: the model checker finds out whether it is.
        self.0.with_mut(|spoken| unsafe { *spoken = true });
    }

    fn are_heard(&self) -> bool {
        // SAFETY: the model checker finds out whether it is.
        self.0.with(|spoken| unsafe { *spoken })
    }
}

fn one_leaves_one_waits() {
    loom::model(|| {
        let group = WaitGroup::new();
        let words = LastWords::new();
        let other = thread::spawn({
            let (member, words) = (group.clone(), words.clone());
            move || {
                words.speak();
                drop(member);
            }
        });
        group.wait();
        assert!(words.are_heard());
        other.join().unwrap();
    });
}

#[test]
fn who_waits_sees_what_was_done_before_leaving() {
    one_leaves_one_waits();
}

#[test]
fn all_may_wait_and_bring_in_others() {
    loom::model(|| {
        let group = WaitGroup::new();
        let other = thread::spawn({
            let member = group.clone();
            move || {
                let third = thread::spawn({
                    let member = member.clone();
                    move || drop(member)
                });
                member.wait();
                third.join().unwrap();
            }
        });
        group.wait();
        other.join().unwrap();
    });
}

/// Two members wait for each other, one of them not for long. Either both are
/// told that all have left, or the other one has to wait on.
fn wait_at_the_end_of_the_time() {
    loom::model(|| {
        let group = WaitGroup::new();
        let words = LastWords::new();
        let is_told = Arc::new(AtomicBool::new(false));
        let clock = thread::spawn(model::expire);
        let other = thread::spawn({
            let (member, words, is_told) = (group.clone(), words.clone(), is_told.clone());
            move || {
                words.speak();
                member.wait();
                is_told.store(true, Ordering::SeqCst);
            }
        });
        match group.wait_timeout(SOME_TIME) {
            Ok(()) => assert!(words.are_heard()),
            Err(group) => {
                let too_early = is_told.load(Ordering::SeqCst);
                drop(group);
                assert!(!too_early, "told of an empty group that is not empty");
            }
        }
        other.join().unwrap();
        clock.join().unwrap();
    });
}

#[test]
fn who_comes_back_does_so_before_anybody_is_told() {
    wait_at_the_end_of_the_time();
}
