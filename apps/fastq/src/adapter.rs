//! Trimming of adapters that are known by their sequence.
//!
//! An adapter is looked for at every position, with mismatches. If it is nowhere, fastp
//! looks again with one base inserted in the read, and then with one deleted. But in these
//! two searches it compares the start of the adapter with the start of the read, whatever
//! the position: the position only limits the number of compared bases. So a hit means that the
//! read starts with the adapter, and the place of the cut depends on the number of bases that
//! agree. This module does the same.

use crate::record::Read4;

/// One mismatch is allowed for this many bases.
const BASES_A_MISMATCH: i64 = 8;
/// Number of bases of a single adapter that must be in the read.
pub const REQUIRED: i64 = 4;

/// Returns the number of bases of one of several adapters that must be in the read.
pub fn required_of(adapters: usize) -> i64 {
    match adapters {
        0..=16 => 4,
        17..=256 => 5,
        _ => 6,
    }
}

/// Cuts `read` where `adapter` starts in it. Returns that place, or `None` if the adapter
/// is not found. The place may be before the read: then the adapter is found from its third,
/// fourth or fifth base on.
pub fn trim(read: &mut Read4<'_>, adapter: &[u8], required: i64) -> Option<i64> {
    if (adapter.len() as i64) < required {
        return None;
    }
    let at = find(read.seq, adapter, required)
        .or_else(|| insertion(read.seq, adapter))
        .or_else(|| deletion(read.seq, adapter))?;
    read.truncate(at.max(0) as usize);
    Some(at)
}

/// Returns the bases of `adapter` that a cut at a place before the read stands for.
pub fn before(adapter: &[u8], at: i64) -> &[u8] {
    &adapter[..(adapter.len() as i64 + at) as usize]
}

fn find(seq: &[u8], adapter: &[u8], required: i64) -> Option<i64> {
    let (len, adapter_len) = (seq.len() as i64, adapter.len() as i64);
    // The first bases of an adapter may be missing, as after the trimming of an added A.
    let start = match adapter_len {
        16.. => -4,
        12.. => -3,
        8.. => -2,
        _ => 0,
    };
    (start..len - required).find(|&at| {
        let compared = adapter_len.min(len - at);
        let allowed = compared / BASES_A_MISMATCH;
        let skipped = (-at).max(0);
        if skipped >= compared {
            return true;
        }
        let ours = &adapter[skipped as usize..compared as usize];
        let theirs = &seq[(at + skipped) as usize..(at + compared) as usize];
        differ_at_most(ours, theirs, allowed)
    })
}

/// Returns the place of the cut, if the read starts with the adapter and one more base.
fn insertion(seq: &[u8], adapter: &[u8]) -> Option<i64> {
    let most = seq.len().checked_sub(1)?.min(adapter.len());
    let len = longest_with_gap(seq, adapter, most)?;
    // The first position leaves as many bases as the adapter has, or more.
    let at = if len == adapter.len() {
        0
    } else {
        seq.len() - 1 - len
    };
    Some(at as i64)
}

/// Returns the place of the cut, if the read starts with the adapter without one base.
fn deletion(seq: &[u8], adapter: &[u8]) -> Option<i64> {
    let shorter = adapter.len().checked_sub(1)?;
    let len = longest_with_gap(adapter, seq, shorter.min(seq.len()))?;
    let at = if len == shorter { 0 } else { seq.len() - len };
    Some(at as i64)
}

/// Returns the greatest length up to `most` for which the first bases of `long`, without
/// one of them, and the first bases of `short` have few enough mismatches. `long` must have
/// one base more than `most`.
///
/// If the base at `i` is left out, the mismatches are those of the first `i` bases, and
/// those of the rest against the bases one further on. The least sum for all `i` below a
/// length follows from that for the length before.
fn longest_with_gap(long: &[u8], short: &[u8], most: usize) -> Option<usize> {
    let allowed = |len: usize| (len as i64 / BASES_A_MISMATCH) - 1;
    let limit = allowed(most);
    let (mut plain, mut least) = (0, i64::MAX / 2);
    let mut found = None;
    let bases = short[..most].iter().zip(long).zip(&long[1..]);
    for (at, ((base, same), next)) in bases.enumerate() {
        if at > 0 {
            least = least.min(plain);
        }
        least += (base != next) as i64;
        plain += (base != same) as i64;
        if least <= allowed(at + 1) {
            found = Some(at + 1);
        }
        if least.min(plain) > limit {
            break;
        }
    }
    found
}

#[inline]
fn differ_at_most(a: &[u8], b: &[u8], allowed: i64) -> bool {
    let mut left = allowed;
    for (a, b) in a.iter().zip(b) {
        if a != b {
            left -= 1;
            if left < 0 {
                return false;
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(seq: &str, adapter: &str) -> Option<i64> {
        let seq = seq.as_bytes();
        let mut read = Read4 {
            name: b"",
            seq,
            strand: b"+",
            qual: seq,
        };
        trim(&mut read, adapter.as_bytes(), REQUIRED)
    }

    #[test]
    fn an_adapter_is_found_with_mismatches_and_before_the_read() {
        assert_eq!(cut("CCCCCCCCCCGGGGAAAATTTT", "GGGGAAAATTTT"), Some(10));
        assert_eq!(cut("CCCCCCCCCCGGGGTAAATTTT", "GGGGAAAATTTT"), Some(10));
        assert_eq!(cut("CCCCCCCCCCGGGG", "GGGGAAAATTTT"), None);
        assert_eq!(cut("CCCCCCCCCCGGGGA", "GGGGAAAATTTT"), Some(10));
        assert_eq!(cut("GATTACATTTTTTTTTT", "CAGATTACA"), Some(-2));
    }

    #[test]
    fn a_gap_is_found_at_the_start_of_the_read_only() {
        let adapter = "AGATCGGAAGAGCACA";
        // One base more, and then bases that occur nowhere in the adapter.
        assert_eq!(cut("AGATCGGTAAGAGCACATTTTTTTT", adapter), Some(0));
        // One base less.
        assert_eq!(cut("AGATCGAAGAGCACATTTTTTTTTT", adapter), Some(0));
        // The same further on in the read is not found.
        assert_eq!(cut("TTTTTTAGATCGGTAAGAGCACATT", adapter), None);
        // Nine bases of the adapter agree, so the cut is nine bases before the last one.
        assert_eq!(cut("AGATCTGGAATTTTTTTTTTTTTTT", adapter), Some(25 - 1 - 9));
    }

    /// The lengths are those of trying every position of the gap for every length.
    #[test]
    fn the_longest_match_with_a_gap_is_found() {
        let mut state = 5u64;
        let mut below = |end: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % end
        };
        let differ = |a: &[u8], b: &[u8]| a.iter().zip(b).filter(|(a, b)| a != b).count();
        let mut found = 0;
        for _ in 0..20_000 {
            let most = below(40);
            let short: Vec<u8> = (0..most).map(|_| b"ACGT"[below(4)]).collect();
            let mut long = short.clone();
            long.insert(below(most + 1), b"ACGT"[below(4)]);
            for _ in 0..below(6) {
                let at = below(long.len());
                long[at] = b"ACGT"[below(4)];
            }
            let expected = (8..=most).rev().find(|&len| {
                (1..len).any(|gap| {
                    let mismatches = differ(&long[..gap], &short[..gap])
                        + differ(&long[gap + 1..=len], &short[gap..len]);
                    mismatches < len / 8
                })
            });
            assert_eq!(longest_with_gap(&long, &short, most), expected);
            found += expected.is_some() as usize;
        }
        assert!(found > 2000, "{found}");
    }
}
