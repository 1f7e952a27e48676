//! Runs that fail, and the texts of their failures.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

use blitz_io::inspect::Named;
use blitz_io::sim::{Builder, Cause, Failure, Outcome};
use blitz_io::sync::{Mutex, Notify, mpsc, oneshot};
use blitz_io::{task, time};

fn fails<F>(test: impl Fn() -> F) -> Failure
where
    F: Future<Output: Outcome> + 'static,
{
    *Builder::new().check(test).unwrap_err()
}

fn passes<F>(test: impl Fn() -> F)
where
    F: Future<Output: Outcome> + 'static,
{
    Builder::new().seeds(100).run(test);
}

/// Two tasks take two locks, each in its own order.
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
fn a_panic_of_another_task_may_be_allowed() {
    let hint = "  to allow that: `allow_panics = true`\n";
    let other = fails(|| async {
        let task = task::spawn(async { panic!("on purpose") });
        assert!(task.await.unwrap_err().is_panic());
    });
    assert!(other.to_string().contains(hint), "{other}");
    let own = fails(|| async { panic!("on purpose") });
    assert!(!own.to_string().contains(hint), "{own}");
}

#[test]
fn a_long_message_is_shortened_in_the_head() {
    let failure = fails(|| async { assert_eq!(vec![0; 200], vec![1; 200]) });
    let text = failure.to_string();
    let head = text.lines().next().unwrap();
    assert!(
        head.ends_with("assertion `left == right` failed …"),
        "{head}"
    );
    let Cause::Panic(message) = failure.cause() else {
        panic!("{failure}");
    };
    assert!(message.contains("left: [0, 0"), "{message}");
    // A short message keeps its values.
    let failure = fails(|| async { assert_eq!(1, 2) });
    assert!(
        failure.to_string().contains("\n  left: 1\n right: 2\n"),
        "{failure}"
    );
}

#[test]
fn locks_in_two_orders_are_a_deadlock_with_names_and_lines() {
    let failure = fails(two_orders);
    assert_eq!(failure.cause(), &Cause::Deadlock);
    let waits = failure.waits();
    for part in [
        "certain: deadlock",
        "Mutex \"first\"",
        "Mutex \"second\"",
        "failures.rs:",
    ] {
        assert!(waits.contains(part), "{part}: {waits}");
    }
    // The task runs after the first lock, and one decision is enough for that.
    assert!(failure.trace().len() <= 2, "{failure}");
}

/// Two children of the test take two locks, each in its own order.
async fn children_in_two_orders() {
    let first = Mutex::new(()).named("first");
    let second = Mutex::new(()).named("second");
    let (first, second) = (&first, &second);
    task::scope(|scope| async move {
        for (one, other) in [(first, second), (second, first)] {
            scope.spawn(async move {
                let _one = one.lock().await;
                task::yield_now().await;
                let _other = other.lock().await;
            });
        }
    })
    .await;
}

#[test]
fn children_that_wait_for_each_other_are_a_deadlock_with_lines_and_events() {
    let failure = fails(children_in_two_orders);
    let text = failure.to_string();
    for part in [
        "certain: deadlock: child ",
        " of task ",
        "\"the test\"",
        "Mutex \"first\"",
        "Mutex \"second\"",
        "takes Mutex \"first\", at",
        "failures.rs:",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let finding = &failure.findings()[0];
    assert_eq!(finding.waiters.len(), 2, "{finding:#?}");
}

#[test]
fn a_check_before_a_wait_loses_the_wake_up() {
    // The future counts the calls from its creation on.
    passes(|| async {
        let (count, changed) = (Arc::new(AtomicU32::new(0)), Arc::new(Notify::new()));
        let (same, event) = (count.clone(), changed.clone());
        let task = task::spawn(async move {
            loop {
                let notified = event.notified();
                if same.load(Ordering::Relaxed) == 1 {
                    break;
                }
                task::yield_now().await;
                notified.await;
            }
        });
        task::yield_now().await;
        count.store(1, Ordering::Relaxed);
        changed.notify_waiters();
        task.await.unwrap();
    });
    let failure = fails(|| async {
        let (count, changed) = (Arc::new(AtomicU32::new(0)), Arc::new(Notify::new()));
        let (same, event) = (count.clone(), changed.clone());
        let task = task::spawn(async move {
            while same.load(Ordering::Relaxed) == 0 {
                task::yield_now().await;
                event.notified().await;
            }
        });
        task::yield_now().await;
        count.store(1, Ordering::Relaxed);
        changed.notify_waiters();
        task.await.unwrap();
    });
    assert_eq!(failure.cause(), &Cause::Deadlock);
    assert!(failure.waits().contains("Notify"), "{failure}");
}

#[test]
fn a_panic_of_any_task_fails_the_run() {
    let failure = fails(|| async {
        drop(task::spawn(async { panic!("on purpose") }));
    });
    let Cause::Panic(message) = failure.cause() else {
        panic!("{failure}");
    };
    assert!(message.starts_with("on purpose, at "), "{message}");
    let builder = Builder::new().seeds(10).allow_panics(true);
    builder.run(|| async {
        let task = task::spawn(async { panic!("on purpose") });
        assert!(task.await.unwrap_err().is_panic());
    });
}

#[test]
fn an_error_of_the_test_is_a_failure() {
    let failure = fails(|| async { Err::<(), _>(7) });
    assert_eq!(failure.cause(), &Cause::Error("7".into()));
    passes(|| async { Ok::<(), u8>(()) });
}

#[test]
fn a_task_that_still_waits_at_the_end_has_leaked() {
    let test = || async {
        let (sender, mut receiver) = mpsc::channel::<u32>(1);
        task::spawn(async move { receiver.recv().await });
        std::mem::forget(sender);
    };
    let failure = fails(test);
    let leak = Cause::Leak {
        tasks: 1,
        timer: false,
    };
    assert_eq!(failure.cause(), &leak);
    assert!(failure.waits().contains("mpsc::Receiver"), "{failure}");
    Builder::new().seeds(10).allow_leaks(true).run(test);
}

#[test]
fn a_task_that_ends_after_the_test_has_not_leaked() {
    passes(|| async {
        let (sender, receiver) = oneshot::channel();
        task::spawn(async move {
            task::yield_now().await;
            assert_eq!(receiver.await, Ok(1));
            task::yield_now().await;
        });
        sender.send(1).unwrap();
    });
}

#[test]
fn a_timer_without_a_task_leaks_too() {
    let failure = fails(|| async {
        let mut sleep = Box::pin(time::sleep(Duration::from_secs(1)));
        let mut context = Context::from_waker(Waker::noop());
        assert!(sleep.as_mut().poll(&mut context).is_pending());
        std::mem::forget(sleep);
    });
    let leak = Cause::Leak {
        tasks: 0,
        timer: true,
    };
    assert_eq!(failure.cause(), &leak);
}

/// Ticks for ever, so that the clock always moves.
async fn clock() {
    let mut interval = time::interval(Duration::from_secs(1));
    loop {
        interval.tick().await;
    }
}

#[test]
fn tasks_that_wait_for_each_other_fail_the_run_while_others_go_on() {
    let failure = fails(|| async {
        let clock = task::spawn(clock());
        two_orders().await;
        clock.abort();
    });
    let Cause::Finding { kind, summary } = failure.cause() else {
        panic!("{failure}");
    };
    assert_eq!(kind, "deadlock");
    assert!(summary.contains("wait for each other"), "{summary}");
    assert!(failure.waits().contains("certain: deadlock"), "{failure}");
    assert!(failure.trace().len() <= 2, "{failure}");
}

#[test]
fn a_task_that_waits_for_itself_is_found_although_leaks_are_allowed() {
    let builder = Builder::new().allow_leaks(true);
    let failure = builder.check(|| async {
        task::spawn(async {
            let lock = Mutex::new(());
            let _guard = lock.lock().await;
            let _again = lock.lock().await;
        });
    });
    let failure = failure.unwrap_err();
    let found = matches!(failure.cause(), Cause::Finding { kind, .. } if kind == "self-wait");
    assert!(found, "{failure}");
}

#[test]
fn a_wait_that_another_task_can_end_is_no_finding() {
    passes(|| async {
        let lock = Arc::new(Mutex::new(()));
        let same = lock.clone();
        let task = task::spawn(async move {
            let _guard = same.lock().await;
            time::sleep(Duration::from_secs(100)).await;
        });
        let ticks = task::spawn(async {
            for _ in 0..50 {
                time::sleep(Duration::from_secs(1)).await;
            }
        });
        drop(lock.lock().await);
        task.await.unwrap();
        ticks.await.unwrap();
    });
}

#[test]
fn a_run_that_does_not_end_fails() {
    let endless = || async {
        loop {
            task::yield_now().await;
        }
    };
    let builder = Builder::new().max_steps(1_000).shrink(false);
    let failure = builder.check::<Pin<Box<dyn Future<Output = ()>>>>(|| Box::pin(endless()));
    assert_eq!(failure.unwrap_err().cause(), &Cause::Steps(1_000));
    let day = Duration::from_secs(86_400);
    let failure = Builder::new().max_time(day).check(|| async {
        let mut interval = time::interval(Duration::from_secs(3_600));
        let mut hours = 0;
        while hours < 1_000 {
            interval.tick().await;
            hours += 1;
        }
    });
    assert_eq!(failure.unwrap_err().cause(), &Cause::Time(day));
}

#[test]
fn a_closure_for_blocking_work_is_a_step() {
    let report = Builder::new().seeds(50).run(|| async {
        let order = Arc::new(AtomicU32::new(0));
        let same = order.clone();
        let job = task::spawn_blocking(move || same.fetch_add(1, Ordering::Relaxed));
        let same = order.clone();
        let task = task::spawn(async move { same.fetch_add(1, Ordering::Relaxed) });
        let (job, task) = (job.await.unwrap(), task.await.unwrap());
        blitz_io::sim::sometimes("the closure is first", job < task);
        blitz_io::sim::sometimes("the task is first", task < job);
        assert_eq!(task::block_in_place(|| 5), 5);
    });
    assert!(report.never().is_empty());
}

#[test]
fn a_closure_that_would_block_the_thread_panics() {
    let failure = fails(|| async {
        let (sender, mut receiver) = mpsc::channel::<u32>(1);
        let job = task::spawn_blocking(move || receiver.blocking_recv());
        sender.send(1).await.unwrap();
        _ = job.await;
    });
    let Cause::Panic(message) = failure.cause() else {
        panic!("{failure}");
    };
    assert!(
        message.contains("Cannot block the current thread"),
        "{message}"
    );
}

#[test]
fn a_test_that_is_not_deterministic_is_reported() {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let test = || async {
        for _ in 0..2 + CALLS.fetch_add(1, Ordering::Relaxed) % 2 {
            task::spawn(async {});
        }
        task::yield_now().await;
    };
    let failure = Builder::new().check_determinism(true).check(test);
    let failure = failure.unwrap_err();
    assert_eq!(failure.cause(), &Cause::NotDeterministic);
    // No replay shows it, but where the two runs differ is known.
    let text = failure.to_string();
    assert!(
        !text.contains("to replay") && !text.contains("only order"),
        "{text}"
    );
    let (_, difference) = text.split_once("the first difference of ").expect(&text);
    let lines = [
        "  after      step ",
        "  one run    step ",
        "  the other  step ",
    ];
    for (line, begin) in difference.lines().skip(1).zip(lines) {
        assert!(line.starts_with(begin), "{text}");
    }
    assert!(difference.contains("tests/it/failures.rs:"), "{text}");
    let exhaustive = "exhaustive".parse().unwrap();
    let failure = Builder::new().schedule(exhaustive).check(test);
    assert_eq!(failure.unwrap_err().cause(), &Cause::NotDeterministic);
}

#[test]
fn a_test_that_waits_for_nothing_is_a_deadlock() {
    let failure = fails(|| async { pending::<()>().await });
    assert_eq!(failure.cause(), &Cause::Deadlock);
    assert!(failure.trace().is_empty());
}

#[test]
fn a_simulation_in_another_one_panics() {
    let failure = fails(|| async {
        _ = Builder::new().check(|| async {});
    });
    let Cause::Panic(message) = failure.cause() else {
        panic!("{failure}");
    };
    assert!(message.contains("cannot run in another one"), "{message}");
}

#[cfg(unix)]
#[test]
fn what_waits_for_the_system_is_refused_by_name() {
    let failure = Builder::new()
        .check(async || drop(blitz_io::net::UnixStream::pair()))
        .unwrap_err();
    let Cause::Panic(message) = failure.cause() else {
        panic!("{failure}");
    };
    assert!(
        message.contains("no processes, signals, pipes and Unix sockets"),
        "{message}"
    );
}
