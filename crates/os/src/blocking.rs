//! Blocking operations, on threads of the runtime's pool.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use blitz_io_observe::About;
use blitz_io_runtime::internals::spawn_short_blocking;

/// Runs one blocking operation, which reports of waits describe.
pub(crate) async fn run<T: Send + 'static>(
    about: About,
    operation: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    match spawn_short_blocking(about, operation).await {
        Ok(result) => result,
        Err(_) => Err(lost()),
    }
}

/// Returns the error of an operation that the pool did not run, or that panicked.
pub(crate) fn lost() -> io::Error {
    io::Error::other("background task failed")
}

/// Runs one blocking operation on a path.
pub(crate) async fn on_path<T: Send + 'static>(
    what: &'static str,
    path: impl AsRef<Path>,
    operation: impl FnOnce(PathBuf) -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let path = path.as_ref().to_owned();
    let about = About::path(what, &path);
    run(about, move || operation(path)).await
}

/// Runs one blocking operation on two paths, of which reports name the first.
pub(crate) async fn on_paths<T: Send + 'static>(
    what: &'static str,
    first: impl AsRef<Path>,
    second: impl AsRef<Path>,
    operation: impl FnOnce(PathBuf, PathBuf) -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let second = second.as_ref().to_owned();
    on_path(what, first, move |first| operation(first, second)).await
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
