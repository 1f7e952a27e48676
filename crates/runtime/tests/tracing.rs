//! A span for every task.

use std::collections::BTreeMap;
use std::fmt;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use blitz_io_channel::oneshot;
use blitz_io_runtime::runtime::{Builder, Runtime};
use blitz_io_runtime::task::{self, JoinSet, LocalSet};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{DefaultGuard, set_default};
use tracing::{Event, Metadata, Subscriber};

/// The events of a span.
#[derive(Clone, Default, Debug)]
struct Span {
    target: String,
    name: String,
    has_parent: bool,
    fields: BTreeMap<&'static str, String>,
    /// `>` for each time it was entered, `<` for each time it was left, `.` for its end.
    moves: String,
}

impl Span {
    fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}

impl Visit for Span {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.into());
    }
}

/// The spans, and the operations of wakers with the numbers of their tasks' spans.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<Span>>>, Arc<Mutex<Vec<(String, String)>>>);

const WAKERS: &str = "tokio::task::waker";

impl Spans {
    /// Collects the spans of this thread until the guard is dropped.
    fn collect() -> (Self, DefaultGuard) {
        let spans = Self::default();
        let guard = set_default(spans.clone());
        (spans, guard)
    }

    fn of_kind(&self, kind: &str) -> Vec<Span> {
        let spans = self.0.lock().unwrap();
        let is_of_kind = |span: &&Span| span.field("kind") == kind;
        spans.iter().filter(is_of_kind).cloned().collect()
    }

    fn the_one(&self, kind: &str) -> Span {
        let mut spans = self.of_kind(kind);
        assert_eq!(spans.len(), 1, "{kind}");
        spans.remove(0)
    }

    /// Counts the operations of the wakers of the task with this name.
    fn of_wakers(&self, task: &str) -> BTreeMap<String, usize> {
        self.of_wakers_where("task.name", task)
    }

    /// Counts those of the first task with this value of a field.
    fn of_wakers_where(&self, field: &str, value: &str) -> BTreeMap<String, usize> {
        let spans = self.0.lock().unwrap();
        let mut values = spans.iter().map(|span| span.field(field));
        let number = values
            .position(|found| found == value)
            .expect("it was spawned")
            + 1;
        let mut found = BTreeMap::new();
        for (id, operation) in &*self.1.lock().unwrap() {
            if *id == number.to_string() {
                *found.entry(operation.clone()).or_default() += 1;
            }
        }
        found
    }

    fn add(&self, id: &Id, what: char) {
        let index = id.into_u64() as usize - 1;
        self.0.lock().unwrap()[index].moves.push(what);
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() || metadata.target() == WAKERS
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut span = Span {
            target: attributes.metadata().target().into(),
            name: attributes.metadata().name().into(),
            has_parent: attributes.parent().is_some() || attributes.is_contextual(),
            ..Span::default()
        };
        attributes.record(&mut span);
        let mut spans = self.0.lock().unwrap();
        spans.push(span);
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut told = Span::default();
        event.record(&mut told);
        let operation = (
            told.field("task.id").to_owned(),
            told.field("op").to_owned(),
        );
        self.1.lock().unwrap().push(operation);
    }

    fn enter(&self, id: &Id) {
        self.add(id, '>');
    }

    fn exit(&self, id: &Id) {
        self.add(id, '<');
    }

    fn try_close(&self, id: Id) -> bool {
        self.add(&id, '.');
        true
    }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

#[test]
fn a_task_has_a_span() {
    let (spans, _guard) = Spans::collect();
    let (id, line) = runtime().block_on(async {
        let task = task::spawn(async { task::yield_now().await });
        let line = line!() - 1;
        let id = task.id();
        task.await.unwrap();
        (id, line)
    });
    let span = spans.the_one("task");
    assert_eq!(
        (span.target.as_str(), span.name.as_str()),
        ("tokio::task", "runtime.spawn")
    );
    assert!(!span.has_parent);
    // Two polls, the drop, the end.
    assert_eq!(span.moves, "><><><.");
    assert_eq!(span.field("task.id"), id.to_string());
    assert_eq!(span.field("task.name"), "");
    assert_eq!(span.field("loc.file"), file!());
    assert_eq!(span.field("loc.line"), line.to_string());
    assert_ne!(span.field("loc.col"), "");
    assert_ne!(span.field("size.bytes"), "");
    assert_eq!(span.field("original_size.bytes"), "");
}

/// tokio-console counts the wakers of a task, and takes one without any for lost.
#[test]
fn wakers_have_events() {
    let (spans, _guard) = Spans::collect();
    let (give, take) = oneshot::channel();
    runtime().block_on(async {
        let named = |name: &'static str| task::Builder::new().name(name);
        let waits = named("waits").spawn(take).unwrap();
        let yields = named("yields").spawn(task::yield_now()).unwrap();
        yields.await.unwrap();
        let of_waits = BTreeMap::from([("waker.clone".to_owned(), 1)]);
        assert_eq!(spans.of_wakers("waits"), of_waits, "it has one waker");
        give.send(7).unwrap();
        assert_eq!(waits.await.unwrap(), Ok(7));
    });
    let of_waits = spans.of_wakers("waits");
    let count = |name: &str| of_waits.get(name).copied().unwrap_or(0);
    assert!(
        count("waker.wake") + count("waker.wake_by_ref") > 0,
        "{of_waits:?}"
    );
    let gone = count("waker.wake") + count("waker.drop");
    assert_eq!(count("waker.clone"), gone, "{of_waits:?}");
    let of_yields = BTreeMap::from([("waker.wake_by_ref".to_owned(), 1)]);
    assert_eq!(spans.of_wakers("yields"), of_yields);
}

/// The future that a thread blocks for is a task for tokio-console, too.
#[test]
fn wakers_of_what_a_thread_blocks_for_have_events() {
    let multi_thread = Builder::new_multi_thread().worker_threads(1).build();
    for runtime in [runtime(), multi_thread.unwrap()] {
        let (spans, _guard) = Spans::collect();
        let of_root = || spans.of_wakers_where("kind", "block_on");
        runtime.block_on(async {
            let (give, take) = oneshot::channel();
            let mut take = std::pin::pin!(take);
            std::future::poll_fn(|context| {
                assert!(take.as_mut().poll(context).is_pending());
                // The second poll has the same waker, so the channel keeps its clone.
                assert!(take.as_mut().poll(context).is_pending());
                Poll::Ready(())
            })
            .await;
            assert_eq!(of_root(), BTreeMap::from([("waker.clone".to_owned(), 1)]));
            give.send(7).unwrap();
            assert_eq!(take.await, Ok(7));
            task::yield_now().await;
        });
        let found = of_root();
        let count = |name: &str| found.get(name).copied().unwrap_or(0);
        // That of the channel and that of `yield_now`.
        assert_eq!(
            count("waker.wake") + count("waker.wake_by_ref"),
            2,
            "{found:?}"
        );
        let gone = count("waker.wake") + count("waker.drop");
        assert_eq!((count("waker.clone"), gone), (1, 1), "{found:?}");
    }
}

#[test]
fn a_handle_and_a_runtime_know_the_place_too() {
    let (spans, _guard) = Spans::collect();
    let runtime = runtime();
    let (one, two) = (runtime.spawn(async {}), runtime.handle().spawn(async {}));
    let line = line!() - 1;
    runtime.block_on(async { (one.await.unwrap(), two.await.unwrap()) });
    for span in spans.of_kind("task") {
        assert_eq!(span.field("loc.line"), line.to_string());
        assert_eq!(span.field("loc.file"), file!());
    }
}

#[test]
fn a_large_future_is_boxed_and_its_size_is_told() {
    let (spans, _guard) = Spans::collect();
    let large = [0_u8; 100_000];
    let future = async move { large.len() };
    let size = size_of_val(&future);
    let length = runtime().block_on(async { task::spawn(future).await.unwrap() });
    assert_eq!(length, 100_000);
    let span = spans.the_one("task");
    assert_eq!(span.field("original_size.bytes"), size.to_string());
    assert_eq!(span.field("size.bytes"), size_of::<usize>().to_string());
}

#[test]
fn what_a_thread_blocks_for_has_a_span() {
    for runtime in [
        runtime(),
        Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap(),
    ] {
        let (spans, _guard) = Spans::collect();
        runtime.block_on(async {});
        runtime.handle().block_on(async {});
        let spans = spans.of_kind("block_on");
        assert_eq!(spans.len(), 2);
        for span in spans {
            assert_eq!(span.moves, "><><.");
            assert_eq!(span.field("loc.file"), file!());
        }
    }
}

#[test]
fn a_local_task_has_a_span() {
    let (spans, _guard) = Spans::collect();
    let set = LocalSet::new();
    let inside = set.block_on(&runtime(), async {
        let task = task::spawn_local(async {});
        let line = line!() - 1;
        task.await.unwrap();
        line
    });
    let outside = line!() + 1;
    let task = set.spawn_local(async {});
    set.block_on(&runtime(), task).unwrap();
    let lines = [inside.to_string(), outside.to_string()];
    let told = spans.of_kind("local");
    assert_eq!(told.len(), 2);
    for (span, line) in told.iter().zip(lines) {
        assert_eq!(
            (span.field("loc.file"), span.field("loc.line")),
            (file!(), line.as_str())
        );
        assert_eq!(span.moves, "><><.");
    }
}

#[test]
fn blocking_work_has_a_span() {
    let (spans, guard) = Spans::collect();
    let runtime = runtime();
    let task = runtime.spawn_blocking(|| 7);
    let line = line!() - 1;
    let id = task.id();
    drop(guard);
    assert_eq!(runtime.block_on(task).unwrap(), 7);
    drop(runtime);
    let span = spans.the_one("blocking");
    assert_eq!(
        (span.target.as_str(), span.name.as_str()),
        ("tokio::task::blocking", "runtime.spawn")
    );
    assert_eq!(span.field("task.id"), id.to_string());
    assert!(span.field("fn").contains("blocking_work_has_a_span"));
    assert_eq!(span.field("loc.file"), file!());
    assert_eq!(span.field("loc.line"), line.to_string());
    assert_eq!(span.moves, "><><.");
}

#[test]
fn tasks_may_have_names() {
    let (spans, _guard) = Spans::collect();
    let runtime = runtime();
    let set = LocalSet::new();
    let named = |name: &'static str| task::Builder::new().name(name);
    set.block_on(&runtime, async {
        named("one").spawn(async {}).unwrap().await.unwrap();
        let handle = blitz_io_runtime::runtime::Handle::current();
        named("two").spawn_on(async {}, &handle).unwrap();
        named("three").spawn_local(async {}).unwrap();
        named("four").spawn_local_on(async {}, &set).unwrap();
        let job = named("five").spawn_blocking(|| 5).unwrap();
        assert_eq!(job.await.unwrap(), 5);
        let job = named("six").spawn_blocking_on(|| 6, &handle).unwrap();
        assert_eq!(job.await.unwrap(), 6);
    });
    let names = |kind| {
        let spans = spans.of_kind(kind);
        let names = spans.iter().map(|span| span.field("task.name").to_owned());
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names("task"), "one two");
    assert_eq!(names("local"), "three four");
    assert_eq!(names("blocking"), "five six");
    assert_eq!(format!("{:?}", named("a")), "Builder { name: Some(\"a\") }");
    let handle = runtime.handle().clone();
    drop(runtime);
    let late = named("late").spawn_blocking_on(|| (), &handle);
    assert_eq!(late.unwrap_err().to_string(), "blocking pool shutting down");
}

#[test]
fn a_task_is_dropped_within_its_span() {
    let (spans, _guard) = Spans::collect();
    let runtime = runtime();
    drop(runtime.spawn(pending::<()>()));
    drop(runtime);
    assert_eq!(spans.the_one("task").moves, "><.");
}

#[test]
fn members_of_a_set_can_have_names() {
    let (spans, _guard) = Spans::collect();
    let (runtime, other, local) = (runtime(), runtime(), LocalSet::new());
    let mut set = JoinSet::new();
    let line = local.block_on(&runtime, async {
        set.build_task().name("one").spawn(async {}).unwrap();
        let line = line!() - 1;
        let on_other = set.build_task().name("two");
        on_other.spawn_on(async {}, other.handle()).unwrap();
        set.build_task()
            .name("three")
            .spawn_local(async {})
            .unwrap();
        let on_local = set.build_task().name("four");
        on_local.spawn_local_on(async {}, &local).unwrap();
        set.build_task().name("five").spawn_blocking(|| ()).unwrap();
        let on_other = set.build_task().name("six");
        on_other.spawn_blocking_on(|| (), other.handle()).unwrap();
        line
    });
    assert_eq!(set.len(), 6);
    other.block_on(task::yield_now());
    local.block_on(&runtime, set.join_all());
    let names = |kind| -> Vec<_> {
        let named = |span: &Span| span.field("task.name").to_owned();
        spans.of_kind(kind).iter().map(named).collect()
    };
    assert_eq!(names("task"), ["one", "two"]);
    assert_eq!(names("local"), ["three", "four"]);
    assert_eq!(names("blocking"), ["five", "six"]);
    assert_eq!(spans.of_kind("task")[0].field("loc.line"), line.to_string());
    assert!(
        spans.of_kind("task")[0]
            .field("loc.file")
            .ends_with("tracing.rs")
    );
}
