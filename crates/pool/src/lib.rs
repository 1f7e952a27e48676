//! A fork-join pool with rayon-core's names and semantics.
//!
//! [`join()`] runs two closures, [`scope()`] any number of them, and [`for_each()`] and its
//! relatives loop over numbers and slices. [`run()`] returns a future of parallel work that
//! a task of any runtime can await.
//!
//! ```
//! use blitz_io::pool;
//! fn fib(n: u32) -> u32 {
//!     if n < 2 {
//!         return n;
//!     }
//!     let (a, b) = pool::join(|| fib(n - 1), || fib(n - 2));
//!     a + b
//! }
//! assert_eq!(fib(20), 6765);
//! ```
//!
//! # Which function
//!
//! | you have | use |
//! |---|---|
//! | two halves | [`join()`] |
//! | a number of jobs that is not known before, which may borrow | [`scope()`] |
//! | a range | [`for_each()`]; with a state for each thread [`for_each_init`] |
//! | a range whose items can fail, or a search | [`try_for_each`] |
//! | a range and a result | [`map_reduce`]; in the order of the range [`map_reduce_ordered`] |
//! | a slice to change | [`for_each_chunk`] |
//! | a task that must not block its worker | [`run()`], [`scope_async`] |
//! | something for each thread | [`broadcast()`] |
//! | other threads than these | [`ThreadPoolBuilder`] and [`ThreadPool::install`] |
//!
//! The functions use the pool of the calling thread. Outside of a pool that is the global one, which starts at its first use
//! with a thread for each processor, or with `RAYON_NUM_THREADS`. [`ThreadPool`] has all of them as methods.
//!
//! # From rayon
//!
//! Parallel iterators are rayon's: they run on this pool with one line in `Cargo.toml`. The book has
//! [the line, and the function for each of rayon's](https://blitz-io.github.io/blitz-io/moving/rayon.html).
//!
//! Two things differ from rayon. A worker that waits in [`join()`] or [`scope()`] runs only
//! descendants of the closures that it waits for. So a lock that is held across the wait cannot
//! deadlock on an unrelated job. A loop also runs in the calling thread, even if that thread is
//! in no pool.
//!
//! With the feature `sim`, the thread of a simulation (`blitz_io::sim`) runs all jobs of its calls itself, one after the
//! other, in an order that the simulation decides.

#![cfg_attr(docsrs, feature(doc_cfg), doc(auto_cfg(hide(loom))))]
#![cfg_attr(
    loom,
    allow(
        missing_docs,
        clippy::new_without_default,
        reason = "models see what users do not"
    )
)]

mod broadcast;
mod builder;
mod configuration;
mod context;
mod deque;
mod error;
mod global;
mod in_worker;
mod injector;
mod job;
mod job_ref;
mod join;
mod latch;
mod loop_slot;
mod loops;
mod metrics;
mod pin;
mod policy;
mod registry;
mod run;
mod scope;
mod simulation;
mod sleep;
mod slots;
mod spawn;
mod thread_pool;
mod try_trait;
mod worker;

pub use broadcast::{BroadcastContext, broadcast, spawn_broadcast};
pub use builder::{CustomSpawn, DefaultSpawn, ThreadBuilder, ThreadPoolBuilder};
#[allow(deprecated, reason = "old names for those who still use them")]
pub use configuration::{Configuration, initialize};
pub use context::{FnContext, max_num_threads};
pub use error::ThreadPoolBuildError;
pub use join::{join, join_context};
pub use loops::{
    for_each, for_each_chunk, for_each_init, map_reduce, map_reduce_ordered, try_for_each,
};
pub use metrics::{PoolMetrics, global_metrics};
pub use pin::Pin;
pub use policy::Spin;
pub use run::{Run, run, scope_async};
pub use scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo};
pub use spawn::{spawn, spawn_fifo};
pub use thread_pool::{
    ThreadPool, current_num_threads, current_thread_has_pending_tasks, current_thread_index,
    yield_local, yield_now,
};
pub use try_trait::Try;
pub use worker::Yield;

/// Internals for the models in `tests/`.
#[cfg(loom)]
pub mod model {
    pub use crate::deque::Deque;
    pub use crate::job_ref::JobRef;
    pub use crate::latch::{CountLatch, CrossLatch, JoinLatch, Latch, Probe, ThreadLatch};
    pub use crate::loop_slot::LoopSlot;
    pub use crate::sleep::{Sleep, SleepFor};
    pub use blitz_io_observe::Caller;
}

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
