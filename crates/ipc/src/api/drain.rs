//! A sender's wait until receivers have consumed the messages of a queue.
//!
//! The messages are those below the tail at which the wait began, so later ones do not prolong
//! it. A position that holds no sent message stays so: its message was consumed or dropped, or
//! there was none. So the wait remembers how far it has come. Every change that it awaits notifies
//! `room`, as in every queue.

use blitz_io_futex::atomic::Ordering;
use blitz_io_observe as observe;

use crate::api::endpoint::Endpoint;
use crate::api::error::WaitError;
use crate::kernel::ring::Awaited;
use crate::kernel::wait::Waiter;

/// A wait for the messages that a queue holds.
pub(crate) struct Drain<'a> {
    endpoint: &'a mut Endpoint,
    /// The first position that may hold a message.
    pending: u64,
    end: u64,
}

impl<'a> Drain<'a> {
    /// Begins a wait for all messages that were sent before.
    pub(crate) fn new(endpoint: &'a mut Endpoint) -> Self {
        let ring = &endpoint.segment.ring;
        let pending = ring.oldest();
        let end = ring.memory.tail().load(Ordering::Acquire);
        Self {
            endpoint,
            pending,
            end,
        }
    }
}

impl Waiter for Drain<'_> {
    type End = Endpoint;
    type Output = ();
    type Error = WaitError;
    const KIND: observe::Kind = observe::Kind::IpcSend;

    fn end(&mut self) -> &mut Endpoint {
        self.endpoint
    }

    fn awaits(&self) -> Awaited {
        Awaited::Room
    }

    fn attempt(&mut self) -> Result<Option<()>, WaitError> {
        let found = self.endpoint.segment.ring.find_sent(self.pending, self.end);
        self.pending = found.unwrap_or(self.end);
        if found.is_some() {
            return Ok(None);
        }
        if !self.endpoint.is_intact() {
            return Err(self.endpoint.found_corrupt());
        }
        Ok(Some(()))
    }
}
