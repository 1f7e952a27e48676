//! Counts the reads that occurred before.
//!
//! fastp keeps a Bloom filter of one to 32 gigabytes: a few bit arrays and as many sums
//! over the bases, each of which selects a bit of its array. A read counts as seen before if
//! every array has its bit. This module keeps the set bits instead, for each array in a hash
//! set that grows with the data, until a bit array takes no more memory than the hash set.

use crate::count::LANES;
use crate::record::Read4;
use std::ops::Range;

/// Number of factors of each array. The factor of a position is that of its remainder.
const PRIMES: usize = 1 << 9;
/// Number of bases that are multiplied at once.
const PART: usize = 8 * LANES;
/// Number of bits in the first of the two parts of a factor. The values of `PART` bases times
/// such parts add up to less than 2^31.
const LOW: u32 = 13;

/// Determines which bits a read sets.
///
/// fastp sums, for each array, factor times (value of the base + position). The sum of factor
/// times position is the same for all bases, so sums of it are kept. Factors are split into two
/// parts of 16 bits, so that a vector register multiplies many by the values of bases.
pub struct Places {
    arrays: Vec<Factors>,
    bits: u64,
}

/// The factors of an array by their positions.
struct Factors {
    /// Both have zeros at the end, so that a rest of bases can be filled up.
    low: [i16; PRIMES + LANES],
    high: [i16; PRIMES + LANES],
    /// The sum of the factors before each position, and the sum of these factors times their
    /// positions.
    before: [(u64, u64); PRIMES + 1],
}

impl Factors {
    fn new(factors: impl Iterator<Item = u32>) -> Self {
        let mut new = Self {
            low: [0; PRIMES + LANES],
            high: [0; PRIMES + LANES],
            before: [(0, 0); PRIMES + 1],
        };
        for (at, factor) in factors.take(PRIMES).enumerate() {
            new.low[at] = (factor & ((1 << LOW) - 1)) as i16;
            new.high[at] = (factor >> LOW) as i16;
            let (sum, by_position) = new.before[at];
            let factor = u64::from(factor);
            new.before[at + 1] = (sum + factor, by_position + factor * at as u64);
        }
        new
    }

    /// Returns the sum of the factors of these positions times the positions, `before` bases
    /// after the first ones.
    fn by_position(&self, before: u64, positions: Range<usize>) -> u64 {
        let (begin, end) = (self.before[positions.start], self.before[positions.end]);
        let sum = (end.0 - begin.0).wrapping_mul(before);
        sum.wrapping_add(end.1 - begin.1)
    }

    /// Returns the sum of the factors from this position on times the values, which are a
    /// multiple of `LANES`.
    #[inline(always)]
    fn by_value(&self, from: usize, values: &[u8]) -> u64 {
        let sum = |factors: &[i16]| {
            let pairs = factors[from..].iter().zip(values);
            let products = pairs.map(|(&factor, &value)| i32::from(factor) * i32::from(value));
            products.fold(0, i32::wrapping_add) as u64
        };
        sum(&self.low).wrapping_add(sum(&self.high) << LOW)
    }
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
        let primes = primes(arrays * PRIMES);
        let of = |array| primes[array..].iter().step_by(arrays).copied();
        Self {
            arrays: (0..arrays).map(|array| Factors::new(of(array))).collect(),
            bits: 1 << (32 + shift),
        }
    }

    /// Appends the bits of a read or a pair to `out`, one for each array.
    pub fn note(&self, read1: &Read4<'_>, read2: Option<&Read4<'_>>, out: &mut Vec<u64>) {
        let sums = out.len();
        out.resize(sums + self.arrays.len(), 0);
        let sums = &mut out[sums..];
        self.add(0, read1.seq, sums);
        if let Some(read2) = read2 {
            self.add(read1.len(), read2.seq, sums);
        }
        sums.iter_mut().for_each(|sum| *sum &= self.bits - 1);
    }

    /// Adds the bases, of which the first is at `from`, to the sums.
    fn add(&self, mut from: usize, mut seq: &[u8], sums: &mut [u64]) {
        while !seq.is_empty() {
            let first = from % PRIMES;
            let (now, later) = seq.split_at(seq.len().min(PRIMES - first).min(PART));
            add_values(&self.arrays, first, now, sums);
            for (sum, factors) in sums.iter_mut().zip(&self.arrays) {
                let positions =
                    factors.by_position((from - first) as u64, first..first + now.len());
                *sum = sum.wrapping_add(positions);
            }
            from += now.len();
            seq = later;
        }
    }
}

vectorized! {
    /// Adds the factors from this position on, times the values of the bases, to the sums.
    fn add_values(arrays: &[Factors], from: usize, seq: &[u8], sums: &mut [u64]) {
        let mut values = [0; PART];
        let values = &mut values[..seq.len().next_multiple_of(LANES)];
        values[..seq.len()].copy_from_slice(seq);
        values.iter_mut().for_each(|base| *base = value(*base));
        values[seq.len()..].fill(0);
        for (sum, factors) in sums.iter_mut().zip(arrays) {
            *sum = sum.wrapping_add(factors.by_value(from, values));
        }
    }
}

/// Returns the value of a base, without a branch or a table, for vector registers.
#[inline(always)]
fn value(base: u8) -> u8 {
    const OTHER: u8 = 13;
    let of = |known: u8, value: u8| ((base == known) as u8).wrapping_neg() & (value ^ OTHER);
    OTHER ^ of(b'A', 7) ^ of(b'T', 222) ^ of(b'C', 74) ^ of(b'G', 31)
}

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

/// Returns `true` if the number is a prime, given the primes at least up to its square root.
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
            arrays: (0..places.arrays.len())
                .map(|_| Bits::new(places.bits))
                .collect(),
            reads: 0,
            duplicates: 0,
        }
    }

    /// Counts the reads with these bits, and calls `each` with `true` for each that occurred before.
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

    /// Counts later reads, given their number, and the bits of those that are not
    /// duplicates of each other. Returns `None` if so many reads cannot have these bits. Reads
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

    /// Returns the number of bits of each read.
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
    Few(Table),
    Many(Vec<u64>),
}

impl Bits {
    fn new(bits: u64) -> Self {
        Self::Few(Table::new(bits))
    }

    /// Returns the number of bits.
    fn len(&self) -> u64 {
        match self {
            Self::Few(table) => table.bits,
            Self::Many(words) => words.len() as u64 * 64,
        }
    }

    /// Sets a bit. Returns `true` if it was set before.
    fn set(&mut self, place: u64) -> bool {
        match self {
            Self::Many(words) => set(words, place),
            Self::Few(table) => {
                let known = table.insert(place);
                if !known && table.is_full(place) {
                    self.grow();
                }
                known
            }
        }
    }

    #[cold]
    fn grow(&mut self) {
        let Self::Few(table) = self else {
            return;
        };
        if table.larger() as u64 * u64::from(u32::BITS) < table.bits {
            table.grow();
            return;
        }
        let mut words = vec![0u64; (table.bits / 64) as usize];
        for place in table.places() {
            set(&mut words, place);
        }
        *self = Self::Many(words);
    }
}

/// Sets a bit of an array. Returns `true` if it was set before.
fn set(words: &mut [u64], place: u64) -> bool {
    let word = &mut words[(place / 64) as usize];
    let bit = 1 << (place % 64);
    let known = *word & bit != 0;
    *word |= bit;
    known
}

/// An empty slot.
const FREE: u32 = u32::MAX;

/// A hash table of places. A slot has the lower 32 bits of a place. The upper ones, three at most, are in the position
/// of the slot: a place uses only slots whose positions end with them. So a slot takes half the memory of a place, and
/// with it half the cache misses and page faults, of which most of the work consists.
struct Table {
    /// Their number is a power of two.
    slots: Vec<u32>,
    /// Number of slots in use, for each value of the upper bits.
    used: [usize; 8],
    bits: u64,
    /// The places whose lower bits are those of an empty slot: a bit for each value of the upper ones.
    others: u8,
}

impl Table {
    fn new(bits: u64) -> Self {
        assert!(
            bits <= 1 << 35,
            "the upper bits of a place are three at most"
        );
        Self {
            slots: vec![FREE; 1 << 10],
            used: [0; 8],
            bits,
            others: 0,
        }
    }

    /// Returns the distance of the slots that a place may use.
    fn step(&self) -> usize {
        (self.bits >> u32::BITS).max(1) as usize
    }

    /// Inserts a place. Returns `true` if the table had it.
    #[inline]
    fn insert(&mut self, place: u64) -> bool {
        let (lower, upper) = (place as u32, (place >> u32::BITS) as usize);
        if lower == FREE {
            let known = self.others & 1 << upper != 0;
            self.others |= 1 << upper;
            return known;
        }
        let step = self.step();
        let mask = self.slots.len() - 1;
        // The multiplier is 2^64 divided by the golden ratio: it spreads places that are close
        // together.
        let hash = u64::from(lower).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
        let mut at = hash as usize & mask & !(step - 1) | upper;
        loop {
            match self.slots[at] {
                FREE => {
                    self.slots[at] = lower;
                    self.used[upper] += 1;
                    return false;
                }
                known if known == lower => return true,
                _ => at = (at + step) & mask,
            }
        }
    }

    /// Returns `true` if more places with the upper bits of this one would take long to find.
    fn is_full(&self, place: u64) -> bool {
        let used = self.used[(place >> u32::BITS) as usize];
        used * 4 > self.slots.len() / self.step() * 3
    }

    fn larger(&self) -> usize {
        self.slots.len() * 2
    }

    fn grow(&mut self) {
        let slots = vec![FREE; self.larger()];
        let mut larger = Self {
            slots,
            used: [0; 8],
            ..*self
        };
        for place in self.places() {
            larger.insert(place);
        }
        *self = larger;
    }

    fn places(&self) -> impl Iterator<Item = u64> + '_ {
        let place = |upper: usize, lower: u32| (upper as u64) << u32::BITS | u64::from(lower);
        let step = self.step();
        let slots = self.slots.iter().enumerate();
        let slots = slots.filter(|&(_, &lower)| lower != FREE);
        let others = (0..step).filter(|upper| self.others & 1 << upper != 0);
        slots
            .map(move |(at, &lower)| place(at & (step - 1), lower))
            .chain(others.map(move |upper| place(upper, FREE)))
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

    /// Places of all sizes that share their lower bits, some of which are those of an empty slot.
    #[test]
    fn places_with_the_same_lower_bits_are_others() {
        for upper in [0, 1, 2, 3] {
            let mut bits = Bits::new(1 << (32 + upper));
            let mut model = std::collections::HashSet::new();
            for lower in (0..4000u64).chain((0..4000).map(|at| u64::from(u32::MAX) - (at << 19))) {
                for high in (0..1 << upper).filter(|high| (lower + high) % 3 != 0) {
                    let place = high << 32 | lower;
                    assert_eq!(bits.set(place), !model.insert(place), "{place:x}");
                }
            }
            assert!(model.iter().all(|&place| bits.set(place)));
            let Bits::Few(table) = &bits else {
                panic!("few of the bits are set");
            };
            assert_eq!(
                table.places().collect::<std::collections::HashSet<_>>(),
                model
            );
        }
    }

    /// Sums of short reads are all small.
    #[test]
    fn places_with_the_same_upper_bits_find_room() {
        let mut bits = Bits::new(1 << 35);
        for place in 0..10_000 {
            assert!(!bits.set(place));
        }
        assert!((0..10_000).all(|place| bits.set(place)));
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
                    *sum += prime * (value(base) as u64 + at as u64);
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
