//! The exhaustive schedule runs each order once: their number follows from a formula.

use std::sync::Arc;

use blitz_io::sim::{Builder, Report, Schedule};
use blitz_io::sync::{Mutex, Notify, Semaphore};
use blitz_io::task;

/// More runs than any test here has, so that one which has too many fails.
const TOO_MANY: u64 = 10_000;
/// A run with so many steps is too long.
const TOO_LONG: u64 = 1_000;

fn exhaustive<F>(preemptions: Option<u32>, test: impl Fn() -> F) -> Report
where
    F: Future<Output = ()> + 'static,
{
    let schedule = Schedule::Exhaustive { preemptions };
    (Builder::new().seeds(TOO_MANY).max_steps(TOO_LONG))
        .schedule(schedule)
        .run(test)
}

fn factorial(n: u64) -> u64 {
    (1..=n).product()
}

/// The number of orders of tasks with so many steps each.
fn orders(steps: &[u64]) -> u64 {
    let each: u64 = steps.iter().map(|&n| factorial(n)).product();
    factorial(steps.iter().sum()) / each
}

#[test]
fn tasks_that_yield_have_as_many_orders_as_the_multinomial_says() {
    for yields in [[0, 0, 0], [1, 0, 2], [2, 1, 2], [3, 2, 1]] {
        let report = exhaustive(None, move || async move {
            for yields in yields {
                task::spawn(async move {
                    for _ in 0..yields {
                        task::yield_now().await;
                    }
                });
            }
        });
        assert_eq!(report.runs(), orders(&yields.map(|n| n + 1)), "{yields:?}");
        assert!(report.is_complete());
    }
}

/// Each task takes a permit `operations` times. There are enough for all, so no operation waits.
async fn permits(tasks: usize, operations: usize) {
    let permits = Arc::new(Semaphore::new(100));
    for _ in 0..tasks {
        let permits = permits.clone();
        task::spawn(async move {
            for _ in 0..operations {
                drop(permits.acquire().await.unwrap());
            }
        });
    }
}

#[test]
fn a_step_reaches_from_one_operation_to_the_next() {
    for (tasks, operations) in [(2, 1), (2, 3), (2, 5), (3, 2), (4, 1)] {
        let report = exhaustive(None, move || permits(tasks, operations));
        // One ends at the first operation, and one begins with the last.
        let steps = vec![operations as u64 + 1; tasks];
        assert_eq!(report.runs(), orders(&steps), "{tasks} x {operations}");
    }
}

#[test]
fn a_bound_limits_preemptions() {
    // One of two tasks goes first.
    assert_eq!(exhaustive(Some(0), || permits(2, 4)).runs(), 2);
    // Or it is preempted once, before one of its operations.
    let report = exhaustive(Some(1), || permits(2, 4));
    assert_eq!(report.runs(), 2 + 2 * 4);
    assert!(!report.is_complete());
    assert_eq!(
        exhaustive(Some(100), || permits(2, 4)).runs(),
        orders(&[5, 5])
    );
}

#[test]
fn critical_sections_come_in_each_order() {
    // A task has a step before the lock. Between lock and release it does nothing that another one could see.
    let report = exhaustive(None, || async {
        let lock = Arc::new(Mutex::new(Vec::new()));
        for number in 0..3 {
            let lock = lock.clone();
            task::spawn(async move { lock.lock().await.push(number) });
        }
    });
    assert_eq!(report.runs(), orders(&[2; 3]));
}

#[test]
fn select_begins_with_each_branch() {
    let report = exhaustive(None, || async {
        let first = blitz_io::select! {
            () = async {} => 1,
            () = async {} => 2,
            () = async {} => 3,
        };
        blitz_io::sim::sometimes(format!("{first}"), true);
    });
    assert_eq!(report.runs(), 3);
    assert_eq!(["1", "2", "3"].map(|name| report.happened(name)), [1; 3]);
}

#[test]
fn an_operation_that_waits_is_one_step_before_and_one_after() {
    // The other task runs before the waiter, before its operation, or when it waits.
    let report = exhaustive(None, || async {
        let event = Arc::new(Notify::new());
        let same = event.clone();
        task::spawn(async move { same.notified().await });
        task::spawn(async move { event.notify_one() });
    });
    assert_eq!(report.runs(), 3);
}
