//! Channels between tasks and threads.
//!
//! | module | senders | receivers | each value goes to | names as in |
//! |---|---|---|---|---|
//! | [`mpsc`] | many | one | the receiver | Tokio |
//! | [`mpmc`] | many | many | one of them | async-channel, crossbeam-channel |
//! | [`oneshot`] | one | one | the receiver: there is one value | Tokio |
//! | [`broadcast`] | many | many | all of them | Tokio |
//! | [`watch`] | many | many | all that look; only the latest one is kept | Tokio |
//!
//! Every end can be used from a task, under any runtime, and from a thread: each
//! operation that waits has a form that blocks.
//!
//! ```
//! use blitz_io::sync::mpsc;
//!
//! let (tx, mut rx) = mpsc::channel(16);
//! let thread = std::thread::spawn(move || {
//!     for n in 0..100 {
//!         tx.blocking_send(n).unwrap();
//!     }
//! });
//! pollster::block_on(async { // the crate pollster
//!     let mut sum = 0;
//!     while let Some(n) = rx.recv().await {
//!         sum += n;
//!     }
//!     assert_eq!(sum, 4950);
//! });
//! thread.join().unwrap();
//! ```
//!
//! All of them guarantee:
//!
//! * Values of one sender arrive in the order in which it sent them.
//! * A value that cannot be sent comes back in the error. One that will never
//!   be received is dropped, once.
//! * A future that is dropped loses nothing: a value that it had been given goes to
//!   the next receiver.
//! * A channel in steady use allocates nothing, and to wait allocates nothing.
//! * No waker, and no `Drop` of a value, runs under a lock of the channel's that others need.
//!   Nor does a `Clone`, except in [`broadcast`]: there a receiver clones a value under the lock
//!   of its place, which the value's other receivers need, because values need not be `Sync`.
//!
//! # Features
//!
//! `stream`: receivers are `Stream`s. `sink`: senders of [`mpmc`] can be `Sink`s. `time`:
//! [`mpsc`] has `Sender::send_timeout`, for which a task needs the runtime of this project.

#![cfg_attr(docsrs, feature(doc_cfg), doc(auto_cfg(hide(loom))))]

pub mod broadcast;
mod events;
mod model;
pub mod mpmc;
pub mod mpsc;
pub mod oneshot;
mod timed;
mod wait;
pub mod watch;

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
