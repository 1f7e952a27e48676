//! Notes of a worker about a batch for the counts that depend on the order of all reads.

use serde::{Deserialize, Serialize};

/// Adapters that were trimmed, in order.
#[derive(Default)]
pub struct Adapters {
    bytes: Vec<u8>,
    found: Vec<(Of, u32)>,
}

/// The read from which an adapter was trimmed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Of {
    Read1,
    Read2,
    /// A further adapter of read 1 or 2, which had one trimmed before: the read is not counted
    /// again.
    Read1Again,
    Read2Again,
    /// Read 1 of a pair of which both reads were trimmed; the next entry is that of
    /// read 2.
    Pair,
}

impl Of {
    /// Returns the kind of a further adapter of the same read.
    pub fn again(self) -> Self {
        match self {
            Self::Read2 | Self::Read2Again => Self::Read2Again,
            Self::Read1 | Self::Read1Again | Self::Pair => Self::Read1Again,
        }
    }
}

/// One adapter, or the two of a pair.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Event<B> {
    pub of: Of,
    pub bases: B,
    /// The adapter of read 2, if this is a pair.
    pub second: B,
}

impl<B> Event<B> {
    pub fn map<C>(self, each: impl Fn(B) -> C) -> Event<C> {
        Event {
            of: self.of,
            bases: each(self.bases),
            second: each(self.second),
        }
    }
}

impl Adapters {
    pub fn push(&mut self, of: Of, bases: &[u8]) {
        self.bytes.extend_from_slice(bases);
        self.found.push((of, bases.len() as u32));
    }

    /// Returns the adapters, those of a pair together.
    pub fn events(&self) -> impl Iterator<Item = Event<&[u8]>> {
        let mut adapters = self.iter();
        std::iter::from_fn(move || {
            let (of, bases) = adapters.next()?;
            let second = if of == Of::Pair {
                adapters.next().map_or(&b""[..], |(_, bases)| bases)
            } else {
                b""
            };
            Some(Event { of, bases, second })
        })
    }

    fn iter(&self) -> impl Iterator<Item = (Of, &[u8])> {
        let mut rest = &self.bytes[..];
        self.found.iter().map(move |&(of, len)| {
            let (bases, after) = rest.split_at(len as usize);
            rest = after;
            (of, bases)
        })
    }
}

/// Bases of several reads.
#[derive(Default)]
pub struct Bases {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Bases {
    pub fn push(&mut self, seq: &[u8]) {
        self.bytes.extend_from_slice(seq);
        self.ends.push(self.bytes.len());
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends
            .iter()
            .map(move |&end| &self.bytes[std::mem::replace(&mut start, end)..end])
    }
}
