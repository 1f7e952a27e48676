//! The decisions that are left of a failure, in words.

use std::time::Duration;

use blitz_io::sim::{Builder, Failure, Outcome, Schedule};
use blitz_io::{task, time};

use super::events::{fails, has_lines};

/// Returns the failure of a test that needs one decision.
fn fails_by_one<F>(builder: Builder, test: impl Fn() -> F) -> Failure
where
    F: Future<Output: Outcome> + 'static,
{
    let failure = builder.check(test).unwrap_err();
    assert_eq!(failure.trace().len(), 1, "{failure}");
    *failure
}

const TITLE: &str = "  where the run differs from the plain one";

async fn works_in_time(is_own: bool) {
    let work = task::spawn(async {
        for _ in 0..10 {
            task::yield_now().await;
        }
    });
    let limit = Duration::from_millis(1);
    let in_time = if is_own {
        time::timeout(limit, work).await.is_ok()
    } else {
        time::sleep(limit).await;
        work.is_finished()
    };
    assert!(in_time, "too late");
}

#[test]
fn an_early_timer_is_in_words() {
    for is_own in [false, true] {
        let builder = Builder::new().early_timers(true).allow_leaks(true);
        let failure = fails_by_one(builder, move || works_in_time(is_own));
        let line = ": a timer of task 1 fires although task 2 is ready";
        has_lines(&failure, &[TITLE, line]);
    }
}

#[cfg(feature = "macros")]
#[test]
fn the_first_branch_of_a_select_is_in_words() {
    let line = line!() + 2;
    let failure = fails_by_one(Builder::new(), || async {
        let first = blitz_io::select! {
            _ = async {} => 1,
            _ = async {} => 2,
            _ = async {} => 3,
        };
        assert_ne!(first, 3);
    });
    let what = format!(": `select!` at {}:{line} begins with branch 3", file!());
    has_lines(&failure, &[TITLE, &what]);
}

#[test]
fn the_order_of_children_is_in_words() {
    let failure = fails_by_one(Builder::new(), || async {
        let first = std::sync::Mutex::new(0);
        task::scope(async |scope| {
            for child in 1..=3 {
                let first = &first;
                scope.spawn(async move {
                    let mut first = first.lock().unwrap();
                    if *first == 0 {
                        *first = child;
                    }
                });
            }
        })
        .await;
        assert_ne!(*first.lock().unwrap(), 2);
    });
    has_lines(&failure, &[TITLE, ": child 2 is polled before child 1"]);
}

#[test]
fn the_preemption_of_a_child_by_another_one_is_in_words() {
    let failure = fails(|| async {
        let counter = blitz_io::sync::Mutex::new(0);
        task::scope(async |scope| {
            for _ in 0..2 {
                let counter = &counter;
                scope.spawn(async move {
                    let before = *counter.lock().await;
                    *counter.lock().await = before + 1;
                });
            }
        })
        .await;
        assert_eq!(*counter.lock().await, 2, "an update is lost");
    });
    // Preempted, child 1 is ready as before, and the first one.
    assert_eq!(failure.trace().len(), 2, "{failure}");
    let what = ": another child of the scope preempts child 1";
    has_lines(
        &failure,
        &[TITLE, what, ": child 2 is polled before child 1"],
    );
}

#[test]
fn the_worker_of_a_task_is_in_words() {
    let builder = Builder::new().schedule(Schedule::Random);
    let failure = fails_by_one(builder, || async {
        task::spawn(async { assert_eq!(blitz_io::runtime::worker_index(), Some(0)) })
            .await
            .unwrap();
    });
    has_lines(&failure, &[TITLE, ": task 2 runs on worker 1, not on 0"]);
}
