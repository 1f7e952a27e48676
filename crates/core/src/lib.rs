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
pub mod backoff;
mod biased_lock;
mod cache_padded;
#[cfg(feature = "taskdump")]
mod capture;
pub mod coop;
pub mod deadline;
pub mod exclusive;
pub mod fibers;
mod lease;
mod lock;
pub mod looks;
mod on_drop;
mod panics;
mod parker;
pub mod pause;
mod processors;
mod random;
#[cfg(not(loom))]
pub mod recycle;
pub mod scopes;
pub mod spin;
pub mod timers;
mod wait_queue;

#[cfg(any(target_os = "linux", target_os = "android"))]
pub use affinity::Affinity;
pub use attempts::Attempts;
pub use backoff::Backoff;
pub use biased_lock::BiasedLock;
pub use blitz_io_futex::per_process::{PerProcess, StaticPerProcess, generation, watch_forks};
pub use blitz_io_futex::source::Watched;
#[cfg(unix)]
pub use blitz_io_futex::system_clock::nanos_of;
pub use blitz_io_futex::{
    const_unless_loom, debug_fields, debug_is_name, default_is_new, error_text, fences,
};
pub use blitz_io_observe::ThreadId;
pub use cache_padded::CachePadded;
pub use lease::Lease;
pub use lock::{ListLock, Lock, LockGuard};
pub use on_drop::OnDrop;
pub use panics::Panics;
pub use parker::Parker;
pub use processors::{processors, this_processor};
pub use random::{Random, entropy};
pub use spin::{Spin, yield_now};
pub use wait_queue::{List, Node, WaitQueue, Wake, Wakes};
