//! Files and directories, as in `tokio::fs`.
//!
//! Each function works like the function of the same name in [`std::fs`], with the same
//! errors, on a thread of the runtime's pool. Dropping its future does not stop it. On
//! Linux, a read of an open file takes the bytes that the system has in memory at once,
//! without a thread. Operations that own their buffer, and writes of a [`File`] on a worker
//! of a multi-thread runtime, go through io_uring where the system has it.
//!
//! In a simulation (feature `sim` of `blitz_io`), files that the code of a host opens are on the
//! simulated disk of that host.
//!
//! # Panics
//!
//! Without a runtime, the functions panic.

#[cfg(unix)]
mod at;
mod dir_builder;
mod file;
mod file_times;
pub(crate) mod files;
mod functions;
#[cfg(io_uring)]
mod in_ring;
#[cfg(target_os = "linux")]
mod nowait;
mod open_options;
mod outcome;
mod read_dir;
#[cfg(unix)]
mod sync;
#[cfg(target_os = "linux")]
mod whole;

pub use dir_builder::DirBuilder;
pub use file::File;
pub use file_times::FileTimes;
#[cfg(unix)]
pub use functions::symlink;
pub use functions::{
    canonicalize, copy, create_dir, create_dir_all, hard_link, metadata, read, read_link,
    read_to_string, remove_dir, remove_dir_all, remove_file, rename, set_permissions,
    symlink_metadata, try_exists, write,
};
#[cfg(windows)]
pub use functions::{symlink_dir, symlink_file};
pub use open_options::OpenOptions;
pub use read_dir::{DirEntry, ReadDir, read_dir};
