//! Blocking operations, on threads of the runtime's pool.

use std::fs::File;
use std::io;

use blitz_io_core::inspect::About;
use blitz_io_runtime::internals::spawn_blocking_as;

/// Runs one blocking operation, which reports of waits describe.
pub(crate) async fn run<T: Send + 'static>(
    about: About,
    operation: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    match spawn_blocking_as(about, operation).await {
        Ok(result) => result,
        Err(_) => Err(lost()),
    }
}

/// Returns the error of an operation that the pool did not run, or that panicked.
pub(crate) fn lost() -> io::Error {
    io::Error::other("background task failed")
}

/// Describes an operation on an open file.
pub(crate) fn on_file(operation: &'static str, file: &File) -> About {
    #[cfg(unix)]
    let about = About::descriptor(operation, std::os::fd::AsRawFd::as_raw_fd(file));
    #[cfg(not(unix))]
    let about = {
        _ = file;
        About::operation(operation)
    };
    about
}
