//! How many reads occurred before.
//!
//! fastp keeps a Bloom filter of one to 32 gigabytes: a few bit arrays and as many sums
//! over the bases, each of which selects a bit of its array. A read counts as seen before if
//! every array has its bit. This module keeps the set bits instead, for each array in a hash
//! set that grows with the data, until a bit array takes no more memory than the hash set.

use crate::record::Read4;

/// How many primes each array has.
const PRIMES: usize = 1 << 9;

/// Determines which bits a read sets.
pub struct Places {
    /// The factors of the bases by their positions: for each position, one for each array.
    factors: Vec<u32>,
    arrays: usize,
    bits: u64,
}

impl Places {
    /// Creates the places for a level of accuracy from 1 to 6.
    pub fn new(level: i64) -> Self {
        let (shift, arrays) = match level {
            ..=1 => (0, 2),
            2 => (1, 2),
            3 => (1, 4),
            4 => (2, 4),
            5 => (3, 4),
            _ => (3, 8),
        };
        Self {
            factors: primes(arrays * PRIMES),
            arrays,
            bits: 1 << (32 + shift),
        }
    }

    /// Appends the bits of a read or a pair to `out`, one for each array.
    pub fn note(&self, read1: &Read4<'_>, read2: Option<&Read4<'_>>, out: &mut Vec<u64>) {
        match self.arrays {
            2 => self.note_all::<2>(read1, read2, out),
            4 => self.note_all::<4>(read1, read2, out),
            _ => self.note_all::<8>(read1, read2, out),
        }
    }

    fn note_all<const N: usize>(
        &self,
        read1: &Read4<'_>,
        read2: Option<&Read4<'_>>,
        out: &mut Vec<u64>,
    ) {
        let mut sums = [0u64; N];
        self.add(0, read1.seq, &mut sums);
        if let Some(read2) = read2 {
            self.add(read1.len(), read2.seq, &mut sums);
        }
        out.extend(sums.map(|sum| sum & (self.bits - 1)));
    }

    /// Adds the bases, of which the first is at `from`, to the sums.
    fn add<const N: usize>(&self, mut from: usize, mut seq: &[u8], sums: &mut [u64; N]) {
        let (factors, _) = self.factors.as_chunks::<N>();
        while !seq.is_empty() {
            let factors = &factors[from % PRIMES..];
            let (now, later) = seq.split_at(seq.len().min(factors.len()));
            for (at, (&base, factors)) in now.iter().zip(factors).enumerate() {
                let value = VALUES[base as usize] + (from + at) as u32;
                for (sum, &factor) in sums.iter_mut().zip(factors) {
                    *sum = sum.wrapping_add(factor as u64 * value as u64);
                }
            }
            from += now.len();
            seq = later;
        }
    }
}

static VALUES: [u32; 256] = {
    let mut values = [13; 256];
    values[b'A' as usize] = 7;
    values[b'T' as usize] = 222;
    values[b'C' as usize] = 74;
    values[b'G' as usize] = 31;
    values
};

/// Returns `count` primes, each more than ten thousand above the previous one.
fn primes(count: usize) -> Vec<u32> {
    // The square of the last is above all numbers that are tested.
    let mut small: Vec<u32> = vec![];
    for number in 2..7000 {
        if is_prime(number, &small) {
            small.push(number);
        }
    }
    let mut found = Vec::with_capacity(count);
    let mut number = 10_000u32;
    while found.len() < count {
        number += 1;
        if is_prime(number, &small) {
            found.push(number);
            number += 10_000;
        }
    }
    found
}

/// Whether the number is a prime, given the primes at least up to its square root.
fn is_prime(number: u32, small: &[u32]) -> bool {
    small
        .iter()
        .take_while(|&by| by * by <= number)
        .all(|&by| !number.is_multiple_of(by))
}

/// The reads that were seen.
pub struct Seen {
    arrays: Vec<Bits>,
    reads: u64,
    duplicates: u64,
}

impl Seen {
    pub fn new(places: &Places) -> Self {
        Self {
            arrays: (0..places.arrays).map(|_| Bits::new(places.bits)).collect(),
            reads: 0,
            duplicates: 0,
        }
    }

    /// Counts the reads with these bits, and calls `each` with whether each occurred before.
    pub fn add(&mut self, places: &[u64], mut each: impl FnMut(bool)) {
        for places in places.chunks_exact(self.arrays.len()) {
            // Every array must get its bit, even after one that has not had it.
            let known = self
                .arrays
                .iter_mut()
                .zip(places)
                .fold(true, |known, (bits, &place)| bits.set(place) & known);
            self.reads += 1;
            self.duplicates += known as u64;
            each(known);
        }
    }

    /// Creates the result of counts that were made before.
    pub fn counted(reads: u64, duplicates: u64) -> Self {
        Self {
            arrays: vec![],
            reads,
            duplicates,
        }
    }

    /// Counts later reads, given how many there are, and the bits of those that are not
    /// duplicates of each other. Returns `None` if these cannot be bits of so many reads. Reads
    /// that were counted before are not counted again.
    pub fn add_later(&mut self, reads: u64, places: &[u64]) -> Option<()> {
        if self.arrays.is_empty() {
            return places.is_empty().then_some(());
        }
        let new = (places.len() / self.arrays.len()) as u64;
        let bits = self.arrays.first().map_or(0, Bits::len);
        if !places.len().is_multiple_of(self.arrays.len())
            || places.iter().any(|&place| place >= bits)
        {
            return None;
        }
        let duplicates = reads.checked_sub(new)?;
        self.add(places, |_| {});
        self.reads += duplicates;
        self.duplicates += duplicates;
        Some(())
    }

    /// Returns how many bits each read has.
    pub fn arrays(&self) -> usize {
        self.arrays.len()
    }

    /// Returns the share of the reads that occurred before.
    pub fn rate(&self) -> f64 {
        if self.reads == 0 {
            0.0
        } else {
            self.duplicates as f64 / self.reads as f64
        }
    }
}

/// A large array of bits of which few are set, or many.
enum Bits {
    Few {
        slots: Vec<u64>,
        used: usize,
        bits: u64,
    },
    Many(Vec<u64>),
}

/// The value of an empty slot: no array has this many bits.
const FREE: u64 = u64::MAX;

impl Bits {
    fn new(bits: u64) -> Self {
        Self::Few {
            slots: vec![FREE; 1 << 10],
            used: 0,
            bits,
        }
    }

    /// Returns how many bits there are.
    fn len(&self) -> u64 {
        match self {
            Self::Few { bits, .. } => *bits,
            Self::Many(words) => words.len() as u64 * 64,
        }
    }

    /// Sets a bit. Returns whether it was set before.
    fn set(&mut self, place: u64) -> bool {
        match self {
            Self::Many(words) => {
                let word = &mut words[(place / 64) as usize];
                let bit = 1 << (place % 64);
                let known = *word & bit != 0;
                *word |= bit;
                known
            }
            Self::Few { slots, used, .. } => {
                if insert(slots, place) {
                    return true;
                }
                *used += 1;
                if *used * 4 > slots.len() * 3 {
                    self.grow();
                }
                false
            }
        }
    }

    #[cold]
    fn grow(&mut self) {
        let Self::Few { slots, bits, .. } = self else {
            return;
        };
        let places = std::mem::take(slots);
        let known = places.into_iter().filter(|&place| place != FREE);
        if slots_for(known.size_hint().1.unwrap_or(0)) as u64 * 64 >= *bits {
            let mut words = vec![0u64; (*bits / 64) as usize];
            known.for_each(|place| words[(place / 64) as usize] |= 1 << (place % 64));
            *self = Self::Many(words);
        } else {
            let mut larger = vec![FREE; slots_for(known.size_hint().1.unwrap_or(0))];
            known.for_each(|place| {
                insert(&mut larger, place);
            });
            *slots = larger;
        }
    }
}

fn slots_for(slots: usize) -> usize {
    slots * 2
}

/// Inserts a place into a table whose number of slots is a power of two. Returns whether the
/// table had it.
fn insert(slots: &mut [u64], place: u64) -> bool {
    let mask = slots.len() - 1;
    // The multiplier is 2^64 divided by the golden ratio: it spreads places that are close
    // together.
    let mut at = (place.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) as usize & mask;
    loop {
        if slots[at] == place {
            return true;
        }
        if slots[at] == FREE {
            slots[at] = place;
            return false;
        }
        at = (at + 1) & mask;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_bits_answer_alike() {
        let mut bits = Bits::new(1 << 20);
        let mut model = std::collections::HashSet::new();
        let mut state = 7u64;
        for _ in 0..200_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let place = state >> 44;
            assert_eq!(bits.set(place), !model.insert(place));
        }
        assert!(matches!(bits, Bits::Many(_)));
    }

    fn read(seq: &[u8]) -> Read4<'_> {
        Read4 {
            name: b"",
            seq,
            strand: b"",
            qual: seq,
        }
    }

    #[test]
    fn copies_are_duplicates() {
        for level in 1..=6 {
            let places = Places::new(level);
            let mut seen = Seen::new(&places);
            let mut noted = vec![];
            for seq in [&b"ACGT"[..], b"ACGA", b"ACGT", b"ACG", b"ACGT"] {
                places.note(&read(seq), None, &mut noted);
            }
            let mut known = vec![];
            seen.add(&noted, |before| known.push(before));
            assert_eq!(known, [false, false, true, false, true]);
            assert_eq!(seen.rate(), 0.4);
        }
    }

    #[test]
    fn a_duplicate_has_its_bit_in_every_array() {
        let mut seen = Seen::new(&Places::new(1));
        let mut known = vec![];
        seen.add(&[1, 2, 1, 3, 4, 2, 1, 2, 4, 3], |before| known.push(before));
        // The last one has its bits from two others.
        assert_eq!(known, [false, false, false, true, true]);
    }

    /// A long pair has the sums that fastp's loop over all arrays computes.
    #[test]
    fn the_sums_are_those_of_fastp() {
        let bases: Vec<u8> = (0..9000).map(|at| b"ACGTN"[at * at % 7 % 5]).collect();
        for (level, arrays, bits) in [(1, 2, 32), (3, 4, 33), (6, 8, 35)] {
            let primes = primes(arrays * 512);
            let mut sums = vec![0u64; arrays];
            for (at, &base) in bases.iter().enumerate() {
                for (array, sum) in sums.iter_mut().enumerate() {
                    let prime = primes[(at * arrays + array) & (512 * arrays - 1)] as u64;
                    *sum += prime * (VALUES[base as usize] as u64 + at as u64);
                }
            }
            let (first, second) = bases.split_at(2500);
            let mut noted = vec![];
            Places::new(level).note(&read(first), Some(&read(second)), &mut noted);
            let expected: Vec<u64> = sums.iter().map(|sum| sum % (1 << bits)).collect();
            assert_eq!(noted, expected, "level {level}");
        }
    }
}
