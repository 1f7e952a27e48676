//! Each schedule finds a mistake that the first order does not show.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use blitz_io::sim::{Builder, Cause, Schedule};
use blitz_io::sync::Mutex;
use blitz_io::task;

/// A value that is read and written under the lock, but not in the same critical section.
async fn check_then_act() {
    let free = Arc::new((Mutex::new(1), AtomicU32::new(0)));
    let takers = [0; 3].map(|_| {
        let free = free.clone();
        task::spawn(async move {
            if *free.0.lock().await == 1 {
                let mut left = free.0.lock().await;
                *left -= 1;
                free.1.fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    for taker in takers {
        taker.await.unwrap();
    }
    assert_eq!(free.1.load(Ordering::Relaxed), 1);
}

#[test]
fn a_gap_between_critical_sections_is_found() {
    let texts = [
        "portfolio",
        "random",
        "pct:2",
        "pct:3",
        "pos",
        "surw",
        "guided",
        "exhaustive",
        "exhaustive:1",
    ];
    for text in texts {
        let schedule: Schedule = text.parse().unwrap();
        let checked = Builder::new().schedule(schedule).check(check_then_act);
        let failure = checked.unwrap_err();
        assert!(
            matches!(failure.cause(), Cause::Panic(_)),
            "{text}: {failure}"
        );
        assert!(failure.trace().len() <= 2, "{text}: {failure}");
    }
}

#[test]
fn without_preemptions_there_is_no_gap() {
    for text in ["round-robin", "exhaustive:0"] {
        let schedule = text.parse().unwrap();
        Builder::new().schedule(schedule).run(check_then_act);
    }
}

/// A task that ends only if it runs its step among 20 of another task at one certain place.
async fn rare(place: u32) {
    let count = Arc::new(AtomicU32::new(0));
    let same = count.clone();
    let other = task::spawn(async move {
        for _ in 0..20 {
            same.fetch_add(1, Ordering::Relaxed);
            task::consume_budget().await;
        }
    });
    let same = count.clone();
    let probe = task::spawn(async move {
        assert_ne!(same.load(Ordering::Relaxed), place, "found");
    });
    _ = (other.await, probe.await);
}

/// A random walk reaches the twentieth step before another task has run in one of a million runs. PCT with depth 2 does
/// in one of forty or so.
#[test]
fn pct_finds_what_a_random_walk_does_not() {
    let found = |schedule: Schedule| {
        let builder = Builder::new().schedule(schedule).shrink(false).seeds(2_000);
        builder.check(|| rare(20)).is_err()
    };
    assert!(!found(Schedule::Random));
    assert!(found(Schedule::Pct { depth: 2 }));
}

#[test]
#[should_panic(expected = "the largest depth of PCT is 10000")]
fn a_depth_that_takes_gigabytes_is_refused() {
    let depth = u32::MAX;
    _ = Builder::new().schedule(Schedule::Pct { depth });
}

/// Tasks that use locks of their own, and one that must run at one certain place among those of another one.
async fn needle() {
    let mut tasks = Vec::new();
    for _ in 0..4 {
        tasks.push(task::spawn(async {
            let own = Mutex::new(0);
            for _ in 0..10 {
                *own.lock().await += 1;
            }
        }));
    }
    let count = Arc::new(Mutex::new(0));
    let same = count.clone();
    tasks.push(task::spawn(async move {
        for _ in 0..20 {
            *same.lock().await += 1;
        }
    }));
    tasks.push(task::spawn(async move {
        assert_ne!(*count.lock().await, 19, "found");
    }));
    for task in tasks {
        task.await.unwrap();
    }
}

/// The search learns which lock is contended, and when each task uses it. A random walk runs the task early.
#[test]
fn a_guided_search_finds_what_a_random_walk_does_not() {
    let found = |schedule| {
        let builder = Builder::new().schedule(schedule).shrink(false).seeds(400);
        builder.check(needle).is_err()
    };
    assert!(!found(Schedule::Random));
    assert!(found(Schedule::Guided));
}

/// A task that yields until another one has run would run for ever if its priority stayed the highest.
#[test]
fn a_task_that_yields_until_another_has_run_ends() {
    for text in [
        "portfolio",
        "random",
        "pct:1",
        "pct:3",
        "pos",
        "surw",
        "guided",
    ] {
        let builder = Builder::new().schedule(text.parse().unwrap());
        builder.seeds(200).max_steps(1_000).run(|| async {
            let other = task::spawn(task::yield_now());
            while !other.is_finished() {
                task::yield_now().await;
            }
        });
    }
}
