//! The C interface of blitz-io.
//!
//! The functions are for programs in C, and in languages that call C. Their comments are copied
//! to `include/blitz.h` by cbindgen, so they are written for C. The library is called `blitz`.
//! How to build and use it: `book/src/guides/c.md` in the repository. Programs in Rust use the crate
//! `blitz-io` itself.
//!
//! # How this crate is built
//!
//! * [`args`] turns the arguments of C into references. It has the rules that the header states
//!   for callers, on which every `SAFETY` comment of this crate rests.
//! * [`error`] has the numbers of errors, the text of the last one, and `entry`, through which
//!   each function goes: it catches panics.
//! * [`fiber`] knows the fibers that this crate has started, and cancels them.
//! * [`wait`] has the one function that waits: it suspends a fiber and blocks a thread.
//! * [`protocol`] has the protocols that have models.
//! * Each other file is one area of the header.
#![allow(non_camel_case_types)]
// The models have the protocols without the rest.
#![cfg(not(loom))]

#[cfg(not(unix))]
compile_error!("the C interface is for Unix: its sockets, signals and pipes are file descriptors");

#[macro_use]
mod safety;

mod args;
mod element;
mod error;
mod exclusive;
mod fiber;
mod fibers_on_words;
mod fork;
mod handle;
/// cbindgen:ignore
mod protocol;
mod settings;
mod wait;

pub mod barrier;
pub mod channel;
pub mod condvar;
pub mod event;
pub mod futex;
pub mod io;
pub mod ipc;
pub mod latch;
pub mod mutex;
pub mod once;
pub mod parker;
pub mod parking;
pub mod pipeline;
pub mod pool;
pub mod runtime;
pub mod rwlock;
pub mod semaphore;
pub mod sleep;
pub mod storage;
pub mod task;
pub mod time;
pub mod version;

pub use error::*;
