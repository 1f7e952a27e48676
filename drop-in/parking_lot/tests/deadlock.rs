//! Checks the content of a reported deadlock. `.ci/dropin` runs parking_lot's own tests.

#![cfg(feature = "deadlock_detection")]

use std::sync::{Arc, Barrier};
use std::thread::{self, ThreadId};

use parking_lot::deadlock::{DeadlockedThread, check_deadlock};
use parking_lot::{Mutex, RwLock};

type Lock = Arc<Mutex<()>>;

/// Starts a thread that has the first lock and waits for the second for ever.
fn start(first: &Lock, second: &Lock, barrier: &Arc<Barrier>) -> ThreadId {
    let (first, second, barrier) = (first.clone(), second.clone(), barrier.clone());
    let thread = thread::spawn(move || {
        let _first = first.lock();
        barrier.wait();
        waits_for_ever(&second);
    });
    thread.thread().id()
}

#[inline(never)]
fn waits_for_ever(lock: &Lock) {
    drop(lock.lock());
    unreachable!("the lock is never released");
}

/// Waits for as many deadlocks as are to come. Each call may find only one.
fn deadlocks(count: usize) -> Vec<Vec<DeadlockedThread>> {
    let mut all = Vec::new();
    while all.len() < count {
        all.append(&mut check_deadlock());
        thread::yield_now();
    }
    all
}

/// Each cycle is reported once, with its threads and where they wait. Threads that only wait for a
/// cycle, or for a lock that will be released, are not in it.
#[test]
fn a_deadlock_has_its_threads_and_their_stacks() {
    let locks: [Lock; 5] = Default::default();
    let barrier = Arc::new(Barrier::new(6));
    let pairs = [(0, 1), (1, 0), (2, 3), (3, 2), (4, 0)];
    let ids = pairs.map(|(a, b)| start(&locks[a], &locks[b], &barrier));
    let busy = Arc::new(RwLock::new(()));
    let held = busy.write();
    let reader = {
        let busy = busy.clone();
        thread::spawn(move || drop(busy.read()))
    };
    barrier.wait();

    let mut found: Vec<Vec<ThreadId>> = Vec::new();
    for cycle in deadlocks(2) {
        for thread in &cycle {
            let stack = format!("{:?}", thread.backtrace());
            assert!(stack.contains("waits_for_ever"), "{stack}");
        }
        found.push(cycle.iter().map(DeadlockedThread::thread_id).collect());
    }
    for pair in ids[..4].chunks(2) {
        let is_pair =
            |cycle: &&Vec<ThreadId>| cycle.len() == 2 && pair.iter().all(|id| cycle.contains(id));
        assert_eq!(found.iter().filter(is_pair).count(), 1, "{found:?} {ids:?}");
    }
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(check_deadlock().is_empty());
    drop(held);
    reader.join().unwrap();
}
