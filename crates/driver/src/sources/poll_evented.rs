//! A mio source together with its registration: the base of sockets and pipes.

use std::fmt;
use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use blitz_io_aio::{Interest, ReadBuf};
use blitz_io_observe::Descriptor;
use mio::event::Source;

use crate::kernel::bits::{self, Direction};
use crate::kernel::current;
use crate::kernel::driver::Driver;
use crate::kernel::registration::Registration;

/// `true` if the edge-triggered poll reports data that arrives after a short read. Then
/// such a read has drained the source, and the caller need not try another one, which
/// would block. The same applies to writes.
const EDGES: bool = cfg!(any(
    target_os = "android",
    target_os = "illumos",
    target_os = "linux",
    target_os = "dragonfly",
    target_os = "freebsd",
    target_os = "ios",
    target_os = "macos",
    target_os = "netbsd",
    target_os = "openbsd",
    target_os = "tvos",
    target_os = "visionos",
    target_os = "watchos",
));

/// A source that reports of waits can describe.
pub trait Described {
    /// Returns its descriptor, if it has one.
    fn described(&self) -> Descriptor;
}

#[cfg(unix)]
impl<T: std::os::fd::AsRawFd> Described for T {
    fn described(&self) -> Descriptor {
        Descriptor::new(self.as_raw_fd())
    }
}

#[cfg(not(unix))]
impl<T> Described for T {
    fn described(&self) -> Descriptor {
        Descriptor::NONE
    }
}

/// A source that is registered with the driver of the thread that created it, until it is
/// dropped.
pub struct PollEvented<E: Source> {
    /// `None` only in `into_inner`.
    source: Option<E>,
    registration: Registration,
}

// A panic breaks no invariant of the source.
impl<E: Source> UnwindSafe for PollEvented<E> {}
impl<E: Source> RefUnwindSafe for PollEvented<E> {}

impl<E: Source> PollEvented<E> {
    /// Registers a source for reads and writes.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Panics
    ///
    /// Panics where there is no driver.
    #[track_caller]
    pub fn new(source: E) -> io::Result<Self>
    where
        E: Described,
    {
        Self::with_interest(source, Interest::READABLE | Interest::WRITABLE)
    }

    /// Registers a source.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Panics
    ///
    /// Panics where there is no driver.
    #[track_caller]
    pub fn with_interest(source: E, interest: Interest) -> io::Result<Self>
    where
        E: Described,
    {
        let descriptor = source.described();
        let mut this = Self::without_records(source, interest)?;
        this.registration.describe(descriptor);
        Ok(this)
    }

    /// Registers a source for which no task waits, so that reports of waits do not show it.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Panics
    ///
    /// Panics where there is no driver.
    #[track_caller]
    pub fn without_records(mut source: E, interest: Interest) -> io::Result<Self> {
        let driver = current::driver();
        let registration = Registration::new(&mut source, bits::to_mio(interest), &driver)?;
        Ok(Self {
            source: Some(source),
            registration,
        })
    }

    /// Registers a source with this driver. Reports of waits describe it by this descriptor.
    ///
    /// # Errors
    ///
    /// Returns the errors of the source's registration.
    #[doc(hidden)]
    pub fn with_driver(
        mut source: E,
        driver: &Arc<Driver>,
        descriptor: Descriptor,
    ) -> io::Result<Self> {
        let interest = bits::to_mio(Interest::READABLE | Interest::WRITABLE);
        let mut registration = Registration::new(&mut source, interest, driver)?;
        registration.describe(descriptor);
        Ok(Self {
            source: Some(source),
            registration,
        })
    }

    /// Returns its registration, to wait with.
    #[must_use]
    pub fn registration(&self) -> &Registration {
        &self.registration
    }

    /// Ends the registration, and returns the source.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn into_inner(mut self) -> io::Result<E> {
        let mut source = self.source.take().expect("it is taken once");
        self.registration.deregister(&mut source)?;
        Ok(source)
    }

    /// Reads into the unfilled part of `buf`.
    ///
    /// # Safety
    ///
    /// The source's `read` does not read from its buffer, and has written as many bytes as
    /// it returns.
    #[inline]
    pub unsafe fn poll_read<'a>(
        &'a self,
        context: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>>
    where
        &'a E: Read,
    {
        loop {
            let event = ready!(self.registration.poll_ready(context, Direction::Read))?;
            // SAFETY: by this function's contract, the source only writes to the buffer.
            let unfilled = unsafe {
                &mut *(std::ptr::from_mut::<[MaybeUninit<u8>]>(buf.unfilled_mut()) as *mut [u8])
            };
            let len = unfilled.len();
            match (&**self).read(unfilled) {
                Ok(n) => {
                    if EDGES && 0 < n && n < len {
                        self.registration.clear(event);
                    }
                    // SAFETY: the source has written `n` bytes.
                    unsafe { buf.assume_init(n) };
                    buf.advance(n);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.registration.clear(event);
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Reads to `buf` if the source is ready.
    ///
    /// # Errors
    ///
    /// Returns the source's errors, and `WouldBlock` if the source is not ready.
    pub fn try_read<'a>(&'a self, buf: &mut [u8]) -> io::Result<usize>
    where
        &'a E: Read,
    {
        let len = buf.len();
        let event = self.registration.ready(Direction::Read.mask());
        let read = || (&**self).read(buf);
        let n = (self.registration).try_io(Direction::Read.mask(), read)?;
        if EDGES && 0 < n && n < len {
            self.registration.clear(event);
        }
        Ok(n)
    }

    /// Writes some of `buf`.
    #[inline]
    pub fn poll_write<'a>(
        &'a self,
        context: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>>
    where
        &'a E: Write,
    {
        self.poll_write_len(context, buf.len(), |mut source| source.write(buf))
    }

    /// Writes some of `bufs`, in order.
    #[inline]
    pub fn poll_write_vectored<'a>(
        &'a self,
        context: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>>
    where
        &'a E: Write,
    {
        // The amount that a system accepts at once is also limited by the number of
        // buffers.
        self.poll_write_len(context, 0, |mut source| source.write_vectored(bufs))
    }

    #[inline]
    fn poll_write_len<'a>(
        &'a self,
        context: &mut Context<'_>,
        len: usize,
        mut write: impl FnMut(&'a E) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            let event = ready!(self.registration.poll_ready(context, Direction::Write))?;
            match write(self) {
                Ok(n) => {
                    if EDGES && 0 < n && n < len {
                        self.registration.clear(event);
                    }
                    return Poll::Ready(Ok(n));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.registration.clear(event);
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl<E: Source> Deref for PollEvented<E> {
    type Target = E;

    #[inline]
    fn deref(&self) -> &E {
        self.source.as_ref().expect("it is there until the end")
    }
}

impl<E: Source> Drop for PollEvented<E> {
    fn drop(&mut self) {
        if let Some(mut source) = self.source.take() {
            // An error here could not be handled.
            _ = self.registration.deregister(&mut source);
        }
    }
}

impl<E: Source + fmt::Debug> fmt::Debug for PollEvented<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PollEvented")
            .field("io", &self.source)
            .finish_non_exhaustive()
    }
}
