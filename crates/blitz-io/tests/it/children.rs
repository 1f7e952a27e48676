//! The events of the children of scopes, in the text of a failure.

use std::time::Duration;

use blitz_io::inspect::Named;
use blitz_io::sim::{self, Failure};
use blitz_io::sync::Mutex;
use blitz_io::{task, time};

use crate::events::{fails, has_lines};

/// Two children take the lock, in each turn.
async fn turn(lock: &Mutex<u32>) {
    let before = *lock.lock().await;
    task::scope(async |scope| {
        for _ in 0..2 {
            scope.spawn(async {
                for _ in 0..10 {
                    *lock.lock().await += 1;
                }
                time::sleep(Duration::from_millis(1)).await;
            });
        }
    })
    .await;
    assert!(before < 200, "on purpose");
}

/// Returns the lines of a task in the events.
fn of_task<'a>(failure: &'a Failure, name: &str) -> Vec<&'a str> {
    let lines = failure.events().lines();
    let own = lines.skip_while(|line| !line.starts_with(&format!("  {name}")));
    own.skip(1)
        .take_while(|line| line.starts_with("    "))
        .collect()
}

#[test]
fn a_task_and_its_children_have_one_budget() {
    let failure = fails(|| async {
        let lock = Mutex::new(0).named("count");
        loop {
            turn(&lock).await;
        }
    });
    let lines = of_task(&failure, "task 1");
    let is_event = |line: &&&str| line.starts_with("    step ");
    let events = lines.iter().filter(is_event).count();
    assert_eq!(events, 20, "{failure}");
    // Each of the turns takes the lock itself, which the events of its children do not push out.
    let own = lines
        .iter()
        .filter(|line| line.contains(": takes Mutex \"count\", at "));
    assert!(own.count() >= 2, "{failure}");
    // Of the ended children that one line has spawned, the last two are shown.
    let of_children = lines.iter().filter(|line| line.contains(", spawned at "));
    assert_eq!(of_children.count(), 2, "{failure}");
    let folded = lines.iter().find(|line| line.contains(" more like child "));
    assert_eq!(folded, Some(&"    and 20 more like child 21"), "{failure}");
}

#[test]
fn a_child_that_has_not_ended_is_not_folded() {
    let failure = fails(|| async {
        let lock = Mutex::new(());
        task::scope(async |scope| {
            for _ in 0..4 {
                scope.spawn(async {
                    let _guard = lock.lock().await;
                    std::future::pending::<()>().await;
                });
            }
        })
        .await;
    });
    let lines = of_task(&failure, "task 1");
    let of_children = lines.iter().filter(|line| line.contains(", spawned at "));
    assert_eq!(of_children.count(), 4, "{failure}");
    assert!(!failure.events().contains(" more like "), "{failure}");
}

#[test]
fn a_child_with_a_note_is_not_folded() {
    let failure = fails(|| async {
        for turn in 0..5 {
            task::scope(async |scope| {
                scope.spawn(async move {
                    if turn == 0 {
                        sim::note("the first turn");
                    }
                    task::yield_now().await;
                });
            })
            .await;
        }
        panic!("on purpose");
    });
    has_lines(
        &failure,
        &[
            "    child 1, spawned at ",
            "    and 2 more like child 4",
            ": child 1 note: the first turn, at ",
        ],
    );
}
