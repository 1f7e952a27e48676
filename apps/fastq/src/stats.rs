//! Statistics of the bases and qualities of reads, for the reports.
//!
//! [`Rows`] count bases that are A, C, G or T, many of them at once. Other letters are counted one
//! by one, and so are the bases of long reads.

use crate::bins;
use crate::kmers::Kmers;
use crate::rows::{BASES as KNOWN, Rows};
use serde::{Deserialize, Serialize};

/// The difference between a quality character and its quality.
const ZERO: i64 = 33;

/// Returns `true` if this is not A, T, C or G.
fn is_unknown(base: u8) -> bool {
    !KNOWN.contains(&base)
}

/// The sums of one base at one cycle.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Cell {
    bases: u64,
    quality: i64,
}

impl Cell {
    fn add(&mut self, other: &Self) {
        self.bases += other.bases;
        self.quality += other.quality;
    }

    /// Returns the mean quality.
    fn mean(&self) -> f64 {
        self.quality as f64 / self.bases as f64
    }

    fn count(&mut self, quality: u8) {
        self.bases += 1;
        self.quality += i64::from(quality) - ZERO;
    }
}

fn sum(cells: &[Cell]) -> Cell {
    cells.iter().fold(Cell::default(), |mut sum, cell| {
        sum.add(cell);
        sum
    })
}

/// The statistics of some reads. They must be settled before they are written.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Stats {
    reads: u64,
    lengths: u64,
    /// Number of bases with at least quality 20, 30 and 40.
    good: [u64; 3],
    #[serde(skip)]
    rows: Rows,
    cells: Vec<[Cell; 8]>,
    kmers: Kmers,
    /// The length of the longest read.
    longest: usize,
    /// Number of reads that end in each bin after the cycles that are counted one by one.
    ends: Vec<u64>,
}

impl Stats {
    /// Counts a read.
    pub fn add(&mut self, seq: &[u8], qual: &[u8]) {
        let len = seq.len();
        self.reads += 1;
        self.lengths += len as u64;
        if self.longest < len {
            self.longest = len;
            self.cells.resize(bins::of(len - 1) + 1, Default::default());
        }
        let (exact, exact_qual) = (&seq[..len.min(bins::EXACT)], &qual[..len.min(bins::EXACT)]);
        if self.rows.width() < exact.len() {
            self.add_rows();
            self.rows.widen(exact.len());
        }
        let unknown = self.rows.push(exact, exact_qual);
        if unknown > 0 {
            self.add_unknown(exact, exact_qual);
        }
        if len > exact.len() {
            self.add_tail(seq, qual);
        } else if unknown == 0 {
            self.kmers.add(seq);
        } else {
            self.add_known(seq);
        }
        if self.rows.is_full() {
            self.add_rows();
        }
    }

    /// Counts the sequences of known bases between those that are not known.
    #[cold]
    fn add_known(&mut self, seq: &[u8]) {
        let parts = seq.split(|&base| is_unknown(base));
        parts.for_each(|part| self.kmers.add(part));
    }

    /// Counts the bases that [`Rows`] do not count.
    #[cold]
    fn add_unknown(&mut self, seq: &[u8], qual: &[u8]) {
        for ((&base, &quality), cells) in seq.iter().zip(qual).zip(&mut self.cells) {
            if is_unknown(base) {
                cells[(base & 7) as usize].count(quality);
            }
        }
    }

    /// Counts the bases of a long read that are counted in bins, and its sequences.
    #[cold]
    fn add_tail(&mut self, seq: &[u8], qual: &[u8]) {
        self.add_known(seq);
        for (bin, cycles) in bins::within(bins::EXACT..seq.len()) {
            for (&base, &quality) in seq[cycles.clone()].iter().zip(&qual[cycles]) {
                self.cells[bin][(base & 7) as usize].count(quality);
                for (sum, least) in self.good.iter_mut().zip([20, 30, 40]) {
                    *sum += (quality as i8 >= ZERO as i8 + least) as u64;
                }
            }
        }
        let end = bins::of(seq.len() - 1) - bins::EXACT;
        self.ends.resize(self.ends.len().max(end + 1), 0);
        self.ends[end] += 1;
    }

    /// Counts the reads that wait.
    fn add_rows(&mut self) {
        let Self { rows, cells, .. } = self;
        let good = rows.take(|letter, sums| {
            let cells = cells
                .iter_mut()
                .map(|cells| &mut cells[(letter & 7) as usize]);
            for (cell, (&bases, &quality)) in cells.zip(sums.counts.iter().zip(&sums.qualities)) {
                cell.bases += u64::from(bases);
                cell.quality += i64::from(quality) - ZERO * i64::from(bases);
            }
        });
        for (sum, good) in self.good.iter_mut().zip(good) {
            *sum += good;
        }
    }

    /// Counts all reads that wait.
    #[cold]
    pub fn settle(&mut self) {
        self.add_rows();
        self.kmers.settle();
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, mut other: Self) {
        self.settle();
        other.settle();
        self.reads += other.reads;
        self.lengths += other.lengths;
        if self.cells.len() < other.cells.len() {
            self.cells.resize(other.cells.len(), Default::default());
        }
        let cells = self.cells.iter_mut().flatten();
        for (mine, theirs) in cells.zip(other.cells.iter().flatten()) {
            mine.add(theirs);
        }
        self.longest = self.longest.max(other.longest);
        self.ends.resize(self.ends.len().max(other.ends.len()), 0);
        let sums = [
            (&mut self.good[..], &other.good[..]),
            (&mut self.ends, &other.ends),
        ];
        for (mine, theirs) in sums {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine += theirs;
            }
        }
        self.kmers.merge(&other.kmers);
    }

    /// Returns the figures for the reports.
    pub fn summary(mut self) -> Summary {
        self.settle();
        let sums: Vec<Cell> = self.cells.iter().map(|cells| sum(cells)).collect();
        let mut by_base = [0; 8];
        for cells in &self.cells {
            for (sum, cell) in by_base.iter_mut().zip(cells) {
                *sum += cell.bases;
            }
        }
        Summary {
            reads: self.reads,
            mean_length: self.lengths.checked_div(self.reads).unwrap_or(0),
            bases: sum(&sums).bases,
            q20: self.good[0],
            q30: self.good[1],
            q40: self.good[2],
            gc: by_base[(b'G' & 7) as usize] + by_base[(b'C' & 7) as usize],
            by_base: BASES.map(|(_, base)| by_base[(base & 7) as usize]),
            cycles: self.longest,
            lengths: self.lengths_of_reads(&sums),
            qualities: self.qualities(&sums),
            contents: self.contents(&sums),
            kmers: self.kmers,
        }
    }

    /// Returns the number of reads of each length from 0 on. `sums` are those of each cycle.
    fn lengths_of_reads(&self, sums: &[Cell]) -> Vec<u64> {
        // A cycle has a base of each read that reaches it, but a bin has many of one read.
        let mut reaching: Vec<u64> = sums.iter().map(|sum| sum.bases).collect();
        let mut reads = 0;
        for (reaching, ends) in reaching.iter_mut().skip(bins::EXACT).zip(&self.ends).rev() {
            reads += ends;
            *reaching = reads;
        }
        let reaching = reaching.into_iter();
        let longer = reaching.clone().skip(1).chain([0]);
        [self.reads - sums.first().map_or(0, |sum| sum.bases)]
            .into_iter()
            .chain(reaching.zip(longer).map(|(here, later)| here - later))
            .collect()
    }

    /// Returns the mean quality by cycle of each base but N, and of all bases.
    fn qualities(&self, sums: &[Cell]) -> Vec<(&'static str, Vec<f64>)> {
        let mean: Vec<f64> = sums.iter().map(Cell::mean).collect();
        let quality = |base: u8| {
            let cells = self.cells.iter().zip(&mean);
            let cells = cells.map(|(cells, mean)| (&cells[(base & 7) as usize], mean));
            cells
                .map(|(cell, &mean)| if cell.bases == 0 { mean } else { cell.mean() })
                .collect()
        };
        let mut qualities: Vec<_> = BASES[..4]
            .iter()
            .map(|&(name, base)| (name, quality(base)))
            .collect();
        qualities.push(("mean", mean));
        qualities
    }

    /// Returns the share by cycle of each base, N, and G and C together.
    fn contents(&self, sums: &[Cell]) -> Vec<(&'static str, Vec<f64>)> {
        let share = |bases: &[u8]| {
            let cells = self.cells.iter().zip(sums);
            let part = |cells: &[Cell; 8]| -> u64 {
                let bases = bases.iter().map(|base| cells[(base & 7) as usize].bases);
                bases.sum()
            };
            cells
                .map(|(cells, sum)| part(cells) as f64 / sum.bases as f64)
                .collect()
        };
        let mut contents: Vec<_> = BASES
            .iter()
            .map(|&(name, base)| (name, share(&[base])))
            .collect();
        contents.push(("GC", share(b"GC")));
        contents
    }
}

/// The bases in the order of the reports.
pub const BASES: [(&str, u8); 5] = [
    ("A", b'A'),
    ("T", b'T'),
    ("C", b'C'),
    ("G", b'G'),
    ("N", b'N'),
];

/// The figures of some reads.
pub struct Summary {
    pub reads: u64,
    pub mean_length: u64,
    pub bases: u64,
    pub q20: u64,
    pub q30: u64,
    pub q40: u64,
    pub gc: u64,
    pub by_base: [u64; 5],
    pub cycles: usize,
    /// The number of reads of each length from 0 on. Here and below, the cycles of long reads
    /// are counted in [`bins`].
    pub lengths: Vec<u64>,
    /// The mean quality by cycle, for each base and for all bases.
    pub qualities: Vec<(&'static str, Vec<f64>)>,
    /// The share by cycle, for each base, N, and G and C together.
    pub contents: Vec<(&'static str, Vec<f64>)>,
    kmers: Kmers,
}

impl Summary {
    /// Returns every sequence of five bases with its count, in the order of
    /// fastp.
    pub fn kmers(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        self.kmers.counts()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_survive_many_reads_and_any_order_of_merging() {
        let mut one = Stats::default();
        let mut parts = [Stats::default(), Stats::default()];
        for at in 0..20_000u32 {
            let qual = [b'!' + (at % 90) as u8, b'5', b'?'];
            one.add(b"GCN", &qual);
            parts[(at % 3 == 0) as usize].add(b"GCN", &qual);
        }
        let [mut first, second] = parts;
        first.merge(second);
        let (one, both) = (one.summary(), first.summary());
        assert_eq!((one.reads, one.bases, one.cycles), (20_000, 60_000, 3));
        assert_eq!((one.q20, one.q30, one.gc), (both.q20, both.q30, both.gc));
        let of_quality = |least: u32| (0..20_000).filter(|at| at % 90 >= least).count() as u64;
        // The second base has quality 20 and the third 30.
        assert_eq!(one.q20, of_quality(20) + 40_000);
        assert_eq!(one.q30, of_quality(30) + 20_000);
        assert_eq!((one.q40, both.q40), (of_quality(40), of_quality(40)));
        assert_eq!(one.qualities[4].1, both.qualities[4].1);
        let expected = (0..20_000).map(|at| at % 90).sum::<i64>() as f64 / 20_000.0;
        assert_eq!(one.qualities[4].1, [expected, 20.0, 30.0]);
    }

    #[test]
    fn reads_are_counted_by_their_length() {
        let mut stats = Stats::default();
        for seq in [&b"ACG"[..], b"", b"A", b"ACN", b"TTTTT"] {
            stats.add(seq, &b"IIIIII"[..seq.len()]);
        }
        assert_eq!(stats.summary().lengths, [1, 1, 0, 2, 0, 1]);
        let mut none = Stats::default();
        none.add(b"", b"");
        assert_eq!(none.summary().lengths, [1]);
    }

    /// Long reads are counted in bins, without losing a base.
    #[test]
    fn long_reads_are_counted_in_bins() {
        let long: Vec<u8> = (0..100_000).map(|at| b"ACGTN"[at * at % 7 % 5]).collect();
        let qual: Vec<u8> = (0..long.len()).map(|at| b'!' + (at % 90) as u8).collect();
        let mut stats = Stats::default();
        let mut other = Stats::default();
        for len in [100_000, 30_000, 4096, 4097] {
            stats.add(&long[..len], &qual[..len]);
        }
        other.add(&long[..5], &qual[..5]);
        other.merge(stats);
        let found = other.summary();
        let all = 100_000 + 30_000 + 4096 + 4097 + 5;
        assert_eq!((found.reads, found.bases, found.cycles), (5, all, 100_000));
        assert_eq!(found.by_base.iter().sum::<u64>(), all);
        let entries = found.qualities[4].1.len();
        assert!(entries == bins::of(99_999) + 1 && entries < 8000);
        let wrong = found.contents.iter().flat_map(|(_, curve)| curve);
        assert!(
            wrong
                .chain(&found.qualities[4].1)
                .all(|value| value.is_finite())
        );
        assert_eq!(found.lengths.iter().sum::<u64>(), 5);
        for (len, reads) in [(5, 1), (4096, 1), (4097, 1), (30_000, 1), (100_000, 1)] {
            assert_eq!(found.lengths[bins::of(len - 1) + 1], reads, "{len}");
        }
        let kmers: u64 = found.kmers().map(|(_, count)| count).sum();
        let known = |len: usize| {
            let five = |bases: &&[u8]| bases.iter().all(|base| *base != b'N');
            long[..len].windows(5).filter(five).count() as u64
        };
        let all = [100_000, 30_000, 4096, 4097, 5].map(known);
        assert_eq!(kmers, all.iter().sum::<u64>());
    }

    #[test]
    fn kmers_need_five_known_bases() {
        let mut stats = Stats::default();
        stats.add(b"ACGTANCGTAC", b"IIIIIIIIIII");
        let kmers: Vec<_> = stats
            .summary()
            .kmers()
            .filter(|(_, count)| *count > 0)
            .collect();
        assert_eq!(kmers, [("ACGTA".to_owned(), 1), ("CGTAC".to_owned(), 1)]);
    }
}
