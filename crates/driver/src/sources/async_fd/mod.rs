//! Waiting for any descriptor that the system can poll.

mod error;
mod guard;

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::task::{Context, Poll, ready};

use blitz_io_aio::Interest;
use blitz_io_observe::Descriptor;
use mio::unix::SourceFd;

use crate::kernel::bits::{self, Direction};
use crate::kernel::current;
use crate::kernel::registration::Registration;

pub use error::{AsyncFdRegisterError, TryIoError};
pub use guard::{AsyncFdReadyGuard, AsyncFdReadyMutGuard};

/// Waits until a descriptor is ready, such as one of another library, and leaves reading
/// and writing to the caller.
///
/// The descriptor must be in non-blocking mode. It is registered with the driver of the
/// calling thread, edge-triggered: its readiness is remembered until the caller reports
/// that an operation would have blocked. The guards' `try_io`, and
/// [`async_io`](Self::async_io), do so.
///
/// When it is dropped, the descriptor is deregistered, and `T` is dropped.
///
/// # Examples
///
/// ```
/// # #[cfg(unix)]
/// # fn main() -> std::io::Result<()> {
/// use std::io::{Read, Write};
/// use std::os::unix::net::UnixStream;
///
/// use blitz_io::io::Interest;
/// use blitz_io::io::unix::AsyncFd;
///
/// # let runtime = blitz_io::runtime::Builder::new_current_thread().enable_io().build()?;
/// # runtime.block_on(async {
/// let (here, mut there) = UnixStream::pair()?;
/// here.set_nonblocking(true)?;
/// // SAFETY: the socket is open as long as the `UnixStream` lives, which the `AsyncFd` owns.
/// let here = unsafe { AsyncFd::register(here)? };
/// there.write_all(b"hello")?;
/// let mut read = [0; 16];
/// let n = here.async_io(Interest::READABLE, |mut here| here.read(&mut read)).await?;
/// assert_eq!(&read[..n], b"hello");
/// # Ok(())
/// # })
/// # }
/// # #[cfg(not(unix))]
/// # fn main() {}
/// ```
pub struct AsyncFd<T: AsRawFd> {
    /// Dropped before the descriptor is closed.
    registration: Registration,
    /// `None` only in `into_inner`.
    inner: Option<T>,
}

const BOTH: Interest = Interest::READABLE.add(Interest::WRITABLE);

impl<T: AsRawFd> AsyncFd<T> {
    /// Registers a descriptor for reads and writes.
    ///
    /// # Errors
    ///
    /// Returns the system's error, from which `inner` can be recovered.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    ///
    /// # Safety
    ///
    /// The descriptor of `inner` is open, and remains the same and open as long as the
    /// `AsyncFd` lives, or until `inner` is taken out of it.
    #[track_caller]
    pub unsafe fn register(inner: T) -> Result<Self, AsyncFdRegisterError<T>> {
        Self::try_register(inner, BOTH)
    }

    /// Registers a descriptor.
    ///
    /// # Errors
    ///
    /// Same as for [`register`](Self::register).
    ///
    /// # Panics
    ///
    /// Same as for [`register`](Self::register).
    ///
    /// # Safety
    ///
    /// Same as for [`register`](Self::register).
    #[track_caller]
    pub unsafe fn register_with_interest(
        inner: T,
        interest: Interest,
    ) -> Result<Self, AsyncFdRegisterError<T>> {
        Self::try_register(inner, interest)
    }

    /// Registers a descriptor for reads and writes.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Panics
    ///
    /// Same as for [`register`](Self::register).
    #[track_caller]
    #[deprecated(note = "does not say that the descriptor must stay open; use `AsyncFd::register`")]
    pub fn new(inner: T) -> io::Result<Self> {
        Ok(Self::try_register(inner, BOTH)?)
    }

    /// Registers a descriptor.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Panics
    ///
    /// Same as for [`register`](Self::register).
    #[track_caller]
    #[deprecated(
        note = "does not say that the descriptor must stay open; use `AsyncFd::register_with_interest`"
    )]
    pub fn with_interest(inner: T, interest: Interest) -> io::Result<Self> {
        Ok(Self::try_register(inner, interest)?)
    }

    /// Registers a descriptor for reads and writes.
    ///
    /// # Errors
    ///
    /// Same as for [`register`](Self::register).
    ///
    /// # Panics
    ///
    /// Same as for [`register`](Self::register).
    #[track_caller]
    #[deprecated(note = "does not say that the descriptor must stay open; use `AsyncFd::register`")]
    pub fn try_new(inner: T) -> Result<Self, AsyncFdRegisterError<T>> {
        Self::try_register(inner, BOTH)
    }

    /// Registers a descriptor.
    ///
    /// # Errors
    ///
    /// Same as for [`register`](Self::register).
    ///
    /// # Panics
    ///
    /// Same as for [`register`](Self::register).
    #[track_caller]
    #[deprecated(
        note = "does not say that the descriptor must stay open; use `AsyncFd::register_with_interest`"
    )]
    pub fn try_with_interest(
        inner: T,
        interest: Interest,
    ) -> Result<Self, AsyncFdRegisterError<T>> {
        Self::try_register(inner, interest)
    }

    #[track_caller]
    fn try_register(inner: T, interest: Interest) -> Result<Self, AsyncFdRegisterError<T>> {
        let fd = inner.as_raw_fd();
        let driver = current::driver();
        match Registration::new(&mut SourceFd(&fd), bits::to_mio(interest), &driver) {
            Ok(mut registration) => {
                registration.describe(Descriptor::new(fd));
                Ok(Self {
                    registration,
                    inner: Some(inner),
                })
            }
            Err(cause) => Err(AsyncFdRegisterError::new(inner, cause)),
        }
    }

    /// Returns a reference to the owner of the descriptor.
    #[inline]
    pub fn get_ref(&self) -> &T {
        self.inner.as_ref().expect("it is there until the end")
    }

    /// Returns a mutable reference to the owner of the descriptor. It must not be replaced
    /// by another.
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.as_mut().expect("it is there until the end")
    }

    /// Ends the registration, and returns the owner of the descriptor.
    pub fn into_inner(mut self) -> T {
        self.take_inner().expect("it is taken once")
    }

    /// Records no waits for it: they are part of waits that have records of their own.
    #[doc(hidden)]
    #[must_use]
    pub fn without_records(mut self) -> Self {
        self.registration.describe(Descriptor::NONE);
        self
    }

    fn take_inner(&mut self) -> Option<T> {
        let inner = self.inner.take()?;
        // An error here could not be handled.
        _ = self
            .registration
            .deregister(&mut SourceFd(&inner.as_raw_fd()));
        Some(inner)
    }

    /// Waits until the descriptor is ready to be read. Only the waker of the last call is
    /// woken; any number of tasks may wait with [`readable`](Self::readable).
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    pub fn poll_read_ready<'a>(
        &'a self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'a, T>>> {
        let event = ready!(self.registration.poll_ready(cx, Direction::Read))?;
        Poll::Ready(Ok(AsyncFdReadyGuard::new(self, event)))
    }

    /// Works like [`poll_read_ready`](Self::poll_read_ready), with exclusive access.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    pub fn poll_read_ready_mut<'a>(
        &'a mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyMutGuard<'a, T>>> {
        let event = ready!(self.registration.poll_ready(cx, Direction::Read))?;
        Poll::Ready(Ok(AsyncFdReadyMutGuard::new(self, event)))
    }

    /// Waits until the descriptor is ready to be written. Only the waker of the last call
    /// is woken; any number of tasks may wait with [`writable`](Self::writable).
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    pub fn poll_write_ready<'a>(
        &'a self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'a, T>>> {
        let event = ready!(self.registration.poll_ready(cx, Direction::Write))?;
        Poll::Ready(Ok(AsyncFdReadyGuard::new(self, event)))
    }

    /// Works like [`poll_write_ready`](Self::poll_write_ready), with exclusive access.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    pub fn poll_write_ready_mut<'a>(
        &'a mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyMutGuard<'a, T>>> {
        let event = ready!(self.registration.poll_ready(cx, Direction::Write))?;
        Poll::Ready(Ok(AsyncFdReadyMutGuard::new(self, event)))
    }

    /// Waits until the descriptor is ready for any of `interest`, which must be among the
    /// interests that it was registered with.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    #[track_caller]
    pub fn ready(
        &self,
        interest: Interest,
    ) -> impl Future<Output = io::Result<AsyncFdReadyGuard<'_, T>>> {
        blitz_io_observe::CalledAt::new(async move {
            let event = self.registration.wait(bits::of_interest(interest)).await?;
            Ok(AsyncFdReadyGuard::new(self, event))
        })
    }

    /// Works like [`ready`](Self::ready), with exclusive access.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    #[track_caller]
    pub fn ready_mut(
        &mut self,
        interest: Interest,
    ) -> impl Future<Output = io::Result<AsyncFdReadyMutGuard<'_, T>>> {
        blitz_io_observe::CalledAt::new(async move {
            let event = self.registration.wait(bits::of_interest(interest)).await?;
            Ok(AsyncFdReadyMutGuard::new(self, event))
        })
    }

    /// Waits until the descriptor is ready to be read.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    #[track_caller]
    pub fn readable(&self) -> impl Future<Output = io::Result<AsyncFdReadyGuard<'_, T>>> {
        blitz_io_observe::CalledAt::new(async move { self.ready(Interest::READABLE).await })
    }

    /// Works like [`readable`](Self::readable), with exclusive access.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    #[track_caller]
    pub fn readable_mut(
        &mut self,
    ) -> impl Future<Output = io::Result<AsyncFdReadyMutGuard<'_, T>>> {
        blitz_io_observe::CalledAt::new(async move { self.ready_mut(Interest::READABLE).await })
    }

    /// Waits until the descriptor is ready to be written.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    #[track_caller]
    pub fn writable(&self) -> impl Future<Output = io::Result<AsyncFdReadyGuard<'_, T>>> {
        blitz_io_observe::CalledAt::new(async move { self.ready(Interest::WRITABLE).await })
    }

    /// Works like [`writable`](Self::writable), with exclusive access.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    #[track_caller]
    pub fn writable_mut(
        &mut self,
    ) -> impl Future<Output = io::Result<AsyncFdReadyMutGuard<'_, T>>> {
        blitz_io_observe::CalledAt::new(async move { self.ready_mut(Interest::WRITABLE).await })
    }

    /// Tries an operation each time the descriptor is ready, until the operation does not
    /// block.
    ///
    /// # Errors
    ///
    /// Returns the errors of `f` other than `WouldBlock`, and an error if the runtime has
    /// ended.
    #[track_caller]
    pub fn async_io<R>(
        &self,
        interest: Interest,
        mut f: impl FnMut(&T) -> io::Result<R>,
    ) -> impl Future<Output = io::Result<R>> {
        blitz_io_observe::CalledAt::new(async move {
            (self.registration)
                .async_io(bits::of_interest(interest), || f(self.get_ref()))
                .await
        })
    }

    /// Works like [`async_io`](Self::async_io), with exclusive access.
    ///
    /// # Errors
    ///
    /// Same as for [`async_io`](Self::async_io).
    #[track_caller]
    pub fn async_io_mut<R>(
        &mut self,
        interest: Interest,
        mut f: impl FnMut(&mut T) -> io::Result<R>,
    ) -> impl Future<Output = io::Result<R>> {
        blitz_io_observe::CalledAt::new(async move {
            let inner = self.inner.as_mut().expect("it is there until the end");
            (self.registration)
                .async_io(bits::of_interest(interest), || f(inner))
                .await
        })
    }

    /// Tries an operation once, if the descriptor is ready.
    ///
    /// # Errors
    ///
    /// Returns the errors of `f`, and `WouldBlock` if the descriptor is not ready.
    pub fn try_io<R>(
        &self,
        interest: Interest,
        f: impl FnOnce(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        (self.registration).try_io(bits::of_interest(interest), || f(self.get_ref()))
    }

    /// Works like [`try_io`](Self::try_io), with exclusive access.
    ///
    /// # Errors
    ///
    /// Same as for [`try_io`](Self::try_io).
    pub fn try_io_mut<R>(
        &mut self,
        interest: Interest,
        f: impl FnOnce(&mut T) -> io::Result<R>,
    ) -> io::Result<R> {
        let inner = self.inner.as_mut().expect("it is there until the end");
        (self.registration).try_io(bits::of_interest(interest), || f(inner))
    }
}

impl<T: AsRawFd> AsRawFd for AsyncFd<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.get_ref().as_raw_fd()
    }
}

impl<T: AsRawFd> AsFd for AsyncFd<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the code that registered it has promised that it stays open.
        unsafe { BorrowedFd::borrow_raw(self.as_raw_fd()) }
    }
}

impl<T: AsRawFd> Drop for AsyncFd<T> {
    fn drop(&mut self) {
        _ = self.take_inner();
    }
}

impl<T: AsRawFd + fmt::Debug> fmt::Debug for AsyncFd<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncFd")
            .field("inner", &self.inner)
            .finish()
    }
}
