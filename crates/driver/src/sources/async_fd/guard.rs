//! Guards that hold the readiness of an `AsyncFd` and can clear it.

use std::fmt;
use std::io;
use std::os::fd::AsRawFd;

use blitz_io_aio::Ready;

use super::{AsyncFd, TryIoError};
use crate::kernel::bits;
use crate::kernel::readiness::Event;

/// Represents the readiness of an [`AsyncFd`] until it is cleared.
#[must_use = "a guard has to be told whether the readiness is to be kept or cleared"]
pub struct AsyncFdReadyGuard<'a, T: AsRawFd> {
    async_fd: &'a AsyncFd<T>,
    /// The readiness that has not been cleared.
    event: Option<Event>,
}

/// Represents the readiness of an [`AsyncFd`], with exclusive access to it.
#[must_use = "a guard has to be told whether the readiness is to be kept or cleared"]
pub struct AsyncFdReadyMutGuard<'a, T: AsRawFd> {
    async_fd: &'a mut AsyncFd<T>,
    /// The readiness that has not been cleared.
    event: Option<Event>,
}

macro_rules! guard {
    ($guard:ident, $fd:ty, $name:literal) => {
        impl<'a, T: AsRawFd> $guard<'a, T> {
            pub(super) fn new(async_fd: $fd, event: Event) -> Self {
                let event = Some(event);
                Self { async_fd, event }
            }

            /// Marks the descriptor as no longer ready, because an operation would have
            /// blocked. Does nothing if there was another event since.
            pub fn clear_ready(&mut self) {
                if let Some(event) = self.event.take() {
                    self.async_fd.registration.clear(event);
                }
            }

            /// Marks the descriptor as no longer ready for the kinds in `ready`. Does
            /// nothing if there was another event since.
            pub fn clear_ready_matching(&mut self, ready: Ready) {
                let Some(event) = self.event.take() else {
                    return;
                };
                let cleared = bits::Bits::from(ready.bits());
                self.async_fd.registration.clear(event.only(cleared));
                let left = event.only(!cleared);
                self.event = (left.bits != 0).then_some(left);
            }

            /// Keeps the readiness, because the descriptor may still be ready. This does
            /// nothing, and is the same as not clearing.
            pub fn retain_ready(&mut self) {}

            /// Returns the readiness at the time when the guard was created, without the
            /// bits that were cleared through the guard.
            pub fn ready(&self) -> Ready {
                let event = self.event.as_ref();
                event.map_or(Ready::EMPTY, |event| bits::to_ready(event.bits))
            }
        }

        impl<T: AsRawFd + fmt::Debug> fmt::Debug for $guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct($name)
                    .field("async_fd", &self.async_fd)
                    .finish()
            }
        }
    };
}

guard!(AsyncFdReadyGuard, &'a AsyncFd<T>, "ReadyGuard");
guard!(AsyncFdReadyMutGuard, &'a mut AsyncFd<T>, "MutReadyGuard");

impl<'a, T: AsRawFd> AsyncFdReadyGuard<'a, T> {
    /// Tries an operation. If it would block, the readiness is cleared.
    ///
    /// # Errors
    ///
    /// Returns [`TryIoError`] if it would block. Other errors are in the inner result.
    pub fn try_io<R>(
        &mut self,
        f: impl FnOnce(&'a AsyncFd<T>) -> io::Result<R>,
    ) -> Result<io::Result<R>, TryIoError> {
        match f(self.async_fd) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.clear_ready();
                Err(TryIoError(()))
            }
            result => Ok(result),
        }
    }

    /// Returns a reference to the `AsyncFd`.
    pub fn get_ref(&self) -> &'a AsyncFd<T> {
        self.async_fd
    }

    /// Returns a reference to the owner of the descriptor.
    pub fn get_inner(&self) -> &'a T {
        self.async_fd.get_ref()
    }
}

impl<T: AsRawFd> AsyncFdReadyMutGuard<'_, T> {
    /// Tries an operation. If it would block, the readiness is cleared.
    ///
    /// # Errors
    ///
    /// Returns [`TryIoError`] if it would block. Other errors are in the inner result.
    pub fn try_io<R>(
        &mut self,
        f: impl FnOnce(&mut AsyncFd<T>) -> io::Result<R>,
    ) -> Result<io::Result<R>, TryIoError> {
        match f(self.async_fd) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.clear_ready();
                Err(TryIoError(()))
            }
            result => Ok(result),
        }
    }

    /// Returns a reference to the `AsyncFd`.
    pub fn get_ref(&self) -> &AsyncFd<T> {
        self.async_fd
    }

    /// Returns a mutable reference to the `AsyncFd`.
    pub fn get_mut(&mut self) -> &mut AsyncFd<T> {
        self.async_fd
    }

    /// Returns a reference to the owner of the descriptor.
    pub fn get_inner(&self) -> &T {
        self.async_fd.get_ref()
    }

    /// Returns a mutable reference to the owner of the descriptor. It must not be replaced
    /// by another.
    pub fn get_inner_mut(&mut self) -> &mut T {
        self.async_fd.get_mut()
    }
}
