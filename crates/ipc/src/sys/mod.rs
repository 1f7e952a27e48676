//! What the operating system gives: a file to map, locks that die with their owner, and a
//! folder for each user.
//!
//! A system is one file with `SegmentFile`, `Mapping`, `user_directory`, `check_directory`,
//! `process` and `supported`. Beside these, `anonymous.rs`, `doorbell.rs` and
//! `awaiting.rs` are there on Linux only.

#[cfg_attr(any(target_os = "linux", target_os = "android"), path = "linux.rs")]
#[cfg_attr(
    not(any(target_os = "linux", target_os = "android")),
    path = "other.rs"
)]
mod system;

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) mod socket;

pub(crate) use system::{
    Mapping, SegmentFile, check_directory, fork_generation, process, supported, user_directory,
};

/// A process, told apart from a later one with the same number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// When it started, in the system's ticks since the machine did.
    pub(crate) started: u64,
}
