//! Requests of `blitz trace`: what begins them, and whom they follow. The recorder is that of the whole process, so this
//! is a program of its own, and each test has requests with names of its own.

#[cfg(unix)]
#[path = "trace/locations.rs"]
mod locations;

use std::convert::Infallible;
use std::future::{Future, Ready, poll_fn, ready};
use std::panic::Location;
use std::pin::{Pin, pin};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use std::{fs, thread};

use blitz_io::pool::ThreadPoolBuilder;
use blitz_io::runtime::{Builder, Runtime};
use blitz_io::sync::{Semaphore, mpsc, oneshot};
use blitz_io::task::{parallel_scope, spawn_blocking, yield_now};
use blitz_io::time::sleep;
use blitz_io::trace::{RequestLayer, Spans, request};
use blitz_io::{inspect::Named, spawn};
use blitz_io_inspect::trace::{Recording, folded, judge, otlp, predict};
use tower_layer::Layer;
use tower_service::Service;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Instrument, Metadata, Subscriber, info_span};

const MOMENT: Duration = Duration::from_millis(2);

fn runtime() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().trace(true);
    builder.build().unwrap()
}

fn recording() -> Recording {
    Recording::parse(blitz_io_observe::trace::recording().as_bytes()).unwrap()
}

/// Returns what the requests with this name waited for.
fn waits(name: &str) -> Vec<String> {
    let text = folded(&recording());
    let own = text
        .lines()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix(';'));
    own.map(|line| line.rsplit_once(' ').expect("a sum").0.to_owned())
        .collect()
}

/// Returns the line of the caller, as reports have it, `after` lines further down.
#[track_caller]
fn at(after: i32) -> String {
    let here = Location::caller();
    let line = here.line().checked_add_signed(after).unwrap();
    format!("{}:{line}", here.file())
}

/// More rounds than a machine under load needs.
const ROUNDS: u32 = 1_000;

/// Repeats a scenario until requests with this name have had all the waits that it returns. What a request waits for may
/// be over before it waits, if its thread has lost the processor.
#[track_caller]
fn repeat(name: &str, mut scenario: impl FnMut() -> Vec<String>) {
    for round in 0.. {
        let wanted = scenario();
        let waits = waits(name);
        let Some(missing) = wanted.iter().find(|&wanted| !waits.contains(wanted)) else {
            return;
        };
        assert!(round < ROUNDS, "{missing} in {waits:#?}");
    }
}

/// Number of requests with this name that have ended.
fn count(name: &str) -> usize {
    let text: serde_json::Value = serde_json::from_str(&otlp(&recording())).unwrap();
    let spans = text["resourceSpans"][0]["scopeSpans"][0]["spans"]
        .as_array()
        .unwrap();
    spans.iter().filter(|span| span["name"] == name).count()
}

/// A report needs to know when a task has ended: its wakers may still be called.
#[test]
fn each_task_has_one_end() {
    const TASK_END: u64 = 36;
    let ids = runtime().block_on(async {
        let complete = spawn(async {});
        let aborted = spawn(std::future::pending::<()>());
        aborted.abort();
        let closure = spawn_blocking(|| ());
        let ids = [complete.id(), aborted.id(), closure.id()].map(|id| id.to_string());
        complete.await.unwrap();
        assert!(aborted.await.unwrap_err().is_cancelled());
        closure.await.unwrap();
        ids
    });
    let text: serde_json::Value =
        serde_json::from_str(&blitz_io_observe::trace::recording()).unwrap();
    let events = text["events"].as_array().unwrap();
    for id in ids {
        let task = id.parse::<u64>().unwrap() << 1 | 1;
        let ends = events
            .iter()
            .filter(|row| row[0] == TASK_END && row[4] == task);
        assert_eq!(ends.count(), 1, "{id}");
    }
}

/// The number of permits that were forgotten, and that of those that were added after that.
#[test]
fn forgotten_and_added_permits_are_events() {
    const FORGOTTEN: u64 = 37;
    const ADDED: u64 = 38;
    let _runtime = runtime();
    let pool = Semaphore::new(4).named("forgotten of tasks");
    pool.try_acquire_many(3).unwrap().forget();
    pool.add_permits(2);
    let places = blitz_io::thread::Semaphore::new(4).named("forgotten of threads");
    places.try_acquire_many(3).unwrap().forget();
    places.add_permits(2);
    let text: serde_json::Value =
        serde_json::from_str(&blitz_io_observe::trace::recording()).unwrap();
    let objects = text["objects"].as_array().unwrap();
    for name in ["forgotten of tasks", "forgotten of threads"] {
        let place = objects.iter().position(|object| *object == name).unwrap() + 1;
        let rows = text["events"].as_array().unwrap().iter();
        let rows = rows.filter(|row| row[3] == place && row[0].as_u64() >= Some(FORGOTTEN));
        let found: Vec<_> = rows.map(|row| (row[0].as_u64(), row[2].as_u64())).collect();
        let expected = [(Some(FORGOTTEN), Some(3)), (Some(ADDED), Some(2))];
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn a_request_follows_the_tasks_that_it_spawns() {
    repeat("spawns", || {
        let nap = runtime().block_on(async {
            let _request = request("spawns");
            let nap = at(1);
            let outer = spawn(async { spawn(async { sleep(MOMENT).await }).await });
            outer.await.unwrap().unwrap();
            nap
        });
        vec![format!("timer Sleep at {nap}")]
    });
}

#[test]
fn a_request_follows_a_channel_to_a_task_that_it_has_spawned_and_to_others() {
    repeat("asks", asks);
}

fn asks() -> Vec<String> {
    let (own, answer, others) = runtime().block_on(async {
        let (questions, mut receiver) = mpsc::channel::<oneshot::Sender<u32>>(4);
        let others = at(3);
        spawn(async move {
            while let Some(question) = receiver.recv().await {
                sleep(MOMENT).await;
                question.send(7).unwrap();
            }
        });
        let _request = request("asks");
        let answer = at(3);
        let (sender, receiver) = oneshot::channel();
        questions.send(sender).await.unwrap();
        assert_eq!(receiver.await, Ok(7));
        let (sender, receiver) = oneshot::channel();
        let own = at(2);
        spawn(async {
            sleep(MOMENT).await;
            sender.send(8).unwrap();
        });
        assert_eq!(receiver.await, Ok(8));
        (own, answer, others)
    });
    vec![
        format!("timer Sleep at {own}"),
        // The other task is not the request's: it kept the request waiting.
        format!("channel oneshot::Receiver at {answer};timer Sleep at {others}"),
    ]
}

#[test]
fn a_request_follows_the_children_of_a_parallel_scope() {
    repeat("scopes of tasks", || {
        let nap = runtime().block_on(async {
            let _request = request("scopes of tasks");
            let nap = at(2);
            parallel_scope(|scope| async move {
                scope.spawn(async { sleep(MOMENT).await });
            })
            .await;
            nap
        });
        vec![format!("timer Sleep at {nap}")]
    });
}

#[cfg(unix)]
#[test]
fn a_wait_for_a_signal_is_no_wait_for_a_socket() {
    use blitz_io::signal::unix::{SignalKind, signal};

    repeat("signals", || {
        let listens = runtime().block_on(async {
            let listens = at(1);
            let mut signal = signal(SignalKind::user_defined1()).unwrap();
            let sender = spawn_blocking(|| {
                thread::sleep(MOMENT);
                let pid = std::process::id().to_string();
                Command::new("kill").args(["-USR1", &pid]).status()
            });
            let request = request("signals");
            signal.recv().await.unwrap();
            drop(request);
            assert!(sender.await.unwrap().unwrap().success());
            listens
        });
        vec![format!("event signal at {listens}")]
    });
}

#[test]
fn a_request_follows_closures_for_blocking_work() {
    repeat("blocks", || {
        let job = runtime().block_on(async {
            let _request = request("blocks");
            let job = at(1);
            let closure = spawn_blocking(|| thread::sleep(MOMENT));
            closure.await.unwrap();
            job
        });
        vec![format!("blocking pool at {job}")]
    });
}

#[test]
fn a_request_follows_work_in_the_pool() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    runtime().block_on(async {
        let _request = request("computes");
        pool.install(|| thread::sleep(MOMENT));
    });
    assert!(pool_running("computes") > 0);
    let waits = waits("computes");
    assert!(
        !waits.iter().any(|wait| wait.starts_with("task fork-join")),
        "{waits:?}"
    );
}

/// Returns the nanoseconds for which threads of a pool ran jobs of the requests with this name.
fn pool_running(name: &str) -> u64 {
    let report = judge(&recording(), 1000);
    let title = format!("{name} (request ");
    let requests = report.paths.iter();
    let own = requests.filter(|node| node.what.starts_with(&title));
    let parts = own.flat_map(|node| &node.parts);
    let running = parts.filter(|part| part.what == "pool, running");
    running.map(|part| part.nanos).sum()
}

#[test]
fn a_request_follows_a_job_whose_answer_it_awaits() {
    let pool_of_one = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    runtime().block_on(async {
        let _request = request("awaits a job");
        pool_of_one.run(|| thread::sleep(MOMENT)).await;
    });
    assert!(pool_running("awaits a job") > 0);
}

#[test]
fn a_request_follows_jobs_of_scopes_and_loops_and_what_they_wait_for() {
    repeat("scopes", || {
        let pool_of_two = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let lock = blitz_io::thread::Mutex::new(());
        let (held, is_held) = std::sync::mpsc::channel();
        runtime().block_on(async {
            let _request = request("scopes");
            thread::scope(|threads| {
                threads.spawn(|| {
                    let _guard = lock.lock();
                    held.send(()).unwrap();
                    thread::sleep(10 * MOMENT);
                });
                is_held.recv().unwrap();
                pool_of_two.scope(|scope| {
                    for _ in 0..4 {
                        scope.spawn(|_| drop(lock.lock()));
                    }
                });
            });
        });
        let of_lock = |wait: &String| wait.starts_with("lock thread::Mutex");
        let found = waits("scopes").into_iter().find(of_lock);
        vec![found.unwrap_or_else(|| "lock thread::Mutex".to_owned())]
    });
}

#[test]
fn a_wait_for_a_socket_has_the_line_of_the_caller() {
    repeat("reads", reads);
}

fn reads() -> Vec<String> {
    use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
    use blitz_io::net::{TcpListener, TcpStream, UdpSocket};

    let (read, received) = runtime().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let to = udp.local_addr().unwrap();
        let others = spawn(async move {
            sleep(MOMENT).await;
            server.write_all(b"x").await.unwrap();
            sleep(MOMENT).await;
            let from = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            from.send_to(b"y", to).await.unwrap();
        });
        let request = request("reads");
        let mut byte = [0];
        let read = at(1);
        client.read_exact(&mut byte).await.unwrap();
        let received = at(1);
        udp.recv_from(&mut byte).await.unwrap();
        drop(request);
        others.await.unwrap();
        (read, received)
    });
    vec![
        format!("socket descriptor (read) at {read}"),
        format!("socket descriptor (read) at {received}"),
    ]
}

/// Permits that were not waited for are known, too: a prediction with fewer needs them.
#[test]
fn permits_are_recorded() {
    runtime().block_on(async {
        let connections = Arc::new(Semaphore::new(2).named("connections"));
        let mut tasks = vec![];
        for _ in 0..2 {
            let connections = connections.clone();
            tasks.push(spawn(async move {
                let _request = request("queries");
                let _connection = connections.acquire().await.unwrap();
                sleep(MOMENT).await;
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
    });
    let change = ["permits connections 1".parse().unwrap()];
    let predictions = predict(&recording(), &change).unwrap();
    assert!(predictions[0].requests >= 2, "{predictions:?}");
}

/// A subscriber that only counts its spans and references to them.
#[derive(Default)]
struct Counts {
    last: AtomicU64,
    references: Mutex<std::collections::HashMap<u64, u32>>,
}

impl Subscriber for Counts {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        self.references.lock().unwrap().insert(id, 1);
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}

    fn clone_span(&self, id: &Id) -> Id {
        *self
            .references
            .lock()
            .unwrap()
            .get_mut(&id.into_u64())
            .unwrap() += 1;
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let mut references = self.references.lock().unwrap();
        let count = references.get_mut(&id.into_u64()).unwrap();
        *count -= 1;
        *count == 0
    }
}

#[test]
fn a_span_is_a_request() {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .trace(true)
        .build()
        .unwrap();
    let spans = Spans::new(Counts::default(), |span| span.name().starts_with("span"));
    let dispatch = tracing::Dispatch::new(spans);
    assert!(dispatch.is::<Spans<Counts>>() && dispatch.is::<Counts>());
    let nap = tracing::dispatcher::with_default(&dispatch, || {
        runtime.block_on(async {
            let nap = at(4);
            async {
                yield_now().await;
                let span = info_span!("span of another");
                async { sleep(MOMENT).await }.instrument(span).await;
            }
            .instrument(info_span!("span of a request"))
            .await;
            async { yield_now().await }
                .instrument(info_span!("none"))
                .await;
            nap
        })
    });
    let waits = waits("span of a request");
    assert!(
        waits.contains(&format!("timer Sleep at {nap}")),
        "{waits:#?}"
    );
    assert_eq!(count("span of a request"), 1);
    // It is within a request, or no chosen one.
    assert_eq!((count("span of another"), count("none")), (0, 0));
}

/// A service that answers at once, or after a moment.
#[derive(Clone)]
struct Answers;

impl Service<http::Request<()>> for Answers {
    type Response = ();
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<(), Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: http::Request<()>) -> Self::Future {
        Box::pin(async {
            sleep(MOMENT).await;
            Ok(())
        })
    }
}

impl Service<u32> for Answers {
    type Response = u32;
    type Error = Infallible;
    type Future = Ready<Result<u32, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, number: u32) -> Self::Future {
        ready(Ok(number))
    }
}

#[test]
fn each_call_of_a_service_is_a_request() {
    runtime().block_on(async {
        let mut service = RequestLayer::http().layer(Answers);
        for path in ["/users", "/users?page=2", "/orders"] {
            let call = http::Request::post(path).body(()).unwrap();
            service.call(call).await.unwrap();
        }
        let named = RequestLayer::new(|number: &u32| format!("number {number}"));
        assert_eq!(named.layer(Answers).call(7).await, Ok(7));
    });
    assert_eq!((count("POST /users"), count("POST /orders")), (2, 1));
    assert_eq!(count("number 7"), 1);
    let waits = waits("POST /users");
    assert!(
        waits.iter().any(|wait| wait.starts_with("timer Sleep at ")),
        "{waits:?}"
    );
}

/// A body of two frames, after each of which it waits for a moment.
#[derive(Default)]
struct Frames {
    left: Vec<Pin<Box<blitz_io::time::Sleep>>>,
}

impl http_body::Body for Frames {
    type Data = &'static [u8];
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Self::Data>, Infallible>>> {
        let Some(moment) = self.left.last_mut() else {
            return Poll::Ready(None);
        };
        std::task::ready!(moment.as_mut().poll(context));
        self.left.pop();
        Poll::Ready(Some(Ok(http_body::Frame::data(b"frame"))))
    }
}

#[derive(Clone)]
struct Streams;

impl Service<http::Request<()>> for Streams {
    type Response = http::Response<Frames>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: http::Request<()>) -> Self::Future {
        let left = vec![Box::pin(sleep(MOMENT)), Box::pin(sleep(MOMENT))];
        ready(Ok(http::Response::new(Frames { left })))
    }
}

#[test]
fn a_request_may_last_until_its_body_is_sent() {
    use http_body::Body;

    runtime().block_on(async {
        let call = |path| http::Request::get(path).body(()).unwrap();
        let mut service = RequestLayer::http().with_body().layer(Streams);
        let whole = service.call(call("/whole")).await.unwrap();
        let mut body = pin!(whole.into_body());
        for _ in 0..2 {
            let frame = poll_fn(|context| body.as_mut().poll_frame(context)).await;
            assert_eq!(frame.unwrap().unwrap().into_data().unwrap(), b"frame");
            assert_eq!(count("GET /whole"), 0);
        }
        let end = poll_fn(|context| body.as_mut().poll_frame(context)).await;
        assert!(end.is_none());
        assert_eq!(count("GET /whole"), 1);
        // The client goes away after the response.
        drop(service.call(call("/half")).await.unwrap());
        // And before it.
        drop(service.call(call("/none")));
    });
    let counts = ["/whole", "/half", "/none"].map(|path| count(&format!("GET {path}")));
    assert_eq!(counts, [1, 1, 1]);
    let waits = waits("GET /whole");
    assert!(
        waits.iter().any(|wait| wait.starts_with("timer Sleep at ")),
        "{waits:?}"
    );
}

/// Returns how long the requests with this name took.
fn durations(name: &str) -> Vec<Duration> {
    let text: serde_json::Value = serde_json::from_str(&otlp(&recording())).unwrap();
    let spans = text["resourceSpans"][0]["scopeSpans"][0]["spans"]
        .as_array()
        .unwrap();
    let own = spans.iter().filter(|span| span["name"] == name);
    let time = |time: &serde_json::Value| time.as_str().unwrap().parse::<u64>().unwrap();
    let duration = |span: &serde_json::Value| {
        Duration::from_nanos(time(&span["endTimeUnixNano"]) - time(&span["startTimeUnixNano"]))
    };
    own.map(duration).collect()
}

/// The variable of the environment of a process with a clock of its own.
const ALONE: &str = "BLITZ_TRACE_ALONE";

/// The recorder has one clock. While it shows simulated time, the times of other tests are none, so this is the only test
/// of its process.
#[test]
fn simulated_time_is_recorded() {
    if std::env::var_os(ALONE).is_some() {
        return records_simulated_time();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "simulated_time_is_recorded", "--test-threads=1"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
}

fn records_simulated_time() {
    let hour = Duration::from_secs(3600);
    let mut builder = Builder::new_current_thread();
    let runtime = builder
        .enable_all()
        .start_paused(true)
        .trace(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let _request = request("sleeps for an hour");
        sleep(hour).await;
    });
    blitz_io::sim::Builder::new()
        .seeds(2)
        .run(move || async move {
            let _request = request("sleeps in a simulation");
            spawn(async move { sleep(2 * hour).await }).await.unwrap();
        });
    for (name, count, least) in [
        ("sleeps for an hour", 1, hour),
        ("sleeps in a simulation", 2, 2 * hour),
    ] {
        let all = durations(name);
        assert_eq!(all.len(), count, "{name}");
        assert!(all.iter().all(|time| *time >= least), "{name}: {all:?}");
    }
    let waits = waits("sleeps in a simulation");
    assert!(
        waits.iter().any(|wait| wait.starts_with("timer Sleep at ")),
        "{waits:?}"
    );
}

/// The predicate looks at the name: the test depends on no clock.
#[test]
fn a_request_for_which_a_predicate_is_true_writes_the_recording() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = Builder::new_current_thread()
        .enable_all()
        .trace_when(folder.path(), |request| request.name == "slow one")
        .build()
        .unwrap();
    runtime.block_on(async {
        drop(request("fast one"));
        let slow = request("slow one");
        yield_now().await;
        drop(slow);
    });
    let file = folder
        .path()
        .join(format!("{}-1.blitz", std::process::id()));
    while !file.exists() {
        thread::yield_now();
    }
    let recording = Recording::parse(&fs::read(file).unwrap()).unwrap();
    let text = otlp(&recording);
    assert!(
        text.contains("\"slow one\"") && text.contains("\"fast one\""),
        "{text}"
    );
    let files = fs::read_dir(folder.path()).unwrap();
    assert_eq!(files.count(), 1);
}

/// Messages between two processes: this program, and itself as a child.
#[cfg(unix)]
mod processes {
    use std::path::{Path, PathBuf};
    use std::process::{Child, Stdio};

    use blitz_io::ipc::{self, Queue};
    use blitz_io_inspect::trace::Node;

    use super::*;

    /// The variable of the environment with the folder of a child.
    const CHILD: &str = "BLITZ_TRACE_CHILD";
    /// The test that is the child's.
    const NAME: &str = "processes::answers_questions_if_it_is_a_child";
    /// The child writes its recording, and answers.
    const WRITE: &[u8] = b"write";
    fn queue(folder: &Path) -> ipc::Builder {
        Queue::builder().directory(folder)
    }

    fn recording_of_the_child(folder: &Path) -> PathBuf {
        folder.join("child.blitz")
    }

    #[test]
    fn answers_questions_if_it_is_a_child() {
        let Some(folder) = std::env::var_os(CHILD).map(PathBuf::from) else {
            return;
        };
        runtime().block_on(async {
            let mut questions = queue(&folder).receiver("questions").unwrap();
            let mut answers = queue(&folder).sender("answers").unwrap();
            answers.send_async(b"ready").await.unwrap();
            while let Ok(question) = questions.recv_async().await {
                if *question == *WRITE {
                    let text = blitz_io_observe::trace::recording();
                    fs::write(recording_of_the_child(&folder), text).unwrap();
                } else {
                    nap().await;
                }
                drop(question);
                answers.send_async(b"answer").await.unwrap();
            }
        });
    }

    const NAP: u32 = line!() + 2;
    async fn nap() {
        sleep(MOMENT).await;
    }

    /// A child that is killed if the test fails.
    struct Killed(Child);

    impl Drop for Killed {
        fn drop(&mut self) {
            _ = self.0.kill();
            _ = self.0.wait();
        }
    }

    fn start(folder: &Path) -> Killed {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", NAME, "--test-threads=1"])
            .env(CHILD, folder)
            .stdout(Stdio::null())
            .spawn();
        Killed(child.unwrap())
    }

    /// Returns the parts of the requests with this name.
    fn parts(recording: &Recording, name: &str) -> Vec<Node> {
        let report = judge(recording, 100_000);
        let title = format!("{name} (request ");
        let own = (report.paths.into_iter()).filter(|node| node.what.starts_with(&title));
        own.flat_map(|node| node.parts).collect()
    }

    /// A question may be answered before the parent waits, so it asks until both reports have the other process.
    #[test]
    fn a_request_follows_its_messages_into_another_process() {
        if !ipc::is_supported() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let name = "asks a process";
        let mut child = start(folder.path());
        let pid = child.0.id();
        let alone = format!("in process {pid} (not recorded)");
        let within = format!("timer Sleep in process {pid}");
        let nap = format!("{}:{NAP}", file!());
        runtime().block_on(async {
            let mut answers = queue(folder.path()).receiver("answers").unwrap();
            let mut questions = queue(folder.path()).sender("questions").unwrap();
            assert_eq!(*answers.recv_async().await.unwrap(), *b"ready");
            for round in 0.. {
                let request = request(name);
                questions.send_async(b"question").await.unwrap();
                drop(answers.recv_async().await.unwrap());
                drop(request);
                questions.send_async(WRITE).await.unwrap();
                drop(answers.recv_async().await.unwrap());
                let theirs = fs::read(recording_of_the_child(folder.path())).unwrap();
                let both = Recording::of_all([recording(), Recording::parse(&theirs).unwrap()]);
                let is_named = parts(&recording(), name)
                    .iter()
                    .any(|part| part.what == alone);
                let parts = parts(&both, name);
                let is_within = |part: &Node| part.what == within && nap.ends_with(&part.at);
                if is_named && parts.iter().any(is_within) {
                    assert!(!parts.iter().any(|part| part.what == alone), "{parts:#?}");
                    break;
                }
                assert!(round < ROUNDS, "{alone:?} and {within:?} in {parts:#?}");
            }
        });
        assert!(child.0.wait().unwrap().success());
    }
}
