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
//! * Tasks change only at the points above. Operations that are not awaited have none: the drop of a guard,
//!   `Notify::notified` and `notify_waiters`, `try_lock`, and `send` of `watch` and `broadcast`. Between two points a task runs alone. Two threads of a multi-thread runtime may
//!   also change between two accesses to an atomic, or between the check of a flag and the call of `notified`. The models of loom
//!   test that, and `blitz sim run --atomics --schedule pct:3 -- cargo test`.
//! * A closure of `spawn_blocking` runs on the same thread, as one step. If it calls an operation that blocks its thread
//!   (`blocking_recv`), that panics.
//! * A job of the fork-join pool runs on the same thread, to its end. The seed decides the order of jobs, which of
//!   them are stolen, and by which worker.
//! * The tasks of [`LocalSet::spawn_local`](crate::task::LocalSet::spawn_local) are one task, those in `join!` and `FuturesUnordered` too.
//!   So are the children of [`task::scope`](crate::task::scope), but each event names the child to which it happened. The function
//!   [`spawn_local`](crate::task::spawn_local) makes a task of the simulation, also inside of a `LocalSet`.
//! * TCP and UDP sockets of [`net`](../net/index.html) are those of a simulated network, whose hosts may crash and be cut off: see
//!   `host` and `Faults`. Other sockets, pipes, processes and signals panic when they are made.
//! * Files of [`fs`](../fs/index.html) are those of a disk of the host whose code opens them: see `Host`. Files of the test itself and
//!   of `std::fs` are those of the system.
//! * Rings of `ipc` are in real shared memory. Their ends wait for each other as long as all of them are in the simulation.
//! * With `threads = "all"` (`Builder::run_threads`, feature `sim-threads`), the workers of a runtime are real threads. Most
//!   of what this page says is then different.
//! * Threads that the test starts are no part of the simulation. A test that depends on them is not deterministic:
//!   [`Builder::check_determinism`] finds that.
//! * Thread-local variables keep their values from run to run, because runs share a thread. What belongs to a run goes
//!   into the test's future, or into a `task_local!`.
//!
//! # The system
//!
//! The standard library and other packages ask the C library for the time, random numbers, addresses and sockets. On Linux
//! with glibc, on x86-64 and ARM64, the run answers to the code of its tasks and hosts:
//!
//! * [`Instant::now`](std::time::Instant::now) and [`SystemTime::now`](std::time::SystemTime::now) show the clock of the host:
//!   the same moments as [`time::Instant`](crate::time::Instant) and `system_time`. A loop that only waits for the clock ends,
//!   because the clock moves after 10,000 readings of one moment.
//! * [`thread::sleep`](std::thread::sleep) moves the simulated clock. No task runs during it, as one thread plays all.
//! * A wait of a thread with a time limit, such as that of a [`Condvar`](std::sync::Condvar), is a real one, as another thread may
//!   end it. If none does, the simulated clock moves by that time.
//! * Random numbers (`getrandom`, `getentropy`) follow from the seed, or from the number behind the `@` of a [`Trace`]. Each host
//!   has others. So the order of a [`HashMap`](std::collections::HashMap) and the numbers of the crate `rand` are the same in each
//!   replay, if the test is run by the attribute [`sim`](macro@crate::sim) or by [`Builder::run_on_new_threads`]. With
//!   [`Builder::run`], thread-local variables keep the keys and generators of earlier runs.
//! * [`ToSocketAddrs`](std::net::ToSocketAddrs) finds the hosts of the simulation, and no others.
//! * A socket of the system is refused with `EOPNOTSUPP`, and the text of a [`Failure`] says so, with the line of the first. After 1,000
//!   of them the run fails. A TCP socket may be made, to set options and to be passed to
//!   [`TcpSocket`](../net/struct.TcpSocket.html): the connectors of hyper-util and reqwest do that. Then `connect`, `bind` and `listen` of the
//!   system are refused.
//! * A wait of the thread without a time limit is a real one. If no other thread can end it, as with a lock of std that
//!   another task holds over an `await`, the process ends with a message that names the task and the line. If one may end it, the
//!   message comes when the wait has lasted for three seconds.
//! * A thread that the test starts is the system's. If the run then ends in a deadlock, the text of the [`Failure`] names the line.
//!
//! Other threads have the system itself, and so has this one before and after a run. Not taken over are files, pipes, direct
//! system calls other than by `syscall`, processor time, and `poll` and `epoll` with a time limit. On other systems nothing is, nor
//! in programs that are linked statically, under Miri, and with the thread sanitizer (`--cfg thread_sanitizer`).

/// The call of the attribute `sim` with `threads = "all"`.
#[cfg(feature = "sim-threads")]
#[doc(hidden)]
#[macro_export]
macro_rules! __sim_threads {
    ($($call:tt)*) => { $($call)* };
}

/// Reports that the attribute `sim` with `threads = "all"` needs a feature.
#[cfg(not(feature = "sim-threads"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __sim_threads {
    ($($call:tt)*) => {
        ::core::compile_error!(
            "`threads = \"all\"` needs the feature `sim-threads` in place of `sim`, in Cargo.toml"
        )
    };
}

mod builder;
#[cfg_attr(not(feature = "net"), allow(dead_code, reason = "there are no hosts"))]
mod clock;
#[cfg(feature = "net")]
mod disks;
#[cfg_attr(not(feature = "net"), allow(dead_code, reason = "there are no hosts"))]
mod drawn;
mod environment;
mod events;
mod execute;
mod explore;
mod failure;
mod fault_counts;
#[cfg(feature = "net")]
mod faults;
#[cfg(all(feature = "fs", feature = "net"))]
mod files;
pub mod history;
#[cfg(feature = "net")]
mod host;
#[cfg(feature = "net")]
mod hosts;
#[allow(dead_code, reason = "where nothing of the system is taken over")]
mod joiners;
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
#[cfg(feature = "net")]
mod paths;
mod period;
mod places;
mod properties;
mod report;
mod run;
mod schedule;
mod settings;
mod shrink;
mod state;
mod system;
#[cfg(feature = "sim-threads")]
mod threads;
mod threads_of_runs;
mod trace;
mod waits;

#[doc(hidden)]
pub use crate::__sim_threads as with_threads;
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
pub use host::{Host, ToHost, host, hosts, named, random, system_time};
#[cfg(feature = "net")]
pub use life::HostEnd;
pub use outcome::Outcome;
#[cfg(feature = "net")]
pub use paths::{heal, heal_all, partition, partition_one_way, set_all_links, set_link};
#[doc(hidden)]
pub use properties::{Holds, always, eventually, sometimes};
pub use report::Report;
pub use schedule::Schedule;
#[cfg(feature = "sim-threads")]
#[doc(hidden)]
pub use threads::without_crate;
pub use trace::{ParseError, Trace};

#[doc(inline)]
pub use crate::note::note;
