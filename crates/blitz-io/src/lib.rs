//! An async runtime with I/O, channels, locks, a fork-join pool and IPC on one futex core.
//!
//! * [`sync`]: locks, semaphores, notifications and channels for tasks, with the names and
//!   semantics of `tokio::sync`. They need no particular runtime.
//! * [`thread`]: locks, barriers, latches, parkers and events for threads, with the names of
//!   parking_lot, std and crossbeam.
//! * [`runtime`], [`task`], [`time`]: a work-stealing runtime with Tokio's names (feature `rt`),
//!   and scopes of tasks.
//! * [`io`]: reading and writing bytes, with the names of `tokio::io` (feature `io-util`).
//! * [`net`], [`fs`], [`process`], [`signal`]: sockets, files, child processes and signals, with the
//!   names of Tokio (features of the same names).
//! * [`pool`]: parallel work on all processors, with rayon-core's names (feature `pool`).
//! * [`ipc`]: messages between processes, through shared memory (feature `ipc`).
//! * [`fiber`]: blocking code as tasks, each with a stack of its own (feature `fiber`).
//! * [`pipeline`]: stages that run in parallel and keep the order (feature `pipeline`).
//! * [`futex`]: the futex that all of them sleep on, for building your own primitives.
//! * [`inspect`](#features): what a program waits for and who holds it (feature `inspect`), for the commands
//!   [`blitz why`](https://blitz-io.github.io/blitz-io/guides/hangs.html) and
//!   [`blitz lint`](https://blitz-io.github.io/blitz-io/guides/lint.html).
//! * [`trace`]: requests, for [`blitz trace`](https://blitz-io.github.io/blitz-io/guides/slow.html), which says where
//!   they wait (with the feature `inspect`).
//! * [`sim`]: tests that run tasks, hosts and networks in many orders, each of which can be replayed (feature `sim`).
//! * [`metrics`]: the figures of runtimes, pools and shared memory, to Prometheus and others (feature `metrics`).
//! * [`stream`], [`hyper`]: the wrappers of `tokio_stream`, and the traits of hyper
//!   (features of the same names).
//!
#![cfg_attr(not(feature = "rt"), doc = "[`runtime`]: #features")]
#![cfg_attr(not(feature = "rt"), doc = "[`task`]: #features")]
#![cfg_attr(not(feature = "rt"), doc = "[`time`]: #features")]
#![cfg_attr(not(feature = "io-util"), doc = "[`io`]: #features")]
#![cfg_attr(not(feature = "net"), doc = "[`net`]: #features")]
#![cfg_attr(not(feature = "fs"), doc = "[`fs`]: #features")]
#![cfg_attr(not(feature = "process"), doc = "[`process`]: #features")]
#![cfg_attr(not(feature = "signal"), doc = "[`signal`]: #features")]
#![cfg_attr(not(feature = "pool"), doc = "[`pool`]: #features")]
#![cfg_attr(not(feature = "ipc"), doc = "[`ipc`]: #features")]
#![cfg_attr(not(feature = "fiber"), doc = "[`fiber`]: #features")]
#![cfg_attr(not(feature = "pipeline"), doc = "[`pipeline`]: #features")]
#![cfg_attr(not(feature = "metrics"), doc = "[`metrics`]: #features")]
#![cfg_attr(not(feature = "stream"), doc = "[`stream`]: #features")]
#![cfg_attr(not(feature = "hyper"), doc = "[`hyper`]: #features")]
#![cfg_attr(feature = "sim", doc = "[`sim`]: mod@sim")]
#![cfg_attr(not(feature = "sim"), doc = "[`sim`]: #features")]
//!
//! # The runtime
//!
//! With the default features:
//!
#![cfg_attr(all(feature = "rt", feature = "macros"), doc = "```")]
#![cfg_attr(not(all(feature = "rt", feature = "macros")), doc = "```text")]
//! use blitz_io::sync::{CancellationToken, mpsc};
//! use blitz_io::task::JoinSet;
//! use blitz_io::time::{Duration, sleep, timeout};
//!
//! #[blitz_io::main] // was: tokio::main
//! async fn main() {
//!     let (found, mut all) = mpsc::channel(8);
//!     let stop = CancellationToken::new();
//!     let mut searches = JoinSet::new();
//!     for number in 1..=3 {
//!         let (found, stop) = (found.clone(), stop.clone());
//!         searches.spawn(async move {
//!             blitz_io::select! {
//!                 () = stop.cancelled() => {}
//!                 () = sleep(Duration::from_millis(number)) => {
//!                     found.send(number).await.unwrap();
//!                 }
//!             }
//!         });
//!     }
//!     let first = timeout(Duration::from_secs(5), all.recv()).await;
//!     assert!(matches!(first, Ok(Some(1..=3))));
//!     stop.cancel();
//!     while let Some(ended) = searches.join_next().await {
//!         ended.unwrap();
//!     }
//! }
//! ```
//!
//! # Tasks
//!
//! The primitives for tasks work under any runtime.
//!
//! ```
//! use blitz_io::sync::{Mutex, Notify, Semaphore}; // was: tokio::sync
//!
//! static HITS: Mutex<u64> = Mutex::const_new(0);
//! static CONNECTIONS: Semaphore = Semaphore::const_new(100);
//!
//! # pollster::block_on(async {
//! {
//!     let _permit = CONNECTIONS.acquire().await.unwrap();
//!     *HITS.lock().await += 1;
//! }
//! assert_eq!(*HITS.lock().await, 1);
//!
//! let ready = Notify::new();
//! ready.notify_one();
//! ready.notified().await;
//! # });
//! ```
//!
//! # Channels
//!
//! Either end of a channel may be a task or a thread.
//!
//! ```
//! use blitz_io::sync::{mpsc, oneshot};
//!
//! let (requests, mut inbox) = mpsc::channel::<(u32, oneshot::Sender<u32>)>(32);
//!
//! // A thread serves …
//! let server = std::thread::spawn(move || {
//!     while let Some((number, answer)) = inbox.blocking_recv() {
//!         _ = answer.send(number * number);
//!     }
//! });
//!
//! // … and tasks ask.
//! # pollster::block_on(async {
//! let (answer, square) = oneshot::channel();
//! requests.send((7, answer)).await.unwrap();
//! assert_eq!(square.await, Ok(49));
//! # drop(requests);
//! # });
//! server.join().unwrap();
//! ```
//!
//! [`mpmc`](sync::mpmc) channels have many senders and many receivers, and are bounded,
//! unbounded, or without a buffer; [`Select`](sync::mpmc::Select) lets a thread wait for
//! several channels.
//!
//! ```
//! use blitz_io::sync::mpmc::{self, Select};
//!
//! let (orders, kitchen) = mpmc::bounded(2);
//! let (bell, ready) = mpmc::bounded(0); // a send waits until the value is received
//! let cook = std::thread::spawn(move || {
//!     for order in kitchen {
//!         bell.blocking_send(format!("{order} is ready")).unwrap();
//!     }
//! });
//! orders.blocking_send("soup").unwrap();
//! drop(orders);
//!
//! let mut select = Select::new();
//! let first = select.recv(&ready);
//! let what = select.select();
//! assert_eq!(what.index(), first);
//! assert_eq!(what.recv(&ready).unwrap(), "soup is ready");
//! cook.join().unwrap();
//! ```
//!
//! # Threads
//!
//! The locks come through `lock_api`, with parking_lot's methods.
//!
//! ```
//! use blitz_io::thread::{Condvar, Mutex, RwLock}; // was: parking_lot
//!
//! static HITS: Mutex<u64> = Mutex::new(0);
//! static ROUTES: RwLock<Vec<&str>> = RwLock::new(Vec::new());
//! static CHANGED: Condvar = Condvar::new();
//!
//! ROUTES.write().push("/health");
//!
//! let reader = std::thread::spawn(|| {
//!     let mut hits = HITS.lock();
//!     CHANGED.wait_while(&mut hits, |hits| *hits < 3);
//!     *hits
//! });
//! for _ in 0..3 {
//!     *HITS.lock() += 1;
//!     CHANGED.notify_one();
//! }
//! assert_eq!(reader.join().unwrap(), 3);
//! assert_eq!(ROUTES.read().len(), 1);
//! ```
//!
//! A semaphore grants many permits at once; a barrier releases threads in rounds; a latch and
//! a wait group count down.
//!
//! ```
//! use blitz_io::thread::{Barrier, Latch, Semaphore, WaitGroup};
//! use std::time::Duration;
//!
//! let memory = Semaphore::new(8); // eight buffers
//! {
//!     let _five = memory.acquire_many(5).unwrap();
//!     assert!(memory.try_acquire_many(4).is_err());
//!     assert!(memory.acquire_many_timeout(4, Duration::from_millis(1)).is_err());
//! } // the five permits are returned here
//! assert_eq!(memory.available_permits(), 8);
//!
//! let (start, done) = (Barrier::new(2), Latch::new(2));
//! let everybody = WaitGroup::new();
//! std::thread::scope(|scope| {
//!     for _ in 0..2 {
//!         let member = everybody.clone();
//!         let (start, done) = (&start, &done);
//!         scope.spawn(move || {
//!             start.wait(); // for both
//!             done.count_down();
//!             drop(member);
//!         });
//!     }
//!     done.wait();
//!     everybody.wait();
//! });
//! ```
//!
//! A parker wakes one thread, an event wakes one thread or all, and `OnceLock` and `LazyLock`
//! hold values that are initialised once.
//!
//! ```
//! use blitz_io::thread::{Event, LazyLock, OnceLock, Parker};
//! use std::time::Duration;
//!
//! static READY: Event = Event::new_manual(false);
//! static NAME: OnceLock<String> = OnceLock::new();
//! static TABLE: LazyLock<Vec<u32>> = LazyLock::new(|| (0..1000).collect());
//!
//! let parker = Parker::new();
//! let unparker = parker.unparker().clone();
//! let worker = std::thread::spawn(move || {
//!     READY.wait();
//!     NAME.set("blitz".to_owned()).unwrap();
//!     unparker.unpark();
//! });
//! READY.set();
//! assert!(parker.park_timeout(Duration::from_secs(30)));
//! assert_eq!(NAME.get().unwrap(), "blitz");
//! assert_eq!(TABLE[7], 7);
//! worker.join().unwrap();
//! ```
//!
//! # The futex
//!
//! ```
//! use blitz_io::futex::atomic::{AtomicU32, Ordering};
//! use blitz_io::futex::{WaitResult, wait_deadline, wake_all};
//! use std::time::{Duration, Instant};
//!
//! static WORD: AtomicU32 = AtomicU32::new(7);
//!
//! let soon = Instant::now() + Duration::from_millis(5);
//! assert_eq!(wait_deadline(&WORD, 6, None), WaitResult::ValueChanged);
//! while wait_deadline(&WORD, 7, soon) != WaitResult::TimedOut {}
//! WORD.store(8, Ordering::Release);
//! wake_all(&WORD);
//! ```
//!
//! # Guarantees
//!
//! * No wake-up is lost. The file of each algorithm begins with its states and the proof; loom
//!   checks the interleavings, and deliberate mistakes ("mutants") show that it would find an
//!   error.
//! * Every future may be dropped at any time. A permit or a value that has already been
//!   assigned to it goes to the next waiter.
//! * Waiting does not allocate, and neither does a channel in steady use.
//! * Tasks are served in the order in which they arrived. The locks of [`thread`] let a
//!   running thread take a free lock first, and pass the lock to a thread that has waited for
//!   two milliseconds; [`FairMutex`](thread::FairMutex) always serves in order.
//! * No task stays queued while all workers sleep, and a blocked worker thread does not keep a
//!   task queued for long.
//!
//! # Coming from …
//!
//! | you write | write here |
//! |---|---|
//! | `tokio::sync::X` | `blitz_io::sync::X`: same names, semantics, panics and cancel safety |
//! | `tokio::sync::{mpsc, oneshot, broadcast, watch}` | `blitz_io::sync::{mpsc, oneshot, broadcast, watch}` |
//! | `#[tokio::main]`, `#[tokio::test]` | `#[blitz_io::main]`, `#[blitz_io::test]`, with the same arguments (`macros`, `rt`) |
//! | `tokio::{select!, join!, try_join!, pin!}` | `blitz_io::{select!, join!, try_join!, pin!}` (`macros`) |
//! | `tokio::spawn`, `tokio::task::X`, `tokio::task_local!` | `blitz_io::spawn`, `blitz_io::task::X`, `blitz_io::task_local!` (`rt`) |
//! | `tokio::runtime::{Runtime, Builder, Handle}` | `blitz_io::runtime::{Runtime, Builder, Handle}` (`rt`) |
//! | `tokio::time::X` | `blitz_io::time::X` (`rt`), with `pause`, `advance` and `resume` |
//! | `tokio::io::X` | `blitz_io::io::X` (`io-util`; `io-std` for the standard streams) |
//! | `tokio::fs::X` | `blitz_io::fs::X` (`fs`) |
//! | `tokio::{process, signal}::X` | `blitz_io::{process, signal}::X` (`process`, `signal`) |
//! | `tokio_util::sync::CancellationToken` | `blitz_io::sync::CancellationToken` (`rt`) |
//! | `tokio_util::task::TaskTracker` | `blitz_io::task::TaskTracker` (`rt`) |
//! | `tokio_stream::wrappers::{ReceiverStream, BroadcastStream, WatchStream, IntervalStream, …}` | `blitz_io::stream::wrappers::…` (`stream`) |
//! | `parking_lot::{Mutex, RwLock, Condvar, Once, …}` | `blitz_io::thread::{Mutex, RwLock, Condvar, Once, …}` |
//! | `std::sync::Mutex`, `RwLock`, `Condvar` | `blitz_io::thread::…`, without `unwrap()`: there is no poisoning |
//! | `std::sync::{Barrier, OnceLock, LazyLock}` | `blitz_io::thread::{Barrier, OnceLock, LazyLock}` |
//! | `std::sync::mpsc` | [`sync::mpmc`]: `blocking_send`, `blocking_recv`, and receivers that can be cloned |
//! | `std::thread::scope`, for tasks | `blitz_io::scope`, or for children that run in parallel `blitz_io::task::parallel_scope` (`rt`) |
//! | `crossbeam::sync::{Parker, WaitGroup}` | `blitz_io::thread::{Parker, WaitGroup}` |
//! | `crossbeam_channel::{bounded, unbounded, Select}` | [`sync::mpmc`]: `send` and `recv` are `blocking_send` and `blocking_recv` here |
//! | `async_channel::{bounded, unbounded}` | [`sync::mpmc`]: same names |
//! | `async_lock::{Mutex, RwLock, Semaphore, Barrier, OnceCell}` | `blitz_io::sync::…`, with Tokio's names |
//! | `rayon::spawn` and a channel for the result | `blitz_io::task::spawn_blocking(…).await` (`rt`) |
//! | `rayon::{join, scope, spawn, ThreadPool}` | `blitz_io::pool::…`: same names (`pool`) |
//! | `rayon`'s `par_iter` | `blitz_io::pool::{for_each, map_reduce, …}` (`pool`), or rayon itself on the drop-in package `rayon-core` |
//!
//! # What differs
//!
//! * Every wait of a primitive, but for `reserve` of [`mpsc`](sync::mpsc), has a blocking form, and most have one
//!   with a time limit too; Tokio's waits often lack them. The blocking methods panic in a task of this runtime,
//!   as Tokio's do in a task of Tokio. Under another runtime they cannot detect a task.
//! * The last receiver of a [broadcast](sync::broadcast) value gets the value itself and not a
//!   clone.
//!
//! # Features
//!
//! `service` is on by default. With `default-features = false` there are only the primitives: they
//! need no runtime, and work under any.
//!
//! **A module that the compiler does not find** is behind a feature, which the compiler's note names ("the
//! item is gated behind the `ipc` feature"): `cargo add blitz-io --features ipc`.
//!
//! | feature | what it adds |
//! |---|---|
//! | **Pick these** | |
//! | `service` | what a service on Tokio has: `fs`, `io-std`, `io-util`, `macros`, `net`, `process`, `rt`, `signal` |
//! | `pool` | `pool`: fork-join and loops on all processors, with rayon-core's names |
//! | `pipeline` | `pipeline`: sources, stages in parallel, ordered sinks |
//! | `ipc` | `ipc`: routes, channels and queues between processes; with `net` tasks can wait for them |
//! | `fiber` | `fiber`: closures that wait for futures on stacks of their own |
//! | `full` | all of these, and `pipeline-atomic-output` |
//! | **Parts of these** | |
//! | `rt` | the runtime, with both schedulers, its timers and a clock that can be paused: `runtime`, `task`, `time`, `spawn`, `task_local!`, and in [`sync`] `CancellationToken` |
//! | `macros` | `select!`, `join!`, `try_join!`; with `rt` also `#[main]` and `#[test]` |
//! | `io-util` | `io`: reading and writing without the operating system |
//! | `io-std` | `io::{stdin, stdout, stderr}` (with `rt` and `io-util`) |
//! | `net` | `net`: sockets; on Unix `io::unix::AsyncFd` (with `rt` and `io-util`) |
//! | `fs` | `fs`: files and directories (with `rt` and `io-util`) |
//! | `process`, `signal` | `process`, `signal`: child processes and signals, on Unix and Windows |
//! | `pipeline-atomic-output` | `pipeline::atomic_output`: files that get their names when they are complete |
//! | `pipeline-gzip` | `pipeline::gzip`: blocks of gzip and BGZF, compressed in parallel |
//! | **Integrations** | |
//! | `hyper` | hyper's traits for an executor, a timer and streams |
//! | `tokio`, `futures-io` | the traits of those packages on this crate's streams, and the other way round; with `tokio` and `rt` also `runtime::Builder::enter_tokio` |
//! | `stream` | `Stream` for the receivers of channels, and `stream::wrappers` |
//! | `sink` | `Sink` for senders |
//! | `serde` | the locks of [`thread`] can be serialised |
//! | `bytemuck`, `zerocopy` | values of types that those packages know to be plain bytes can be sent by `ipc` |
//! | **Observability** | |
//! | `inspect` | records of what each task and thread waits for: `inspect`, answers to `blitz why` and `blitz top`, and the recorders of `blitz trace` and `blitz lint` |
//! | `tower` | `trace::RequestLayer`: a request for `blitz trace` for each call of a service of hyper, axum or tonic |
//! | `tracing` | spans of `tracing` for each task, primitive and operation, as tokio-console reads them; `task::Builder` and `JoinSet::build_task`, which name tasks, as with `inspect` and `sim`; with `inspect`, an event for each finding of a `Watchdog`; `trace::Spans`, which makes requests of spans for `blitz trace` |
//! | `metrics` | `metrics`: the figures of runtimes, pools and shared memory, and with `inspect` of waits, through the facade of that name, to Prometheus and others |
//! | `schedule-latency` | how long tasks are ready before they are polled: a histogram of `runtime::RuntimeMetrics`, and for the hooks of polls |
//! | `sim` | `sim`: tests that run their tasks in many orders, each of which can be replayed, and with `macros` the attribute `#[sim]` |
//! | `sim-threads` | `threads = "all"` of `#[sim]`, and `sim::Builder::run_threads`: tests on real threads under the simulator of `blitz sim` |
//! | `taskdump` | `runtime::Handle::dump`, with the interface of Tokio's task dumps |
//! | **Compatibility** | |
//! | `loom` | nothing without `--cfg loom`; with it, [`futex`], [`sync`] and [`thread`] are on the types of the model checker loom, for models of your own primitives |
//! | `portable` | a table of locks instead of the system's futex, for sandboxes that forbid it |
//! | `send_guard` | guards of the locks of [`thread`] can be sent to another thread, as with parking_lot's feature of that name |
//! | **Tokio's names** | aliases, so that a program keeps its list of features |
//! | `rt-multi-thread`, `test-util`, `time` | the same as `rt` |
//! | `sync`, `parking_lot`, `io-uring` | nothing: the locks and channels are always there, and io_uring is used where the system has it |

#![cfg_attr(docsrs, feature(doc_cfg), doc(auto_cfg(hide(loom))))]

#[cfg(feature = "fs")]
pub use blitz_io_os::fs;
#[cfg(all(any(unix, windows), feature = "process"))]
pub use blitz_io_os::process;
#[cfg(all(any(unix, windows), feature = "signal"))]
pub use blitz_io_os::signal;
pub mod futex;
#[cfg(feature = "inspect")]
#[cfg_attr(docsrs, doc(cfg(feature = "inspect")))]
pub mod inspect;
#[cfg(feature = "io-util")]
pub mod io;
#[doc(hidden)]
pub mod macros;
#[cfg(feature = "metrics")]
pub mod metrics;
#[cfg(feature = "net")]
pub mod net;
mod note;
#[cfg(feature = "rt")]
pub mod runtime;
#[cfg(feature = "sim")]
#[cfg_attr(docsrs, doc(cfg(feature = "sim")))]
pub mod sim;
/// What the feature `sim` leaves in a program: the notes for a report, which do nothing here.
#[cfg(not(feature = "sim"))]
pub mod sim {
    #[doc(inline)]
    pub use crate::note::note;
}
#[cfg(feature = "stream")]
pub mod stream;
pub mod sync;
#[cfg(feature = "rt")]
pub mod task;
#[cfg(feature = "rt")]
pub mod time;
pub mod trace;

#[cfg(feature = "fiber")]
#[doc(inline)]
pub use blitz_io_fiber as fiber;
#[cfg(feature = "ipc")]
#[doc(inline)]
pub use blitz_io_ipc as ipc;
#[cfg(feature = "pipeline")]
#[doc(inline)]
pub use blitz_io_pipeline as pipeline;
#[cfg(feature = "pool")]
#[doc(inline)]
pub use blitz_io_pool as pool;
#[cfg(feature = "hyper")]
pub use blitz_io_runtime::hyper;
#[cfg(feature = "rt")]
pub use blitz_io_runtime::{
    task::{scope, spawn},
    task_local,
};
pub use blitz_io_sync::thread;

#[cfg(all(feature = "macros", feature = "sim"))]
#[doc(inline)]
pub use macros::sim;
#[cfg(all(feature = "macros", not(feature = "sim")))]
#[doc(hidden)]
pub use macros::sim;
#[cfg(feature = "macros")]
pub use macros::{main, test};

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Runs the examples of the book's pages about simulations as tests.
#[cfg(all(
    doctest,
    feature = "fs",
    feature = "macros",
    feature = "net",
    feature = "pool",
    feature = "sim"
))]
#[doc = include_str!("../../../book/src/guides/simulating-tasks.md")]
#[doc = include_str!("../../../book/src/guides/simulating-report.md")]
#[doc = include_str!("../../../book/src/guides/simulating-properties.md")]
#[doc = include_str!("../../../book/src/guides/simulating-hosts.md")]
#[doc = include_str!("../../../book/src/guides/simulating-tasks-reference.md")]
#[doc = include_str!("../../../book/src/guides/simulating-others.md")]
struct SimulatingTasks;

/// Runs the examples of the workspace's README as tests.
#[cfg(all(doctest, feature = "full"))]
#[doc = include_str!("../../../README.md")]
struct WorkspaceReadme;
