//! Counts that depend on the order of all reads: duplicates, adapters, overrepresented
//! sequences.

use crate::done::Done;
use crate::duplicates::{Places, Seen};
use crate::noted::{Event, Of};
use crate::options::Options;
use crate::overrepresented::Sequences;
use std::collections::HashMap;

/// The largest number of different adapters that are counted.
const MOST_ADAPTERS: usize = 20_000;
/// With more adapters than this, those with few bases are no longer counted.
const MANY_ADAPTERS: usize = 5_000;

/// The adapters that were trimmed from one read of the pairs.
#[derive(Default)]
pub struct Found {
    counts: HashMap<Box<[u8]>, u64>,
}

impl Found {
    /// Counts an adapter this many times. Returns `false` if there are too many.
    fn add(&mut self, bases: &[u8], times: u64) -> bool {
        if let Some(count) = self.counts.get_mut(bases) {
            *count += times;
            return true;
        }
        let len = self.counts.len();
        if len > MOST_ADAPTERS || (len > MANY_ADAPTERS && simple(bases)) {
            return false;
        }
        self.counts.insert(bases.into(), times);
        true
    }

    /// Returns the adapters and how often each was trimmed, the shortest first.
    pub fn sorted(&self) -> Vec<(&[u8], u64)> {
        let mut all: Vec<_> = self
            .counts
            .iter()
            .map(|(bases, &count)| (&**bases, count))
            .collect();
        all.sort_unstable_by_key(|&(bases, _)| (bases.len(), bases));
        all
    }
}

fn simple(bases: &[u8]) -> bool {
    bases.windows(2).filter(|pair| pair[0] != pair[1]).count() < bases.len() / 2
}

/// Takes the results of the batches, in their order.
pub trait Collect {
    /// Takes the results of the next batch.
    fn add(&mut self, done: &Done);
}

/// The counts of a whole run.
pub struct Collector {
    pub seen: Option<Seen>,
    pub adapters: [Found; 2],
    pub trimmed_reads: u64,
    pub trimmed_bases: u64,
    /// The overrepresented sequences of read 1 and 2, before and after the filters.
    pub before: [Sequences; 2],
    pub after: [Sequences; 2],
}

impl Collector {
    /// `hot` are the sequences of read 1 and 2 to look for.
    pub fn new(options: &Options, places: Option<&Places>, hot: &[Vec<Vec<u8>>; 2]) -> Self {
        let sequences = || [0, 1].map(|which| Sequences::new(options, which, &hot[which]));
        Self {
            seen: places.map(Seen::new),
            adapters: Default::default(),
            trimmed_reads: 0,
            trimmed_bases: 0,
            before: sequences(),
            after: sequences(),
        }
    }

    /// Counts an adapter, or the two of a pair, this many times.
    pub fn add_adapter(&mut self, event: &Event<impl AsRef<[u8]>>, times: u64) {
        let (of, bases, second) = (event.of, event.bases.as_ref(), event.second.as_ref());
        self.trimmed_bases += (bases.len() + second.len()) as u64 * times;
        if of != Of::Pair {
            self.trimmed_reads += matches!(of, Of::Read1 | Of::Read2) as u64 * times;
            self.adapters[matches!(of, Of::Read2 | Of::Read2Again) as usize].add(bases, times);
            return;
        }
        self.trimmed_reads += 2 * times;
        // If read 1 has too many adapters, fastp does not count that of read 2 either.
        if (bases.is_empty() || self.adapters[0].add(bases, times)) && !second.is_empty() {
            self.adapters[1].add(second, times);
        }
    }
}

impl Collect for Collector {
    fn add(&mut self, done: &Done) {
        if let Some(seen) = &mut self.seen {
            seen.add(&done.places, |_| {});
        }
        for event in done.adapters.events() {
            self.add_adapter(&event, 1);
        }
        for which in 0..2 {
            done.all_bases[which]
                .iter()
                .for_each(|seq| self.before[which].add(seq));
            done.passed_bases[which]
                .iter()
                .for_each(|seq| self.after[which].add(seq));
        }
    }
}
