//! Time in a simulation.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use blitz_io::sim::{self, Builder};
use blitz_io::task;
use blitz_io::time::{self, Instant};

#[test]
fn a_year_of_timers_takes_no_time() {
    Builder::new().seeds(3).run(|| async {
        let start = Instant::now();
        for _ in 0..364 {
            time::sleep(Duration::from_secs(86_400)).await;
        }
        assert_eq!(start.elapsed(), Duration::from_secs(364 * 86_400));
    });
}

#[test]
fn timers_fire_in_the_order_of_their_deadlines() {
    Builder::new().seeds(100).run(|| async {
        let order = Rc::new(RefCell::new(Vec::new()));
        for seconds in [3, 1, 2] {
            let order = order.clone();
            task::spawn_local(async move {
                time::sleep(Duration::from_secs(seconds)).await;
                order.borrow_mut().push(seconds);
            });
        }
        time::sleep(Duration::from_secs(9)).await;
        assert_eq!(*order.borrow(), [1, 2, 3]);
    });
}

#[test]
fn tasks_with_the_same_deadline_come_in_each_order() {
    let report = Builder::new().seeds(100).run(|| async {
        let order = Rc::new(RefCell::new(String::new()));
        for name in ["a", "b", "c"] {
            let order = order.clone();
            task::spawn_local(async move {
                time::sleep(Duration::from_secs(1)).await;
                order.borrow_mut().push_str(name);
            });
        }
        time::sleep(Duration::from_secs(2)).await;
        sim::sometimes(order.take(), true);
    });
    for order in ["abc", "acb", "bac", "bca", "cab", "cba"] {
        assert!(report.happened(order) > 0, "{order}");
    }
}

/// The work takes no simulated time.
async fn work_with_timeout() {
    let work = task::spawn(async {
        for _ in 0..20 {
            task::yield_now().await;
        }
    });
    let result = time::timeout(Duration::from_secs(1), work).await;
    sim::sometimes("too late", result.is_err());
}

#[test]
fn a_timeout_may_fire_before_ready_tasks_only_if_that_is_allowed() {
    let builder = Builder::new().seeds(200).allow_leaks(true);
    let report = builder.clone().run(work_with_timeout);
    assert_eq!(report.never(), ["too late"]);
    let report = builder.early_timers(true).run(work_with_timeout);
    let late = report.happened("too late");
    assert!(late > 0 && late < 200, "{late}");
}

#[test]
fn advance_wakes_those_whose_time_has_come() {
    Builder::new().seeds(50).run(|| async {
        let start = Instant::now();
        let task = task::spawn(async move {
            time::sleep_until(start + Duration::from_secs(5)).await;
            start.elapsed()
        });
        while !task.is_finished() {
            time::advance(Duration::from_secs(1)).await;
        }
        let elapsed = task.await.unwrap();
        assert!(elapsed >= Duration::from_secs(5));
    });
}
