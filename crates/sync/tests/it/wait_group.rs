//! `WaitGroup`: the promises of crossbeam's, and the timed waits.

use blitz_io_sync::thread::WaitGroup;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const THREADS: usize = 8;
const A_WHILE: Duration = Duration::from_millis(20);

#[test]
fn waits_for_all_members() {
    let group = WaitGroup::new();
    let done = AtomicUsize::new(0);
    thread::scope(|s| {
        for _ in 0..THREADS {
            let (group, done) = (group.clone(), &done);
            s.spawn(move || {
                thread::sleep(A_WHILE);
                done.fetch_add(1, Ordering::Relaxed);
                drop(group);
            });
        }
        group.wait();
        assert_eq!(done.load(Ordering::Relaxed), THREADS);
    });
}

#[test]
fn all_may_wait() {
    let group = WaitGroup::default();
    let arrived = AtomicUsize::new(0);
    thread::scope(|s| {
        for _ in 0..THREADS {
            let (group, arrived) = (group.clone(), &arrived);
            s.spawn(move || {
                arrived.fetch_add(1, Ordering::Relaxed);
                group.wait();
                assert_eq!(arrived.load(Ordering::Relaxed), THREADS);
            });
        }
        thread::sleep(A_WHILE);
        drop(group);
    });
}

#[test]
fn a_group_of_one_does_not_wait() {
    WaitGroup::new().wait();
    assert!(WaitGroup::new().wait_timeout(Duration::ZERO).is_ok());
    assert!(WaitGroup::new().wait_deadline(Instant::now()).is_ok());
}

#[test]
fn debug_shows_the_members() {
    let group = WaitGroup::new();
    let other = group.clone();
    assert_eq!(format!("{group:?}"), "WaitGroup { count: 2 }");
    drop(other);
    assert_eq!(format!("{group:?}"), "WaitGroup { count: 1 }");
    fn check<T: Send + Sync + std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    check::<WaitGroup>();
}

#[test]
fn a_member_that_panics_has_left() {
    let group = WaitGroup::new();
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let member = group.clone();
            thread::spawn(move || {
                let _member = member;
                thread::sleep(A_WHILE);
                resume_unwind(Box::new("on purpose"));
            })
        })
        .collect();
    group.wait();
    assert!(threads.into_iter().all(|thread| thread.join().is_err()));
}

#[test]
fn members_may_bring_in_others() {
    fn grow(group: WaitGroup, levels: usize, leaves: &'static AtomicUsize) {
        if levels == 0 {
            leaves.fetch_add(1, Ordering::Relaxed);
            return;
        }
        for _ in 0..2 {
            let group = group.clone();
            thread::spawn(move || grow(group, levels - 1, leaves));
        }
    }
    static LEAVES: AtomicUsize = AtomicUsize::new(0);
    let group = WaitGroup::new();
    grow(group.clone(), 4, &LEAVES);
    group.wait();
    assert_eq!(LEAVES.load(Ordering::Relaxed), 16);
}

#[test]
fn a_wait_that_times_out_gives_the_membership_back() {
    let group = WaitGroup::new();
    let other = group.clone();
    let began = Instant::now();
    let group = group.wait_timeout(A_WHILE).unwrap_err();
    assert!(began.elapsed() >= A_WHILE);
    let group = group.wait_deadline(began).unwrap_err();
    assert_eq!(format!("{group:?}"), "WaitGroup { count: 2 }");
    let third = group.clone();

    thread::scope(|s| {
        // The other one waits for the membership that has returned.
        let waiter = s.spawn(|| other.wait());
        let for_ever = s.spawn(|| third.wait_timeout(Duration::MAX).is_ok());
        thread::sleep(A_WHILE);
        assert!(!waiter.is_finished() && !for_ever.is_finished());
        drop(group);
        assert!(for_ever.join().unwrap());
    });
}

/// The last of the others leaves at about the moment of the timeout. A wait that reports
/// that all have left does so for an empty group.
#[test]
fn the_last_moment() {
    const ROUNDS: u64 = 1_000;
    for round in 0..ROUNDS {
        let group = WaitGroup::new();
        let other = group.clone();
        let last_words = AtomicUsize::new(0);
        thread::scope(|s| {
            let leaver = s.spawn(|| {
                let began = Instant::now();
                while began.elapsed() < Duration::from_micros((round * 7) % 60) {}
                last_words.store(1, Ordering::Relaxed);
                other.wait();
            });
            match group.wait_timeout(Duration::from_micros(40 + round % 100)) {
                Ok(()) => assert_eq!(last_words.load(Ordering::Relaxed), 1),
                Err(group) => {
                    assert!(!leaver.is_finished());
                    drop(group);
                }
            }
        });
    }
}

#[test]
fn stress() {
    const ROUNDS: usize = 300;
    let sum = AtomicUsize::new(0);
    thread::scope(|s| {
        let mut groups: Vec<WaitGroup> = (0..ROUNDS).map(|_| WaitGroup::new()).collect();
        for thread in 0..THREADS {
            let (members, sum) = (groups.clone(), &sum);
            s.spawn(move || {
                for (round, member) in members.into_iter().enumerate() {
                    sum.fetch_add(round, Ordering::Relaxed);
                    match (thread + round) % 4 {
                        0 => drop(member),
                        1 => member.wait(),
                        2 => drop(member.clone()),
                        _ => {
                            let mut member = Some(member);
                            while let Some(still_there) = member.take() {
                                let timeout = Duration::from_micros(round as u64 % 70);
                                member = still_there.wait_timeout(timeout).err();
                            }
                        }
                    }
                }
            });
        }
        for (round, group) in groups.drain(..).enumerate() {
            group.wait();
            assert!(sum.load(Ordering::Relaxed) >= THREADS * round * (round + 1) / 2);
        }
    });
    assert_eq!(sum.into_inner(), THREADS * ROUNDS * (ROUNDS - 1) / 2);
}
