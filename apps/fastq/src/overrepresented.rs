//! Sequences that occur more often than they should.

use crate::bins;
use crate::failure::Failure;
use crate::hot;
use crate::input::InputFile;
use crate::options::Options;
use crate::record::Blocks;
use std::collections::HashMap;

/// Number of bases of a file that are searched for sequences.
const BASES: usize = 151 * 10_000;

/// Returns the lengths of the sequences that are counted in reads of length `read_length`.
fn lengths(read_length: usize) -> [usize; 5] {
    [10, 20, 40, 100, 150.min(read_length.saturating_sub(2))]
}

/// Finds the sequences of the file to look for.
pub fn find(file: &InputFile, read_length: usize) -> Result<Vec<Vec<u8>>, Failure> {
    let mut blocks = Blocks::look_ahead(file)?;
    let mut reads: Vec<Box<[u8]>> = vec![];
    let mut bases = 0;
    while bases < BASES {
        let block = blocks.next(1)?;
        if block.len() == 0 {
            break;
        }
        // The rest of a read that is longer than all that is searched would cost memory and time.
        let seq = block.get(0).seq;
        reads.push(seq[..seq.len().min(BASES)].into());
        bases += seq.len();
        block.recycle();
    }
    Ok(hot::find(&reads, lengths(read_length), read_length))
}

/// Counts and places of some sequences in a sample of the reads.
pub struct Sequences {
    sampling: u64,
    read_length: usize,
    reads: u64,
    at: HashMap<Box<[u8]>, usize>,
    lengths: Vec<usize>,
    counts: Vec<Count>,
}

/// The count of a sequence, and the number of times that each place of a read is part of it.
type Count = (u64, Vec<u64>);

fn count((count, places): &mut Count, at: usize, length: usize, times: u64) {
    *count += times;
    for place in places.iter_mut().skip(at).take(length) {
        *place += times;
    }
}

impl Sequences {
    pub fn new(options: &Options, which: usize, hot: &[Vec<u8>]) -> Self {
        let read_length = options.read_length[which];
        let at = hot
            .iter()
            .enumerate()
            .map(|(at, seq)| (seq.clone().into_boxed_slice(), at))
            .collect();
        let counts = vec![(0, vec![0; read_length.min(bins::EXACT)]); hot.len()];
        Self {
            sampling: options.sampling,
            read_length,
            reads: 0,
            at,
            lengths: hot.iter().map(Vec::len).collect(),
            counts,
        }
    }

    /// Counts the next read.
    pub fn add(&mut self, seq: &[u8]) {
        let sampled = self.reads.is_multiple_of(self.sampling);
        self.reads += 1;
        if !sampled {
            return;
        }
        // The counts are taken out while `scan` borrows the rest.
        let mut counts = std::mem::take(&mut self.counts);
        self.scan(seq, |found, at| {
            count(&mut counts[found], at, self.lengths[found], 1)
        });
        self.counts = counts;
    }

    /// Calls `each` with every sequence in the read, and its place.
    pub fn scan(&self, seq: &[u8], mut each: impl FnMut(usize, usize)) {
        if self.at.is_empty() {
            return;
        }
        for size in lengths(self.read_length)
            .into_iter()
            .filter(|&size| size > 0)
        {
            let mut at = 0;
            while at + size < seq.len() {
                if let Some(&found) = self.at.get(&seq[at..at + size]) {
                    each(found, at);
                    at += size;
                }
                at += 1;
            }
        }
    }

    /// Counts a sequence at a place this many times. Returns `None` if there is no such sequence.
    pub fn hit(&mut self, found: usize, at: usize, times: u64) -> Option<()> {
        count(self.counts.get_mut(found)?, at, self.lengths[found], times);
        Some(())
    }

    /// Skips this many reads.
    pub fn pass(&mut self, reads: u64) {
        self.reads += reads;
    }

    /// Returns the number of reads before the next one that is sampled.
    pub fn next_sampled(&self) -> u64 {
        let after = self.reads % self.sampling;
        (self.sampling - after) % self.sampling
    }

    /// Returns `n` if sequences are counted in one of `n` reads.
    pub fn sampling(&self) -> u64 {
        self.sampling
    }

    /// Returns the sequences that occur often enough, with their counts, and the number of times that
    /// each place of a read is part of them, in alphabetical order.
    pub fn found(&self) -> Vec<(&[u8], u64, &[u64])> {
        let mut found: Vec<_> = self
            .at
            .iter()
            .map(|(seq, &at)| (&**seq, self.counts[at].0, &self.counts[at].1[..]))
            .filter(|&(seq, count, _)| {
                let enough = match seq.len() {
                    10 => 500,
                    20 => 200,
                    40 => 100,
                    100 => 50,
                    _ => 20,
                };
                self.sampling * count > enough
            })
            .collect();
        found.sort_unstable_by_key(|&(seq, ..)| seq);
        found
    }
}
