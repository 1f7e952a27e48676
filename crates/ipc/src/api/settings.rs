//! The settings that are fixed when a segment is made, and their form in the header.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use crate::api::error::Error;
use crate::api::kind::{Kind, WhenFull};
use crate::kernel::memory::{ENTRY_LEN, Layout, Memory, header};
use crate::kernel::ring::MAX_PARTICIPANTS;

/// The settings of one segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Settings {
    pub(crate) kind: Kind,
    pub(crate) capacity: usize,
    pub(crate) max_len: usize,
    pub(crate) when_full: WhenFull,
    pub(crate) senders: usize,
    pub(crate) receivers: usize,
}

/// "blitzipc", as a word.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"blitzipc");
/// The version of the layout and of the protocol.
const VERSION: u64 = 3;

impl Settings {
    pub(crate) fn participants(&self) -> usize {
        self.senders + self.receivers
    }

    /// Returns how many entries a segment without messages has.
    #[inline]
    pub(crate) fn entries(&self) -> usize {
        self.max_len / ENTRY_LEN
    }

    /// Checks every setting, so that offsets can be computed without further checks.
    pub(crate) fn layout(&self) -> Result<Layout, Error> {
        let fault = |setting, reason: &str| {
            Err(Error::Setting {
                setting,
                reason: reason.to_owned(),
            })
        };
        if !self.capacity.is_power_of_two() || self.capacity > 1 << 30 {
            return fault(
                "capacity",
                "must be from 1 to 2^30 messages, and is rounded up to a power of two",
            );
        }
        if self.max_len == 0 || self.max_len as u64 > 1 << 40 {
            return fault("max_len", "must be from 1 byte to 2^40");
        }
        if !self.kind.has_messages() && (self.capacity != 1 || self.entries() == 0) {
            return fault(
                "capacity",
                "must be 1 with entries where there are no messages",
            );
        }
        if self.senders == 0 || (self.kind == Kind::Route && self.senders != 1) {
            return fault("max_senders", "must be at least 1, and is 1 in a route");
        }
        if self.receivers == 0 {
            return fault("max_receivers", "must be at least 1");
        }
        if self.senders.saturating_add(self.receivers) > MAX_PARTICIPANTS {
            return fault(
                "max_receivers",
                "senders and receivers are at most 512 together",
            );
        }
        match Layout::new(self.capacity, self.max_len, self.participants()) {
            Some(layout) => Ok(layout),
            None => fault(
                "max_len",
                "capacity times max_len is more than there can be",
            ),
        }
    }

    /// Writes the header of a new segment, except the magic number, which the maker has
    /// written before. No participant uses the header before `READY` is set.
    pub(crate) fn write(&self, memory: &Memory, size: usize) {
        use blitz_io_futex::atomic::Ordering::{Relaxed, Release};
        for (offset, value) in self.words() {
            memory.header(offset).store(value, Relaxed);
        }
        memory.header(header::VERSION).store(VERSION, Relaxed);
        memory.header(header::LAYOUT).store(self.hash(), Relaxed);
        memory.header(header::SIZE).store(size as u64, Relaxed);
        memory.header(header::ID).store(random(), Relaxed);
        memory.header(header::READY).store(1, Release);
    }

    /// Reads the header. `load` returns a word of it. The error names the fault.
    pub(crate) fn read(load: impl Fn(usize) -> u64, size: u64) -> Result<Self, String> {
        if load(header::MAGIC) != MAGIC {
            return Err("it does not begin with the magic number".into());
        }
        if load(header::VERSION) != VERSION {
            let found = load(header::VERSION);
            return Err(format!(
                "it has version {found}, and this is version {VERSION}"
            ));
        }
        if load(header::READY) != 1 {
            return Err("it was never completed".into());
        }
        let (Some(kind), Some(when_full)) = (
            Kind::from_word(load(header::KIND)),
            WhenFull::from_word(load(header::WHEN_FULL)),
        ) else {
            return Err("its kind or its policy is unknown".into());
        };
        let count = |offset| usize::try_from(load(offset)).unwrap_or(usize::MAX);
        let settings = Self {
            kind,
            capacity: count(header::CAPACITY),
            max_len: count(header::MAX_LEN),
            when_full,
            senders: count(header::SENDERS),
            receivers: count(header::RECEIVERS),
        };
        let layout = settings.layout().map_err(|error| error.to_string())?;
        if load(header::LAYOUT) != settings.hash() {
            return Err("its layout is not the one of this version".into());
        }
        if size != layout.size() as u64 || load(header::SIZE) != size {
            let needed = layout.size();
            return Err(format!("it has {size} bytes and needs {needed}"));
        }
        Ok(settings)
    }

    fn words(&self) -> [(usize, u64); 6] {
        [
            (header::KIND, self.kind as u64),
            (header::CAPACITY, self.capacity as u64),
            (header::MAX_LEN, self.max_len as u64),
            (header::WHEN_FULL, self.when_full as u64),
            (header::SENDERS, self.senders as u64),
            (header::RECEIVERS, self.receivers as u64),
        ]
    }

    /// Computes FNV-1a over the settings and the words' size and byte order.
    fn hash(&self) -> u64 {
        let tag = if cfg!(target_endian = "little") { 1 } else { 2 };
        let words = self.words().into_iter().map(|(_, value)| value);
        words
            .chain([VERSION, tag, usize::BITS.into()])
            .flat_map(u64::to_le_bytes)
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            })
    }
}

/// Returns a random number that is not 0, to tell a segment from earlier ones of its name.
fn random() -> u64 {
    RandomState::new().build_hasher().finish().max(1)
}
