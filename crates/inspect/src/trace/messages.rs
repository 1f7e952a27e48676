//! `Messages`: who sent and who received the messages between processes.

use std::collections::{BTreeSet, HashMap};

use super::recording::{Event, Message, What};
use crate::snapshot::Waiter;

/// All messages of a recording.
#[derive(Debug, Default)]
pub(super) struct Messages {
    sent: HashMap<Message, (u64, Waiter)>,
    /// Those that a thread or task has received, in the order of time.
    received: HashMap<Waiter, Vec<(u64, Message)>>,
    /// The processes for which a thread or task has waited, by the segment.
    peers: HashMap<(Waiter, u64), BTreeSet<u32>>,
}

impl Messages {
    pub(super) fn note(&mut self, event: &Event) {
        let (at, by) = (event.at, event.waiter);
        match event.what {
            What::Sent(message) => _ = self.sent.insert(message, (at, by)),
            What::Received(message) => {
                self.received.entry(by).or_default().push((at, message));
            }
            What::Peer { segment, pid } => {
                self.peers.entry((by, segment)).or_default().insert(pid);
            }
            _ => {}
        }
    }

    /// Returns when a message was sent, and by whom, if a recording has it.
    pub(super) fn sent(&self, message: Message) -> Option<(u64, Waiter)> {
        self.sent.get(&message).copied()
    }

    /// Returns the first message that a thread or task has received from that time on.
    pub(super) fn next(&self, waiter: Waiter, at: u64) -> Option<Message> {
        let received = self.received.get(&waiter)?;
        let next = received.partition_point(|(time, _)| *time < at);
        received.get(next).map(|(_, message)| *message)
    }

    /// Returns the messages that a thread or task has received until that time, the last one first.
    pub(super) fn until(&self, waiter: Waiter, at: u64) -> impl Iterator<Item = (u64, Message)> {
        let received = self.received.get(&waiter).map_or(&[][..], Vec::as_slice);
        let end = received.partition_point(|(time, _)| *time <= at);
        received[..end].iter().rev().copied()
    }

    /// Returns the other process for which a thread or task has waited in a segment, if it is the only one.
    pub(super) fn peer(&self, waiter: Waiter, segment: u64) -> Option<u32> {
        let peers = self.peers.get(&(waiter, segment))?;
        let mut peers = peers.iter();
        peers.next().copied().filter(|_| peers.next().is_none())
    }
}
