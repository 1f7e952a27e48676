//! The last events in the text of a failure.

use std::fmt;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use blitz_io::inspect::Named;
use blitz_io::sim::{self, Builder, Failure, Outcome};
#[cfg(feature = "macros")]
use blitz_io::sync::Notify;
use blitz_io::sync::{
    CancellationToken, Mutex, RwLock, Semaphore, broadcast, mpmc, mpsc, oneshot, watch,
};
use blitz_io::{task, time};

pub(crate) fn fails<F>(test: impl Fn() -> F) -> Failure
where
    F: Future<Output: Outcome> + 'static,
{
    *Builder::new().check(test).unwrap_err()
}

/// Requires that the events have these parts, one line after the other.
#[track_caller]
pub(crate) fn has_lines(failure: &Failure, parts: &[&str]) {
    let events = failure.events();
    let mut lines = events.lines();
    for part in parts {
        assert!(lines.any(|line| line.contains(part)), "`{part}`: {events}");
    }
}

async fn two_orders() {
    let first = Arc::new(Mutex::new(()).named("first"));
    let second = Arc::new(Mutex::new(()).named("second"));
    let (one, other) = (first.clone(), second.clone());
    let task = task::spawn(async move {
        let _other = other.lock().await;
        let _one = one.lock().await;
    });
    let _first = first.lock().await;
    let _second = second.lock().await;
    drop((_first, _second));
    task.await.unwrap();
}

#[test]
fn each_task_of_a_deadlock_has_its_last_events() {
    let failure = fails(two_orders);
    has_lines(
        &failure,
        &[
            "the last events",
            "\"the test\"",
            "step 1: takes Mutex \"first\", at ",
            "waits for Mutex \"second\", at ",
            "  task ",
            "step 1: is spawned by task ",
            "takes Mutex \"second\", at ",
            "waits for Mutex \"first\", at ",
        ],
    );
    assert!(failure.events().contains("events.rs:"), "{failure}");
    // The report has both.
    let text = failure.to_string();
    assert!(
        text.contains("certain: deadlock") && text.contains(failure.events()),
        "{text}"
    );
}

#[test]
fn preemptions_and_wake_ups_and_times_are_events() {
    let failure = fails(|| async {
        time::sleep(Duration::from_secs(90)).await;
        let lock = Arc::new(Mutex::new(0).named("count"));
        let adders = [0; 2].map(|_| {
            let lock = lock.clone();
            task::spawn(async move {
                let before = *lock.lock().await;
                *lock.lock().await = before + 1;
            })
        });
        for adder in adders {
            adder.await.unwrap();
        }
        assert_eq!(*lock.lock().await, 2);
    });
    has_lines(
        &failure,
        &[
            "\"the test\"",
            "step 1: waits for Sleep, at ",
            "90s: is woken by a timer",
            "90s: waits for JoinHandle of task 2, at ",
            "is woken by the end of task ",
            // The two that have lost an addition are involved, too.
            "  task 2, spawned at ",
            "takes Mutex \"count\", at ",
            ": ends",
            "  task 3, spawned at ",
            "takes Mutex \"count\", at ",
            ": ends",
        ],
    );
    let events = failure.events();
    assert!(
        events.contains("is about to lock Mutex \"count\""),
        "{events}"
    );
    assert!(events.contains("is preempted"), "{events}");
    // Locks of the library itself are no events.
    assert!(!events.contains("thread::"), "{events}");
}

#[test]
fn a_lock_has_the_name_of_the_operation_only_where_that_is_known() {
    let failure = fails(|| async {
        let lock = RwLock::new(0).named("table");
        drop(lock.read().await);
        *lock.write().await = 1;
        panic!("on purpose");
    });
    has_lines(
        &failure,
        &[
            "takes RwLock (read) \"table\", at ",
            "releases RwLock \"table\"",
            "takes RwLock (write) \"table\", at ",
            "releases RwLock \"table\"",
        ],
    );
}

#[test]
fn each_yield_has_its_line_once() {
    let failure = fails(|| async {
        task::yield_now().await;
        // With a waker of its own.
        let mut pinned = pin!(task::yield_now());
        let waker = Waker::from(Arc::new(Passed(
            poll_fn(|cx| Poll::Ready(cx.waker().clone())).await,
        )));
        assert!(
            pinned
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        pinned.await;
        panic!("on purpose");
    });
    let lines = failure.events().lines();
    let yields: Vec<&str> = lines.filter(|line| line.contains(": yields")).collect();
    let [first, second] = yields[..] else {
        panic!("{failure}");
    };
    assert!(
        first.contains("step 1: yields, at ") && first.contains("events.rs:"),
        "{failure}"
    );
    assert!(
        second.contains("step 2: yields, at ") && second.contains("events.rs:"),
        "{failure}"
    );
}

/// Wakes another one.
struct Passed(Waker);

impl Wake for Passed {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
    }
}

#[test]
fn children_of_a_scope_are_told_apart() {
    let failure = fails(|| async {
        let first = Mutex::new(()).named("first");
        let second = Mutex::new(()).named("second");
        task::scope(async |scope| {
            scope.spawn(lock_both(&first, &second));
            scope.spawn(lock_both(&second, &first));
        })
        .await;
    });
    has_lines(
        &failure,
        &[
            "\"the test\"",
            "    child 1, spawned at ",
            "    child 2, spawned at ",
            ": child 1 is spawned by task 1",
            ": child 2 is spawned by task 1",
            ": child 1 takes Mutex \"first\", at ",
            ": child 1 yields, at ",
            ": child 2 takes Mutex \"second\", at ",
            ": child 2 yields, at ",
            ": child 1 waits for Mutex \"second\", at ",
            ": child 2 waits for Mutex \"first\", at ",
        ],
    );
    let lines = failure.events().lines();
    let spawned = lines.filter(|line| line.contains("spawned at"));
    let places: Vec<&str> = spawned
        .map(|line| line.rsplit(' ').next().unwrap())
        .collect();
    let [one, other] = places[..] else {
        panic!("{failure}");
    };
    assert_ne!(one, other, "{failure}");
    assert!(one.contains("events.rs:"), "{failure}");
    // The report has the same numbers.
    let is_named = |child: u32| {
        let name = format!("child {child} of task 1 \"the test\" waits for Mutex");
        failure.waits().contains(&name)
    };
    assert!(is_named(1) && is_named(2), "{failure}");
}

/// It is the name in a report, in each run of the process.
#[test]
fn the_id_of_a_child_is_that_of_its_run() {
    for _ in 0..2 {
        let failure = fails(|| async {
            let text = task::scope(async |scope| {
                scope.spawn(async {});
                let child = scope.spawn(pending::<()>());
                child.abort();
                let id = child.id();
                format!("{id} {id:?}: {}", child.await.unwrap_err())
            });
            panic!("{}", text.await);
        });
        let text = failure.to_string();
        let is_own = text.contains("2 Id(2): child 2 was cancelled");
        assert!(is_own, "{text}");
    }
}

async fn lock_both(one: &Mutex<()>, other: &Mutex<()>) {
    let _one = one.lock().await;
    task::yield_now().await;
    let _other = other.lock().await;
}

#[test]
fn children_that_never_wait_run_in_any_order_of_their_operations() {
    let failure = fails(|| async {
        let (first, second) = (
            Mutex::new(()).named("first"),
            Mutex::new(()).named("second"),
        );
        task::scope(async |scope| {
            scope.spawn(async {
                let _one = first.lock().await;
                let _other = second.lock().await;
            });
            scope.spawn(async {
                let _one = second.lock().await;
                let _other = first.lock().await;
            });
        })
        .await;
    });
    has_lines(
        &failure,
        &[
            "takes Mutex \"first\", at ",
            "is about to lock Mutex \"second\"",
            "is preempted",
            "takes Mutex \"second\", at ",
            "waits for Mutex \"first\", at ",
        ],
    );
    let failure = fails(|| async {
        let number = Mutex::new(0);
        task::scope(async |scope| {
            for _ in 0..2 {
                scope.spawn(async {
                    let before = *number.lock().await;
                    *number.lock().await = before + 1;
                });
            }
        })
        .await;
        assert_eq!(*number.lock().await, 2, "an update is lost");
    });
    assert!(
        failure.to_string().contains("an update is lost"),
        "{failure}"
    );
}

#[test]
fn what_a_parallel_scope_uses_itself_is_no_event() {
    let failure = fails(|| async {
        let scope = task::parallel_scope(async |scope| {
            scope.spawn(time::sleep(Duration::from_secs(2)));
        });
        assert!(time::timeout(Duration::from_secs(1), scope).await.is_ok());
    });
    has_lines(
        &failure,
        &[
            "waits for parallel scope #1, at ",
            "gives up waiting for parallel scope #1, at ",
            "is aborted by task 1, as its scope was dropped",
        ],
    );
    for internal in ["Notify", "failure of a child", "has ended"] {
        assert!(!failure.events().contains(internal), "{failure}");
    }
}

#[test]
fn the_headline_names_the_child_that_has_panicked() {
    let failure = fails(|| async {
        task::scope(async |scope| {
            scope.spawn(async {});
            scope.spawn(async { panic!("on purpose") });
        })
        .await;
    });
    let text = failure.to_string();
    let named = text.contains("failed: child 2 of task 1 \"the test\" has panicked at ");
    assert!(named, "{text}");
    // A child of this scope is a task.
    let failure = fails(|| async {
        task::parallel_scope(async |scope| {
            scope.spawn(async {});
            scope.spawn(async { panic!("on purpose") });
        })
        .await;
    });
    let text = failure.to_string();
    assert!(text.contains("failed: task 3 has panicked at "), "{text}");
    // The test's own panic is not that of a task which may panic.
    let failure = Builder::new().allow_panics(true).check(|| async {
        let panics = || panic!("on purpose");
        let task = task::spawn(async move { panics() });
        assert!(task.await.is_err());
        panics();
    });
    let text = failure.unwrap_err().to_string();
    let named = text.contains("failed: task 1 \"the test\" has panicked at ");
    assert!(named, "{text}");
}

/// Two tasks lose an update, long before the test finds out, and many others run later.
#[test]
fn users_of_the_last_objects_of_the_task_that_has_failed_come_first() {
    let failure = fails(|| async {
        let count = Arc::new(Mutex::new(0).named("count"));
        let adders = [0; 2].map(|_| {
            let count = count.clone();
            task::spawn(async move {
                let before = *count.lock().await;
                *count.lock().await = before + 1;
            })
        });
        for adder in adders {
            adder.await.unwrap();
        }
        for _ in 0..20 {
            task::spawn(task::yield_now()).await.unwrap();
        }
        assert_eq!(*count.lock().await, 2, "an update is lost");
    });
    let events = failure.events();
    has_lines(
        &failure,
        &[
            "  where another task runs than in the plain order",
            "    step ",
            "  task 1 \"the test\"",
            "  task 2, spawned at ",
            "  task 3, spawned at ",
        ],
    );
    assert!(events.contains("more tasks"), "{events}");
    let (_, order) = events.split_once("plain order\n").unwrap();
    let order = order.lines().next().unwrap();
    assert!(
        order.contains(" preempts task ") || order.contains(" instead of task "),
        "{order}"
    );
}

#[test]
fn the_panic_of_a_child_is_its_event_and_ends_that_of_its_task() {
    let failure = fails(|| async {
        task::scope(async |scope| {
            let first = scope.spawn(async { panic!("on purpose") });
            assert!(first.await.is_err());
            scope.spawn(async { panic!("on purpose, too") });
        })
        .await;
    });
    has_lines(
        &failure,
        &[
            ": child 1 panics: ",
            ": is woken by child 1 of task 1",
            ": child 2 panics: ",
            ": panics: ",
        ],
    );
    assert!(!failure.events().contains("yields"), "{failure}");
}

#[test]
#[cfg(feature = "io-util")]
fn reads_and_writes_of_streams_in_memory_are_events() {
    use blitz_io::io::{AsyncReadExt, AsyncWriteExt, duplex};
    let failure = fails(|| async {
        let (mut near, mut far) = duplex(4);
        task::spawn(async move {
            near.write_all(b"hello").await.unwrap();
            near.read_u8().await.unwrap();
        });
        let mut text = [0; 5];
        far.read_exact(&mut text).await.unwrap();
        // Each waits for the other one.
        far.read_u8().await.unwrap();
    });
    let waits = failure.waits();
    for end in ["1", "2"] {
        let wait = format!(" waits for in-memory stream (read) #{end}\n    at ");
        assert!(waits.contains(&wait), "{failure}");
    }
    assert_eq!(waits.matches("created at ").count(), 2, "{failure}");
    has_lines(
        &failure,
        &[
            "\"the test\"",
            ": waits for in-memory stream (read) #1, at ",
            ": is woken by task 2",
            ": reads 4 bytes from in-memory stream #1, at ",
            ": waits for in-memory stream (read) #1, at ",
            ": is woken by task 2",
            ": reads 1 byte from in-memory stream #1, at ",
            ": waits for in-memory stream (read) #1, at ",
            "  task 2",
            ": writes 4 bytes to in-memory stream #1, at ",
            ": waits for in-memory stream (write) #1, at ",
            ": is woken by task 1",
            ": writes 1 byte to in-memory stream #1, at ",
            ": waits for in-memory stream (read) #2, at ",
        ],
    );
    assert!(!failure.events().contains("object #"), "{failure}");
}

#[test]
fn a_semaphore_without_waits_has_its_name() {
    let failure = fails(|| async {
        let semaphore = Semaphore::new(1);
        semaphore.acquire().await.unwrap().forget();
        panic!("on purpose");
    });
    has_lines(&failure, &[": takes 1 permit of Semaphore #1, at "]);
}

#[test]
fn a_task_that_goes_on_and_ends_has_an_event_for_that() {
    let failure = fails(|| async {
        let task = task::spawn(task::yield_now());
        task.await.unwrap();
        panic!("on purpose");
    });
    has_lines(
        &failure,
        &[
            "  task 1 \"the test\"",
            "step 1: waits for JoinHandle of task 2, at ",
            "is woken by the end of task 2",
            "  task 2, spawned at ",
            "step 1: is spawned by task 1",
            "step 2: yields",
            "step 3: ends",
        ],
    );
}

#[test]
fn a_handle_that_an_adapter_awaits_has_the_line_of_the_spawn() {
    let line = line!() + 2;
    let failure = fails(|| async {
        let mut task = task::spawn(std::future::pending::<()>());
        _ = (&mut task).await;
    });
    let place = format!("events.rs:{line}");
    let (waits, events) = (failure.waits(), failure.events());
    let mut lines = waits.lines();
    assert!(
        lines.any(|line| line.contains("which was spawned at ") && line.ends_with(&place)),
        "{failure}"
    );
    let wait = "waits for JoinHandle of task 2, spawned at ";
    let mut lines = events.lines();
    assert!(
        lines.any(|line| line.contains(wait) && line.ends_with(&place)),
        "{failure}"
    );
}

#[test]
fn the_report_of_a_leak_has_no_empty_parts() {
    let failure = fails(|| async {
        task::spawn(std::future::pending::<()>());
    });
    let text = failure.to_string();
    for empty in [
        "0 tasks", "0 waits", "0 of 0", "1 tasks", "1 steps", "\n\n\n",
    ] {
        assert!(!text.contains(empty), "`{empty}`: {text}");
    }
    has_lines(
        &failure,
        &["  task 1 \"the test\"", ": ends", "  task 2, spawned at "],
    );
    // No line is broken.
    let long = fails(|| async { Err::<(), _>("word ".repeat(60)) });
    assert!(
        long.to_string().lines().any(|line| line.len() > 300),
        "{long}"
    );
}

#[test]
fn only_the_last_twenty_events_are_shown() {
    let failure = fails(|| async {
        let locks = [(); 40].map(Mutex::new);
        for lock in &locks {
            drop(lock.lock().await);
        }
        panic!("on purpose");
    });
    let events = failure.events();
    // The title, the name of the task, what is left out, twenty lines, and how to see the others.
    let lines = events.lines().filter(|line| !line.is_empty()).count();
    assert_eq!(lines, 24, "{events}");
    let left_out = |line: &str| line.starts_with("    … ") && line.ends_with(" earlier events");
    assert!(events.lines().any(left_out), "{events}");
    assert!(
        events.ends_with("  BLITZ_SIM_EVENTS=all shows all events\n"),
        "{events}"
    );
}

#[test]
fn repeated_events_are_counted() {
    let failure = fails(|| async {
        let (sender, mut receiver) = mpsc::channel(1);
        task::spawn(async move {
            for number in 0..100 {
                sender.send(number).await.unwrap();
            }
        });
        while let Some(number) = receiver.recv().await {
            assert!(number < 80, "on purpose");
        }
    });
    has_lines(
        &failure,
        &[
            "receives from mpsc channel #1 (now empty)",
            "    … the same ",
            "panics: ",
            "BLITZ_SIM_EVENTS=all shows all events",
        ],
    );
    assert!(failure.events().lines().count() < 30, "{failure}");
}

/// Each turn has seven events or more.
#[test]
#[cfg(feature = "macros")]
fn the_turns_of_a_service_are_counted() {
    let failure = fails(|| async {
        let (sender, mut receiver) = mpsc::channel(1);
        let stop = Arc::new(Notify::new().named("stop"));
        let stopped = stop.clone();
        task::spawn(async move {
            let mut count = 0;
            loop {
                blitz_io::select! {
                    biased;
                    Some(()) = receiver.recv() => count += 1,
                    () = stopped.notified() => break,
                    () = time::sleep(Duration::from_secs(9)) => {}
                }
                assert!(count < 60, "on purpose");
            }
        });
        loop {
            time::sleep(Duration::from_secs(1)).await;
            sender.send(()).await.unwrap();
        }
    });
    has_lines(
        &failure,
        &[
            "  task 2, spawned at ",
            ": waits for mpsc::Receiver",
            ": waits for Notify \"stop\"",
            ": waits for Sleep",
            ": receives from mpsc channel #1 (now empty)",
            "    … the same 59 more times, until step ",
            ": panics: ",
        ],
    );
    let events = failure.events();
    assert!(!events.contains(" earlier events"), "{events}");
}

#[test]
fn each_operation_on_a_channel_has_its_words() {
    let failure = fails(|| async {
        let (sender, mut receiver) = mpsc::channel(2);
        _ = receiver.try_recv();
        sender.send(1).await.unwrap();
        sender.try_send(2).unwrap();
        _ = sender.try_send(3);
        receiver.recv().await.unwrap();
        drop(sender.reserve().await);
        receiver.close();
        _ = sender.send(4).await;
        receiver.try_recv().unwrap();
        _ = receiver.recv().await;

        let (sender, receiver) = mpmc::bounded(1);
        sender.send(1).await.unwrap();
        _ = sender.try_send(2);
        receiver.recv().await.unwrap();
        _ = receiver.try_recv();
        panic!("on purpose");
    });
    has_lines(
        &failure,
        &[
            ": finds mpsc channel #1 empty",
            ": sends to mpsc channel #1 (now 1 value)",
            ": sends to mpsc channel #1 (now 2 values)",
            ": finds mpsc channel #1 full",
            ": receives from mpsc channel #1 (now 1 value)",
            ": keeps room for 1 value in mpsc channel #1",
            ": finds mpsc channel #1 closed",
            ": receives from mpsc channel #1 (now empty)",
            ": finds mpsc channel #1 closed",
            ": sends to mpmc channel #2 (now 1 value)",
            ": finds mpmc channel #2 full",
            ": receives from mpmc channel #2 (now empty)",
            ": finds mpmc channel #2 empty",
        ],
    );
    assert!(!failure.events().contains("tries to"), "{failure}");
    let failure = fails(|| async {
        let (sender, mut receiver) = broadcast::channel(2);
        for number in 0..3 {
            sender.send(number).unwrap();
        }
        _ = receiver.recv().await;
        receiver.recv().await.unwrap();
        receiver.try_recv().unwrap();
        _ = receiver.try_recv();
        drop(receiver);
        _ = sender.send(3);

        let (sender, mut receiver) = watch::channel(0);
        sender.send(1).unwrap();
        receiver.changed().await.unwrap();
        drop(sender);
        _ = receiver.changed().await;
        panic!("on purpose");
    });
    has_lines(
        &failure,
        &[
            ": sends to broadcast channel #1 (1 receiver)",
            ": has missed 1 value of broadcast channel #1",
            ": receives from broadcast channel #1 (now 1 value)",
            ": receives from broadcast channel #1 (now empty)",
            ": finds broadcast channel #1 empty",
            ": finds broadcast channel #1 closed",
            ": sends to watch channel #2 (1 receiver)",
            ": receives from watch channel #2",
            ": finds watch channel #2 closed",
        ],
    );
}

#[test]
fn the_test_of_the_tutorial_fails_in_another_order() {
    let failure = fails(|| async {
        let results = crate::rare::map(vec![1, 2], |n| n * 10).await;
        assert_eq!(results, [10, 20]);
    });
    assert!(failure.to_string().contains("left: [20, 10]"), "{failure}");
    has_lines(
        &failure,
        &[
            "receives from mpsc channel #1 (now 1 value)",
            "finds mpsc channel #1 closed",
            "panics: ",
        ],
    );
}

#[test]
fn a_token_is_cancelled_and_found_cancelled() {
    let failure = fails(|| async {
        let token = CancellationToken::new();
        token.cancel();
        // It has no effect.
        token.cancel();
        token.cancelled().await;
        let child = CancellationToken::new().child_token();
        drop(child.clone().drop_guard());
        child.cancelled().await;
        panic!("on purpose");
    });
    has_lines(
        &failure,
        &[
            "cancels CancellationToken #1, at ",
            "finds CancellationToken #1 cancelled, at ",
            // Another token cancels it, too, so it has no number.
            "cancels CancellationToken",
            "finds CancellationToken cancelled, at ",
        ],
    );
    let events = failure.events();
    assert_eq!(events.matches("cancels CancellationToken #1").count(), 1);
    assert!(events.contains("events.rs:"), "{events}");
}

#[test]
fn channels_for_one_value_and_tokens_have_numbers() {
    let failure = fails(|| async {
        let (_first, _unused) = oneshot::channel::<()>();
        let (_sender, receiver) = oneshot::channel::<()>();
        let token = CancellationToken::new();
        let waits = token.clone();
        task::spawn(async move { waits.cancelled().await });
        _ = receiver.await;
    });
    let waits = [
        (
            "waits for oneshot::Receiver #1",
            "waits for CancellationToken #2",
        ),
        (
            "waits for oneshot::Receiver #2",
            "waits for CancellationToken #1",
        ),
    ];
    let is_in = |text: &str| {
        let both = |(one, other): &(&str, &str)| text.contains(one) && text.contains(other);
        waits.iter().position(both)
    };
    let found = is_in(failure.events());
    assert!(
        found.is_some() && found == is_in(failure.waits()),
        "{failure}"
    );
}

#[test]
fn timers_have_the_names_of_what_they_limit() {
    let failure = fails(|| async {
        let mut interval = time::interval(Duration::from_secs(1));
        interval.tick().await;
        interval.tick().await;
        let limit = Duration::from_millis(100);
        _ = time::timeout(limit, std::future::pending::<()>()).await;
        panic!("on purpose");
    });
    has_lines(
        &failure,
        &[
            ": waits for Interval",
            ": is woken by a timer",
            ": waits for timeout, at ",
            ": is woken by a timer",
        ],
    );
    assert!(!failure.events().contains("Sleep"), "{failure}");
}

#[test]
fn failures_of_several_threads_are_explained_at_once() {
    let threads = [(); 4].map(|()| std::thread::spawn(|| fails(two_orders)));
    for thread in threads {
        let failure = thread.join().unwrap();
        has_lines(
            &failure,
            &["takes Mutex \"first\"", "waits for Mutex \"second\""],
        );
        assert_eq!(failure.events().matches("  task ").count(), 2, "{failure}");
    }
}

#[test]
fn notes_of_the_program_are_events() {
    let failure = fails(|| async {
        let task = task::spawn(async {
            sim::note("begins\n  and goes on");
            task::yield_now().await;
            for count in 0..100 {
                sim::note(format_args!("count {count}"));
                for _ in 0..50 {
                    task::yield_now().await;
                }
            }
            time::sleep(Duration::from_secs(2)).await;
            sim::note(String::from("has slept"));
        });
        task.await.unwrap();
        panic!("on purpose");
    });
    let (_, events) = failure.events().split_once("  task 2").unwrap();
    let line = line!();
    has_lines(
        &failure,
        &[
            "  task 2, spawned at ",
            "earlier events",
            "note: count 99, at ",
            "s: note: has slept, at ",
        ],
    );
    assert!(
        events.contains("note: count 81, at ") && !events.contains("count 80,"),
        "{events}"
    );
    let slept = events.lines().find(|line| line.contains("has slept"));
    assert!(
        slept.unwrap().ends_with(&format!("events.rs:{}", line - 6)),
        "{slept:?}"
    );

    let failure = fails(|| async {
        sim::note("begins\n  and goes on");
        panic!("on purpose");
    });
    has_lines(
        &failure,
        &["\"the test\"", "step 1: note: begins and goes on, at "],
    );
}

/// A value whose text nothing may ask for.
struct Silent;

impl fmt::Display for Silent {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("nothing explains this")
    }
}

#[test]
fn a_note_that_no_report_has_is_not_formatted() {
    sim::note(Silent);
    Builder::new().seeds(3).run(|| async { sim::note(Silent) });
}
