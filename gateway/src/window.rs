//! The frames that an exporter has sent and keeps until all remote receivers have them.
//!
//! A pure state machine, like `sequence.rs`. Frames are kept as they were sent; a receiver that
//! misses something gets everything again from its `expected` on.
//!
//! **No frame is sent again because time has passed.** A frame that was not acknowledged may be on its
//! way still, however slow that is. A receiver asks for frames when it sees one that is early, and the
//! sender numbers the *rounds* in which it answers:
//!
//! 1. The sender begins a round with a frame without messages, whose head has the round and the first
//!    ordinal that follows. Then it sends everything from there on again.
//! 2. A receiver that asks names the highest round that it has seen. The sender ignores a question
//!    of an earlier round than its own: the receiver asked before it saw the answer.
//! 3. The sender regularly announces its next ordinal, with its round. So a receiver that misses the last
//!    frames, or the beginning of the round, or whose question was lost, asks again.
//!
//! A receiver that begins again, as the number of its run shows, does not know any ordinal that it had acknowledged. So it gets
//! the whole window, even frames that only a slower receiver needs.
//!
//! If frames keep their order on the way, each loss costs one round. If they do not, an early frame
//! may cost a round too many. Nothing is lost either way.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::silence::Silence;
use crate::wire::Ack;

/// A frame that was sent.
struct Sent<F> {
    /// The first ordinal in it, and its position.
    first: (u64, u64),
    /// The ordinal after its last.
    end: u64,
    len: usize,
    frame: F,
}

/// A remote receiver.
#[derive(Clone, Debug)]
pub struct Remote {
    /// See [`Ack::expected`].
    pub expected: u64,
    /// See [`Ack::received`].
    pub received: u64,
    /// See [`Ack::missing`].
    pub missing: u64,
    /// See [`Ack::source`]: 0 if it is not known yet.
    pub source: u128,
    silence: Silence,
    asks: bool,
}

impl Remote {
    fn new(expected: u64) -> Self {
        Self {
            expected,
            received: 0,
            missing: 0,
            source: 0,
            silence: Silence::default(),
            asks: false,
        }
    }
}

/// The frames that a round sends again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repeat<F> {
    /// The first ordinal, and its position.
    pub first: (u64, u64),
    /// The frames.
    pub frames: Vec<F>,
}

/// The window of one exporter, with the state of its remote receivers.
pub struct Window<F> {
    run: u128,
    round: u64,
    limit: usize,
    hosts: usize,
    keeps: bool,
    sent: VecDeque<Sent<F>>,
    bytes: usize,
    /// The next ordinal and position.
    next: (u64, u64),
    remotes: BTreeMap<String, Remote>,
}

impl<F: Clone> Window<F> {
    /// Creates a window. `keeps` is `false` with the policy `drop`.
    pub fn new(run: u128, position: u64, keeps: bool, limit: usize, hosts: usize) -> Self {
        Self {
            run,
            round: 0,
            limit,
            hosts,
            keeps,
            sent: VecDeque::new(),
            bytes: 0,
            next: (0, position),
            remotes: BTreeMap::new(),
        }
    }

    /// Returns `true` if the exporter may send more.
    pub fn has_room(&self) -> bool {
        self.bytes < self.limit
    }

    /// Returns the next ordinal and position.
    pub fn next(&self) -> (u64, u64) {
        self.next
    }

    /// Returns the first ordinal that can still be sent, and its position.
    pub fn base(&self) -> (u64, u64) {
        self.sent.front().map_or(self.next, |sent| sent.first)
    }

    /// Returns the number of rounds.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Returns the bytes that are kept.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the remote receivers by host.
    pub fn remotes(&self) -> &BTreeMap<String, Remote> {
        &self.remotes
    }

    /// Notes a frame with everything from the ordinal and position `first` up to `next`.
    pub fn push(&mut self, first: (u64, u64), next: (u64, u64), frame: F, len: usize) {
        self.next = next;
        if self.keeps && !self.remotes.is_empty() {
            self.bytes += len;
            self.sent.push_back(Sent {
                first,
                end: next.0,
                len,
                frame,
            });
        }
    }

    /// Adds a receiver that an earlier run of the gateway has known, so that the sender waits for it.
    pub fn expect(&mut self, host: &str) {
        if self.remotes.len() < self.hosts {
            let base = self.base().0;
            self.remotes
                .entry(host.to_owned())
                .or_insert_with(|| Remote::new(base));
        }
    }

    /// Notes an acknowledgement. Returns `true` if the receiver needs the state of the sender.
    pub fn acknowledged(&mut self, host: &str, ack: &Ack) -> bool {
        if !self.remotes.contains_key(host) && self.remotes.len() >= self.hosts {
            return false;
        }
        let (base, next) = (self.base().0, self.next.0);
        let remote = self
            .remotes
            .entry(host.to_owned())
            .or_insert_with(|| Remote::new(base));
        remote.silence.broken();
        (remote.received, remote.missing) = (ack.received, ack.missing);
        let source = std::mem::replace(&mut remote.source, ack.source);
        if ack.run != self.run || ack.source != source {
            // The receiver has begun again, and needs all frames in the window.
            (remote.expected, remote.asks) = (base, false);
        }
        if ack.run != self.run {
            return true;
        }
        // A hostile receiver may name anything.
        let expected = ack.expected.clamp(base, next);
        // It still misses what it asked for before, unless it has received it since then.
        let still_asks = remote.asks && expected <= remote.expected;
        remote.expected = remote.expected.max(expected);
        remote.asks = still_asks || (ack.resend && ack.round >= self.round);
        self.trim();
        false
    }

    /// Forgets all frames. A receiver that has not received them sees a gap in their place.
    pub fn forget(&mut self) {
        self.sent.clear();
        self.bytes = 0;
    }

    /// Forgets receivers without a sign of life, an interval of this nominal length after the last
    /// call. All acknowledgements that have arrived must have been noted. Returns the hosts of
    /// these receivers.
    pub fn expire(&mut self, interval: Duration, lost_after: Duration) -> Vec<String> {
        let mut lost = Vec::new();
        self.remotes.retain(|host, remote| {
            remote.silence.lasts(interval);
            let alive = !remote.silence.reaches(lost_after);
            if !alive {
                lost.push(host.clone());
            }
            alive
        });
        self.trim();
        lost
    }

    /// Begins a round if a receiver asks for frames that are kept.
    pub fn repeat(&mut self) -> Option<Repeat<F>> {
        let next = self.next.0;
        let asking = |remote: &mut Remote| {
            let asks = std::mem::take(&mut remote.asks) && remote.expected < next;
            asks.then_some(remote.expected)
        };
        let from = self.remotes.values_mut().filter_map(asking).min()?;
        let mut sent = self.sent.iter().filter(|sent| sent.end > from).peekable();
        let first = sent.peek()?.first;
        let frames = sent.map(|sent| sent.frame.clone()).collect();
        self.round += 1;
        Some(Repeat { first, frames })
    }

    fn trim(&mut self) {
        let least = self
            .remotes
            .values()
            .map(|remote| remote.expected)
            .min()
            .unwrap_or(u64::MAX);
        while self.sent.front().is_some_and(|sent| sent.end <= least) {
            if let Some(sent) = self.sent.pop_front() {
                self.bytes -= sent.len;
            }
        }
    }
}
