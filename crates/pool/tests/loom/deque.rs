//! Models of a worker's deque: every fork is taken once, by its owner or by a thief, and a thief
//! that waits for a job gets only descendants of it.

use std::sync::Arc;

use blitz_io_pool::model::{Deque, JobRef};
use loom::thread;

use crate::model;

/// Jobs that are never run: only which thread has them counts.
fn job(number: usize) -> JobRef {
    JobRef::numbered(number)
}

fn owner_and_thief() {
    let deque = Arc::new(Deque::new());
    let thief = {
        let deque = deque.clone();
        thread::spawn(move || deque.steal(None))
    };
    // SAFETY: this thread is the owner.
    let (first, second) = unsafe {
        let one = deque.push(job(1)).unwrap();
        let two = deque.push(job(2)).unwrap();
        (deque.take_back(two), deque.take_back(one))
    };
    let stolen = thief.join().unwrap();
    match stolen {
        None => assert!(first && second),
        Some(taken) if taken == job(1) => assert!(first && !second),
        Some(taken) => {
            assert_eq!(taken, job(2), "a job that was never there");
            unreachable!("the thief takes the oldest one, which was there before");
        }
    }
}

fn two_thieves() {
    let deque = Arc::new(Deque::new());
    // SAFETY: this thread is the owner.
    unsafe {
        deque.push(job(1)).unwrap();
        deque.push(job(2)).unwrap();
    }
    let thief = {
        let deque = deque.clone();
        thread::spawn(move || deque.steal(None))
    };
    let mine = deque.steal(None);
    let theirs = thief.join().unwrap();
    assert!(mine.is_none() || mine != theirs, "both have {mine:?}");
    // SAFETY: this thread is the owner.
    let left = std::iter::from_fn(|| unsafe { deque.pop() }).count();
    assert_eq!(
        left + usize::from(mine.is_some()) + usize::from(theirs.is_some()),
        2
    );
}

fn a_helper_gets_descendants_only() {
    let deque = Arc::new(Deque::new());
    // SAFETY: this thread is the owner.
    unsafe { deque.push(job(1)).unwrap() };
    let helper = {
        let deque = deque.clone();
        thread::spawn(move || deque.steal(Some(7)))
    };
    // SAFETY: this thread is the owner.
    unsafe {
        let before = deque.begin(7);
        deque.push(job(2)).unwrap();
        let mine = deque.pop();
        deque.end(before);
        assert!(mine.is_some());
    }
    assert_eq!(
        helper.join().unwrap(),
        None,
        "the older fork does not descend from job 7"
    );
}

#[test]
fn every_fork_is_taken_once() {
    model(owner_and_thief);
}

#[test]
fn thieves_do_not_take_the_same_fork() {
    model(two_thieves);
}

#[test]
fn who_waits_for_a_job_gets_no_older_fork() {
    model(a_helper_gets_descendants_only);
}
