//! Blocking operations, on threads of the runtime's pool.

use std::io;

use blitz_io_runtime::task::spawn_blocking;

/// Runs one blocking operation.
pub(crate) async fn run<T: Send + 'static>(
    operation: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    match spawn_blocking(operation).await {
        Ok(result) => result,
        Err(_) => Err(lost()),
    }
}

/// Returns the error of an operation that the pool did not run, or that panicked.
pub(crate) fn lost() -> io::Error {
    io::Error::other("background task failed")
}
