//! Sources of the operating system, registered with a driver: what tasks read and write.

#[cfg(unix)]
mod async_fd;
mod poll_evented;

#[cfg(unix)]
pub use async_fd::{
    AsyncFd, AsyncFdReadyGuard, AsyncFdReadyMutGuard, AsyncFdRegisterError, TryIoError,
};
pub use poll_evented::{Described, PollEvented};
