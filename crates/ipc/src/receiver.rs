use std::fmt;
use std::time::{Duration, Instant};

use blitz_io_futex::atomic::Ordering;
use blitz_io_sync::internals::{EventSpin, deadline};

use crate::endpoint::{Endpoint, Senders};
use crate::error::RecvError;
use crate::event_count::SLEEPER;
use crate::message::Message;
use crate::ring::{Awaited, Corrupt, Cursor, Delivery, Look, Take};
use crate::settings::{Kind, WhenFull};

/// The receiving end of a [`Route`](crate::Route), [`Channel`](crate::Channel) or
/// [`Queue`](crate::Queue).
///
/// It can be moved to another thread; several threads use several receivers. Dropping it
/// leaves the segment.
///
/// If the process is killed, the other participants notice within a twentieth of a second.
/// Senders then no longer wait for it, and a message that it had taken from a queue goes to
/// another receiver.
pub struct Receiver {
    pub(crate) endpoint: Endpoint,
    /// Route and channel: the position that is read next.
    cursor: u64,
    /// Route and channel: senders wait for this receiver from this position on.
    safe: u64,
    /// Queue: see `ring::take`.
    searched: u64,
    /// Route and channel: no sender waits for this receiver.
    observes: bool,
    /// The message that was received and not released.
    held: Option<Held>,
    /// The copy of a message that may be overwritten.
    buffer: Vec<u8>,
    senders: Senders,
    /// The event for which this receiver waits: see `nothing`.
    awaited: Awaited,
}

/// A message that was received.
#[derive(Clone, Copy)]
struct Held {
    position: u64,
    len: usize,
    /// Whether it is in the receiver's buffer.
    copied: bool,
}

impl Receiver {
    pub(crate) fn new(endpoint: Endpoint, history: bool) -> Self {
        Self::begin(endpoint, history, false)
    }

    /// An observer of a route or channel.
    pub(crate) fn observer(endpoint: Endpoint, history: bool) -> Self {
        Self::begin(endpoint, history, true)
    }

    fn begin(endpoint: Endpoint, history: bool, observes: bool) -> Self {
        let segment = &endpoint.segment;
        let senders = Senders::new(segment);
        let Cursor { first, safe } = match segment.settings.kind.delivery() {
            Delivery::Every if observes => segment.ring.observe(endpoint.me, history),
            Delivery::Every => {
                let cursor = segment.ring.join(endpoint.me, history);
                // Its first cursor may have made senders wait.
                segment.notify_room(0);
                cursor
            }
            Delivery::One => Cursor { first: 0, safe: 0 },
        };
        Self {
            cursor: first,
            safe,
            searched: 0,
            observes,
            held: None,
            buffer: Vec::new(),
            senders,
            awaited: Awaited::Published,
            endpoint,
        }
    }

    /// Receives the next message, blocking until there is one.
    ///
    /// # Errors
    ///
    /// [`RecvError::Disconnected`] when every message has been received and every sender
    /// that had joined has left or died. A receiver waits until the first sender has
    /// joined; a receiver that joins after the last sender has left waits for the next one.
    ///
    /// The receiver of a queue also waits while another receiver holds a message, because
    /// it gets that message if the other one dies. So a thread must not wait here while it
    /// keeps a message of the same queue.
    ///
    /// [`RecvError::Lagged`] with [`WhenFull::DropOldest`]. [`RecvError::Forked`],
    /// [`RecvError::Corrupt`].
    #[inline]
    pub fn recv(&mut self) -> Result<Message<'_>, RecvError> {
        self.find(None)?;
        Ok(Message::new(self))
    }

    /// Receives the next message if there is one.
    ///
    /// # Errors
    ///
    /// [`RecvError::Empty`] if there is none; otherwise as [`recv`](Self::recv).
    #[inline]
    pub fn try_recv(&mut self) -> Result<Message<'_>, RecvError> {
        self.try_find_or_disconnected()?;
        Ok(Message::new(self))
    }

    /// Receives as [`recv`](Self::recv) does, but waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// [`RecvError::TimedOut`] if there was none until then; otherwise as
    /// [`recv`](Self::recv).
    pub fn recv_timeout(&mut self, timeout: Duration) -> Result<Message<'_>, RecvError> {
        self.find(deadline::after(timeout))?;
        Ok(Message::new(self))
    }

    /// Receives as [`recv`](Self::recv) does, but waits no longer than until `deadline`.
    ///
    /// # Errors
    ///
    /// [`RecvError::TimedOut`] if there was none until then; otherwise as
    /// [`recv`](Self::recv).
    pub fn recv_until(&mut self, deadline: Instant) -> Result<Message<'_>, RecvError> {
        self.find(Some(deadline))?;
        Ok(Message::new(self))
    }

    /// Receives the next message into `buffer` and returns its length, blocking until there
    /// is one.
    ///
    /// The message is released before this returns. So a queue's message is delivered at
    /// most once like this: if the process dies before it has done the work, no other
    /// receiver gets the message. Keep a [`Message`] until the work is done where that
    /// matters.
    ///
    /// # Errors
    ///
    /// [`RecvError::TooShort`] if it does not fit: the next call receives it again.
    /// Otherwise as [`recv`](Self::recv).
    #[inline]
    pub fn recv_into(&mut self, buffer: &mut [u8]) -> Result<usize, RecvError> {
        self.find(None)?;
        self.copy_out(buffer)
    }

    /// Receives the next message into `buffer` if there is one, and returns its length.
    ///
    /// # Errors
    ///
    /// As [`recv_into`](Self::recv_into) and [`try_recv`](Self::try_recv).
    #[inline]
    pub fn try_recv_into(&mut self, buffer: &mut [u8]) -> Result<usize, RecvError> {
        self.try_find_or_disconnected()?;
        self.copy_out(buffer)
    }

    /// Receives as [`recv_into`](Self::recv_into) does, but waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`recv_into`](Self::recv_into) and [`recv_timeout`](Self::recv_timeout).
    pub fn recv_into_timeout(
        &mut self,
        buffer: &mut [u8],
        timeout: Duration,
    ) -> Result<usize, RecvError> {
        self.find(deadline::after(timeout))?;
        self.copy_out(buffer)
    }

    /// Receives as [`recv_into`](Self::recv_into) does, but waits no longer than until
    /// `deadline`.
    ///
    /// # Errors
    ///
    /// As [`recv_into`](Self::recv_into) and [`recv_until`](Self::recv_until).
    pub fn recv_into_until(
        &mut self,
        buffer: &mut [u8],
        deadline: Instant,
    ) -> Result<usize, RecvError> {
        self.find(Some(deadline))?;
        self.copy_out(buffer)
    }

    /// Returns the length of the longest message, in bytes.
    pub fn max_len(&self) -> usize {
        self.endpoint.segment.settings.max_len
    }

    /// Returns how many messages the ring holds.
    pub fn capacity(&self) -> usize {
        self.endpoint.segment.settings.capacity
    }

    /// Returns how messages find their receivers.
    pub fn kind(&self) -> Kind {
        self.endpoint.segment.settings.kind
    }

    pub(crate) fn copy_out(&mut self, buffer: &mut [u8]) -> Result<usize, RecvError> {
        let bytes = self.held_bytes();
        let len = bytes.len();
        let Some(target) = buffer.get_mut(..len) else {
            return Err(RecvError::TooShort { len });
        };
        target.copy_from_slice(bytes);
        self.release();
        Ok(len)
    }

    #[inline]
    fn find(&mut self, until: Option<Instant>) -> Result<(), RecvError> {
        match self.try_find() {
            Err(RecvError::Empty) => self.wait(until),
            other => other,
        }
    }

    #[inline]
    fn try_find_or_disconnected(&mut self) -> Result<(), RecvError> {
        match self.try_find() {
            Err(RecvError::Empty) => self.try_find_or_nothing(),
            other => other,
        }
    }

    /// Makes the receiver hold the next message, or returns why it cannot.
    #[inline]
    fn try_find(&mut self) -> Result<(), RecvError> {
        if self.endpoint.is_forked() {
            return Err(RecvError::Forked);
        }
        if self.endpoint.corrupt {
            return Err(RecvError::Corrupt);
        }
        // A guard was forgotten, or a buffer was too short: the same message is held again.
        if self.held.is_some() {
            return Ok(());
        }
        match self.kind().delivery() {
            Delivery::Every => self.try_find_next(),
            Delivery::One => self.try_take(),
        }
    }

    #[inline]
    fn try_find_next(&mut self) -> Result<(), RecvError> {
        loop {
            match self.endpoint.segment.ring.look(self.cursor) {
                Look::Ready if !self.may_be_overwritten() => return self.hold(self.cursor),
                Look::Ready => {
                    self.hold(self.cursor)?;
                    if self.copy_held() {
                        return Ok(());
                    }
                    self.held = None;
                }
                Look::Skip => self.move_on(),
                Look::Empty | Look::Claimed => return Err(RecvError::Empty),
                Look::Overwritten if self.may_be_overwritten() => self.skip_overwritten()?,
                Look::Overwritten | Look::Corrupt => return Err(self.found_corrupt()),
            }
        }
    }

    #[inline]
    fn may_be_overwritten(&self) -> bool {
        self.cursor < self.safe
            || self.observes
            || (self.drops_oldest() && self.kind().delivery() == Delivery::Every)
    }

    #[inline]
    fn drops_oldest(&self) -> bool {
        self.endpoint.segment.settings.when_full == WhenFull::DropOldest
    }

    /// Skips the overwritten messages at the cursor. Messages of a history do not count as
    /// missed.
    #[cold]
    fn skip_overwritten(&mut self) -> Result<(), RecvError> {
        let ring = &self.endpoint.segment.ring;
        let oldest = ring.oldest().max(self.cursor + 1);
        let missed = oldest.saturating_sub(self.cursor.max(self.safe));
        self.move_to(oldest);
        if missed == 0 {
            Ok(())
        } else {
            Err(RecvError::Lagged(missed))
        }
    }

    #[inline]
    fn try_take(&mut self) -> Result<(), RecvError> {
        let ring = &self.endpoint.segment.ring;
        match ring.try_take(self.endpoint.me, &mut self.searched) {
            Take::Taken(position) => self.hold(position),
            Take::Empty => Err(RecvError::Empty),
            Take::Corrupt => Err(self.found_corrupt()),
        }
    }

    #[inline]
    fn hold(&mut self, position: u64) -> Result<(), RecvError> {
        let ring = &self.endpoint.segment.ring;
        let length = ring.memory.length(ring.index(position));
        let len = length.load(Ordering::Relaxed);
        if len > self.max_len() as u64 {
            // It was read from a place that is being overwritten right now, or a hostile
            // participant wrote it.
            if self.may_be_overwritten() && !ring.is_still_ready(position) {
                return self.hold_nothing(position);
            }
            return Err(self.found_corrupt());
        }
        self.held = Some(Held {
            position,
            len: len as usize,
            copied: false,
        });
        Ok(())
    }

    /// Holds a message that will be found overwritten when it is copied.
    #[cold]
    fn hold_nothing(&mut self, position: u64) -> Result<(), RecvError> {
        self.held = Some(Held {
            position,
            len: 0,
            copied: false,
        });
        Ok(())
    }

    /// Copies the held message. Returns `false` if a sender overwrote it during the copy.
    fn copy_held(&mut self) -> bool {
        let Some(held) = &mut self.held else {
            return false;
        };
        let ring = &self.endpoint.segment.ring;
        self.buffer.resize(held.len, 0);
        ring.memory
            .read(ring.index(held.position), &mut self.buffer);
        held.copied = true;
        ring.is_still_ready(held.position)
    }

    #[inline]
    pub(crate) fn held_bytes(&self) -> &[u8] {
        let Some(held) = self.held else {
            return &[];
        };
        if held.copied {
            return &self.buffer;
        }
        let ring = &self.endpoint.segment.ring;
        let bytes = ring.memory.bytes(ring.index(held.position));
        // SAFETY: the place has `max_len` bytes, and `hold` checked that `len` is not more.
        // The cursor or the stamp keeps away every sender that keeps the protocol; the
        // documentation of `Message` warns about others.
        unsafe { std::slice::from_raw_parts(bytes.as_ptr(), held.len) }
    }

    /// Ends the use of the held message.
    #[inline]
    pub(crate) fn release(&mut self) {
        let Some(held) = self.held.take() else {
            return;
        };
        if self.endpoint.is_forked() {
            return;
        }
        match self.kind().delivery() {
            Delivery::Every => self.move_on(),
            Delivery::One => {
                let ring = &self.endpoint.segment.ring;
                match ring.consume(self.endpoint.me, held.position) {
                    Ok(()) => self.endpoint.segment.notify_room(held.position),
                    Err(Corrupt) => _ = self.found_corrupt(),
                }
            }
        }
    }

    #[inline]
    fn move_on(&mut self) {
        self.move_to(self.cursor + 1);
    }

    #[inline]
    fn move_to(&mut self, cursor: u64) {
        let left = self.cursor;
        self.cursor = cursor;
        if self.observes {
            return;
        }
        let ring = &self.endpoint.segment.ring;
        ring.set_cursor(self.endpoint.me, cursor);
        self.endpoint.segment.notify_room(left);
    }

    /// Returns the result of `try_recv` when it finds no message.
    #[cold]
    fn try_find_or_nothing(&mut self) -> Result<(), RecvError> {
        if self.endpoint.look_if_polls_are_due() {
            self.repair();
            // The look may have put a message back.
            match self.try_find() {
                Err(RecvError::Empty) => {}
                other => return other,
            }
        }
        self.nothing()
    }

    /// As `try_find`, for a task that is about to wait: also looks at the other
    /// participants.
    #[cfg(unix)]
    pub(crate) fn find_or_look(&mut self) -> Result<(), RecvError> {
        match self.try_find() {
            Err(RecvError::Empty) => {}
            other => return other,
        }
        if self.endpoint.look_if_due() {
            self.repair();
            match self.try_find() {
                Err(RecvError::Empty) => {}
                other => return other,
            }
        }
        self.nothing()
    }

    /// Returns `Disconnected` or `Empty` when there is no message. With `Empty`, also sets
    /// the event for which to wait. See the head of `ring/mod.rs`.
    fn nothing(&mut self) -> Result<(), RecvError> {
        self.awaited = Awaited::Published;
        if !self.senders.are_gone(&self.endpoint.segment) {
            return Err(RecvError::Empty);
        }
        // The last sender may have sent before it left.
        match self.try_find() {
            Err(RecvError::Empty) => {}
            other => return other,
        }
        let awaited = self.endpoint.segment.ring.awaited_without_senders();
        self.awaited = awaited.ok_or(RecvError::Disconnected)?;
        Err(RecvError::Empty)
    }

    /// The event for which to wait after [`find_or_look`](Self::find_or_look) has returned
    /// `Empty`.
    #[cfg(unix)]
    pub(crate) fn awaited(&self) -> Awaited {
        self.awaited
    }

    #[cold]
    fn wait(&mut self, until: Option<Instant>) -> Result<(), RecvError> {
        let mut spin = EventSpin::new();
        self.awaited = Awaited::Published;
        loop {
            match self.try_find() {
                Err(RecvError::Empty) => {}
                other => return other,
            }
            if self.endpoint.patience.turn(&mut spin) {
                continue;
            }
            let awaited = self.awaited;
            let key = self
                .endpoint
                .segment
                .ring
                .event_count(awaited)
                .prepare(SLEEPER);
            match self.try_find() {
                Err(RecvError::Empty) => {}
                other => return other,
            }
            if self.endpoint.look_if_due() {
                self.repair();
                continue;
            }
            match self.nothing() {
                Err(RecvError::Empty) if self.awaited == awaited => {}
                // The last sender has left, or a new one has joined.
                Err(RecvError::Empty) => continue,
                other => return other,
            }
            if deadline::is_past(until) {
                return Err(RecvError::TimedOut);
            }
            let Endpoint {
                segment, patience, ..
            } = &mut self.endpoint;
            patience.sleep(segment.ring.event_count(awaited), key, until);
        }
    }

    /// Restores this receiver's cursor, in case another participant has overwritten it and
    /// made senders wait.
    fn repair(&self) {
        if self.kind().delivery() == Delivery::Every && !self.observes {
            let ring = &self.endpoint.segment.ring;
            ring.set_cursor(self.endpoint.me, self.cursor);
            self.endpoint.segment.notify_room(0);
        }
    }

    #[cold]
    fn found_corrupt(&mut self) -> RecvError {
        self.endpoint.corrupt = true;
        RecvError::Corrupt
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("kind", &self.kind())
            .field("path", &self.endpoint.segment.path)
            .finish_non_exhaustive()
    }
}
