//! `Barrier` and `SpinBarrier`: rounds, turns, laps, and threads that give up.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_sync::thread::{Barrier, BarrierTimedOut, BarrierWaitResult, SpinBarrier};
use blitz_io_testing::threads::{A_WHILE, Random, Watchdog, is_stuck, sleeping, work};

/// The common interface of both kinds. `meet` returns whether the thread leads.
trait Meet: Sync {
    fn with(threads: usize) -> Self;
    fn meet(&self) -> bool;
}

impl Meet for Barrier {
    fn with(threads: usize) -> Self {
        Self::new(threads)
    }

    fn meet(&self) -> bool {
        self.wait().is_leader()
    }
}

impl Meet for SpinBarrier {
    fn with(threads: usize) -> Self {
        Self::new(threads)
    }

    fn meet(&self) -> bool {
        self.wait().is_leader()
    }
}

#[test]
fn bounds_and_texts() {
    fn check<T: Send + Sync + UnwindSafe + RefUnwindSafe>() {}
    check::<Barrier>();
    check::<SpinBarrier>();
    check::<BarrierWaitResult>();
    check::<BarrierTimedOut>();
    static BARRIER: Barrier = Barrier::new(1);
    static SPIN: SpinBarrier = SpinBarrier::new(1);
    assert_eq!(format!("{BARRIER:?}"), "Barrier { .. }");
    assert_eq!(format!("{SPIN:?}"), "SpinBarrier { .. }");
    assert_eq!(
        format!("{:?} {:?}", BARRIER.wait(), SPIN.wait()),
        "BarrierWaitResult { is_leader: true } BarrierWaitResult { is_leader: true }"
    );
    let late = Barrier::new(2).wait_timeout(Duration::ZERO).unwrap_err();
    assert!(late.to_string().contains("in time"));
}

#[cfg(target_pointer_width = "64")]
#[test]
fn it_is_not_for_too_many() {
    let too_many = u32::MAX as usize + 1;
    assert!(std::panic::catch_unwind(|| Barrier::new(too_many)).is_err());
    assert!(std::panic::catch_unwind(|| SpinBarrier::new(too_many)).is_err());
    drop(Barrier::new(too_many - 1));
}

#[test]
fn nobody_waits_alone() {
    for threads in 0..2 {
        let (barrier, spin) = (Barrier::new(threads), SpinBarrier::new(threads));
        for _ in 0..3 {
            assert!(barrier.meet() && spin.meet());
            assert!(barrier.wait_timeout(Duration::ZERO).unwrap().is_leader());
            assert!(barrier.wait_deadline(Instant::now()).unwrap().is_leader());
        }
    }
}

#[test]
fn all_wait_for_the_last() {
    let _watchdog = Watchdog::new("all wait for the last");
    let barrier = Barrier::new(4);
    thread::scope(|scope| {
        let early = [(); 3].map(|()| sleeping(scope, || barrier.meet()));
        for thread in &early {
            assert!(is_stuck(thread));
        }
        assert!(barrier.meet());
        for thread in early {
            assert!(!thread.join().unwrap());
        }
    });
}

/// Each thread writes its place in the array, meets the others, and finds all
/// places written in this round. Exactly one of them leads.
fn rounds<B: Meet>(threads: usize, rounds: u64) {
    let _watchdog = Watchdog::new("rounds");
    let barrier = B::with(threads);
    let places: Vec<_> = (0..threads).map(|_| AtomicU64::new(0)).collect();
    let leaders = AtomicU64::new(0);
    let run = |me: usize| {
        for round in 1..=rounds {
            places[me].store(round, Ordering::Relaxed);
            if barrier.meet() {
                leaders.fetch_add(1, Ordering::Relaxed);
            }
            for place in &places {
                assert_eq!(place.load(Ordering::Relaxed), round);
            }
            barrier.meet();
            assert_eq!(leaders.load(Ordering::Relaxed), round);
            barrier.meet();
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|me| scope.spawn(move || run_or_exit(|| run(me))))
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(leaders.into_inner(), rounds);
}

/// A thread that fails would leave the others waiting for it.
fn run_or_exit(run: impl FnOnce()) {
    if std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err() {
        std::process::exit(101);
    }
}

#[test]
fn two_threads_meet_in_every_round() {
    rounds::<Barrier>(2, 10_000);
    rounds::<SpinBarrier>(2, 2_000);
}

#[test]
fn three_threads_meet_in_every_round() {
    rounds::<Barrier>(3, 1_000);
    rounds::<SpinBarrier>(3, 500);
}

#[test]
fn eight_threads_meet_in_every_round() {
    rounds::<Barrier>(8, 500);
    rounds::<SpinBarrier>(8, 200);
}

/// Threads of which some work for longer than the others are willing to look:
/// they sleep, and are woken.
#[test]
fn sleepers_are_woken_in_every_round() {
    let _watchdog = Watchdog::new("sleepers");
    const ROUNDS: usize = 200;
    let barrier = Barrier::new(3);
    let leaders = AtomicUsize::new(0);
    thread::scope(|scope| {
        for me in 0..3 {
            let (barrier, leaders) = (&barrier, &leaders);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    if round % 3 == me {
                        thread::sleep(Duration::from_micros(200));
                    }
                    leaders.fetch_add(usize::from(barrier.meet()), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(leaders.into_inner(), ROUNDS);
}

/// More threads than it is for: any `size` of them make a round. The number of visits is a
/// multiple of the size, so no thread is left waiting if any thread may make the next visit.
fn turns<B: Meet>(threads: usize, size: usize, visits: usize) {
    let _watchdog = Watchdog::new("turns");
    assert_eq!(visits % size, 0);
    let barrier = B::with(size);
    let (begun, leaders) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let run = || {
        while begun.fetch_add(1, Ordering::Relaxed) < visits {
            leaders.fetch_add(usize::from(barrier.meet()), Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(run);
        }
    });
    assert_eq!(leaders.into_inner(), visits / size);
}

#[test]
fn more_threads_than_it_is_for_take_turns() {
    turns::<Barrier>(8, 2, 20_000);
    turns::<Barrier>(8, 3, 6_000);
    turns::<Barrier>(7, 5, 5_000);
    turns::<SpinBarrier>(5, 2, 2_000);
    turns::<SpinBarrier>(5, 3, 1_500);
}

/// One slow visitor; the others meet again and again before it has even left.
/// It must not take a later round for its own, nor miss that its own is over.
#[test]
fn one_thread_laps_another() {
    let _watchdog = Watchdog::new("laps");
    let barrier = Barrier::new(2);
    for laps in [1, 2, 3, 1000] {
        thread::scope(|scope| {
            let slow = sleeping(scope, || barrier.meet());
            assert!(barrier.meet());
            let run = || {
                (0..laps)
                    .map(|_| usize::from(barrier.meet()))
                    .sum::<usize>()
            };
            let fast = scope.spawn(run);
            assert_eq!(run() + fast.join().unwrap(), laps);
            assert!(!slow.join().unwrap());
        });
    }
}

#[test]
fn who_gives_up_has_not_arrived() {
    let _watchdog = Watchdog::new("giving up");
    let barrier = Barrier::new(2);
    let past = Instant::now();
    for _ in 0..3 {
        assert!(barrier.wait_deadline(past).is_err());
        assert!(barrier.wait_timeout(Duration::ZERO).is_err());
        let began = Instant::now();
        assert!(barrier.wait_timeout(Duration::from_millis(5)).is_err());
        assert!(began.elapsed() >= Duration::from_millis(5));
    }
    thread::scope(|scope| {
        let other = sleeping(scope, || {
            barrier.wait_timeout(Duration::MAX).unwrap().is_leader()
        });
        assert!(barrier.wait_timeout(Duration::ZERO).unwrap().is_leader());
        assert!(!other.join().unwrap());
    });
}

/// One of three gives up while another one sleeps: that one needs two more.
#[test]
fn giving_up_leaves_the_others_counted() {
    let _watchdog = Watchdog::new("others counted");
    let barrier = Barrier::new(3);
    thread::scope(|scope| {
        let patient = sleeping(scope, || barrier.meet());
        assert!(is_stuck(&patient));
        assert!(barrier.wait_timeout(A_WHILE).is_err());
        let second = sleeping(scope, || barrier.meet());
        assert!(is_stuck(&patient) && is_stuck(&second));
        assert!(barrier.meet());
        assert!(!patient.join().unwrap() && !second.join().unwrap());
    });
}

/// Two threads with deadlines at about the same time: both meet, or neither.
#[test]
fn both_meet_or_neither() {
    let _watchdog = Watchdog::new("both or neither");
    let barrier = Barrier::new(2);
    let (met, leaders) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let visit = |pause| {
        work(Duration::from_micros(pause));
        if let Ok(result) = barrier.wait_timeout(Duration::from_micros(100)) {
            met.fetch_add(1, Ordering::Relaxed);
            leaders.fetch_add(usize::from(result.is_leader()), Ordering::Relaxed);
        }
    };
    let mut random = Random::new(5);
    for _ in 0..500 {
        let (one, two) = (random.below(200), random.below(200));
        thread::scope(|scope| {
            scope.spawn(|| visit(one));
            visit(two);
        });
        assert_eq!(
            met.load(Ordering::Relaxed),
            2 * leaders.load(Ordering::Relaxed)
        );
    }
    // And it is as good as new.
    assert!(barrier.wait_timeout(Duration::ZERO).is_err());
}

/// Many threads with deadlines come and go. In every round as many are let go
/// as it is for.
#[test]
fn comers_and_goers() {
    let _watchdog = Watchdog::new("comers and goers");
    let barrier = Barrier::new(3);
    let (met, leaders) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for seed in 0..8 {
            let (barrier, met, leaders) = (&barrier, &met, &leaders);
            scope.spawn(move || {
                let mut random = Random::new(seed + 1);
                for _ in 0..500 {
                    let timeout = Duration::from_micros(random.below(300));
                    if let Ok(result) = barrier.wait_timeout(timeout) {
                        met.fetch_add(1, Ordering::Relaxed);
                        leaders.fetch_add(usize::from(result.is_leader()), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(met.into_inner(), 3 * leaders.into_inner());
    assert!(barrier.wait_timeout(Duration::ZERO).is_err());
}
