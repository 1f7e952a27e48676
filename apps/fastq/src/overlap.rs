//! Finds where the reads of a pair overlap, corrects them there, and merges them.

use crate::count::{self, LANES};
use crate::record::Read4;

/// An overlap: read 1 starts `offset` bases before the reverse complement of read 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    pub offset: i64,
    pub len: usize,
    pub differences: usize,
    /// One base of either read is left out.
    pub gap: bool,
}

/// The limits of an overlap.
#[derive(Clone, Copy)]
pub struct Limits {
    pub required: i64,
    pub differences: i64,
    pub share: f64,
}

impl Limits {
    /// Returns the number of bases of an overlap of this length that may differ.
    fn allowed(&self, len: usize) -> i64 {
        self.differences.min((len as f64 * self.share) as i64)
    }
}

/// Returns the complement of a base, as a capital letter. It has neither a branch nor a table,
/// for vector registers.
#[inline(always)]
pub fn complement(base: u8) -> u8 {
    let capital = base & !0x20;
    let of = |known, value: u8| ((capital == known) as u8).wrapping_neg() & (value ^ b'N');
    b'N' ^ of(b'A', b'T') ^ of(b'T', b'A') ^ of(b'C', b'G') ^ of(b'G', b'C')
}

vectorized! {
    /// Puts the reverse complement of `seq` into `out`.
    pub fn reverse_complement(seq: &[u8], out: &mut Vec<u8>) {
        out.resize(seq.len().next_multiple_of(LANES), 0);
        out[..seq.len()].copy_from_slice(seq);
        out.iter_mut().for_each(|base| *base = complement(*base));
        out.truncate(seq.len());
        out.reverse();
    }
}

/// fastp stops at too many mismatches only among this many first bases; the rest of a
/// longer overlap may differ in any way.
const COMPARED: usize = 50;
/// Number of bases that the first test of a place compares.
const LOOK: usize = 16;

/// Finds the overlap of read 1 and the reverse complement of read 2.
pub fn find(seq1: &[u8], rc2: &[u8], limits: Limits) -> Option<Overlap> {
    let overlap = |(offset, len, differences)| Overlap {
        offset,
        len,
        differences,
        gap: false,
    };
    let forward = first(seq1, rc2, limits);
    forward.map(overlap).or_else(|| {
        let (shift, len, differences) = first(rc2, seq1, limits)?;
        Some(overlap((-shift, len, differences)))
    })
}

vectorized! {
    /// Finds the first place in `a` at which `b` can start. Returns the place, the length of the
    /// overlap there, and the number of differences.
    fn first(a: &[u8], b: &[u8], limits: Limits) -> Option<(i64, usize, usize)> {
        let places = (a.len() as i64 - limits.required).clamp(0, a.len() as i64) as usize;
        let most = limits.differences.clamp(-1, LOOK as i64) as i8;
        for from in (0..places).step_by(LANES) {
            let looks = look(&a[from..], b);
            // Most of these tests find no place.
            if looks.iter().all(|&differ| differ > most) {
                continue;
            }
            for (at, differ) in (from..places).zip(looks) {
                let len = b.len().min(a.len() - at);
                if differ <= most
                    && let Some(differences) = compare(&a[at..at + len], &b[..len], limits)
                {
                    return Some((at as i64, len, differences));
                }
            }
        }
        None
    }
}

/// Returns the number of differences of the first bases of `b` at each of the first places of
/// `a`. If either is too short, it returns 0 for each.
#[inline(always)]
fn look(a: &[u8], b: &[u8]) -> [i8; LANES] {
    const NEEDED: usize = LANES + LOOK - 1;
    let mut differ = [0; LANES];
    if let (Some(a), Some(b)) = (a.first_chunk::<NEEDED>(), b.first_chunk::<LOOK>()) {
        for (at, base) in b.iter().enumerate() {
            for (differ, other) in differ.iter_mut().zip(&a[at..]) {
                *differ += (other != base) as i8;
            }
        }
    }
    differ
}

/// Finds the overlap, and if there is none, an overlap with one gap.
pub fn find_with_gap(seq1: &[u8], rc2: &[u8], limits: Limits) -> Option<Overlap> {
    if let Some(found) = find(seq1, rc2, limits) {
        return Some(found);
    }
    let (len1, len2) = (seq1.len() as i64, rc2.len() as i64);
    let found = |offset: i64, len: i64| {
        let allowed = limits.allowed(len as usize);
        let a = seq1.get(offset.max(0) as usize..)?;
        let b = rc2.get((-offset).max(0) as usize..)?;
        let differences = differences_with_gap(a, b, len as usize)?;
        (differences as i64 <= allowed).then_some(Overlap {
            offset,
            len: len as usize,
            differences,
            gap: true,
        })
    };
    let forward =
        (0..len1 - limits.required).find_map(|offset| found(offset, len2.min(len1 - offset)));
    forward.or_else(|| {
        (0..len2 - limits.required).find_map(|shift| found(-shift, len1.min(len2 - shift)))
    })
}

/// Returns the number of differences in the first `len` bases of both if one has a gap. fastp gives
/// up unless a gap near the end is good enough. So only a gap before the last base counts.
fn differences_with_gap(a: &[u8], b: &[u8], len: usize) -> Option<usize> {
    let before = len.checked_sub(2).filter(|&before| before > 0)?;
    let same = count::differences(&a[..before], &b[..before]);
    let last = |a: &[u8], b: &[u8]| (a[before + 1] != b[before]) as usize;
    Some(same + last(a, b).min(last(b, a)))
}

vectorized! {
    /// Returns the number of differences, unless there are too many.
    fn compare(a: &[u8], b: &[u8], limits: Limits) -> Option<usize> {
        let allowed = limits.allowed(a.len());
        let head = a.len().min(COMPARED);
        let differences = count::differences(&a[..head], &b[..head]);
        if differences as i64 > allowed {
            return None;
        }
        Some(differences + count::differences(&a[head..], &b[head..]))
    }
}

/// The quality from which on a base is trusted, and that up to which it is not.
const GOOD: i8 = 30 + 33;
const BAD: i8 = 14 + 33;

/// The bases and qualities of one read that a correction changes.
#[derive(Default)]
pub struct Corrected {
    pub seq: Vec<u8>,
    pub qual: Vec<u8>,
}

impl Corrected {
    fn start(&mut self, read: &Read4<'_>) {
        self.seq.clear();
        self.qual.clear();
        self.seq.extend_from_slice(read.seq);
        self.qual.extend_from_slice(read.qual);
    }
}

/// Where the reads overlap and differ, replaces the base of low quality by the other
/// read's. Returns which reads have changed and are now in `out`, and the number of bases.
pub fn correct(
    read1: &Read4<'_>,
    read2: &Read4<'_>,
    overlap: Overlap,
    out: &mut [Corrected; 2],
) -> ([bool; 2], u64) {
    let mut changed = [false; 2];
    let mut bases = 0;
    if overlap.differences == 0 {
        return (changed, 0);
    }
    let start1 = overlap.offset.max(0) as usize;
    let start2 = read2.len() - (-overlap.offset).max(0) as usize - 1;
    for at in 0..overlap.len {
        let (p1, p2) = (start1 + at, start2 - at);
        let (base1, base2) = (read1.seq[p1], read2.seq[p2]);
        if base1 == complement(base2) {
            continue;
        }
        let (qual1, qual2) = (read1.qual[p1] as i8, read2.qual[p2] as i8);
        let (which, at, base, qual) = if qual1 >= GOOD && qual2 <= BAD {
            (1, p2, complement(base1), read1.qual[p1])
        } else if qual2 >= GOOD && qual1 <= BAD {
            (0, p1, complement(base2), read2.qual[p2])
        } else {
            continue;
        };
        if !changed[which] {
            changed[which] = true;
            out[which].start([read1, read2][which]);
        }
        out[which].seq[at] = base;
        out[which].qual[at] = qual;
        bases += 1;
    }
    (changed, bases)
}

/// The bytes of a merged read.
#[derive(Default)]
pub struct Merged {
    name: Vec<u8>,
    seq: Vec<u8>,
    strand: Vec<u8>,
    qual: Vec<u8>,
}

/// Joins the reads of a pair that overlaps: the whole first read, and the part of the second
/// that follows it.
pub fn merge<'a>(
    read1: &Read4<'_>,
    read2: &Read4<'_>,
    rc2: &[u8],
    overlap: Overlap,
    out: &'a mut Merged,
) -> Read4<'a> {
    let len1 = overlap.len + overlap.offset.max(0) as usize;
    let len2 = if overlap.offset > 0 {
        read2.len() - overlap.len
    } else {
        0
    };
    let tail = format!(" merged_{len1}_{len2}");
    let set = |out: &mut Vec<u8>, bytes: &[u8]| {
        out.clear();
        out.extend_from_slice(bytes);
    };
    set(&mut out.name, read1.name);
    out.name.extend_from_slice(tail.as_bytes());
    set(&mut out.strand, read1.strand);
    if read1.strand != b"+" {
        out.strand.extend_from_slice(tail.as_bytes());
    }
    set(&mut out.seq, &read1.seq[..len1.min(read1.len())]);
    set(&mut out.qual, &read1.qual[..len1.min(read1.len())]);
    if len2 > 0 {
        out.seq.extend_from_slice(&rc2[overlap.len..]);
        out.qual.extend(read2.qual[..len2].iter().rev());
    }
    Read4 {
        name: &out.name,
        seq: &out.seq,
        strand: &out.strand,
        qual: &out.qual,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        required: 30,
        differences: 5,
        share: 0.2,
    };

    #[test]
    fn an_overlap_needs_one_base_more_than_the_limit() {
        let mut state = 9u32;
        let mut base = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            b"ACGT"[(state >> 20) as usize % 4]
        };
        let genome: Vec<u8> = (0..100).map(|_| base()).collect();
        let find = |from: usize, to: usize| find(&genome[..to], &genome[from..], LIMITS);
        assert_eq!(find(40, 70), None);
        assert_eq!(
            find(39, 70),
            Some(Overlap {
                offset: 39,
                len: 31,
                differences: 0,
                gap: false
            })
        );
    }

    #[test]
    fn after_fifty_bases_anything_is_an_overlap() {
        let mut one = vec![b'A'; 100];
        let other = one.clone();
        one[50..].fill(b'C');
        assert_eq!(
            find(&one, &other, LIMITS),
            Some(Overlap {
                offset: 0,
                len: 100,
                differences: 50,
                gap: false
            })
        );
        one[44..].fill(b'C');
        assert!(find(&one, &other, LIMITS).is_none_or(|overlap| overlap.offset != 0));
    }

    /// Tests every place alone.
    fn find_one_by_one(seq1: &[u8], rc2: &[u8], limits: Limits) -> Option<Overlap> {
        let (len1, len2) = (seq1.len() as i64, rc2.len() as i64);
        let places = (0..len1 - limits.required).chain((0..len2 - limits.required).map(|at| -at));
        let forward = (len1 - limits.required).max(0) as usize;
        places.enumerate().find_map(|(at, offset)| {
            let (a, b) = if at < forward {
                (&seq1[offset as usize..], rc2)
            } else {
                (&rc2[-offset as usize..], seq1)
            };
            let len = a.len().min(b.len());
            let differences = compare(&a[..len], &b[..len], limits)?;
            Some(Overlap {
                offset,
                len,
                differences,
                gap: false,
            })
        })
    }

    #[test]
    fn many_places_at_once_are_those_one_by_one() {
        let mut state = 5u32;
        let mut random = |below: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % below
        };
        let mut found = 0;
        for _ in 0..20_000 {
            let genome: Vec<u8> = (0..120).map(|_| b"ACGT"[random(4)]).collect();
            let mut part = || {
                let from = random(100);
                let mut part = genome[from..from + random(121 - from)].to_vec();
                for _ in 0..random(5).min(part.len()) {
                    let at = random(part.len());
                    part[at] = b'N';
                }
                part
            };
            let (one, other) = (part(), part());
            let limits = Limits {
                required: random(40) as i64,
                differences: random(6) as i64,
                share: 0.2,
            };
            let expected = find_one_by_one(&one, &other, limits);
            assert_eq!(find(&one, &other, limits), expected);
            found += expected.is_some() as u32;
        }
        assert!((5_000..15_000).contains(&found), "{found}");
    }
}
