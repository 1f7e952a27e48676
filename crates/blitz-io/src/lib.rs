//! Everything in a program that waits, on one futex core.
//!
//! * [`sync`]: locks, semaphores, notifications and channels for tasks, with the
//!   names and semantics of `tokio::sync`. They need no particular runtime.
//! * [`thread`]: locks, barriers, latches, parkers and events for threads, with the
//!   names of parking_lot, std and crossbeam.
//! * `runtime`, `task`, `time`: a work-stealing runtime with Tokio's names, if you want
//!   it (feature `rt`).
//! * [`futex`]: what they all sleep on, for primitives of your own.
//!
//! # Tasks
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
//! # Threads
//!
//! ```
//! use blitz_io::thread::{Barrier, Mutex, RwLock}; // was: parking_lot
//!
//! static TOTAL: Mutex<u64> = Mutex::new(0);
//! static NAMES: RwLock<Vec<&str>> = RwLock::new(Vec::new());
//!
//! let start = Barrier::new(2);
//! std::thread::scope(|scope| {
//!     for name in ["left", "right"] {
//!         let start = &start;
//!         scope.spawn(move || {
//!             start.wait();
//!             *TOTAL.lock() += 1;
//!             NAMES.write().push(name);
//!         });
//!     }
//! });
//! assert_eq!((*TOTAL.lock(), NAMES.read().len()), (2, 2));
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
//! # The runtime
//!
//! With the features `rt` and `macros`, a program needs nothing of Tokio for its tasks:
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
//! | `tokio::time::X` | `blitz_io::time::X` (`time`); `pause`, `advance`, `resume` (`test-util`) |
//! | `tokio_util::sync::CancellationToken` | `blitz_io::sync::CancellationToken` (`rt`) |
//! | `tokio_util::task::TaskTracker` | `blitz_io::task::TaskTracker` (`rt`) |
//! | `tokio_stream::wrappers::ReceiverStream` | the receiver itself is a `Stream` (`stream`) |
//! | `parking_lot::{Mutex, RwLock, Condvar, Once, …}` | `blitz_io::thread::{Mutex, RwLock, Condvar, Once, …}` |
//! | `std::sync::Mutex`, `RwLock`, `Condvar` | `blitz_io::thread::…`, without `unwrap()`: there is no poisoning |
//! | `std::sync::{Barrier, OnceLock, LazyLock}` | `blitz_io::thread::{Barrier, OnceLock, LazyLock}` |
//! | `std::sync::mpsc` | [`sync::mpmc`]: `send_blocking`, `recv_blocking`, and receivers that can be cloned |
//! | `std::thread::scope`, for tasks | `blitz_io::task::scope` (`rt`) |
//! | `crossbeam::sync::{Parker, WaitGroup}` | `blitz_io::thread::{Parker, WaitGroup}` |
//! | `crossbeam_channel::{bounded, unbounded, Select}` | [`sync::mpmc`]: `send` and `recv` are `send_blocking` and `recv_blocking` here |
//! | `async_channel::{bounded, unbounded}` | [`sync::mpmc`]: same names |
//! | `async_lock::{Mutex, RwLock, Semaphore, Barrier, OnceCell}` | `blitz_io::sync::…`, with Tokio's names |
//! | `rayon::spawn` and a channel for the result | `blitz_io::task::spawn_blocking(…).await` (`rt`) |
//! | `rayon`'s `par_iter` over a few big pieces | `blitz_io::task::JoinSet::spawn_blocking` for each piece; for many small ones keep rayon |
//!
//! Not here yet: `tokio::{net, fs, process, signal, io}`.
//!
//! # What differs
//!
//! * Every wait has a form that blocks a thread, where Tokio's often has none. Those that
//!   Tokio has panic in a task of this runtime, as Tokio's do in one of Tokio's. Under
//!   another runtime they cannot notice it.
//! * The last receiver of a [broadcast](sync::broadcast) value gets the value itself
//!   and not a clone.
//! * The locks of [`thread`] are fair to who has waited for two milliseconds; those
//!   of [`sync`] are first come, first served, like Tokio's.
//!
//! # Features
//!
//! None is on by default: the primitives need no runtime, and work under any.
//!
//! | feature | what it adds |
//! |---|---|
//! | `full` | `rt`, `macros`, and what else Tokio has in its own `full` of what is here |
//! | `rt` | the runtime: `runtime`, `task`, `time`, `spawn`, `task_local!`, and in [`sync`] `CancellationToken` |
//! | `macros` | `select!`, `join!`, `try_join!`, `pin!`; with `rt` also `#[main]` and `#[test]` |
//! | `rt-multi-thread`, `time`, `test-util` | the same as `rt`: names that a program which comes from Tokio may go on using |
//! | `sync`, `parking_lot` | nothing, likewise |
//! | `tracing` | a span of `tracing` for every task |
//! | `hyper` | hyper's traits for an executor and a timer |
//! | `stream` | `Stream` for the receivers of channels |
//! | `sink` | `Sink` for senders |
//! | `serde` | the locks of [`thread`] can be serialised |
//! | `send_guard` | guards of the locks of [`thread`] can go to another thread |
//! | `portable` | a table of locks in place of the system's futex, for sandboxes that forbid it |

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "macros")]
#[doc(hidden)]
pub mod macros;
#[cfg(feature = "rt")]
pub mod runtime;
pub mod sync;
#[cfg(feature = "rt")]
pub mod task;
#[cfg(feature = "rt")]
pub mod time;

pub use blitz_futex as futex;
#[cfg(feature = "hyper")]
pub use blitz_runtime::hyper;
#[cfg(feature = "rt")]
pub use blitz_runtime::{task::spawn, task_local};
pub use blitz_sync::thread;

#[cfg(feature = "macros")]
pub use macros::{main, test};

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// And those of the README of the whole.
#[cfg(all(doctest, feature = "full"))]
#[doc = include_str!("../../../README.md")]
struct WorkspaceReadme;
