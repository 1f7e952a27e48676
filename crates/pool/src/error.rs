//! The error of making a pool.

use std::error::Error;
use std::fmt;
use std::io;

/// The error returned when a pool could not be made.
#[derive(Debug)]
pub struct ThreadPoolBuildError {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    GlobalPoolAlreadyInitialized,
    CurrentThreadAlreadyInPool,
    Io(io::Error),
}

impl ThreadPoolBuildError {
    pub(crate) fn global_pool_already_initialized() -> Self {
        Self {
            kind: Kind::GlobalPoolAlreadyInitialized,
        }
    }

    pub(crate) fn current_thread_already_in_pool() -> Self {
        Self {
            kind: Kind::CurrentThreadAlreadyInPool,
        }
    }

    pub(crate) fn io(error: io::Error) -> Self {
        Self {
            kind: Kind::Io(error),
        }
    }

    pub(crate) fn is_unsupported(&self) -> bool {
        matches!(&self.kind, Kind::Io(error) if error.kind() == io::ErrorKind::Unsupported)
    }
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::GlobalPoolAlreadyInitialized => {
                f.write_str("The global thread pool has already been initialized.")
            }
            Kind::CurrentThreadAlreadyInPool => {
                f.write_str("The current thread is already part of another thread pool.")
            }
            Kind::Io(error) => error.fmt(f),
        }
    }
}

impl Error for ThreadPoolBuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            Kind::Io(error) => Some(error),
            _ => None,
        }
    }
}
