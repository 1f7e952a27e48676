//! The search for the sequences that may be overrepresented.
//!
//! A long read has a sequence of each length at nearly every base, and most occur once. To count all of them
//! would take a hundred bytes for each base. So there are two passes. The first adds up the sequences with the
//! same hash in a table of a fixed size. The second counts only those whose sum is large enough: the sum
//! is never below the count of the sequence itself, so none is missed.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;

/// The binary logarithm of the number of sums in the table: twice the number of bases that are searched.
const SUMS: u32 = 22;

/// The number of times that each sequence of `size` bases occurs in the reads, of those that occur at least
/// `enough` times and some others. Each occurrence counts `times`.
fn candidates<'a>(
    reads: &'a [Box<[u8]>],
    size: usize,
    times: u64,
    enough: u64,
) -> HashMap<&'a [u8], u64> {
    // The sequences of a read, without the last.
    let windows =
        |read: &'a [u8]| (0..read.len().saturating_sub(size)).map(move |at| &read[at..at + size]);
    let hasher = RollingHash::new(size);
    let mut sums = vec![0u32; 1 << SUMS];
    for read in reads {
        hasher.each(read, |hash| {
            let sum = &mut sums[hash];
            *sum = sum.saturating_add(times as u32);
        });
    }
    let mut counts: HashMap<&[u8], u64> = HashMap::new();
    for read in reads {
        let mut windows = windows(read);
        hasher.each(read, |hash| {
            let window = windows.next().expect("each sequence has a hash");
            if u64::from(sums[hash]) >= enough {
                *counts.entry(window).or_default() += times;
            }
        });
    }
    counts
}

/// Hashes of all sequences of one length in a read, each from that before it.
struct RollingHash {
    size: usize,
    /// A random odd factor, and its power for the base that leaves the sequence.
    factor: u64,
    leaving: u64,
}

impl RollingHash {
    fn new(size: usize) -> Self {
        let factor = RandomState::new().hash_one(size) | 1;
        Self {
            size,
            factor,
            leaving: (0..size).fold(1, |power: u64, _| power.wrapping_mul(factor)),
        }
    }

    /// Calls `each` with the places in a table of the sequences that begin in the read, without the last.
    fn each(&self, read: &[u8], mut each: impl FnMut(usize)) {
        if read.len() <= self.size {
            return;
        }
        let add = |hash: u64, base: u8| hash.wrapping_mul(self.factor).wrapping_add(mixed(base));
        let mut hash = read[..self.size]
            .iter()
            .fold(0, |hash, &base| add(hash, base));
        for (&first, &next) in read.iter().zip(&read[self.size..]) {
            each((hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SUMS)) as usize);
            hash = add(hash, next).wrapping_sub(mixed(first).wrapping_mul(self.leaving));
        }
    }
}

/// Returns a number with bits all over for a base.
fn mixed(base: u8) -> u64 {
    (u64::from(base) + 1).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// Finds the sequences of these reads to look for. `lengths` are those of the sequences, and the longest
/// read has `read_length` bases.
pub fn find(reads: &[Box<[u8]>], lengths: [usize; 5], read_length: usize) -> Vec<Vec<u8>> {
    let mut hot: BTreeMap<&[u8], u64> = BTreeMap::new();
    let mut sizes = lengths.to_vec();
    sizes.sort_unstable();
    sizes.dedup();
    for size in sizes.into_iter().filter(|&size| size > 0) {
        let enough = match size {
            _ if size as i64 >= read_length as i64 - 1 => 3,
            100.. => 5,
            40.. => 20,
            20.. => 100,
            10.. => 500,
            _ => continue,
        };
        // Each length is counted as often as it is among the five.
        let times = lengths.iter().filter(|&&other| other == size).count() as u64;
        let counts = candidates(reads, size, times, enough);
        hot.extend(counts.into_iter().filter(|&(_, count)| count >= enough));
    }
    without_parts(hot)
}

/// Goes through the sequences in alphabetical order, and removes every one that is part of another that is
/// still there and not ten times rarer.
///
/// A sequence after this one is still there, so the first pass can tell at once. Whether one before it
/// is still there has been decided when the second pass reaches it.
fn without_parts(hot: BTreeMap<&[u8], u64>) -> Vec<Vec<u8>> {
    let all: Vec<(&[u8], u64)> = hot.into_iter().collect();
    let known: HashMap<&[u8], usize> = all
        .iter()
        .enumerate()
        .map(|(at, &(seq, _))| (seq, at))
        .collect();
    let mut sizes: Vec<usize> = all.iter().map(|(seq, _)| seq.len()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut removed = vec![false; all.len()];
    let remove = |removed: &mut [bool], whole: usize, later: bool| {
        let (seq, count) = all[whole];
        for size in sizes.iter().copied().take_while(|&size| size < seq.len()) {
            for part in seq.windows(size).filter_map(|part| known.get(part)) {
                removed[*part] |= (*part > whole) == later && all[*part].1 / count < 10;
            }
        }
    };
    (0..all.len()).for_each(|whole| remove(&mut removed, whole, false));
    for whole in 0..all.len() {
        if !removed[whole] {
            remove(&mut removed, whole, true);
        }
    }
    let left = all.iter().zip(&removed).filter(|(_, removed)| !**removed);
    left.map(|((seq, _), _)| seq.to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Random(u64);

    impl Random {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % end
        }

        fn bases(&mut self, len: usize, letters: &[u8]) -> Box<[u8]> {
            (0..len)
                .map(|_| letters[self.below(letters.len())])
                .collect()
        }
    }

    /// Counts all sequences, as the two passes avoid.
    fn all(reads: &[Box<[u8]>], size: usize) -> HashMap<&[u8], u64> {
        let mut counts: HashMap<&[u8], u64> = HashMap::new();
        for read in reads {
            for at in 0..read.len().saturating_sub(size) {
                *counts.entry(&read[at..at + size]).or_default() += 1;
            }
        }
        counts
    }

    #[test]
    fn every_sequence_that_occurs_often_is_counted() {
        let mut random = Random(3);
        let unit = random.bases(700, b"ACGTN");
        let mut reads: Vec<Box<[u8]>> = (0..300)
            .map(|at| unit[at..at + 100 + at % 300].into())
            .collect();
        reads.extend((0..50).map(|len| random.bases(len, b"AC")));
        for (size, enough) in [(10, 5), (20, 20), (40, 3), (98, 1), (150, 30)] {
            let often = |counts: HashMap<&[u8], u64>| -> BTreeMap<Vec<u8>, u64> {
                let counts = counts.into_iter().filter(|&(_, count)| count >= enough);
                counts.map(|(seq, count)| (seq.to_vec(), count)).collect()
            };
            let found = candidates(&reads, size, 1, enough);
            assert_eq!(often(found), often(all(&reads, size)), "{size}");
        }
    }

    #[test]
    fn a_long_read_takes_no_entry_for_each_base() {
        let read = Random(5).bases(1_500_000, b"ACGT");
        let reads = [read];
        for (size, enough) in [(20, 100), (40, 20), (100, 5), (150, 5)] {
            let entries = candidates(&reads, size, 1, enough).len();
            assert!(entries < 15_000, "{size}: {entries}");
        }
    }

    /// The remaining sequences are those that a search of each sequence in all others leaves.
    #[test]
    fn parts_of_others_are_removed_in_order() {
        let mut random = Random(7);
        for round in 0..300 {
            let unit = random.bases(60, b"AC");
            let mut hot: BTreeMap<&[u8], u64> = BTreeMap::new();
            for _ in 0..40 {
                let size = [3, 5, 8, 13][random.below(4)];
                let from = random.below(unit.len() - size);
                let count = 1 << random.below(12);
                hot.insert(&unit[from..from + size], count);
            }
            let mut expected = hot.clone();
            for seq in hot.keys() {
                let count = expected[seq];
                let part = |(other, its): (&&[u8], &u64)| {
                    other.len() > seq.len()
                        && count / its < 10
                        && other.windows(seq.len()).any(|part| part == *seq)
                };
                if expected.iter().any(part) {
                    expected.remove(seq);
                }
            }
            let expected: Vec<Vec<u8>> = expected.into_keys().map(<[u8]>::to_vec).collect();
            assert_eq!(without_parts(hot), expected, "{round}");
        }
    }
}
