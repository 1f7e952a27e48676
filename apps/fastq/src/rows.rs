//! Reads that wait to be counted, so that vector registers count many of them.
//!
//! A few reads are added at once to small sums, one for each letter and cycle. Before a sum
//! can overflow, [`Rows::take`] returns the sums.

use crate::count::{self, LANES};

/// The letters that are counted.
pub const BASES: [u8; 4] = *b"ATCG";
/// Number of reads that are added at once. The sum of two qualities, which are below 127, fits into a
/// byte.
const GROUP: usize = 4;
/// The most groups that a sum can count.
const GROUPS: usize = u8::MAX as usize / GROUP;

/// Reads that wait, and sums of those before.
#[derive(Clone, Default)]
pub struct Rows {
    /// The bases and the qualities of the reads, with zeros up to the width.
    bases: Vec<u8>,
    qualities: Vec<u8>,
    /// A multiple of `LANES`.
    width: usize,
    len: usize,
    groups: usize,
    sums: [Sums; BASES.len()],
    /// Number of bases with at least quality 20, 30 and 40.
    good: [u64; 3],
}

/// Number of reads with a letter at each cycle, and the sum of its quality characters.
#[derive(Clone, Default)]
pub struct Sums {
    pub counts: Vec<u8>,
    pub qualities: Vec<u16>,
}

impl Rows {
    /// Returns the most bases that a read may have.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Makes room for reads of this many bases. All sums must have been taken.
    pub fn widen(&mut self, bases: usize) {
        debug_assert_eq!((self.len, self.groups), (0, 0));
        self.width = bases.next_multiple_of(LANES);
        for rows in [&mut self.bases, &mut self.qualities] {
            rows.resize(GROUP * self.width, 0);
        }
        for sums in &mut self.sums {
            sums.counts.resize(self.width, 0);
            sums.qualities.resize(self.width, 0);
        }
    }

    /// Returns `true` if the sums must be taken.
    pub fn is_full(&self) -> bool {
        self.groups == GROUPS
    }

    /// Adds a read of at most `width` bases. Returns the number of those outside `BASES`.
    pub fn push(&mut self, seq: &[u8], qual: &[u8]) -> usize {
        let row = self.len * self.width..(self.len + 1) * self.width;
        let (bases, qualities) = (&mut self.bases[row.clone()], &mut self.qualities[row]);
        for (row, part) in [(&mut *bases, seq), (&mut *qualities, qual)] {
            let (begin, end) = row.split_at_mut(seq.len());
            begin.copy_from_slice(part);
            end.fill(0);
        }
        let unknown = others(bases) - (self.width - seq.len());
        self.len += 1;
        if self.len == GROUP {
            self.add_group();
        }
        unknown
    }

    fn add_group(&mut self) {
        for (&letter, sums) in BASES.iter().zip(&mut self.sums) {
            let Sums { counts, qualities } = sums;
            add(letter, &self.bases, &self.qualities, counts, qualities);
        }
        for (sum, good) in self.good.iter_mut().zip(good(&self.qualities)) {
            *sum += good as u64;
        }
        self.len = 0;
        self.groups += 1;
    }

    /// Calls `each` with the sums of every letter, which then begin again. Returns the number of
    /// bases with at least quality 20, 30 and 40.
    pub fn take(&mut self, mut each: impl FnMut(u8, &Sums)) -> [u64; 3] {
        if self.len > 0 {
            self.bases[self.len * self.width..].fill(0);
            self.qualities[self.len * self.width..].fill(0);
            self.add_group();
        }
        for (&letter, sums) in BASES.iter().zip(&mut self.sums) {
            each(letter, sums);
            sums.counts.fill(0);
            sums.qualities.fill(0);
        }
        self.groups = 0;
        std::mem::take(&mut self.good)
    }
}

vectorized! {
    /// Returns the number of bytes outside `BASES`.
    fn others(bases: &[u8]) -> usize {
        count::bytes(bases, |base| BASES.iter().all(|&known| known != base))
    }

    /// Returns the number of qualities of at least 20, 30 and 40.
    fn good(qualities: &[u8]) -> [usize; 3] {
        // Signed, as in fastp.
        let least = |least: i8| count::bytes(qualities, |quality| quality as i8 >= b'!' as i8 + least);
        [least(20), least(30), least(40)]
    }

    /// Adds a group of reads to the sums of one letter.
    fn add(
        letter: u8,
        bases: &[u8],
        qualities: &[u8],
        counts: &mut [u8],
        sums: &mut [u16],
    ) {
        let width = counts.len();
        let (b0, b1, b2, b3) = quarters(bases, width);
        let (q0, q1, q2, q3) = quarters(qualities, width);
        let sums = &mut sums[..width];
        for at in 0..width {
            let is = |row: &[u8]| ((row[at] == letter) as u8).wrapping_neg();
            let (i0, i1, i2, i3) = (is(b0), is(b1), is(b2), is(b3));
            let minus = i0.wrapping_add(i1).wrapping_add(i2.wrapping_add(i3));
            counts[at] = counts[at].wrapping_sub(minus);
            let first = (q0[at] & i0).wrapping_add(q1[at] & i1);
            let second = (q2[at] & i2).wrapping_add(q3[at] & i3);
            sums[at] = sums[at].wrapping_add(u16::from(first)).wrapping_add(u16::from(second));
        }
    }
}

/// Returns the four rows of a group.
#[inline(always)]
fn quarters(rows: &[u8], width: usize) -> (&[u8], &[u8], &[u8], &[u8]) {
    let (first, rows) = rows.split_at(width);
    let (second, rows) = rows.split_at(width);
    let (third, fourth) = rows.split_at(width);
    (first, second, third, &fourth[..width])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_are_those_of_each_read() {
        let mut rows = Rows::default();
        rows.push(b"", b"");
        rows.take(|_, sums| assert!(sums.counts.is_empty()));
        rows.widen(40);
        assert_eq!(rows.width(), 64);
        let mut state = 7usize;
        for full in [true, false, false] {
            let mut expected = [[(0u32, 0u32); 64]; 4];
            let mut good = [0; 3];
            for read in 0.. {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let len = (state >> 40) % 65;
                let seq: Vec<u8> = (0..len).map(|at| b"ACGTN"[(state >> at) % 5]).collect();
                let qual: Vec<u8> = (0..len)
                    .map(|at| b'!' + ((state >> at) % 94) as u8)
                    .collect();
                for (at, (base, quality)) in seq.iter().zip(&qual).enumerate() {
                    if let Some(base) = BASES.iter().position(|known| known == base) {
                        let (count, sum) = &mut expected[base][at];
                        (*count, *sum) = (*count + 1, *sum + u32::from(*quality));
                    }
                }
                let unknown = rows.push(&seq, &qual);
                for (sum, least) in good.iter_mut().zip([20, 30, 40]) {
                    let least = qual.iter().filter(|&&quality| quality >= b'!' + least);
                    *sum += least.count() as u64;
                }
                let others = seq.iter().filter(|&&base| base == b'N').count();
                assert_eq!(unknown, others);
                if rows.is_full() || (!full && read == 9) {
                    break;
                }
            }
            let mut expected = expected.iter();
            let found = rows.take(|_, sums| {
                let counts = sums.counts.iter().map(|&count| count.into());
                let found = counts.zip(sums.qualities.iter().map(|&sum| sum.into()));
                assert!(found.eq(*expected.next().unwrap()));
            });
            assert_eq!(found, good);
        }
    }
}
