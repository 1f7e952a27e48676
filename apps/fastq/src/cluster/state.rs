//! The state of a shard: its counts, and a log of results that depend on the reads of earlier shards.
//!
//! Four figures of the reports depend on the order of all reads. Their logs are exact because each
//! of them only ever grows:
//!
//! 1. *Duplicates.* A read is a duplicate if all of its bits were set. A read that is one within
//!    its shard is one in the whole input, and sets no new bit. So the log has the bits of the
//!    other reads, in order; the merge sets them in a table that has those of earlier shards.
//! 2. *Adapters.* An adapter that is new is counted unless there are too many already. From then
//!    on it is counted, or dropped, for ever. So its first occurrence decides, and the log has the
//!    distinct occurrences in the order of their first ones, with their counts.
//! 3. *Sequences before the filters* are counted in one of `n` reads. A shard knows the
//!    number of reads before it.
//! 4. *Sequences after the filters* are counted in one of `n` reads that passed. The number that
//!    passed before the shard is not known. So the log counts all reads, by the remainder of their
//!    number, and the merge takes the counts of one remainder.

use super::parts::part;
use crate::collect::{Collect, Collector};
use crate::counts::Counts;
use crate::done::{Done, STREAMS};
use crate::duplicates::{Places, Seen};
use crate::failure::Failure;
use crate::file_names::path;
use crate::noted::Event;
use crate::options::Options;
use crate::output::Output;
use crate::overrepresented::Sequences;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs;

/// The first bytes of a state's file.
const MAGIC: &[u8] = b"blitz-fastq state 2\n";

/// The state of a shard.
#[derive(Serialize, Deserialize)]
pub struct State {
    /// The number that identifies the plan.
    plan: u64,
    shard: usize,
    counts: Counts,
    log: Log,
    /// Which output streams the shard wrote something to.
    pub written: [bool; STREAMS],
}

/// The log of a shard.
#[derive(Serialize, Deserialize)]
pub struct Log {
    reads: u64,
    /// The bits of the reads that did not occur before in the shard.
    places: Vec<u64>,
    adapters: Vec<(Event<Vec<u8>>, u64)>,
    before: [Hits; 2],
    after: [Hits; 2],
}

/// Where sequences were found that may be overrepresented.
#[derive(Default, Serialize, Deserialize)]
struct Hits {
    reads: u64,
    hits: HashMap<Hit, u64>,
}

/// A sequence at a place of a read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Hit {
    /// The number of the read in its shard, modulo the sampling.
    remainder: u64,
    sequence: usize,
    place: usize,
}

impl State {
    /// Returns the name of the file.
    pub fn name(plan: &str, shard: usize) -> String {
        part(plan, shard) + ".state"
    }

    pub fn new(
        plan: u64,
        shard: usize,
        mut counts: Counts,
        logger: Logger,
        written: [bool; STREAMS],
    ) -> Self {
        counts.settle();
        Self {
            plan,
            shard,
            counts,
            log: logger.finish(),
            written,
        }
    }

    pub fn write(&self, name: &str) -> Result<(), Failure> {
        let bytes = postcard::to_stdvec(self)
            .map_err(|error| Failure::data(format!("{name}: cannot write it: {error}")))?;
        let mut output = Output::create(name)?;
        output.write(MAGIC)?;
        output.write(&checksum(&bytes))?;
        output.write(&bytes)?;
        output.finish()
    }

    /// Reads the state of a shard of this plan.
    pub fn read(name: &str, plan: u64, shard: usize) -> Result<Self, Failure> {
        let bytes = fs::read(path(name)).map_err(|error| Failure::file(name, "read it", &error))?;
        let again = format!("run shard {shard} again");
        let state: Self = bytes
            .strip_prefix(MAGIC)
            .and_then(|bytes| bytes.split_first_chunk())
            .filter(|(sum, bytes)| checksum(bytes) == **sum)
            .and_then(|(_, bytes)| postcard::from_bytes(bytes).ok())
            .ok_or_else(|| Failure::data(format!("{name}: this is no whole state: {again}")))?;
        if (state.plan, state.shard) != (plan, shard) {
            return Err(Failure::data(format!(
                "{name}: it belongs to another plan: {again}"
            )));
        }
        Ok(state)
    }

    /// Adds the counts to those of the shards before.
    pub fn replay(
        self,
        name: &str,
        counts: &mut Counts,
        collector: &mut Collector,
    ) -> Result<(), Failure> {
        counts.merge(self.counts);
        let known = self.log.replay(collector);
        known.ok_or_else(|| Failure::data(format!("{name}: it has counts of other options")))
    }
}

/// Returns the checksum of a state, without which a damaged one could be taken for another.
fn checksum(bytes: &[u8]) -> [u8; 4] {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum().to_le_bytes()
}

impl Log {
    /// Adds the counts. Returns `None` if they cannot be those of a run with these options.
    fn replay(self, collector: &mut Collector) -> Option<()> {
        if let Some(seen) = &mut collector.seen {
            seen.add_later(self.reads, &self.places)?;
        }
        for (event, times) in &self.adapters {
            collector.add_adapter(event, *times);
        }
        let sides = [
            (self.before, &mut collector.before),
            (self.after, &mut collector.after),
        ];
        for (hits, sequences) in sides {
            for (hits, sequences) in hits.into_iter().zip(sequences) {
                hits.replay(sequences)?;
            }
        }
        Some(())
    }
}

impl Hits {
    fn replay(self, sequences: &mut Sequences) -> Option<()> {
        let first = sequences.next_sampled();
        for (hit, times) in self.hits {
            if hit.remainder == first {
                sequences.hit(hit.sequence, hit.place, times)?;
            }
        }
        sequences.pass(self.reads);
        Some(())
    }

    fn add(&mut self, sequences: &Sequences, seq: &[u8], sampled: Option<u64>) {
        let remainder = self.reads % sequences.sampling();
        self.reads += 1;
        if sampled.is_none_or(|first| first == remainder) {
            sequences.scan(seq, |sequence, place| {
                let hit = Hit {
                    remainder,
                    sequence,
                    place,
                };
                *self.hits.entry(hit).or_default() += 1;
            });
        }
    }
}

/// Makes the log of a shard.
pub struct Logger {
    seen: Option<Seen>,
    log: Log,
    events: HashMap<Event<Vec<u8>>, usize>,
    /// The sequences to look for, in read 1 and 2.
    sequences: [Sequences; 2],
    /// The remainder of the reads that are sampled before the filters.
    sampled: u64,
}

impl Logger {
    /// `before` is the number of reads or pairs before the shard.
    pub fn new(
        options: &Options,
        places: Option<&Places>,
        hot: &[Vec<Vec<u8>>; 2],
        before: u64,
    ) -> Self {
        let mut sequences = [0, 1].map(|which| Sequences::new(options, which, &hot[which]));
        sequences[0].pass(before);
        Self {
            seen: places.map(Seen::new),
            log: Log {
                reads: 0,
                places: vec![],
                adapters: vec![],
                before: Default::default(),
                after: Default::default(),
            },
            events: HashMap::new(),
            sampled: sequences[0].next_sampled(),
            sequences,
        }
    }

    fn finish(self) -> Log {
        self.log
    }
}

impl Collect for Logger {
    fn add(&mut self, done: &Done) {
        let log = &mut self.log;
        log.reads += done.reads;
        if let Some(seen) = &mut self.seen {
            let mut places = done.places.chunks_exact(seen.arrays());
            seen.add(&done.places, |known| {
                let places = places.next().unwrap_or_default();
                if !known {
                    log.places.extend_from_slice(places);
                }
            });
        }
        for event in done.adapters.events() {
            let event = event.map(<[u8]>::to_vec);
            let next = log.adapters.len();
            match self.events.get(&event) {
                Some(&at) => log.adapters[at].1 += 1,
                None => {
                    self.events.insert(event.clone(), next);
                    log.adapters.push((event, 1));
                }
            }
        }
        for (which, sequences) in self.sequences.iter().enumerate() {
            for seq in done.all_bases[which].iter() {
                log.before[which].add(sequences, seq, Some(self.sampled));
            }
            for seq in done.passed_bases[which].iter() {
                log.after[which].add(sequences, seq, None);
            }
        }
    }
}
