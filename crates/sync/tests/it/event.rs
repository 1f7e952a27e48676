//! `Event`: the semantics that users of Windows, .NET and `rsevents` expect of the two kinds.

#[cfg(target_os = "linux")]
use blitz_io_testing::threads::sleeping;

use blitz_io_observe::IS_ENABLED;
use blitz_io_sync::thread::Event;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

const THREADS: usize = 8;
/// Long enough for a thread that is going to sleep to have fallen asleep.
const A_WHILE: Duration = Duration::from_millis(20);

/// Waits until `n` of the threads have ended, and then a while for more.
fn finish_exactly<T>(threads: &[ScopedJoinHandle<'_, T>], n: usize) {
    let finished = || threads.iter().filter(|thread| thread.is_finished()).count();
    while finished() < n {
        thread::yield_now();
    }
    thread::sleep(A_WHILE);
    assert_eq!(finished(), n);
}

fn spin_for(duration: Duration) {
    let began = Instant::now();
    while began.elapsed() < duration {
        std::hint::spin_loop();
    }
}

#[test]
fn const_and_debug() {
    static MANUAL: Event = Event::new_manual(true);
    static AUTO: Event = Event::new_auto(false);
    assert_eq!(
        format!("{MANUAL:?}"),
        "Event { reset: manual, is_set: true }"
    );
    assert_eq!(
        format!("{AUTO:?}"),
        "Event { reset: automatic, is_set: false }"
    );
    fn check<T: Send + Sync + std::panic::RefUnwindSafe>() {}
    check::<Event>();
    // With the feature `inspect` it also has a pointer to the facts about it.
    if !IS_ENABLED {
        assert_eq!(size_of::<Event>(), 8);
    }
}

#[test]
fn manual_stays_set_until_reset() {
    let event = Event::new_manual(false);
    assert!(!event.is_set() && !event.try_wait());
    event.set();
    event.set();
    for _ in 0..3 {
        assert!(event.is_set() && event.try_wait());
        event.wait();
    }
    event.reset();
    event.reset();
    assert!(!event.is_set() && !event.try_wait());
    event.set();
    assert!(event.try_wait());
}

#[test]
fn manual_releases_everybody() {
    let event = Event::new_manual(false);
    thread::scope(|s| {
        let threads: Vec<_> = (0..THREADS).map(|_| s.spawn(|| event.wait())).collect();
        finish_exactly(&threads, 0);
        event.set();
    });
    assert!(event.is_set());
}

/// Where the system tells whether a thread sleeps. Elsewhere a thread could begin to wait too late.
#[test]
#[cfg(target_os = "linux")]
fn manual_releases_those_who_wait_even_if_it_is_reset_at_once() {
    let event = Event::new_manual(false);
    for _ in 0..10 {
        thread::scope(|s| {
            for _ in 0..THREADS {
                sleeping(s, || event.wait());
            }
            event.set();
            event.reset();
        });
    }
}

#[test]
fn auto_lets_one_through_for_each_set() {
    let event = Event::new_auto(false);
    thread::scope(|s| {
        let threads: Vec<_> = (0..THREADS).map(|_| s.spawn(|| event.wait())).collect();
        finish_exactly(&threads, 0);
        for released in 1..=THREADS {
            event.set();
            finish_exactly(&threads, released);
            assert!(!event.is_set());
        }
    });
    assert!(!event.is_set());
}

#[test]
fn auto_does_not_count_sets_that_nobody_waits_for() {
    let event = Event::new_auto(true);
    event.set();
    event.set();
    assert!(event.is_set() && event.is_set());
    event.wait();
    assert!(!event.is_set() && !event.try_wait());
    event.set();
    assert!(event.try_wait());
    assert!(!event.try_wait());
}

#[test]
fn auto_reset_before_anybody_came() {
    let event = Event::new_auto(true);
    event.reset();
    event.reset();
    assert!(!event.try_wait());
    assert!(!event.wait_timeout(Duration::from_millis(1)));
}

#[test]
fn timed_waits() {
    for event in [Event::new_manual(false), Event::new_auto(false)] {
        let began = Instant::now();
        assert!(!event.wait_timeout(A_WHILE));
        assert!(began.elapsed() >= A_WHILE);
        assert!(!event.wait_deadline(began));
        assert!(!event.wait_timeout(Duration::ZERO));
        event.set();
        assert!(event.wait_deadline(began));
        event.set();
        assert!(event.wait_timeout(Duration::ZERO));
        event.reset();
        thread::scope(|s| {
            let for_ever = s.spawn(|| event.wait_timeout(Duration::MAX));
            thread::sleep(A_WHILE);
            event.set();
            assert!(for_ever.join().unwrap());
        });
    }
}

/// A thread waits for a moment while another sets the event at about the end of
/// that moment. Either the waiter has it, or it is still there.
#[test]
fn a_waiter_that_gives_up_does_not_take_the_set_with_it() {
    const ROUNDS: u64 = 1_500;
    let event = Event::new_auto(false);
    let (start, end) = (Barrier::new(2), Barrier::new(2));
    let waited = Mutex::new(false);
    thread::scope(|s| {
        s.spawn(|| {
            for round in 0..ROUNDS {
                start.wait();
                let timeout = Duration::from_micros(40 + round % 160);
                *waited.lock().unwrap() = event.wait_timeout(timeout);
                end.wait();
            }
        });
        for round in 0..ROUNDS {
            start.wait();
            spin_for(Duration::from_micros(40 + (round * 7) % 160));
            event.set();
            end.wait();
            assert_ne!(*waited.lock().unwrap(), event.try_wait(), "round {round}");
        }
    });
}

/// A second waiter has all the time in the world: when the
/// first one gives up, the set must reach the second, or this never ends.
#[test]
fn what_an_impatient_waiter_leaves_reaches_the_patient_one() {
    const ROUNDS: u64 = 1_000;
    const WAITS: usize = 0;
    const TOOK_IT: usize = 1;
    const GAVE_UP: usize = 2;
    let event = Event::new_auto(false);
    let (start, end) = (Barrier::new(3), Barrier::new(3));
    let impatient = AtomicUsize::new(WAITS);
    thread::scope(|s| {
        s.spawn(|| {
            for round in 0..ROUNDS {
                start.wait();
                let took_it = event.wait_timeout(Duration::from_micros(40 + round % 160));
                impatient.store(if took_it { TOOK_IT } else { GAVE_UP }, Ordering::SeqCst);
                end.wait();
            }
        });
        s.spawn(|| {
            for _ in 0..ROUNDS {
                start.wait();
                event.wait();
                end.wait();
            }
        });
        for round in 0..ROUNDS {
            start.wait();
            spin_for(Duration::from_micros(40 + (round * 7) % 160));
            event.set();
            let outcome = loop {
                match impatient.swap(WAITS, Ordering::SeqCst) {
                    WAITS => thread::yield_now(),
                    outcome => break outcome,
                }
            };
            if outcome == TOOK_IT {
                event.set();
            }
            end.wait();
            assert!(!event.is_set(), "round {round}");
        }
    });
}

/// Two threads take turns, each released by the other.
#[test]
fn auto_ping_pong() {
    const ROUNDS: usize = 3_000;
    let (ping, pong) = (Event::new_auto(false), Event::new_auto(false));
    let turns = AtomicUsize::new(0);
    thread::scope(|s| {
        s.spawn(|| {
            for round in 0..ROUNDS {
                ping.wait();
                assert_eq!(turns.fetch_add(1, Ordering::Relaxed), 2 * round);
                pong.set();
            }
        });
        for round in 0..ROUNDS {
            ping.set();
            pong.wait();
            assert_eq!(turns.fetch_add(1, Ordering::Relaxed), 2 * round + 1);
        }
    });
    assert!(!ping.is_set() && !pong.is_set());
}

/// Four producers put numbers into a queue and set the event; four consumers,
/// half of them with time-outs, wait for it and then take all there is.
#[test]
fn producers_and_consumers_miss_nothing() {
    const EACH: usize = 2_000;
    const LAST: usize = 4 * EACH;
    let event = Event::new_auto(false);
    let queue = Mutex::new(Vec::new());
    let (taken, sum) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let consume = |timeout: Option<Duration>| {
        while taken.load(Ordering::SeqCst) < LAST {
            match timeout {
                Some(timeout) => drop(event.wait_timeout(timeout)),
                None => event.wait(),
            }
            let batch = std::mem::take(&mut *queue.lock().unwrap());
            sum.fetch_add(batch.iter().sum(), Ordering::Relaxed);
            if taken.fetch_add(batch.len(), Ordering::SeqCst) + batch.len() == LAST {
                // Let the others see that it is over, one after another.
                event.set();
            }
        }
        event.set();
    };
    thread::scope(|s| {
        for consumer in 0..THREADS / 2 {
            let consume = &consume;
            let timeout = (consumer % 2 == 0).then(|| Duration::from_micros(60));
            s.spawn(move || consume(timeout));
        }
        for producer in 0..THREADS / 2 {
            let (event, queue) = (&event, &queue);
            s.spawn(move || {
                for i in 0..EACH {
                    queue.lock().unwrap().push(producer * EACH + i);
                    event.set();
                }
            });
        }
    });
    assert_eq!(sum.into_inner(), LAST * (LAST - 1) / 2);
}

/// A gate that opens and closes while eight threads pass it. A thread that waited when it opened
/// is never left behind by the closing.
#[test]
fn manual_stress() {
    const ROUNDS: usize = 300;
    let gates = [Event::new_manual(false), Event::new_manual(false)];
    let passed = AtomicUsize::new(0);
    thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| {
                for round in 0..ROUNDS {
                    gates[round % 2].wait();
                    passed.fetch_add(1, Ordering::Release);
                }
            });
        }
        for round in 0..ROUNDS {
            spin_for(Duration::from_micros((round as u64 * 11) % 120));
            gates[round % 2].set();
            while passed.load(Ordering::Acquire) < (round + 1) * THREADS {
                thread::yield_now();
            }
            gates[round % 2].reset();
        }
    });
    assert_eq!(passed.into_inner(), ROUNDS * THREADS);
}
