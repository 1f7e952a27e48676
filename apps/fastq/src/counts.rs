//! The counts of the workers.

use crate::filter::VERDICTS;
use crate::stats::Stats;
use serde::{Deserialize, Serialize};

/// The longest insert that is counted by its size.
pub const LONGEST_INSERT: usize = 512;

/// The counts of a worker. They are sums, so it does not matter which worker counted a read.
#[derive(Serialize, Deserialize)]
pub struct Counts {
    /// Reads that differ before and after the filters, and those that do not.
    pub before: [Stats; 2],
    pub after: [Stats; 2],
    pub both: [Stats; 2],
    pub verdicts: [u64; VERDICTS],
    pub merged_pairs: u64,
    pub corrected_reads: u64,
    pub corrected_bases: u64,
    pub poly_x_reads: [u64; 4],
    pub poly_x_bases: [u64; 4],
    pub inserts: Vec<u64>,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            before: Default::default(),
            after: Default::default(),
            both: Default::default(),
            verdicts: [0; VERDICTS],
            merged_pairs: 0,
            corrected_reads: 0,
            corrected_bases: 0,
            poly_x_reads: [0; 4],
            poly_x_bases: [0; 4],
            inserts: vec![0; LONGEST_INSERT + 1],
        }
    }
}

impl Counts {
    pub fn merge(&mut self, other: Self) {
        let stats = |mine: &mut [Stats; 2], theirs: [Stats; 2]| {
            mine.iter_mut()
                .zip(theirs)
                .for_each(|(mine, theirs)| mine.merge(theirs));
        };
        stats(&mut self.before, other.before);
        stats(&mut self.after, other.after);
        stats(&mut self.both, other.both);
        let add = |mine: &mut [u64], theirs: &[u64]| {
            mine.iter_mut().zip(theirs).for_each(|(a, b)| *a += b)
        };
        add(&mut self.verdicts, &other.verdicts);
        add(&mut self.poly_x_reads, &other.poly_x_reads);
        add(&mut self.poly_x_bases, &other.poly_x_bases);
        add(&mut self.inserts, &other.inserts);
        self.merged_pairs += other.merged_pairs;
        self.corrected_reads += other.corrected_reads;
        self.corrected_bases += other.corrected_bases;
    }

    /// Prepares the counts to be written.
    pub fn settle(&mut self) {
        for stats in [&mut self.before, &mut self.after, &mut self.both] {
            stats.iter_mut().for_each(Stats::settle);
        }
    }

    /// Returns the statistics of read 1 and read 2, before and after the filters.
    pub fn stats(&mut self) -> ([Stats; 2], [Stats; 2]) {
        let (mut before, mut after) = (
            std::mem::take(&mut self.before),
            std::mem::take(&mut self.after),
        );
        for (at, both) in std::mem::take(&mut self.both).into_iter().enumerate() {
            before[at].merge(both.clone());
            after[at].merge(both);
        }
        (before, after)
    }
}
