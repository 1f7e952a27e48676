//! Receiving from the ring of a segment: the one operation behind the methods of a
//! `Receiver`.
//!
//! Every form of receiving makes the end *hold* a message, which may have to wait. The
//! message is then read in place, or copied, and released.

use blitz_io_futex::atomic::Ordering;
use blitz_io_observe as observe;

use crate::api::endpoint::Endpoint;
use crate::api::error::RecvError;
use crate::api::kind::WhenFull;
use crate::api::mark::{self, Mark};
use crate::kernel::ring::{Awaited, Corrupt, Cursor, Delivery, Look, Senders, Take};
use crate::kernel::wait::{Settled, Waiter};

/// The receiving end of a ring.
pub(crate) struct RingReceiver {
    pub(crate) endpoint: Endpoint,
    /// Route and channel: the position that is read next.
    cursor: u64,
    /// Route and channel: senders wait for this receiver from this position on.
    safe: u64,
    /// Queue: see `ring::take`.
    searched: u64,
    /// Route and channel: no sender waits for this receiver.
    observes: bool,
    /// Number of positions without a message that the cursor has passed.
    skipped: u64,
    /// The message that was received and not released.
    held: Option<Held>,
    /// The copy of a message that may be overwritten.
    buffer: Vec<u8>,
    senders: Senders,
}

/// A message that was received.
#[derive(Clone, Copy)]
struct Held {
    position: u64,
    len: usize,
    /// `true` if it is in the receiver's buffer.
    copied: bool,
    /// `true` if it came from another machine.
    imported: bool,
    /// The bits of its type's [`Fingerprint`](crate::Fingerprint).
    fingerprint: u32,
}

impl Waiter for RingReceiver {
    type End = Endpoint;
    /// The end holds the message.
    type Output = ();
    type Error = RecvError;
    const KIND: observe::Kind = observe::Kind::IpcReceive;

    #[inline]
    fn end(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    /// Makes this end hold the next message, if there is one.
    #[inline]
    fn attempt(&mut self) -> Result<Option<()>, RecvError> {
        // A guard was forgotten, or a buffer was too short: the same message is held again.
        if self.held.is_some() {
            return Ok(Some(()));
        }
        let found = match self.delivery() {
            Delivery::Every => self.try_find_next(),
            Delivery::One => self.try_take(),
        };
        if let (Ok(Some(())), Some(held)) = (&found, &self.held) {
            observe::trace::received(|| self.endpoint.segment.id(), held.position);
        }
        found
    }

    /// Settles the wait, as "The end of a queue" at the top of `ring/mod.rs` explains.
    fn settle(&mut self) -> Result<Settled<()>, RecvError> {
        let is_over = self.senders.are_gone(&self.endpoint.segment.ring);
        // The last sender may have sent before it left.
        if let Some(()) = self.attempt()? {
            return Ok(Settled::Done(()));
        }
        if !is_over {
            return Ok(Settled::Waits(Awaited::Published));
        }
        let awaited = self.endpoint.segment.ring.awaited_without_senders();
        match awaited {
            Some(event) => Ok(Settled::Waits(event)),
            None => Err(self.endpoint.ended(RecvError::Disconnected)),
        }
    }

    /// Restores the cursor, in case another participant has overwritten it and made senders
    /// wait.
    fn looked(&mut self) {
        if self.delivery() == Delivery::Every && !self.observes {
            let ring = &self.endpoint.segment.ring;
            ring.set_cursor(self.endpoint.me, self.cursor);
            self.endpoint.segment.notify_room(0);
        }
    }
}

impl RingReceiver {
    /// Creates an end. If it `observes` a route or channel, it holds no sender up.
    pub(crate) fn new(endpoint: Endpoint, history: bool, observes: bool) -> Self {
        let segment = &endpoint.segment;
        let senders = Senders::new(&segment.ring);
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
            skipped: 0,
            held: None,
            buffer: Vec::new(),
            senders,
            endpoint,
        }
    }

    /// Copies the held message into `buffer`, and ends its use.
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
    fn delivery(&self) -> Delivery {
        self.endpoint.segment.settings.kind.delivery()
    }

    #[inline]
    fn try_find_next(&mut self) -> Result<Option<()>, RecvError> {
        loop {
            match self.endpoint.segment.ring.look(self.cursor) {
                Look::Ready if !self.may_be_overwritten() => {
                    return self.hold(self.cursor).map(Some);
                }
                Look::Ready => {
                    self.hold(self.cursor)?;
                    if self.copy_held() {
                        return Ok(Some(()));
                    }
                    self.held = None;
                }
                Look::Skip => {
                    self.skipped += 1;
                    self.move_on();
                }
                Look::Empty | Look::Claimed => return Ok(None),
                Look::Overwritten if self.may_be_overwritten() => self.skip_overwritten()?,
                Look::Overwritten | Look::Corrupt => return Err(self.endpoint.found_corrupt()),
            }
        }
    }

    #[inline]
    fn may_be_overwritten(&self) -> bool {
        self.cursor < self.safe
            || self.observes
            || (self.drops_oldest() && self.delivery() == Delivery::Every)
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
    fn try_take(&mut self) -> Result<Option<()>, RecvError> {
        let ring = &self.endpoint.segment.ring;
        match ring.try_take(self.endpoint.me, &mut self.searched) {
            Take::Taken(position) => self.hold(position).map(Some),
            Take::Empty => Ok(None),
            Take::Corrupt => Err(self.endpoint.found_corrupt()),
        }
    }

    #[inline]
    fn hold(&mut self, position: u64) -> Result<(), RecvError> {
        let ring = &self.endpoint.segment.ring;
        let length = ring.memory.length(ring.index(position));
        let word = length.load(Ordering::Relaxed);
        let max_len = self.endpoint.segment.settings.max_len;
        let Some((len, fingerprint)) = mark::local_message(word, max_len) else {
            return self.hold_marked(position, word);
        };
        self.held = Some(Held {
            position,
            len,
            copied: false,
            imported: false,
            fingerprint,
        });
        Ok(())
    }

    /// Holds a message from another machine, or reports a gap: see `mark.rs`.
    #[cold]
    fn hold_marked(&mut self, position: u64, word: u64) -> Result<(), RecvError> {
        let ring = &self.endpoint.segment.ring;
        if self.may_be_overwritten() && !ring.is_still_ready(position) {
            return self.hold_nothing(position);
        }
        let max_len = self.endpoint.segment.settings.max_len;
        match Mark::of(word) {
            Mark::Imported(len) if len <= max_len as u64 => {
                self.held = Some(Held {
                    position,
                    len: len as usize,
                    copied: false,
                    imported: true,
                    fingerprint: 0,
                });
                Ok(())
            }
            Mark::Gap(count) if self.delivery() == Delivery::Every => {
                self.move_on();
                Err(RecvError::Gap(count))
            }
            // A hostile participant wrote it.
            _ => Err(self.endpoint.found_corrupt()),
        }
    }

    /// Holds a message that will be found overwritten when it is copied.
    #[cold]
    fn hold_nothing(&mut self, position: u64) -> Result<(), RecvError> {
        self.held = Some(Held {
            position,
            len: 0,
            copied: false,
            imported: false,
            fingerprint: 0,
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

    /// Returns the position of the held message, and whether it is from another machine.
    pub(crate) fn held_position(&self) -> (u64, bool) {
        self.held
            .map_or((0, false), |held| (held.position, held.imported))
    }

    /// Returns the bits of the fingerprint of the held message's type.
    pub(crate) fn held_fingerprint(&self) -> u32 {
        self.held.map_or(0, |held| held.fingerprint)
    }

    pub(crate) fn next_position(&self) -> u64 {
        self.cursor
    }

    pub(crate) fn skipped(&self) -> u64 {
        self.skipped
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
        match self.delivery() {
            Delivery::Every => self.move_on(),
            Delivery::One => {
                let ring = &self.endpoint.segment.ring;
                match ring.consume(self.endpoint.me, held.position) {
                    Ok(()) => self.endpoint.segment.notify_room(held.position),
                    Err(Corrupt) => self.endpoint.note_corrupt(),
                }
            }
        }
    }

    /// Ends the use of the held message of a queue, which any receiver can then take. The end of
    /// a route or channel keeps its message.
    pub(crate) fn put_back(&mut self) {
        if self.delivery() == Delivery::Every || self.endpoint.is_forked() {
            return;
        }
        let Some(held) = self.held.take() else {
            return;
        };
        let segment = &self.endpoint.segment;
        match segment.ring.put_back(self.endpoint.me, held.position) {
            Ok(()) => segment.notify_restored(),
            Err(Corrupt) => self.endpoint.note_corrupt(),
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
}

#[cfg(all(test, any(target_os = "linux", target_os = "android")))]
mod tests {
    use crate::{Channel, Queue, Route, WhenFull};

    /// Each state of a place that a hostile participant can write, of the position that is
    /// next for both ends.
    #[test]
    fn no_word_of_a_place_keeps_an_end_in_a_loop() {
        for builder in [Route::builder(), Channel::builder(), Queue::builder()] {
            for when_full in [WhenFull::Block, WhenFull::DropOldest] {
                let place = tempfile::tempdir().unwrap();
                let builder = builder.clone().directory(place.path());
                let builder = builder.capacity(4).max_len(16).when_full(when_full);
                for state in 0..1 << 12 {
                    let mut receiver = builder.receiver("w").unwrap();
                    let mut sender = builder.sender("w").unwrap();
                    let ring = &receiver.ring.endpoint.segment.ring;
                    ring.memory.stamp(0).swap(state);
                    _ = receiver.try_recv();
                    _ = sender.try_send(&[7; 16]);
                    _ = receiver.try_recv();
                }
            }
        }
    }
}
