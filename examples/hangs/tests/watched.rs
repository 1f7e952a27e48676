//! `#[blitz_io::test(deadlock = "panic")]`: a test that can never end panics, or aborts. And a watchdog tells
//! `tracing` its findings.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use blitz_io::inspect::{Finding, Named, Watchdog};
use blitz_io::io::AsyncReadExt;
use blitz_io::net::{TcpListener, TcpStream};
use blitz_io::runtime::Builder;
use blitz_io::sync::{Barrier, Mutex};
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

/// Sends each event of the inspector: its level and fields.
struct Events(Sender<(Level, Vec<(&'static str, String)>)>);

impl Subscriber for Events {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "blitz_io::inspect"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(Vec::new());
        event.record(&mut fields);
        _ = self.0.send((*event.metadata().level(), fields.0));
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
    let is_it = |(level, fields): &(Level, Vec<(&str, String)>)| {
        let has = |name, part| {
            fields
                .iter()
                .any(|(n, value)| *n == name && value.contains(part))
        };
        let is_of_told = has("message", "Mutex \"told\", which only it can end");
        *level == Level::ERROR && has("kind", "self-wait") && is_of_told
    };
    // Other tests of this program have findings, too.
    assert!(events.iter().any(|event| is_it(&event)));
    runtime.shutdown_background();
}

/// Sends the first line of each finding.
fn first_lines(sender: Sender<String>) -> impl FnMut(&Finding) + Send {
    move |finding| {
        let text = finding.to_string();
        _ = sender.send(text.lines().next().unwrap_or_default().into());
    }
}

/// Takes both locks, and ends early if its client does.
async fn handle(locks: [Arc<Mutex<()>>; 2], both: Arc<Barrier>, mut client: TcpStream) {
    let work = async {
        let _first = locks[0].lock().await;
        both.wait().await;
        let _second = locks[1].lock().await;
    };
    blitz_io::select! {
        () = work => {}
        _ = client.read_u8() => {}
    }
}

/// Returns both ends of a connection.
async fn connected() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap());
    let client = client.await.unwrap();
    (client, listener.accept().await.unwrap().0)
}

/// A client could end the deadlock, so it is probable.
#[test]
fn a_probable_finding_is_reported_once_and_not_if_only_certain_ones_are_wanted() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let interval = Duration::from_millis(20);
    let (sender, all) = channel();
    let _all = Watchdog::new(interval, first_lines(sender));
    let (sender, certain) = channel();
    let _certain = Watchdog::builder()
        .certain_only(true)
        .start(interval, first_lines(sender));

    let [one, other] = ["one", "other"].map(|name| Arc::new(Mutex::new(()).named(name)));
    let both = Arc::new(Barrier::new(2));
    let mut clients = Vec::new();
    for (name, locks) in [
        ("crossed one", [&one, &other]),
        ("crossed other", [&other, &one]),
    ] {
        let (client, server) = runtime.block_on(connected());
        clients.push(client);
        let handler = handle(locks.map(Arc::clone), both.clone(), server);
        let builder = task::Builder::new().name(name);
        _ = builder.spawn_on(handler, runtime.handle()).unwrap();
    }
    // Other tests of this program have findings, too.
    let is_crossed = |line: &String| line.contains("\"crossed one\"");
    let found = all.iter().find(is_crossed).unwrap();
    assert!(found.starts_with("probable: deadlock: "), "{found}");
    assert!(found.contains("only if a client goes away"), "{found}");

    // Both watchdogs see both hangs when they report this one.
    runtime.spawn(async {
        let lock = Mutex::new(()).named("last");
        let _guard = lock.lock().await;
        let _again = lock.lock().await;
    });
    let is_last = |line: &String| line.contains("\"last\"");
    let before: Vec<String> = certain.iter().take_while(|line| !is_last(line)).collect();
    assert!(
        before.iter().all(|line| line.starts_with("certain: ")),
        "{before:?}"
    );
    let before: Vec<String> = all.iter().take_while(|line| !is_last(line)).collect();
    assert!(!before.iter().any(is_crossed), "{before:?}");
    drop(clients);
    runtime.shutdown_background();
}
