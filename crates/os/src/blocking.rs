//! Blocking operations, on threads of the runtime's pool.

use std::io;
use std::path::{Path, PathBuf};

use blitz_io_observe::About;
use blitz_io_runtime::internals;
use blitz_io_runtime::task::JoinHandle;

use crate::fs::files::{self, File};
#[cfg(feature = "sim")]
use crate::simulation;

/// Runs a blocking operation on a thread of the pool: in a simulation as a task of the host, with the time that its disk
/// takes.
#[track_caller]
pub(crate) fn spawn<T: Send + 'static>(
    about: About,
    operation: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    #[cfg(feature = "sim")]
    if simulation::is_on() {
        return simulation::spawn(false, operation);
    }
    internals::spawn_short_blocking(about, operation)
}

/// Does the same for a sync.
#[track_caller]
pub(crate) fn spawn_sync<T: Send + 'static>(
    about: About,
    operation: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    #[cfg(feature = "sim")]
    if simulation::is_on() {
        return simulation::spawn(true, operation);
    }
    internals::spawn_short_blocking(about, operation)
}

/// Does the same for a write that has been accepted, which happens even if the runtime is shut down before. `None` if the
/// pool is closed.
#[track_caller]
pub(crate) fn spawn_mandatory<T: Send + 'static>(
    about: About,
    operation: impl FnOnce() -> T + Send + 'static,
) -> Option<JoinHandle<T>> {
    #[cfg(feature = "sim")]
    if simulation::is_on() {
        return Some(simulation::spawn(false, operation));
    }
    internals::spawn_mandatory_blocking(about, operation)
}

/// Returns a future whose operations are those of the caller's line in the report of a simulation. Elsewhere it is the future
/// alone.
#[cfg_attr(feature = "sim", track_caller)]
#[inline(always)]
pub(crate) fn called<F: Future>(future: F) -> impl Future<Output = F::Output> {
    #[cfg(feature = "sim")]
    let future = blitz_io_observe::CalledAt::new(future);
    future
}

/// Runs one blocking operation, which reports of waits describe.
pub(crate) async fn run<T: Send + 'static>(
    about: About,
    operation: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    match spawn(about, operation).await {
        Ok(result) => result,
        Err(_) => Err(lost()),
    }
}

/// Runs one sync, which reports of waits describe.
#[cfg(not(unix))]
pub(crate) async fn run_sync(
    about: About,
    operation: impl FnOnce() -> io::Result<()> + Send + 'static,
) -> io::Result<()> {
    match spawn_sync(about, operation).await {
        Ok(result) => result,
        Err(_) => Err(lost()),
    }
}

/// Returns the error of an operation that the pool did not run, or that panicked.
pub(crate) fn lost() -> io::Error {
    io::Error::other("background task failed")
}

/// Runs one blocking operation on a path.
#[track_caller]
pub(crate) fn on_path<T: Send + 'static>(
    what: &'static str,
    path: impl AsRef<Path>,
    operation: impl FnOnce(PathBuf) -> io::Result<T> + Send + 'static,
) -> impl Future<Output = io::Result<T>> {
    called(async move {
        let path = path.as_ref().to_owned();
        let about = About::path(what, &path);
        run(about, move || operation(path)).await
    })
}

/// Runs one blocking operation on two paths, of which reports name the first.
#[track_caller]
pub(crate) fn on_paths<T: Send + 'static>(
    what: &'static str,
    first: impl AsRef<Path>,
    second: impl AsRef<Path>,
    operation: impl FnOnce(PathBuf, PathBuf) -> io::Result<T> + Send + 'static,
) -> impl Future<Output = io::Result<T>> {
    called(async move {
        let second = second.as_ref().to_owned();
        on_path(what, first, move |first| operation(first, second)).await
    })
}

/// Describes an operation on an open file.
pub(crate) fn on_file(operation: &'static str, file: &File) -> About {
    #[cfg(unix)]
    if let Some(file) = files::as_system(file) {
        return About::descriptor(operation, std::os::fd::AsRawFd::as_raw_fd(file));
    }
    #[cfg(not(unix))]
    let _ = files::as_system(file);
    About::operation(operation)
}
