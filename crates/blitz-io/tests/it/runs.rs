//! A run does not depend on those before it, although they use the same runtime.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use blitz_io::runtime::Handle;
use blitz_io::sim::{Builder, Schedule};
use blitz_io::task;
use blitz_io::time::{Instant, sleep};

/// What a run sees of its order, its clock, and the counters of its runtime.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Seen {
    order: Vec<u64>,
    moments: Vec<Duration>,
    spawned: u64,
    polls: u64,
    parks: u64,
}

async fn see() -> Seen {
    let start = Instant::now();
    let order = Rc::new(RefCell::new(Vec::new()));
    // These are in slots of different levels of the wheel.
    let tasks = [1, 1, 63, 64, 64, 5_000, 300_000, 100_000_000].map(|millis| {
        let order = order.clone();
        task::spawn_local(async move {
            sleep(Duration::from_millis(millis)).await;
            order.borrow_mut().push(millis);
            start.elapsed()
        })
    });
    let mut moments = Vec::new();
    for task in tasks {
        moments.push(task.await.unwrap());
    }
    let metrics = Handle::current().metrics();
    Seen {
        order: order.take(),
        moments,
        spawned: metrics.spawned_tasks_count(),
        polls: metrics.worker_poll_count(0),
        parks: metrics.worker_park_count(0),
    }
}

/// Returns what each run sees. `leave` is called at the end of each.
fn runs(builder: &Builder, leave: fn()) -> Vec<Seen> {
    let all = Rc::new(RefCell::new(Vec::new()));
    let own = all.clone();
    builder.run(move || {
        let own = own.clone();
        async move {
            let seen = see().await;
            own.borrow_mut().push(seen);
            leave();
        }
    });
    all.take()
}

fn is_the_same_alone(leave: fn()) {
    let builder = Builder::new().schedule(Schedule::Random).allow_leaks(true);
    let together = runs(&builder.clone().seeds(20), leave);
    assert_eq!(together.len(), 20);
    for (seed, seen) in (0..).zip(together) {
        let alone = builder.clone().seed(seed).seeds(1);
        assert_eq!(runs(&alone, leave), [seen], "seed {seed}");
    }
}

#[test]
fn a_run_is_the_same_after_others_and_alone() {
    is_the_same_alone(|| {});
}

#[test]
fn a_run_that_leaves_tasks_timers_and_handles_does_not_change_the_next_one() {
    is_the_same_alone(|| {
        task::spawn_local(sleep(Duration::from_secs(1)));
    });
    is_the_same_alone(|| std::mem::forget(Handle::current()));
    is_the_same_alone(|| {
        blitz_io::time::resume();
    });
}
