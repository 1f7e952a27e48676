//! Runs a test in many orders, each of which can be replayed.
//!
//! A simulation runs all tasks of a test on one thread. At each point (an operation of a lock, a channel, a
//! semaphore or a `Notify`, a spawn, a yield, a sleep, the order of `select!`) it decides which task runs next. A run
//! follows from these decisions. So it can be replayed, and shortened to the few that matter. Time is simulated: when
//! no task is ready, the clock moves to the next timer.
//!
//! A run fails if a task panics, the test returns an error, or a [property](always) does not hold. It also fails if tasks,
//! timers or sockets are left at the end, if no task can continue, or if some of the tasks certainly wait for each other for ever: a
//! deadlock needs no assertion. The [`Failure`] says in words which faults there were, which task waits for what, and what
//! each did last, with the lines of the source.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU32, Ordering};
//!
//! use blitz_io::sim::{Builder, Cause};
//! use blitz_io::task;
//!
//! // Two tasks lose an addition, if the other one runs between the load and the store.
//! let test = || async {
//!     let count = Arc::new(AtomicU32::new(0));
//!     let adders = [0; 2].map(|_| {
//!         let count = count.clone();
//!         task::spawn(async move {
//!             let before = count.load(Ordering::Relaxed);
//!             task::yield_now().await;
//!             count.store(before + 1, Ordering::Relaxed);
//!         })
//!     });
//!     for adder in adders {
//!         adder.await.unwrap();
//!     }
//!     assert_eq!(count.load(Ordering::Relaxed), 2);
//! };
//! let failure = Builder::new().check(test).unwrap_err();
//! assert!(matches!(failure.cause(), Cause::Panic(_)));
//!
//! // The same run again.
//! let again = Builder::new().trace(failure.trace().clone()).check(test).unwrap_err();
//! assert_eq!(again.cause(), failure.cause());
//! ```
//!
//! # The limits of a simulation
//!
//! * Tasks change only at the points above. Between two points a task runs alone: two threads of a multi-thread runtime may
//!   also change between two accesses to an atomic. `blitz sim` and the models of loom test that.
//! * A closure of `spawn_blocking` runs on the same thread, as one step. If it calls an operation that blocks its thread
//!   (`blocking_recv`), that panics.
//! * The tasks of a [`LocalSet`](crate::task::LocalSet) are one task, those in `join!` and `FuturesUnordered` too.
//! * TCP and UDP sockets of [`net`](crate::net) are those of a simulated network, whose hosts may crash and be cut off: see
//!   `host` and `Faults`. Other sockets and pipes panic when they are made. Processes are those of the system.
//! * Files of [`fs`](crate::fs) are those of a disk of the host whose code opens them: see `Host`. Files of the test itself and
//!   of `std::fs` are those of the system.
//! * Rings of `ipc` are in real shared memory. Their ends wait for each other as long as all of them are in the simulation.
//! * With `threads = "all"` (`Builder::run_threads`, feature `sim-threads`), the workers of a runtime are real threads. Most
//!   of what this page says is then different.
//! * Threads that the test starts, `std::time`, and random numbers of other crates are no part of the simulation. A test
//!   that depends on them is not deterministic: [`Builder::check_determinism`] finds that.
//! * Thread-local variables keep their values from run to run, because all runs are on one thread. What belongs to a run goes
//!   into the test's future, or into a `task_local!`.

mod builder;
#[cfg_attr(not(feature = "net"), allow(dead_code, reason = "there are no hosts"))]
mod clock;
#[cfg(feature = "net")]
mod disks;
mod events;
mod execute;
mod explore;
mod failure;
#[cfg(feature = "net")]
mod faults;
#[cfg(all(feature = "fs", feature = "net"))]
mod files;
pub mod history;
#[cfg(feature = "net")]
mod hosts;
#[cfg(feature = "net")]
mod life;
#[cfg_attr(not(feature = "net"), allow(dead_code, reason = "there are no hosts"))]
mod members;
mod network;
#[cfg(not(feature = "net"))]
mod no_hosts;
mod notes;
mod outcome;
mod panics;
mod period;
mod places;
mod properties;
mod report;
mod run;
mod schedule;
mod settings;
mod shrink;
#[cfg(feature = "sim-threads")]
mod threads;
mod trace;
mod waits;

#[cfg(feature = "net")]
pub use blitz_io_net::simulation::Link;
#[cfg(all(feature = "fs", feature = "net"))]
pub use blitz_io_os::simulation::Disk;
pub use builder::{Builder, run};
pub use failure::{Cause, Failure};
#[cfg(feature = "net")]
pub use faults::{Faults, inject};
#[cfg(all(feature = "fs", feature = "net"))]
pub use files::{set_all_disks, set_disk};
#[cfg(feature = "net")]
pub use hosts::{
    Host, ToHost, heal, heal_all, host, hosts, named, partition, partition_one_way, random,
    set_all_links, set_link, system_time,
};
#[cfg(feature = "net")]
pub use life::HostEnd;
pub use outcome::Outcome;
#[doc(hidden)]
pub use period::period_literal;
pub use properties::{always, eventually, sometimes};
pub use report::Report;
pub use schedule::Schedule;
#[cfg(feature = "sim-threads")]
#[doc(hidden)]
pub use threads::without_crate;
pub use trace::{ParseError, Trace};
