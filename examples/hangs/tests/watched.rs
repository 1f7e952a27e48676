//! `#[blitz_io::test(deadlock = "panic")]`: a test that can never end panics. And a watchdog tells
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
    // In the summary, in the finding, and in the list of all waits.
    assert_eq!(report.lines().filter(is_of_block_on).count(), 3, "{report}");
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
