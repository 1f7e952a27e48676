//! Internal parts that the blitz-io crates share. Programs use [blitz-io](https://docs.rs/blitz-io).
//!
//! This crate has no stable interface: any release may change anything. The crates that depend on
//! it name its exact version.

// Its pages are for readers of its source.
#![allow(rustdoc::private_intra_doc_links)]

#[cfg(any(target_os = "linux", target_os = "android"))]
mod affinity;
mod attempts;
pub mod awake;
mod backoff;
mod biased_flag;
mod biased_lock;
#[cfg(feature = "taskdump")]
mod capture;
pub mod coop;
pub mod deadline;
pub mod exclusive;
pub mod fences;
pub mod fibers;
pub mod inspect;
mod lease;
mod lock;
mod macros;
mod on_drop;
mod panics;
mod parker;
mod processors;
mod random;
#[cfg(not(loom))]
pub mod recycle;
pub mod resource;
pub mod scopes;
pub mod spin;
#[cfg(unix)]
mod system_clock;
mod thread_id;
pub mod timers;
mod wait_queue;
mod watched;

pub use attempts::Attempts;
pub use backoff::Backoff;
pub use biased_flag::{BiasedFlag, Inside};
pub use biased_lock::BiasedLock;
pub use blitz_io_futex::per_process::{PerProcess, StaticPerProcess, generation, watch_forks};
pub use lease::Lease;
pub use lock::{ListLock, Lock, LockGuard};
pub use on_drop::OnDrop;
pub use panics::Panics;
pub use parker::Parker;
pub use processors::{processors, this_processor};
pub use random::{Random, entropy};
pub use spin::{Spin, yield_now};
#[cfg(unix)]
pub use system_clock::nanos_of;
pub use thread_id::ThreadId;
pub use wait_queue::{List, Node, WaitQueue, Wake, Wakes};
pub use watched::Watched;
