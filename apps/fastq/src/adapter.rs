//! Trimming of adapters that are known by their sequence.

use crate::record::Read4;

/// One mismatch is allowed for this many bases.
const BASES_A_MISMATCH: i64 = 8;
/// How many bases of a single adapter must be in the read.
pub const REQUIRED: i64 = 4;

/// Returns how many bases of one of several adapters must be in the read.
pub fn required_of(adapters: usize) -> i64 {
    match adapters {
        0..=16 => 4,
        17..=256 => 5,
        _ => 6,
    }
}

/// Cuts `read` where `adapter` starts in it. Returns where that is, if the adapter is
/// found. The place may be before the read: then the adapter is found from its third,
/// fourth or fifth base on.
pub fn trim(read: &mut Read4<'_>, adapter: &[u8], required: i64) -> Option<i64> {
    if (adapter.len() as i64) < required {
        return None;
    }
    let at = find(read.seq, adapter, required)?;
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
}
