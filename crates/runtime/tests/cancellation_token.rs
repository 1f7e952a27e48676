//! Tokens: deep trees, wide trees, many threads, and wakers that misbehave.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_runtime::sync::CancellationToken;
use blitz_io_runtime::task::TaskTracker;
use blitz_io_testing::threads::A_WHILE;
use blitz_io_testing::{Counting, Wakings, poll_once, shouting_waker};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A depth at which recursion over the tree would overflow the stack.
const DEEP: usize = 200_000;

#[test]
fn a_deep_chain_is_cancelled() {
    let root = CancellationToken::new();
    let mut chain = vec![root.clone()];
    for i in 0..DEEP {
        chain.push(chain[i].child_token());
    }
    root.cancel();
    assert!(chain.iter().all(CancellationToken::is_cancelled));
}

#[test]
fn a_deep_chain_is_dropped() {
    for reverse in [false, true] {
        let mut chain = vec![CancellationToken::new()];
        for i in 0..DEEP {
            chain.push(chain[i].child_token());
        }
        if reverse {
            while chain.pop().is_some() {}
        } else {
            chain.drain(..).for_each(drop);
        }
    }
}

/// The test keeps only the ends of the chain. The nodes between are freed, and cancelling the
/// first still reaches the last.
#[test]
fn a_chain_without_its_middle() {
    let root = CancellationToken::new();
    let mut last = root.child_token();
    let mut most = 0;
    for _ in 0..10_000 {
        let made = ALLOCATOR.in_this_thread(|| last = last.child_token());
        most = most.max(made);
    }
    assert_eq!(most, 1);
    assert!(!last.is_cancelled());
    root.cancel();
    assert!(last.is_cancelled());
}

#[test]
fn the_root_goes_first() {
    let root = CancellationToken::new();
    let children = [root.child_token(), root.child_token()];
    let grandchildren = [children[0].child_token(), children[1].child_token()];
    drop(root);
    children[0].cancel();
    assert!(grandchildren[0].is_cancelled() && !grandchildren[1].is_cancelled());
    let [_, other] = children;
    let late = other.child_token();
    drop(other);
    assert!(!grandchildren[1].is_cancelled() && !late.is_cancelled());
}

#[test]
fn a_wait_allocates_nothing() {
    let token = CancellationToken::new();
    let child = token.child_token();
    {
        // With the feature `inspect`, the first records of a thread and of an object are made here.
        let (mut wait, mut other) = (pin!(child.cancelled()), pin!(child.cancelled()));
        for wait in [wait.as_mut(), other.as_mut()] {
            assert!(poll_once(wait, Waker::noop()).is_pending());
        }
    }
    let allocations = ALLOCATOR.in_this_thread(|| {
        let mut wait = pin!(child.cancelled());
        assert!(poll_once(wait.as_mut(), Waker::noop()).is_pending());
        let mut owned = pin!(child.clone().cancelled_owned());
        assert!(poll_once(owned.as_mut(), Waker::noop()).is_pending());
        token.cancel();
        assert!(poll_once(wait, Waker::noop()).is_ready());
        assert!(poll_once(owned, Waker::noop()).is_ready());
    });
    assert_eq!(allocations, 0);
}

/// A waker that panics prevents no other waker from being called, in its token or in
/// others.
#[test]
fn a_waker_panics() {
    let token = CancellationToken::new();
    let children: Vec<_> = (0..5).map(|_| token.child_token()).collect();
    let (wakings, waker) = Wakings::new();
    let mut waits: Vec<_> = children
        .iter()
        .map(|child| Box::pin(child.cancelled()))
        .collect();
    for (i, wait) in waits.iter_mut().enumerate() {
        let waker = if i % 2 == 0 {
            shouting_waker()
        } else {
            waker.clone()
        };
        assert!(poll_once(wait.as_mut(), &waker).is_pending());
    }
    let mut own = pin!(token.cancelled());
    assert!(poll_once(own.as_mut(), &waker).is_pending());
    let panic = catch_unwind(AssertUnwindSafe(|| token.cancel())).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"woken"));
    assert_eq!(wakings.count(), 3);
    assert!(children.iter().all(CancellationToken::is_cancelled));
}

/// A waker that uses the tree: no lock is held when it is called.
#[test]
fn a_waker_uses_the_tree() {
    let token = CancellationToken::new();
    let child = token.child_token();
    let tokens = (token.clone(), child.clone());
    let waker = blitz_io_testing::reentrant_waker(move || {
        let (token, child) = &tokens;
        assert!(token.is_cancelled() && child.is_cancelled());
        assert!(token.child_token().is_cancelled());
        token.cancel();
        child.cancel();
        drop(child.clone().child_token());
    });
    let mut wait = pin!(child.cancelled());
    assert!(poll_once(wait.as_mut(), &waker).is_pending());
    token.cancel();
    assert!(poll_once(wait, &waker).is_ready());
}

/// Threads make children, wait, and drop, while another thread cancels: all of them see
/// it.
#[test]
fn many_threads() {
    for round in 0..200 {
        let root = CancellationToken::new();
        let start = Arc::new(Barrier::new(5));
        let threads: Vec<_> = (0..4)
            .map(|i| {
                let (root, start) = (root.clone(), start.clone());
                thread::spawn(move || {
                    start.wait();
                    let mut kept = vec![root.child_token()];
                    for step in 0..50 {
                        let token = kept[(step * 7 + i) % kept.len()].child_token();
                        match (step + round + i) % 4 {
                            0 => drop(token),
                            1 => {
                                kept.swap_remove((step + i) % kept.len());
                                kept.push(token);
                            }
                            2 => {
                                let mut wait = Box::pin(token.clone().cancelled_owned());
                                let _ = poll_once(wait.as_mut(), Waker::noop());
                                kept.push(token);
                            }
                            _ => kept.push(token),
                        }
                    }
                    // Each ends when the root is cancelled.
                    for token in kept {
                        pollster::block_on(token.cancelled());
                    }
                })
            })
            .collect();
        start.wait();
        if round % 2 == 0 {
            thread::yield_now();
        }
        root.cancel();
        for thread in threads {
            thread.join().unwrap();
        }
    }
}

/// Writes before a token is cancelled are visible to a thread that sees it cancelled.
#[test]
fn cancelling_publishes() {
    for _ in 0..500 {
        let token = CancellationToken::new();
        let child = token.child_token();
        let done = Arc::new(AtomicBool::new(false));
        let other = thread::spawn({
            let done = done.clone();
            move || {
                done.store(true, Ordering::Relaxed);
                token.cancel();
            }
        });
        while !child.is_cancelled() {
            std::hint::spin_loop();
        }
        assert!(done.load(Ordering::Relaxed));
        other.join().unwrap();
    }
}

/// A tracker's wait ends when the last of many threads has dropped its token, and sees
/// the writes of all of them.
#[test]
fn a_tracker_of_threads() {
    for _ in 0..200 {
        let tracker = TaskTracker::new();
        let done = Arc::new(AtomicUsize::new(0));
        for _ in 0..4 {
            let (token, done) = (tracker.token(), done.clone());
            thread::spawn(move || {
                done.fetch_add(1, Ordering::Relaxed);
                drop(token);
            });
        }
        tracker.close();
        pollster::block_on(tracker.wait());
        assert_eq!(done.load(Ordering::Relaxed), 4);
    }
}

#[test]
fn threads_wait_for_the_cancellation() {
    let token = CancellationToken::new();
    let child = token.child_token();
    let past = Instant::now();
    assert!(!child.blocking_cancelled_deadline(past));
    assert!(!child.blocking_cancelled_timeout(Duration::from_millis(5)));
    assert!(past.elapsed() >= Duration::from_millis(5));
    let limits = [None, Some(Duration::MAX), Some(Duration::from_secs(900))];
    let waiters = limits.map(|limit| {
        let child = child.clone();
        thread::spawn(move || match limit {
            Some(timeout) => assert!(child.blocking_cancelled_timeout(timeout)),
            None => child.blocking_cancelled(),
        })
    });
    thread::sleep(A_WHILE);
    token.cancel();
    waiters
        .into_iter()
        .for_each(|waiter| waiter.join().unwrap());
    assert!(child.blocking_cancelled_deadline(past));
}
