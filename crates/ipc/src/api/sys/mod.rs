//! The parts that depend on the operating system: a file to map, locks that die with their
//! owner, a folder for each user, and descriptors through which tasks are woken.
//!
//! In addition, `anonymous.rs` exists on Linux only.

#[cfg_attr(
    any(
        target_os = "linux",
        target_os = "android",
        target_os = "macos",
        target_os = "freebsd"
    ),
    path = "unix/mod.rs"
)]
#[cfg_attr(
    not(any(
        target_os = "linux",
        target_os = "android",
        target_os = "macos",
        target_os = "freebsd"
    )),
    path = "other.rs"
)]
mod system;

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) mod socket;

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) use system::is_sealed;
pub(crate) use system::{
    Mapping, SegmentFile, check_directory, coarse_time, other_directories, process, remove,
    supported, user, user_directory,
};
#[cfg(unix)]
pub(crate) use system::{PollSet, Wakeups, remove_wakeups, wake};

/// The users that may use a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Access {
    /// The number of its owner.
    pub(crate) user: u32,
    /// Its permission bits.
    pub(crate) mode: u32,
    /// The number of its names.
    pub(crate) links: u64,
}

/// A process, distinguished from a later one with the same number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// The time of its start, in a unit and from an origin that the system chooses.
    pub(crate) started: u64,
}
