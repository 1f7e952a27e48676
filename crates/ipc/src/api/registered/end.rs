//! The registration: who can end a wait of the end, read from its shared memory.

use std::sync::atomic::Ordering;

pub(super) use blitz_io_inspect::RegisteredEnd;
use blitz_io_inspect::{End, Peer};
use blitz_io_observe::Object;

use crate::api::kind::Kind;
use crate::api::segment::Segment;
use crate::api::settings::Settings;
use crate::kernel::memory::record;
use crate::kernel::ring::{OBSERVER, Ring};

/// # Safety
///
/// The mapping of `segment` outlives the result.
pub(super) unsafe fn register(segment: &Segment, me: usize, object: &Object) -> RegisteredEnd {
    let object = object.id();
    // SAFETY: the registration has the ring and calls the reader only while it lives, and the
    // mapping outlives it.
    let ring = unsafe { segment.ring.share() };
    let (settings, id) = (segment.settings, segment.id());
    let path = segment.path.clone().unwrap_or_default();
    let path = path.to_string_lossy().into_owned();
    RegisteredEnd::new(move || {
        let participants = Participants {
            ring: &ring,
            settings,
            me,
        };
        End {
            object,
            pid: std::process::id(),
            path: path.clone(),
            segment: id,
            kind: name(settings.kind).into(),
            participant: me,
            user: None,
            peers: participants.peers(),
            is_open: participants.is_open(),
        }
    })
}

/// Returns the name that reports use.
fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Route => "route",
        Kind::Channel => "channel",
        Kind::Queue => "queue",
        Kind::Event => "event",
        Kind::Semaphore => "semaphore",
        Kind::Barrier => "barrier",
    }
}

struct Participants<'a> {
    ring: &'a Ring,
    settings: Settings,
    /// The participant that reads.
    me: usize,
}

impl Participants<'_> {
    fn word(&self, participant: usize, offset: usize) -> u64 {
        let word = self.ring.memory.record(participant, offset);
        word.load(Ordering::Acquire)
    }

    fn peers(&self) -> Vec<Peer> {
        let permits = self.permits();
        let has_joined = |&participant: &usize| self.word(participant, record::ROLE) != 0;
        let peer = |participant: usize| Peer {
            participant,
            pid: u32::try_from(self.word(participant, record::PID)).unwrap_or(0),
            started: self.word(participant, record::STARTED),
            sends: participant < self.settings.senders,
            holds: if self.settings.kind.has_messages() {
                self.holds_up(participant)
            } else {
                permits.contains(&(participant as u64 + 1))
            },
        };
        let all = 0..self.settings.participants();
        all.filter(has_joined).map(peer).collect()
    }

    /// Returns the owners of all permits, as `protocol/semaphore.rs` writes them.
    fn permits(&self) -> Vec<u64> {
        if self.settings.kind != Kind::Semaphore {
            return Vec::new();
        }
        let entries = 0..self.settings.entries();
        let owner = |entry| self.ring.memory.entry(entry).load(Ordering::Acquire);
        entries.map(owner).collect()
    }

    /// Returns `true` if this participant alone keeps the reader waiting.
    fn holds_up(&self, participant: usize) -> bool {
        let memory = &self.ring.memory;
        if self.me >= self.settings.senders {
            let cursor = self.word(self.me, record::CURSOR);
            return cursor < OBSERVER && self.ring.owner(cursor) == Some(participant);
        }
        let tail = memory.tail().load(Ordering::Acquire);
        let Some(oldest) = tail.checked_sub(self.settings.capacity as u64) else {
            return false;
        };
        match self.settings.kind {
            Kind::Queue => self.ring.owner(oldest) == Some(participant),
            _ => self.word(participant, record::CURSOR) <= oldest,
        }
    }

    fn is_open(&self) -> bool {
        match self.settings.kind {
            Kind::Semaphore => self.permits().contains(&0),
            _ => (0..self.settings.senders).any(|sender| self.word(sender, record::ROLE) == 0),
        }
    }
}
