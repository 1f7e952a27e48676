//! Everything in a program that waits, on one futex core.
//!
//! * [`sync`]: locks, semaphores, notifications and channels for tasks, with the
//!   names and semantics of `tokio::sync`. They need no particular runtime.
//! * [`thread`]: locks, barriers, latches, parkers and events for threads, with the
//!   names of parking_lot, std and crossbeam.
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
//! # Coming from …
//!
//! | you write | write here |
//! |---|---|
//! | `tokio::sync::X` | `blitz_io::sync::X`: same names, semantics, panics and cancel safety |
//! | `tokio::sync::{mpsc, oneshot, broadcast, watch}` | `blitz_io::sync::{mpsc, oneshot, broadcast, watch}` |
//! | `parking_lot::{Mutex, RwLock, Condvar, Once, …}` | `blitz_io::thread::{Mutex, RwLock, Condvar, Once, …}` |
//! | `std::sync::Mutex`, `RwLock`, `Condvar` | `blitz_io::thread::…`, without `unwrap()`: there is no poisoning |
//! | `std::sync::{Barrier, OnceLock, LazyLock}` | `blitz_io::thread::{Barrier, OnceLock, LazyLock}` |
//! | `std::sync::mpsc` | [`sync::mpmc`]: `send_blocking`, `recv_blocking`, and receivers that can be cloned |
//! | `crossbeam::sync::{Parker, WaitGroup}` | `blitz_io::thread::{Parker, WaitGroup}` |
//! | `crossbeam_channel::{bounded, unbounded, Select}` | [`sync::mpmc`]: `send` and `recv` are `send_blocking` and `recv_blocking` here |
//! | `async_channel::{bounded, unbounded}` | [`sync::mpmc`]: same names |
//! | `async_lock::{Mutex, RwLock, Semaphore, Barrier, OnceCell}` | `blitz_io::sync::…`, with Tokio's names |
//!
//! # What differs
//!
//! * There is no runtime here, so nothing counts against a task's cooperative
//!   budget, and the methods that block a thread cannot notice that a runtime is
//!   around them. Do not call those in a task.
//! * Every wait has a form that blocks a thread, where Tokio's often has none.
//! * The last receiver of a [broadcast](sync::broadcast) value gets the value itself
//!   and not a clone.
//! * The locks of [`thread`] are fair to who has waited for two milliseconds; those
//!   of [`sync`] are first come, first served, like Tokio's.
//!
//! # Features
//!
//! None is on by default.
//!
//! | feature | what it adds |
//! |---|---|
//! | `stream` | `Stream` for the receivers of channels |
//! | `sink` | `Sink` for senders |
//! | `serde` | the locks of [`thread`] can be serialised |
//! | `send_guard` | guards of the locks of [`thread`] can go to another thread |
//! | `portable` | a table of locks in place of the system's futex, for sandboxes that forbid it |

pub mod sync;

pub use blitz_futex as futex;
pub use blitz_sync::thread;

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// And those of the README of the whole.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct WorkspaceReadme;
