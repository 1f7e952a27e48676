use std::fmt;
use std::time::{Duration, Instant};

use blitz_io_sync::internals::deadline;

use crate::endpoint::{Endpoint, Role, Senders};
use crate::error::{Error, NotifyError, WaitError};
use crate::primitive::{Primitive, PrimitiveBuilder};
use crate::protocol::event::{self, Seen};
use crate::settings::Kind;
use crate::waiting::Attempt;

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
            notifiers: Senders::new(segment),
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
    /// How often it was notified since this listener last returned it.
    pub count: u64,
}

/// The waiting end of an [`Event`].
pub struct Listener {
    pub(crate) endpoint: Endpoint,
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
    pub fn wait(&mut self) -> Result<Notification, WaitError> {
        self.wait_deadline(None)
    }

    /// Returns an id that was notified, if there is one.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait).
    pub fn try_wait(&mut self) -> Result<Option<Notification>, WaitError> {
        self.endpoint.check()?;
        if let Some(found) = find(&self.endpoint, &mut self.seen) {
            return Ok(Some(found));
        }
        self.endpoint.look_if_due();
        attempt(&mut self.endpoint, &mut self.seen, &mut self.notifiers)
    }

    /// Waits as [`wait`](Self::wait) does, but no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// [`WaitError::TimedOut`]; otherwise as [`wait`](Self::wait).
    pub fn wait_timeout(&mut self, timeout: Duration) -> Result<Notification, WaitError> {
        self.wait_deadline(deadline::after(timeout))
    }

    /// Waits as [`wait`](Self::wait) does, but no longer than until `deadline`.
    ///
    /// # Errors
    ///
    /// [`WaitError::TimedOut`]; otherwise as [`wait`](Self::wait).
    pub fn wait_until(&mut self, deadline: Instant) -> Result<Notification, WaitError> {
        self.wait_deadline(Some(deadline))
    }

    /// Returns how many ids there are.
    pub fn ids(&self) -> usize {
        self.seen.ids()
    }

    fn wait_deadline(&mut self, until: Option<Instant>) -> Result<Notification, WaitError> {
        let Self {
            endpoint,
            seen,
            notifiers,
        } = self;
        endpoint.wait(until, |endpoint| attempt(endpoint, seen, notifiers))
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
    pub async fn wait_when<F, R>(&mut self, mut readable: F) -> Result<Notification, WaitError>
    where
        F: FnMut() -> R,
        R: Future<Output = std::io::Result<()>>,
    {
        let Self {
            endpoint,
            seen,
            notifiers,
        } = self;
        let mut attempt = |endpoint: &mut Endpoint| attempt(endpoint, seen, notifiers);
        endpoint.wait_when(&mut attempt, &mut readable).await
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
    pub async fn wait_async(&mut self) -> Result<Notification, WaitError> {
        let Self {
            endpoint,
            seen,
            notifiers,
        } = self;
        let attempt = |endpoint: &mut Endpoint| attempt(endpoint, seen, notifiers);
        endpoint.wait_async(attempt).await
    }
}

#[inline]
fn find(endpoint: &Endpoint, seen: &mut Seen) -> Option<Notification> {
    let found = seen.find(&endpoint.segment.ring.memory);
    found.map(|(id, count)| Notification { id, count })
}

fn attempt(
    endpoint: &mut Endpoint,
    seen: &mut Seen,
    notifiers: &mut Senders,
) -> Attempt<Notification> {
    if let Some(found) = find(endpoint, seen) {
        return Ok(Some(found));
    }
    if !notifiers.are_gone(&endpoint.segment) {
        return Ok(None);
    }
    // The last notifier may have notified before it left.
    find(endpoint, seen).map_or(Err(WaitError::Disconnected), |found| Ok(Some(found)))
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener")
            .field("path", &self.endpoint.segment.path)
            .field("ids", &self.ids())
            .finish_non_exhaustive()
    }
}
