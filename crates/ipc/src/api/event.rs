use std::fmt;
#[cfg(unix)]
use std::io;
use std::time::{Duration, Instant};

use blitz_io_observe as observe;
#[cfg(unix)]
use blitz_io_observe::Caller;

#[cfg(unix)]
use crate::api::awaited;
#[cfg(unix)]
use crate::api::doorbell::Doorbell;
use crate::api::endpoint::{Endpoint, Role};
use crate::api::error::{Error, NotifyError, WaitError};
use crate::api::kind::Kind;
use crate::api::primitive::{Primitive, PrimitiveBuilder};
use crate::kernel::protocol::event::{self, Seen};
use crate::kernel::ring::{Awaited, Senders};
use crate::kernel::wait::{self, Settled, Wait, Waiter};

/// Notifications with ids, from any process to all listeners.
///
/// A notification carries no data but its id. A listener counts the notifications of an id
/// since it last returned that id. So a notifier never waits, and a slow listener delays no
/// other participant.
///
/// ```
/// use blitz_io::ipc::Event;
/// # if blitz_io::ipc::is_supported() {
/// # let name = &format!("door-doc-{}", std::process::id());
/// # let _ = r#"
/// let name = "door";
/// # "#;
/// const OPENED: usize = 0;
/// const CLOSED: usize = 1;
/// let mut listener = Event::listener(name)?; // in one process
/// let notifier = Event::notifier(name)?; // in another
///
/// notifier.notify(OPENED)?;
/// notifier.notify(CLOSED)?;
/// assert_eq!(listener.wait()?.id, OPENED);
/// assert_eq!(listener.wait()?.id, CLOSED);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct Event;

const DEFAULT_IDS: usize = 64;

impl Primitive for Event {
    const KIND: Kind = Kind::Event;
    const SETTING: &'static str = "ids";
    const MAX: usize = 1 << 16;
}

impl Event {
    /// Creates a builder for an event with the ids from 0 to `ids` - 1. Without a builder,
    /// there are 64 ids. A wait looks at each of them.
    pub fn builder(ids: usize) -> PrimitiveBuilder<Self> {
        PrimitiveBuilder::new(ids)
    }

    /// Joins the event `name` as a notifier, and makes it if there is none.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn notifier(name: &str) -> Result<Notifier, Error> {
        Self::builder(DEFAULT_IDS).notifier(name)
    }

    /// Joins the event `name` as a listener, and makes it if there is none.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn listener(name: &str) -> Result<Listener, Error> {
        Self::builder(DEFAULT_IDS).listener(name)
    }
}

impl PrimitiveBuilder<Event> {
    /// Joins the event `name` as a notifier.
    ///
    /// # Errors
    ///
    /// See [`Error`]. An event has at most 64 notifiers at the same time.
    pub fn notifier(&self, name: &str) -> Result<Notifier, Error> {
        let endpoint = self.join(name, Role::Sender)?;
        Ok(Notifier { endpoint })
    }

    /// Joins the event `name` as a listener. Earlier notifications do not count.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub fn listener(&self, name: &str) -> Result<Listener, Error> {
        let endpoint = self.join(name, Role::Receiver)?;
        let segment = &endpoint.segment;
        Ok(Listener {
            notifiers: Senders::new(&segment.ring),
            seen: Seen::new(&segment.ring.memory, segment.settings.entries()),
            endpoint,
        })
    }
}

/// The notifying end of an [`Event`].
pub struct Notifier {
    endpoint: Endpoint,
}

impl Notifier {
    /// Notifies all listeners of `id`. It never blocks.
    ///
    /// # Errors
    ///
    /// [`NotifyError::NoSuchId`] and [`NotifyError::Forked`].
    #[inline]
    pub fn notify(&self, id: usize) -> Result<(), NotifyError> {
        let segment = &self.endpoint.segment;
        let ids = segment.settings.entries();
        if id >= ids {
            return Err(NotifyError::NoSuchId { id, ids });
        }
        if self.endpoint.is_forked() {
            return Err(NotifyError::Forked);
        }
        event::notify(&segment.ring.memory, id);
        segment.notify_entry();
        Ok(())
    }

    /// Returns how many ids there are.
    pub fn ids(&self) -> usize {
        self.endpoint.segment.settings.entries()
    }
}

impl fmt::Debug for Notifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notifier")
            .field("path", &self.endpoint.segment.path)
            .field("ids", &self.ids())
            .finish_non_exhaustive()
    }
}

/// The notifications that ended a wait of a [`Listener`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub struct Notification {
    /// The id.
    pub id: usize,
    /// The number of notifications since this listener last returned the id.
    pub count: u64,
}

/// The waiting end of an [`Event`].
pub struct Listener {
    endpoint: Endpoint,
    seen: Seen,
    notifiers: Senders,
}

impl Listener {
    /// Blocks until an id is notified, or returns at once if one was notified since it was
    /// last returned. Ids take turns.
    ///
    /// # Errors
    ///
    /// [`WaitError::Disconnected`] when all notifications have been returned and every
    /// notifier that had joined has left or died. Until the first notifier has joined, it
    /// waits. [`WaitError::Forked`].
    #[track_caller]
    pub fn wait(&mut self) -> Result<Notification, WaitError> {
        wait::block(self, Wait::Forever)
    }

    /// Returns an id that was notified, if there is one.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait).
    pub fn try_wait(&mut self) -> Result<Option<Notification>, WaitError> {
        match wait::block(self, Wait::No) {
            Err(WaitError::TimedOut) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Waits as [`wait`](Self::wait) does, but no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// [`WaitError::TimedOut`]; otherwise as [`wait`](Self::wait).
    #[track_caller]
    pub fn wait_timeout(&mut self, timeout: Duration) -> Result<Notification, WaitError> {
        wait::block(self, Wait::after(timeout))
    }

    /// Waits as [`wait`](Self::wait) does, but no longer than until `deadline`.
    ///
    /// # Errors
    ///
    /// [`WaitError::TimedOut`]; otherwise as [`wait`](Self::wait).
    #[track_caller]
    #[doc(alias = "wait_until")]
    pub fn wait_deadline(&mut self, deadline: Instant) -> Result<Notification, WaitError> {
        wait::block(self, Wait::Until(deadline))
    }

    /// Returns how many ids there are.
    pub fn ids(&self) -> usize {
        self.seen.ids()
    }

    /// Returns the descriptor to wait on for the `…_when` form.
    ///
    /// # Errors
    ///
    /// Returns the system's error, for example when there are too many descriptors.
    #[cfg(unix)]
    pub fn doorbell(&mut self) -> io::Result<Doorbell> {
        self.endpoint.doorbell().cloned()
    }

    /// Waits until an id is notified; `readable` waits for the
    /// [`doorbell`](Self::doorbell), as for
    /// [`Receiver::recv_when`](crate::Receiver::recv_when).
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait), and [`WaitError::Io`] if `readable` fails.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped has returned no id; the next wait returns it.
    #[cfg(unix)]
    #[track_caller]
    pub fn wait_when<F, R>(
        &mut self,
        readable: F,
    ) -> impl Future<Output = Result<Notification, WaitError>>
    where
        F: FnMut() -> R,
        R: Future<Output = io::Result<()>>,
    {
        let caller = Caller::here();
        async move { awaited::when(self, readable, caller).await }
    }

    /// Waits until an id is notified, in the runtime of blitz-io and without blocking it.
    /// See [`Receiver::recv_async`](crate::Receiver::recv_async).
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait), and [`WaitError::Io`].
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in one without I/O, if it has to wait.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped has returned no id; the next wait returns it.
    #[cfg(all(feature = "async", unix))]
    #[track_caller]
    pub fn wait_async(&mut self) -> impl Future<Output = Result<Notification, WaitError>> {
        let caller = Caller::here();
        async move { awaited::in_runtime(self, caller).await }
    }
}

impl Waiter for Listener {
    type End = Endpoint;
    type Output = Notification;
    type Error = WaitError;
    const KIND: observe::Kind = observe::Kind::IpcListen;

    #[inline]
    fn end(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    #[inline]
    fn attempt(&mut self) -> Result<Option<Notification>, WaitError> {
        let found = self.seen.find(&self.endpoint.segment.ring.memory);
        Ok(found.map(|(id, count)| Notification { id, count }))
    }

    fn settle(&mut self) -> Result<Settled<Notification>, WaitError> {
        let is_over = self.notifiers.are_gone(&self.endpoint.segment.ring);
        // The last notifier may have notified before it left.
        match self.attempt()? {
            Some(found) => Ok(Settled::Done(found)),
            None if is_over => Err(self.endpoint.ended(WaitError::Disconnected)),
            None => Ok(Settled::Waits(Awaited::Published)),
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener")
            .field("path", &self.endpoint.segment.path)
            .field("ids", &self.ids())
            .finish_non_exhaustive()
    }
}
