//! Counts each sequence of five bases.
//!
//! A sequence of six bases is two of five. So a read adds one to a count for every second base,
//! and later the counts of six are added to those of five.

use serde::{Deserialize, Serialize};

const KMER: u32 = 5;
const KMERS: usize = 1 << (2 * KMER);
const SIXES: usize = 4 * KMERS;
/// Number of bases that go into a code at once.
const STEP: usize = 4;

/// The counts. They must be settled before they are written.
#[derive(Clone, Serialize, Deserialize)]
pub struct Kmers {
    /// The counts of six bases, which are not in those of five.
    #[serde(skip)]
    sixes: Vec<u32>,
    /// Number of bases that were counted since these were empty.
    #[serde(skip)]
    pending: usize,
    fives: Vec<u64>,
}

impl Default for Kmers {
    fn default() -> Self {
        Self {
            sixes: vec![],
            pending: 0,
            fives: vec![0; KMERS],
        }
    }
}

impl Kmers {
    /// Counts the sequences of bases of which all are A, C, G or T.
    pub fn add(&mut self, seq: &[u8]) {
        self.pending = self.pending.saturating_add(seq.len());
        if self.pending > u32::MAX as usize {
            self.settle();
            self.pending = seq.len();
        }
        if self.sixes.is_empty() {
            self.sixes.resize(SIXES, 0);
        }
        let sixes: &mut [u32; SIXES] = self.sixes.as_mut_slice().try_into().expect("its length");
        let fives: &mut [u64; KMERS] = self.fives.as_mut_slice().try_into().expect("its length");
        let (steps, rest) = seq.as_chunks::<STEP>();
        let Some((first, steps)) = steps.split_first() else {
            return;
        };
        // The bases before the last six stay in the code: to remove them would make the next
        // step wait.
        let mut code = codes(first);
        for step in steps {
            code = code << (2 * STEP) | codes(step);
            sixes[(code >> 4) as usize & (SIXES - 1)] += 1;
            sixes[code as usize & (SIXES - 1)] += 1;
        }
        for &base in rest {
            code = code << 2 | u32::from(base >> 1 & 3);
            fives[code as usize & (KMERS - 1)] += 1;
        }
    }

    /// Adds the counts of six bases to those of five.
    pub fn settle(&mut self) {
        for (code, count) in self.sixes.iter_mut().enumerate() {
            let count = u64::from(std::mem::take(count));
            self.fives[code >> 2] += count;
            self.fives[code & (KMERS - 1)] += count;
        }
        self.pending = 0;
    }

    /// Adds the counts of `other`. Both must be settled.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.fives.iter_mut().zip(&other.fives) {
            *mine += theirs;
        }
    }

    /// Returns every sequence with its count, in the order of fastp. The counts must
    /// be settled.
    pub fn counts(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        (0..KMERS).map(|place| {
            let bases = (0..KMER).rev().map(|at| b"ATCG"[place >> (2 * at) & 3]);
            let bases: Vec<u8> = bases.collect();
            let code = |code: usize, base: &u8| code << 2 | usize::from(base >> 1 & 3);
            let count = self.fives[bases.iter().fold(0, code)];
            (bases.into_iter().map(char::from).collect(), count)
        })
    }
}

/// Returns the codes of some bases, two bits for each: those of the letter that differ between
/// A, C, T and G.
fn codes(bases: &[u8; STEP]) -> u32 {
    let apart = u32::from_le_bytes(*bases) >> 1 & 0x0303_0303;
    // The product moves the first base to bit 30, the second to 28, then 26 and 24.
    apart.wrapping_mul(1 << 30 | 1 << 20 | 1 << 10 | 1) >> 24
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_five_bases_are_counted_once() {
        let mut state = 3u32;
        let mut kmers = Kmers::default();
        let mut expected = std::collections::HashMap::new();
        for len in (0..40).chain([150, 1000]) {
            let mut base = |_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                b"ACGT"[(state >> 20) as usize % 4]
            };
            let seq: Vec<u8> = (0..len).map(&mut base).collect();
            kmers.add(&seq);
            for five in seq.windows(5) {
                *expected
                    .entry(String::from_utf8(five.to_vec()).unwrap())
                    .or_insert(0) += 1;
            }
        }
        kmers.settle();
        let found = kmers.counts().filter(|&(_, count)| count > 0);
        assert_eq!(
            found.collect::<std::collections::HashMap<_, u64>>(),
            expected
        );
        let order: Vec<_> = kmers.counts().map(|(bases, _)| bases).take(5).collect();
        assert_eq!(order, ["AAAAA", "AAAAT", "AAAAC", "AAAAG", "AAATA"]);
    }
}
