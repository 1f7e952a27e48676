//! The frames that an exporter has sent and keeps until all remote receivers have them.
//!
//! A pure state machine, like `sequence.rs`. Frames are kept as they were sent; a receiver that
//! misses something gets everything again from its `expected` on.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use crate::silence::Silence;
use crate::wire::Ack;

/// A receiver that makes no progress for this time gets its frames again.
const STALLED: Duration = Duration::from_millis(300);
/// A receiver that asks for frames again gets them no more often than this, unless it has made
/// progress in between.
const ASKED: Duration = Duration::from_millis(50);

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
    silence: Silence,
    progressed: Instant,
    resent: Instant,
    /// It has a frame of this run.
    synchronised: bool,
    asks: bool,
}

impl Remote {
    fn new(expected: u64, now: Instant) -> Self {
        Self {
            expected,
            received: 0,
            missing: 0,
            silence: Silence::default(),
            progressed: now,
            resent: now,
            synchronised: false,
            asks: false,
        }
    }
}

/// The window: see the head of the file.
pub struct Window<F> {
    run: u64,
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
    /// `keeps` is false with the policy `drop`.
    pub fn new(run: u64, position: u64, keeps: bool, limit: usize, hosts: usize) -> Self {
        Self {
            run,
            limit,
            hosts,
            keeps,
            sent: VecDeque::new(),
            bytes: 0,
            next: (0, position),
            remotes: BTreeMap::new(),
        }
    }

    /// Whether more may be sent.
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

    /// Waits for a receiver that an earlier run of the gateway has known.
    pub fn expect(&mut self, host: &str, now: Instant) {
        if self.remotes.len() < self.hosts {
            let base = self.base().0;
            self.remotes
                .entry(host.to_owned())
                .or_insert_with(|| Remote::new(base, now));
        }
    }

    /// Notes what a receiver has. Returns whether it needs to hear the state of the sender.
    pub fn acknowledged(&mut self, host: &str, ack: &Ack, now: Instant) -> bool {
        if !self.remotes.contains_key(host) && self.remotes.len() >= self.hosts {
            return false;
        }
        let (base, next) = (self.base().0, self.next.0);
        let remote = self
            .remotes
            .entry(host.to_owned())
            .or_insert_with(|| Remote::new(base, now));
        remote.silence.broken();
        (remote.received, remote.missing) = (ack.received, ack.missing);
        if ack.run != self.run {
            // It has begun again, and needs all that there is.
            remote.expected = base;
            remote.synchronised = false;
            return true;
        }
        // It has missed the frames that were sent before it joined.
        let is_first = !remote.synchronised;
        // A hostile receiver may name anything.
        let expected = ack.expected.clamp(base, next);
        if expected > remote.expected || is_first {
            remote.progressed = now;
        }
        // It still misses what it asked for before, unless it has received it since then.
        let still_asks = remote.asks && expected <= remote.expected;
        remote.synchronised = true;
        remote.expected = remote.expected.max(expected);
        remote.asks = (ack.resend || is_first || still_asks) && ack.expected < next;
        self.trim();
        false
    }

    /// Forgets receivers without a sign of life, an interval of this nominal length after the last
    /// call. All acknowledgements that have arrived must have been noted. Returns the hosts of the
    /// receivers.
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

    /// Returns the frames to send again now.
    pub fn due(&mut self, now: Instant) -> Vec<F> {
        let next = self.next.0;
        let mut from = None;
        for remote in self
            .remotes
            .values_mut()
            .filter(|remote| remote.synchronised && remote.expected < next)
        {
            let since = now.duration_since(remote.resent);
            let fresh = remote.progressed > remote.resent;
            let asks = remote.asks && (fresh || since >= ASKED);
            let stalled = now.duration_since(remote.progressed) >= STALLED && since >= STALLED;
            if asks || stalled {
                (remote.asks, remote.resent) = (false, now);
                from = Some(from.unwrap_or(remote.expected).min(remote.expected));
            }
        }
        let Some(from) = from else { return Vec::new() };
        self.sent
            .iter()
            .filter(|sent| sent.end > from)
            .map(|sent| sent.frame.clone())
            .collect()
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
