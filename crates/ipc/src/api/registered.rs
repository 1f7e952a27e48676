//! `Registered`: an end, as reports know it.
//!
//! With the feature `inspect`, an end is registered from when it joins until it leaves. A reader, which
//! may be any thread, then reads from the shared memory which participants can end a wait of this end.
//! Without the feature nothing is registered.

#[cfg(unix)]
use std::task::Waker;

use blitz_io_core::inspect::{Blocking, Caller, Kind, Object};
#[cfg(unix)]
use blitz_io_core::inspect::{Wait, WaitKind};

use crate::api::segment::Segment;

/// The registration of an end for reports. Without the feature `inspect` it holds the object only.
pub(crate) struct Registered {
    object: Object,
    #[cfg(feature = "inspect")]
    end: blitz_io_inspect::RegisteredEnd,
}

impl Registered {
    /// Registers participant `me` of `segment`.
    ///
    /// # Safety
    ///
    /// The mapping of `segment` outlives the result.
    #[cfg_attr(not(feature = "inspect"), allow(unused_variables))]
    pub(crate) unsafe fn new(segment: &Segment, me: usize) -> Self {
        let object = Object::new();
        #[cfg(feature = "inspect")]
        // SAFETY: the caller's promise.
        let end = unsafe { enabled::register(segment, me, object.id()) };
        Self {
            object,
            #[cfg(feature = "inspect")]
            end,
        }
    }

    /// Notes that the current thread or task uses the end.
    #[inline]
    pub(crate) fn used(&self) {
        #[cfg(feature = "inspect")]
        self.end.used();
    }

    /// Announces that this thread may sleep for the end.
    pub(crate) fn block(&self, kind: Kind, caller: Caller, is_timed: bool) -> Blocking {
        self.used();
        Blocking::new(kind, &self.object, caller, is_timed)
    }

    /// Records that the current task waits for the end.
    #[cfg(unix)]
    pub(crate) fn note(&self, record: &mut Wait, kind: Kind, waker: &Waker) {
        self.used();
        record.begin(WaitKind::new(kind), &self.object, waker);
    }
}

#[cfg(feature = "inspect")]
mod enabled {
    use std::sync::atomic::Ordering;

    use blitz_io_inspect::{End, Peer, RegisteredEnd};

    use crate::api::kind::Kind;
    use crate::api::segment::Segment;
    use crate::api::settings::Settings;
    use crate::kernel::memory::record;
    use crate::kernel::ring::{OBSERVER, Ring};

    /// # Safety
    ///
    /// The mapping of `segment` outlives the result.
    pub(super) unsafe fn register(segment: &Segment, me: usize, object: u64) -> RegisteredEnd {
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
                kind: settings.kind.name().into(),
                participant: me,
                user: None,
                peers: participants.peers(),
                is_open: participants.is_open(),
            }
        })
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
}
