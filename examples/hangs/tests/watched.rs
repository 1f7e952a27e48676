//! `#[blitz_io::test(deadlock = "panic")]`: a test that can never end panics, or aborts. And a watchdog tells
//! `tracing` its findings.

use std::fmt;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use blitz_io::inspect::{Named, Watchdog};
use blitz_io::runtime::Builder;
use blitz_io::sync::Mutex;
use blitz_io::task;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

#[blitz_io::test(deadlock = "panic")]
#[should_panic(expected = "self-wait")]
async fn a_test_that_waits_for_itself_panics() {
    let lock = Mutex::new(()).named("mine");
    let _guard = lock.lock().await;
    let _again = lock.lock().await;
}

#[blitz_io::test(deadlock = "panic", flavor = "multi_thread", worker_threads = 1)]
#[should_panic(expected = "self-wait")]
async fn a_test_that_awaits_a_stuck_task_panics() {
    let task = task::spawn(async {
        let lock = Mutex::new(());
        let _guard = lock.lock().await;
        let _again = lock.lock().await;
    });
    _ = task.await;
}

#[blitz_io::test(deadlock = "panic")]
async fn a_test_that_ends_is_left_alone() -> Result<(), task::JoinError> {
    let lock = std::sync::Arc::new(Mutex::new(1));
    let guard = lock.lock().await;
    let other = lock.clone();
    let task = task::spawn(async move { *other.lock().await += 1 });
    // Longer than the watchdog needs to see it twice.
    blitz_io::time::sleep(std::time::Duration::from_secs(1)).await;
    drop(guard);
    task.await?;
    assert_eq!(*lock.lock().await, 2);
    Ok(())
}

/// Blocks the thread of the test.
#[blitz_io::test(deadlock = "panic")]
#[ignore = "aborts; another test runs it"]
async fn aborts_in_its_own_thread() {
    let lock = blitz_io::thread::Mutex::new(());
    let _guard = lock.lock();
    let _again = lock.lock();
}

/// The runtime would wait for both closures when it is dropped.
#[blitz_io::test(deadlock = "panic")]
#[ignore = "aborts; another test runs it"]
async fn aborts_with_blocked_closures() {
    let locks = [(); 2].map(blitz_io::thread::Mutex::new);
    let shared = std::sync::Arc::new((locks, std::sync::Barrier::new(2)));
    let spawn = |[first, second]: [usize; 2]| {
        let shared = shared.clone();
        task::spawn_blocking(move || {
            let (locks, both) = &*shared;
            let _first = locks[first].lock();
            both.wait();
            let _second = locks[second].lock();
        })
    };
    let (one, other) = (spawn([0, 1]), spawn([1, 0]));
    _ = (one.await, other.await);
}

/// A task that blocks the only worker.
#[blitz_io::test(deadlock = "panic", flavor = "multi_thread", worker_threads = 1)]
#[ignore = "aborts; another test runs it"]
async fn aborts_with_a_blocked_worker() {
    let task = task::spawn(async {
        let lock = blitz_io::thread::Mutex::new(());
        let _guard = lock.lock();
        let _again = lock.lock();
    });
    _ = task.await;
}

/// The harness captures what tests print, and prints it after a test only.
#[test]
fn a_test_whose_threads_are_blocked_aborts_with_a_report_past_the_capture() {
    for (test, kind) in [
        ("aborts_in_its_own_thread", "self-wait"),
        ("aborts_with_blocked_closures", "deadlock"),
        ("aborts_with_a_blocked_worker", "self-wait"),
    ] {
        let program = std::env::current_exe().unwrap();
        let ran = std::process::Command::new(program)
            .args(["--exact", "--ignored", test])
            .output()
            .unwrap();
        let report = String::from_utf8_lossy(&ran.stderr);
        assert!(!ran.status.success(), "{test}");
        for part in [
            format!("thread '{test}': this never ends"),
            format!("certain: {kind}"),
        ] {
            assert!(report.contains(&part), "{test}: {report}");
        }
    }
}

/// Reports show the line of the function, and not that of its last statement.
#[blitz_io::test]
async fn the_future_of_a_test_has_the_line_of_its_function() {
    let place = format!("tests/watched.rs:{}", line!() - 1);
    let snapshot = blitz_io::inspect::snapshot();
    let is_it = |task: &blitz_io::inspect::Task| task.is_root && task.location.ends_with(&place);
    assert!(snapshot.tasks.iter().any(is_it), "{place}: {snapshot:#?}");
}

/// The future that the attribute adds is not in the report, and neither is the thread of the test harness.
#[test]
fn a_panic_about_a_test_lists_its_future_once() {
    let ran = std::panic::catch_unwind(|| {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let future = blitz_io::inspect::panic_on_deadlock(async {
            let lock = Mutex::new(()).named("once");
            let _guard = lock.lock().await;
            let _again = lock.lock().await;
        });
        runtime.block_on(future);
    });
    let line = line!() - 2;
    let report = ran.unwrap_err().downcast::<String>().unwrap();
    let is_of_block_on = |text: &&str| text.contains(&format!("tests/watched.rs:{line} waits"));
    // In the summary, and in the finding.
    assert_eq!(report.lines().filter(is_of_block_on).count(), 2, "{report}");
    let of_future = format!("tests/watched.rs:{}", line - 5);
    assert!(!report.contains(&of_future), "{report}");
    assert!(!report.contains("unknown futex"), "{report}");
}

/// Sends each event of the inspector: its fields.
struct Events(Sender<Vec<(&'static str, String)>>);

impl Subscriber for Events {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "blitz_io::inspect" && *metadata.level() == Level::ERROR
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(Vec::new());
        event.record(&mut fields);
        _ = self.0.send(fields.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Fields(Vec<(&'static str, String)>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push((field.name(), format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name(), value.into()));
    }
}

#[test]
fn a_finding_is_an_event() {
    let (sender, events) = channel();
    let subscriber = Events(sender);
    tracing::subscriber::set_global_default(subscriber).expect("no other test sets one");
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    runtime.spawn(async {
        let lock = Mutex::new(()).named("told");
        let _guard = lock.lock().await;
        let _again = lock.lock().await;
    });
    let _watchdog = Watchdog::new(Duration::from_millis(20), |_| ());
    let is_it = |event: &Vec<(&str, String)>| {
        let has = |name, part| {
            event
                .iter()
                .any(|(n, value)| *n == name && value.contains(part))
        };
        has("kind", "self-wait") && has("message", "Mutex \"told\", which only it can end")
    };
    // Other tests of this program have findings, too.
    assert!(events.iter().any(|event| is_it(&event)));
    runtime.shutdown_background();
}
