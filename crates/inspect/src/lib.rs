//! Answers what a program waits for: which thread or task waits for which object, which one holds
//! it, and whether that wait can end.
//!
//! Three steps, each on plain data:
//!
//! 1. `snapshot` copies the records of this process.
//! 2. [`findings`] judges a [`Snapshot`], and is a pure function.
//! 3. [`report`] writes both for people.
//!
//! A snapshot also has the time that was spent waiting for each object, how full the channels are, and
//! the figures of the runtimes.
//!
//! `serve` answers the same from outside, on a Unix socket or a named pipe, to `blitz why` and `blitz top`.
//! Its report has what the system says about threads that the records do not explain, with the part of their
//! stacks that can be read while they sleep. `ask_with_peers` follows waits for
//! shared memory into other processes, and [`join`] makes one snapshot of theirs.

mod alike;
mod all_asleep;
mod behind_outside;
mod chain;
mod connections;
mod display;
mod dot;
mod families;
mod findings;
mod graph;
mod handed;
mod held_cycle;
mod join;
mod lines;
pub mod lint;
mod long_poll;
mod long_wait;
mod lost_holder;
mod makers;
mod names;
mod never_woken;
mod no_sender;
mod objects;
mod origin;
mod other_ends;
mod overdue;
mod own_lock;
mod own_request;
mod permits;
mod pinned_holder;
mod renumber;
mod report;
mod requests;
mod semantics;
mod snapshot;
mod spawned_since;
mod stack_text;
mod stays;
pub mod trace;
mod tree;
mod unreceived;

#[cfg(any(unix, windows))]
mod client;
#[cfg(all(unix, feature = "records"))]
mod clients;
#[cfg(feature = "records")]
mod deadlock_panics;
#[cfg(feature = "records")]
mod ends;
#[cfg(feature = "records")]
mod flight;
#[cfg(all(unix, feature = "records"))]
mod listener;
#[cfg(feature = "records")]
mod own_call;
#[cfg(feature = "records")]
mod own_stack;
#[cfg(unix)]
mod peers;
#[cfg(windows)]
mod pipe;
#[cfg(all(feature = "records", any(target_os = "linux", target_os = "android")))]
mod proc_files;
#[cfg(any(unix, feature = "records"))]
mod process;
#[cfg(any(unix, windows))]
mod protocol;
#[cfg(feature = "records")]
mod reader;
#[cfg(feature = "records")]
mod reported;
#[cfg(feature = "records")]
mod runtimes;
#[cfg(feature = "records")]
mod selection;
#[cfg(all(any(unix, windows), feature = "records"))]
mod server;
#[cfg(all(unix, feature = "records"))]
mod signal;
#[cfg(all(any(unix, windows), feature = "records"))]
mod simulator;
#[cfg(feature = "records")]
mod sleepers;
#[cfg(unix)]
mod socket;
#[cfg(all(unix, feature = "records"))]
mod spare_memory;
#[cfg(all(any(unix, windows), feature = "records"))]
mod stacks;
#[cfg(feature = "records")]
mod watchdog;

#[cfg(all(
    feature = "records",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod capture;
#[cfg(all(
    feature = "records",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod frames;
#[cfg(all(
    feature = "records",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod outside;
#[cfg(all(
    feature = "records",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod unwind;

pub use blitz_io_observe::{EndedBy, Hands, Kind, Mode, Named, Semantics};
pub use chain::Chains;
pub use dot::{dot, dot_of_findings};
pub use findings::findings;
pub use join::join;
pub use names::{of_target, of_waiter, short as short_place};
pub use objects::of_object;
pub use report::{report, report_in_full, report_within};
pub use snapshot::{
    Certainty, ChildOf, Contention, End, Fill, Finding, Frame, Group, Hosted, Job, LeftOut, Maker,
    Monitor, Object, Overdue, Peer, Process, ProcessState, Resource, Runtime, Scheduler, Serves,
    Snapshot, Spawned, Stack, Task, TaskState, Thread, Timer, Wait, Waiter, Waiting, Worker,
};
pub use tree::tree;
#[doc(hidden)]
pub use {
    alike::alike,
    long_poll::activity_of_thread,
    names::is_of_package,
    origin::{Origin, origin},
};
#[doc(hidden)]
pub use {renumber::renumber, report::report_of_failure};

#[cfg(any(unix, windows))]
pub use client::{
    Answer, ask, ask_with_stacks, ask_without_stacks, list, read_trace, start_trace, stop_trace,
};
/// Asks a process as [`ask`] does: on this system, no processes share memory.
#[cfg(windows)]
pub use client::{ask as ask_with_peers, ask_with_stacks as ask_with_peers_and_stacks};
#[cfg(feature = "records")]
pub use deadlock_panics::{DeadlockPanics, panic_on_deadlock};
#[cfg(feature = "records")]
#[doc(hidden)]
pub use ends::RegisteredEnd;
#[cfg(feature = "records")]
pub use flight::trace_when;
#[cfg(feature = "records")]
#[doc(hidden)]
pub use own_call::own_call;
#[cfg(feature = "records")]
#[doc(hidden)]
pub use own_stack::{FRAMES, OwnStack};
#[cfg(unix)]
pub use peers::{ask_with_peers, ask_with_peers_and_stacks};
#[cfg(any(unix, windows))]
#[doc(hidden)]
pub use protocol::CAN_ANSWER;
#[cfg(feature = "records")]
#[doc(hidden)]
pub use reader::snapshot_of_tasks;
#[cfg(feature = "records")]
pub use reader::{deadlocks, snapshot};
#[cfg(feature = "records")]
#[doc(hidden)]
pub use runtimes::RegisteredRuntime;
#[cfg(all(any(unix, windows), feature = "records"))]
pub use server::{serve, serve_if_asked};
#[cfg(all(unix, feature = "records"))]
pub use signal::{on_signal, trace_on_signal};
#[cfg(unix)]
pub use socket::directory;
#[cfg(feature = "records")]
pub use watchdog::{Watchdog, WatchdogBuilder};

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
