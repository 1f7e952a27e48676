//! Descriptors, sockets, files, names, child processes and signals.

pub mod address;
pub mod datagram;
pub mod fd;
pub mod file;
pub mod listener;
pub mod process;
pub mod signal;
pub mod stream;
pub mod watch;

use std::future::Future;
use std::io;

use crate::error::{Outcome, of_io};
use crate::wait::{self, Limit};

/// Waits for a future with a result of the system.
pub(crate) fn on<R>(future: impl Future<Output = io::Result<R>>, limit: Limit) -> Outcome<R> {
    wait::on(future, limit)?.map_err(|error| of_io(&error))
}

/// Tries an operation until it does not have to wait any more.
pub(crate) fn repeat<R>(
    limit: impl Fn() -> Limit,
    mut attempt: impl FnMut() -> io::Result<R>,
    mut ready: impl AsyncFnMut() -> io::Result<()>,
) -> Outcome<R> {
    let mut until = None;
    loop {
        match attempt() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                on(ready(), *until.get_or_insert_with(&limit))?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result.map_err(|error| of_io(&error)),
        }
    }
}
