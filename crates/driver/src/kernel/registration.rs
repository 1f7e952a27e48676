//! A source that is registered with a driver, and the operations that wait for it.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use blitz_io_core::coop;
use blitz_io_observe::Descriptor;

use crate::kernel::bits::{Bits, Direction};
use crate::kernel::driver::Driver;
use crate::kernel::entries::Refused;
use crate::kernel::entry::Entry;
use crate::kernel::readiness::Event;
use crate::kernel::selector::{AnySource, Interest};

/// The error of operations on a source whose runtime has ended. The text is Tokio's,
/// because people search for it.
const SHUT_DOWN: &str = "A Tokio 1.x context was found, but it is being shutdown.";

/// Returns the error of operations whose driver has been shut down.
#[must_use]
pub fn shut_down_error() -> io::Error {
    io::Error::other(SHUT_DOWN)
}

/// Returns `true` if an error is [`shut_down_error`]'s.
#[must_use]
pub fn is_shut_down_error(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Other
        && (error.get_ref()).is_some_and(|inner| inner.to_string() == SHUT_DOWN)
}

/// A source that is registered with a driver. It must be ended with
/// [`deregister`](Self::deregister), which needs the source.
pub struct Registration {
    /// Keeps the entry alive, at its address.
    driver: Arc<Driver>,
    entry: NonNull<Entry>,
    token: usize,
    /// The descriptor, for reports of waits.
    descriptor: Descriptor,
}

// SAFETY: the pointer is a shared reference to an entry, which is `Sync`.
unsafe impl Send for Registration {}
// SAFETY: a shared registration gives access only to its driver and its entry, which are
// `Sync`.
unsafe impl Sync for Registration {}

impl Registration {
    /// Registers a source, edge-triggered.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, [`shut_down_error`] if the driver has been shut down,
    /// and an error if the driver has as many sources as it can have.
    pub fn new(
        source: &mut (impl AnySource + ?Sized),
        interest: Interest,
        driver: &Arc<Driver>,
    ) -> io::Result<Self> {
        let (entry, token) = driver.entries.add().map_err(|why| match why {
            Refused::IsShutDown => shut_down_error(),
            Refused::IsFull => io::Error::other("the I/O driver has too many sources"),
        })?;
        if let Err(error) = driver.selector.register(source, token, interest) {
            driver.entries.remove(entry, token);
            driver.entries.give_up(entry, token);
            return Err(error);
        }
        driver.metrics.count_registered();
        driver.registered();
        Ok(Self {
            entry: NonNull::from(entry),
            token,
            driver: driver.clone(),
            descriptor: Descriptor::NONE,
        })
    }

    /// Sets the descriptor that reports of waits describe: that of the registered source, or none.
    pub fn describe(&mut self, descriptor: Descriptor) {
        self.descriptor = descriptor;
    }

    #[inline]
    fn entry(&self) -> &Entry {
        // SAFETY: entries live as long as their driver, to which this has a reference.
        unsafe { self.entry.as_ref() }
    }

    /// Ends the registration of a source. There will be no more events. The child of a fork that does
    /// this takes nothing from its parent, whose source stays registered.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, for example if the descriptor has been closed by other
    /// code.
    pub fn deregister(&self, source: &mut (impl AnySource + ?Sized)) -> io::Result<()> {
        self.entry().end_records();
        if !self.driver.is_inherited() {
            self.driver.selector.deregister(source)?;
        }
        self.driver.entries.remove(self.entry(), self.token);
        self.driver.metrics.count_deregistered();
        Ok(())
    }

    /// Returns the driver with which the source is registered.
    #[must_use]
    pub fn driver(&self) -> &Arc<Driver> {
        &self.driver
    }

    /// Returns the readiness of the source among these bits, without waiting.
    #[inline]
    #[must_use]
    pub fn ready(&self, mask: Bits) -> Event {
        self.entry().ready(mask)
    }

    /// Clears the bits of the event, unless there was another event since.
    #[inline]
    pub fn clear(&self, event: Event) {
        self.entry().clear(event);
    }

    /// Sets bits that are assumed to be ready, until an operation finds otherwise. Must be
    /// called before there are waiters.
    pub fn suppose(&self, bits: Bits) {
        self.entry().suppose(bits);
    }

    /// Waits until the source is ready in one direction. Only the waker of the last call is
    /// woken.
    ///
    /// # Errors
    ///
    /// Returns [`shut_down_error`] if the driver has been shut down.
    #[inline]
    pub fn poll_ready(
        &self,
        context: &mut Context<'_>,
        direction: Direction,
    ) -> Poll<io::Result<Event>> {
        let coop = ready!(coop::poll_proceed(context));
        let event = ready!(self.entry().poll_ready(context, direction, self.descriptor));
        coop.made_progress();
        Poll::Ready(checked(event))
    }

    /// Tries an operation until it does not block.
    ///
    /// # Errors
    ///
    /// Returns the operation's errors, and [`shut_down_error`].
    #[inline]
    pub fn poll_io<R>(
        &self,
        context: &mut Context<'_>,
        direction: Direction,
        mut operation: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        loop {
            let event = ready!(self.poll_ready(context, direction))?;
            match operation() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.clear(event),
                result => return Poll::Ready(result),
            }
        }
    }

    /// Tries an operation once, if the source is ready for any of these bits.
    ///
    /// # Errors
    ///
    /// Returns the operation's errors, and `WouldBlock` if the source is not ready.
    pub fn try_io<R>(
        &self,
        mask: Bits,
        operation: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        let event = self.ready(mask);
        if event.bits == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let result = operation();
        if matches!(&result, Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
            self.clear(event);
        }
        result
    }

    /// Waits until the source is ready for any of these bits.
    ///
    /// Cancel safe: nothing is lost when the future is dropped.
    ///
    /// # Errors
    ///
    /// Returns [`shut_down_error`] if the driver has been shut down.
    pub async fn wait(&self, mask: Bits) -> io::Result<Event> {
        checked(self.entry().wait(mask, self.descriptor).await)
    }

    /// Tries an operation until it does not block.
    ///
    /// Cancel safe, if the operation leaves nothing half done when it would block.
    ///
    /// # Errors
    ///
    /// Returns the operation's errors, and [`shut_down_error`].
    pub async fn async_io<R>(
        &self,
        mask: Bits,
        mut operation: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        loop {
            let event = self.wait(mask).await?;
            let coop = poll_fn(coop::poll_proceed).await;
            match operation() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.clear(event),
                result => {
                    coop.made_progress();
                    return result;
                }
            }
        }
    }
}

#[inline]
fn checked(event: Event) -> io::Result<Event> {
    if event.is_shut_down {
        Err(shut_down_error())
    } else {
        Ok(event)
    }
}

impl Drop for Registration {
    /// Drops the wakers of polls, as a waker may own the task that owns the source, and gives up the entry.
    fn drop(&mut self) {
        self.entry().forget_polled();
        self.driver.entries.give_up(self.entry(), self.token);
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration")
            .field("entry", self.entry())
            .finish_non_exhaustive()
    }
}
