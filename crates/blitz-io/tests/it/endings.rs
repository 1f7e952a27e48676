//! How tasks and waits end, in the text of a failure: panics, aborts, futures that are dropped; and the names of who did it.

use std::future::pending;
use std::time::Duration;

use blitz_io::inspect::Certainty;
use blitz_io::sim::{Builder, Cause, Failure, Outcome};
use blitz_io::sync::{mpsc, oneshot};
use blitz_io::task::{self, JoinSet};
use blitz_io::time::{sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);

fn fails<F>(test: impl Fn() -> F) -> Failure
where
    F: Future<Output: Outcome> + 'static,
{
    *Builder::new().check(test).unwrap_err()
}

/// Requires that the events of a task have lines with these ends, one after the other. Returns them without their steps.
#[track_caller]
fn has_ends(failure: &Failure, task: u64, ends: &[&str]) {
    let title = format!("  task {task}");
    let lines = failure.events().lines();
    let own = lines.skip_while(|line| !line.starts_with(&title)).skip(1);
    let mut own = own.take_while(|line| line.starts_with("    "));
    for end in ends {
        let found = own.any(|line| line.split_once(": ").is_some_and(|(_, text)| is(text, end)));
        assert!(found, "`{end}` of task {task}: {failure}");
    }
}

/// Returns `true` if a text is the expected one, in which `…` is the place of a line in this file.
fn is(text: &str, expected: &str) -> bool {
    match expected.split_once('…') {
        None => text == expected,
        Some((before, after)) => {
            let place = text
                .strip_prefix(before)
                .and_then(|rest| rest.strip_suffix(after));
            place.is_some_and(|place| place.contains("endings.rs:") && !place.contains(' '))
        }
    }
}

#[test]
fn a_parallel_child_that_panics_says_so_and_its_siblings_are_aborted() {
    let failure = fails(|| async {
        task::parallel_scope(async |scope| {
            scope.spawn(async {
                task::yield_now().await;
                panic!("of the child\non two lines");
            });
            scope.spawn(pending::<()>());
            sleep(SECOND).await;
        })
        .await;
    });
    has_ends(&failure, 2, &["panics: of the child, at …"]);
    let aborted = [
        "is aborted by task 2, as its scope has failed",
        "is dropped, as it was aborted",
    ];
    has_ends(&failure, 3, &aborted);
    let events = failure.events();
    assert_eq!(events.matches("is aborted").count(), 1, "{failure}");
    assert_eq!(events.matches(": ends").count(), 0, "{failure}");
}

#[test]
fn an_abort_has_its_line_and_its_task() {
    let failure = fails(|| async {
        let task = task::spawn(pending::<()>());
        let mut set = JoinSet::new();
        set.spawn(sleep(SECOND * 5));
        task::yield_now().await;
        sleep(SECOND).await;
        task.abort();
        // Only the first one counts.
        task.abort_handle().abort();
        drop(set);
        let scoped = task::scope(async |scope| {
            let child = scope.spawn(sleep(SECOND * 5));
            task::yield_now().await;
            child.abort();
            child.await
        });
        assert!(scoped.await.unwrap_err().is_cancelled());
        sleep(SECOND).await;
        panic!("on purpose");
    });
    has_ends(
        &failure,
        2,
        &[
            "is aborted by task 1, at …",
            "is dropped, as it was aborted",
        ],
    );
    let of_set = [
        "is aborted by task 1, which drops its JoinSet",
        "is dropped, as it was aborted",
    ];
    has_ends(&failure, 3, &of_set);
    has_ends(&failure, 1, &["child 1 is aborted by task 1, at …"]);
    assert_eq!(
        failure.events().matches("is aborted").count(),
        3,
        "{failure}"
    );
}

#[test]
fn a_scope_that_aborts_all_is_named_with_its_line() {
    let failure = fails(|| async {
        task::scope(async |scope| {
            scope.spawn(pending::<()>());
            task::yield_now().await;
            scope.abort_all();
            // It is no event of the first child, and has not begun.
            scope.spawn(async {});
        })
        .await;
        task::parallel_scope(async |scope| {
            scope.spawn(pending::<()>());
            sleep(SECOND).await;
            scope.abort_all();
        })
        .await;
        panic!("on purpose");
    });
    has_ends(&failure, 1, &["child 1 is aborted by task 1, at …"]);
    let of_parallel = [
        "is aborted by task 1, at …",
        "is dropped, as it was aborted",
    ];
    has_ends(&failure, 2, &of_parallel);
    let events = failure.events();
    assert_eq!(events.matches("is aborted").count(), 2, "{failure}");
}

#[test]
fn no_report_has_the_number_of_a_thread() {
    let test = || async {
        let (sender, receiver) = oneshot::channel::<()>();
        let waits = task::spawn(async move { receiver.await.is_err() });
        let task = task::spawn(async move {
            sleep(SECOND).await;
            drop(sender);
        });
        sleep(SECOND / 2).await;
        // The receiver is woken while no task is polled: when the future of this one is dropped.
        task.abort();
        assert!(waits.await.unwrap());
        panic!("on purpose");
    };
    let failure = fails(test);
    has_ends(&failure, 2, &["is woken by the end of task 3"]);
    let replay = Builder::new().trace(failure.trace().clone());
    let again = std::thread::spawn(move || replay.check(test).unwrap_err()).join();
    let again = again.unwrap();
    has_ends(&again, 2, &["is woken by the end of task 3"]);
    assert!(!again.to_string().contains("thread"), "{again}");
}

#[test]
fn ids_are_the_numbers_of_the_report_in_each_run() {
    let test = || async {
        let first = task::spawn(pending::<()>());
        let second = task::spawn(async { task::id() });
        assert_eq!(second.id(), second.await.unwrap());
        first.abort();
        let error = first.await.unwrap_err();
        panic!("{error}, {error:?}, {:?}", task::id());
    };
    let expected = "task 2 was cancelled, JoinError::Cancelled(Id(2)), Id(1)";
    for _ in 0..2 {
        let Cause::Panic(message) = fails(test).cause().clone() else {
            panic!("another failure");
        };
        assert!(message.starts_with(expected), "{message}");
    }
    // Numbers of tasks elsewhere stay different ones.
    let runtime = blitz_io::runtime::Runtime::new().unwrap();
    let ids = runtime.block_on(async { [task::spawn(async {}).id(), task::spawn(async {}).id()] });
    assert_ne!(ids[0].to_string(), ids[1].to_string());
}

#[test]
fn a_future_that_is_dropped_gives_up_its_wait() {
    let failure = fails(|| async {
        let (sender, mut receiver) = mpsc::channel::<()>(1);
        let (_other, signal) = oneshot::channel::<()>();
        assert!(timeout(SECOND, receiver.recv()).await.is_err());
        assert!(
            timeout(SECOND, async { signal.await.unwrap() })
                .await
                .is_err()
        );
        sender.send(()).await.unwrap();
        assert!(timeout(SECOND, receiver.recv()).await.is_ok());
        assert!(timeout(SECOND, receiver.recv()).await.is_err());
        drop(receiver);
        panic!("on purpose");
    });
    let gives_up = "gives up waiting for mpsc::Receiver #1, at …: the future is dropped";
    let lines = [
        gives_up,
        "gives up waiting for oneshot::Receiver #2, at …: the future is dropped",
        "waits for mpsc::Receiver #1, at …",
        gives_up,
    ];
    has_ends(&failure, 1, &lines);
    // Neither one that was ready nor the deadline of another future has given up.
    assert_eq!(failure.events().matches("gives up").count(), 3, "{failure}");
}

#[test]
fn a_task_that_has_ended_keeps_its_name() {
    let failure = fails(|| async {
        let (sender, receiver) = oneshot::channel::<()>();
        let spawned = task::Builder::new()
            .name("closer")
            .spawn(async { drop(sender) });
        assert!(receiver.await.is_err());
        spawned.unwrap().await.unwrap();
        panic!("on purpose");
    });
    has_ends(&failure, 1, &["is woken by task 2 \"closer\""]);
    let title = "\n  task 2 \"closer\", spawned at ";
    assert!(failure.events().contains(title), "{failure}");
}

#[test]
fn a_finding_of_a_finished_simulation_is_certain() {
    let failure = fails(|| async {
        let (sender, mut receiver) = mpsc::channel(1);
        let (other, mut back) = mpsc::channel(1);
        let task = task::spawn(async move {
            receiver.recv().await;
            for number in 0..3 {
                other.send(number).await.unwrap();
            }
            receiver.recv().await;
        });
        sender.send(1).await.unwrap();
        back.recv().await;
        for number in 0..3 {
            sender.send(number).await.unwrap();
        }
        back.recv().await;
        task.await.unwrap();
    });
    assert_eq!(failure.cause(), &Cause::Deadlock);
    let [finding] = failure.findings() else {
        panic!("{failure}");
    };
    assert_eq!(finding.certainty, Certainty::Certain, "{failure}");
    let summary = "task 1 \"the test\", task 2 wait for each other";
    assert_eq!(finding.summary, summary);
}
