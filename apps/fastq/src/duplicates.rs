//! How many reads occurred before.
//!
//! fastp keeps a Bloom filter of one to 24 gigabytes: a few bit arrays and as many sums over the
//! bases, each of which names a bit. Here the bits that are set are kept instead, in hash
//! sets that grow with the data, until a bit array takes no more memory than they.
//!
//! The sums are not in every detail those of fastp 0.23.2, which takes more reads that differ for
//! the same.

use crate::record::Read4;

const PRIMES: usize = 1 << 9;

/// Which bits of the arrays a read sets.
pub struct Places {
    primes: Vec<u64>,
    arrays: usize,
    bits: u64,
}

impl Places {
    /// For a level of accuracy from 1 to 6.
    pub fn new(level: i64) -> Self {
        let (shift, arrays) = match level {
            ..=1 => (0, 2),
            2 => (1, 2),
            3 => (1, 4),
            4 => (2, 4),
            5 => (3, 4),
            _ => (3, 6),
        };
        Self {
            primes: primes(arrays * PRIMES),
            arrays,
            bits: 1 << (32 + shift),
        }
    }

    pub fn arrays(&self) -> usize {
        self.arrays
    }

    /// Appends one place for each array.
    pub fn add(&self, read1: &Read4<'_>, read2: Option<&Read4<'_>>, out: &mut Vec<u64>) {
        let mut sums = [0u64; 6];
        match self.arrays {
            2 => self.sum::<2>(read1, read2, &mut sums),
            4 => self.sum::<4>(read1, read2, &mut sums),
            _ => self.sum::<6>(read1, read2, &mut sums),
        }
        out.extend(sums[..self.arrays].iter().map(|sum| sum & (self.bits - 1)));
    }

    fn sum<const N: usize>(
        &self,
        read1: &Read4<'_>,
        read2: Option<&Read4<'_>>,
        sums: &mut [u64; 6],
    ) {
        // With six arrays this is no power of two less one, and fastp uses it as a mask still.
        let mask = PRIMES * N - 1;
        let mut own = [0u64; N];
        for (at, &base) in read1
            .seq
            .iter()
            .chain(read2.map_or(&b""[..], |read| read.seq))
            .enumerate()
        {
            let value = VALUES[base as usize] as u64 + at as u64;
            for (array, sum) in own.iter_mut().enumerate() {
                let prime = self.primes[(at * N + array) & mask];
                *sum = sum.wrapping_add(prime.wrapping_mul(value));
            }
        }
        sums[..N].copy_from_slice(&own);
    }
}

static VALUES: [u8; 256] = {
    let mut values = [13; 256];
    values[b'A' as usize] = 7;
    values[b'T' as usize] = 222;
    values[b'C' as usize] = 74;
    values[b'G' as usize] = 31;
    values
};

/// `count` primes, each more than ten thousand above the one before.
fn primes(count: usize) -> Vec<u64> {
    let mut found = Vec::with_capacity(count);
    let mut number = 10_000u64;
    while found.len() < count {
        number += 1;
        if (2..)
            .take_while(|by| by * by <= number)
            .all(|by| !number.is_multiple_of(by))
        {
            found.push(number);
            number += 10_000;
        }
    }
    found
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

    /// Counts a read by its places and tells whether it occurred before.
    pub fn add(&mut self, places: &[u64]) -> bool {
        let mut known = true;
        for (bits, &place) in self.arrays.iter_mut().zip(places) {
            known &= bits.set(place);
        }
        self.reads += 1;
        self.duplicates += known as u64;
        known
    }

    /// Share of the reads that occurred before.
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

/// A slot without a place in it: no array has so many bits.
const FREE: u64 = u64::MAX;

impl Bits {
    fn new(bits: u64) -> Self {
        Self::Few {
            slots: vec![FREE; 1 << 10],
            used: 0,
            bits,
        }
    }

    /// Sets a bit and tells whether it was set before.
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

/// Puts a place into a table of a power of two of slots; tells whether it was there.
fn insert(slots: &mut [u64], place: u64) -> bool {
    let mask = slots.len() - 1;
    // The multiplier is 2^64 divided by the golden ratio: it spreads places that are near.
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

    #[test]
    fn copies_are_duplicates() {
        let places = Places::new(1);
        let mut seen = Seen::new(&places);
        let read = |seq| Read4 {
            name: b"",
            seq,
            strand: b"",
            qual: seq,
        };
        let mut known = vec![];
        for seq in [&b"ACGT"[..], b"ACGA", b"ACGT", b"ACG", b"ACGT"] {
            let mut out = vec![];
            places.add(&read(seq), None, &mut out);
            known.push(seen.add(&out));
        }
        assert_eq!(known, [false, false, true, false, true]);
        assert_eq!(seen.rate(), 0.4);
    }
}
