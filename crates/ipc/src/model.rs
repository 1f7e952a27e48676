//! The ring, for the models in `tests/loom_*.rs`.

use crate::memory::Memory;
use crate::ring::{Claim, Delivery, Look, Ring, Take};

pub use crate::mutant::{Mutant, with};

/// A ring and its participants, which are numbers.
pub struct Model {
    ring: Ring,
}

impl Model {
    /// A route or channel.
    pub fn broadcast(capacity: u64, participants: usize) -> Self {
        Self::new(capacity, participants, Delivery::Every, false)
    }

    /// A route or channel whose senders overwrite the oldest message.
    pub fn dropping(capacity: u64, participants: usize) -> Self {
        Self::new(capacity, participants, Delivery::Every, true)
    }

    /// A queue.
    pub fn queue(capacity: u64, participants: usize) -> Self {
        Self::new(capacity, participants, Delivery::One, false)
    }

    fn new(capacity: u64, participants: usize, delivery: Delivery, drop_oldest: bool) -> Self {
        let memory = Memory::new(capacity, participants);
        Self {
            ring: Ring::new(memory, capacity, participants, delivery, drop_oldest),
        }
    }

    /// Claims a position and stops there, as if killed.
    pub fn claim(&self, me: usize, limit: &mut u64) -> Option<u64> {
        match self.ring.try_claim(me, limit) {
            Claim::Claimed(position) => Some(position),
            Claim::Full => None,
            Claim::Corrupt => panic!("corrupt"),
        }
    }

    /// Writes the claimed message and stops there.
    pub fn write(&self, position: u64, value: u64) {
        self.ring.memory.write(self.ring.index(position), value);
    }

    /// Publishes and stops there: receivers are not woken.
    pub fn publish(&self, me: usize, position: u64) {
        self.ring.publish(me, position).expect("the claim is ours");
    }

    /// Sends, if there is room.
    pub fn try_send(&self, me: usize, limit: &mut u64, value: u64) -> bool {
        let Some(position) = self.claim(me, limit) else {
            return false;
        };
        self.write(position, value);
        self.publish(me, position);
        self.ring.published().notify();
        true
    }

    /// Sends, and sleeps until there is room.
    pub fn send(&self, me: usize, limit: &mut u64, value: u64) {
        loop {
            if self.try_send(me, limit, value) {
                return;
            }
            let key = self.ring.room().prepare(crate::event_count::SLEEPER);
            if self.try_send(me, limit, value) {
                return;
            }
            self.ring.room().sleep(key, None);
        }
    }

    /// Becomes a receiver of a route or channel; the position it begins at.
    pub fn join(&self, me: usize) -> u64 {
        self.ring.join(me, false).first
    }

    /// Receives at `cursor` if there is a message; moves the cursor.
    pub fn try_recv(&self, me: usize, cursor: &mut u64) -> Option<[u64; 2]> {
        let message = match self.ring.look(*cursor) {
            Look::Ready => Some(self.ring.memory.read(self.ring.index(*cursor))),
            Look::Skip => None,
            Look::Empty | Look::Claimed => return None,
            Look::Overwritten | Look::Corrupt => panic!("the cursor did not hold"),
        };
        *cursor += 1;
        self.ring.set_cursor(me, *cursor);
        self.ring.room().notify();
        message.or_else(|| self.try_recv(me, cursor))
    }

    /// Receives, and sleeps until there is a message.
    pub fn recv(&self, me: usize, cursor: &mut u64) -> [u64; 2] {
        loop {
            if let Some(message) = self.try_recv(me, cursor) {
                return message;
            }
            let key = self.ring.published().prepare(crate::event_count::SLEEPER);
            if let Some(message) = self.try_recv(me, cursor) {
                return message;
            }
            self.ring.published().sleep(key, None);
        }
    }

    /// Copies the message at `cursor` out of a ring that drops the oldest: `None` if it is
    /// not there, or was overwritten meanwhile.
    pub fn copy(&self, cursor: u64) -> Option<[u64; 2]> {
        match self.ring.look(cursor) {
            Look::Ready => {
                let message = self.ring.memory.read(self.ring.index(cursor));
                self.ring.is_still_ready(cursor).then_some(message)
            }
            Look::Corrupt => panic!("corrupt"),
            _ => None,
        }
    }

    /// Takes a message of a queue and stops there.
    pub fn take(&self, me: usize, searched: &mut u64) -> Option<(u64, [u64; 2])> {
        match self.ring.try_take(me, searched) {
            Take::Taken(position) => {
                let index = self.ring.index(position);
                Some((position, self.ring.memory.read(index)))
            }
            Take::Empty => None,
            Take::Corrupt => panic!("corrupt"),
        }
    }

    /// Ends the use of a taken message.
    pub fn consume(&self, me: usize, position: u64) {
        self.ring
            .consume(me, position)
            .expect("the message is ours");
        self.ring.room().notify();
    }

    /// Takes and consumes, and sleeps until there is a message.
    pub fn recv_one(&self, me: usize, searched: &mut u64) -> [u64; 2] {
        loop {
            if let Some((position, message)) = self.take(me, searched) {
                self.consume(me, position);
                return message;
            }
            let key = self.ring.published().prepare(crate::event_count::SLEEPER);
            if let Some((position, message)) = self.take(me, searched) {
                self.consume(me, position);
                return message;
            }
            self.ring.published().sleep(key, None);
        }
    }

    /// What a look does about a dead participant.
    pub fn reap(&self, dead: usize) {
        self.ring.reap(dead);
        self.ring.published().notify_waiters();
        self.ring.room().notify_waiters();
    }
}
