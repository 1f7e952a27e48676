//! Counting bytes, in one-byte sums so that a vector register holds many of them.

/// The most bytes that a one-byte sum can count.
const CHUNK: usize = 128;

/// Number of bytes in a vector register. The rest of an input is filled up to this length, because it
/// would otherwise be counted byte by byte.
pub const LANES: usize = 32;

/// Returns the number of bytes that satisfy `is`.
#[inline(always)]
pub fn bytes(all: &[u8], is: impl Fn(u8) -> bool) -> usize {
    let sum = |chunk: &[u8]| chunk.iter().map(|&byte| is(byte) as u8).sum::<u8>() as usize;
    let (whole, rest) = all.split_at(all.len() / LANES * LANES);
    let sums = whole.chunks(CHUNK).map(sum).sum();
    if rest.is_empty() {
        return sums;
    }
    sums + sum(&filled(rest)) - is(0) as usize * (LANES - rest.len())
}

/// Returns bytes, fewer than `LANES`, and zeros after them.
#[inline(always)]
fn filled(bytes: &[u8]) -> [u8; LANES] {
    let mut filled = [0; LANES];
    filled[..bytes.len()].copy_from_slice(bytes);
    filled
}

/// Returns the number of places at which the two differ, up to the length of the shorter one.
#[inline(always)]
pub fn differences(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let sum = |(a, b): (&[u8], &[u8])| {
        let differ = a.iter().zip(b).map(|(a, b)| (a != b) as u8);
        differ.sum::<u8>() as usize
    };
    let (a, rest_a) = a[..len].split_at(len / LANES * LANES);
    let (b, rest_b) = b[..len].split_at(len / LANES * LANES);
    let sums = a.chunks(CHUNK).zip(b.chunks(CHUNK)).map(sum).sum();
    if rest_a.is_empty() {
        return sums;
    }
    sums + sum((&filled(rest_a), &filled(rest_b)))
}

#[cfg(test)]
mod tests {
    #[test]
    fn long_inputs_are_counted_whole() {
        let a: Vec<u8> = (0..1000u32).map(|at| (at * at % 7) as u8).collect();
        let b: Vec<u8> = (0..900u32).map(|at| (at % 5) as u8).collect();
        for len in [0, 1, 127, 128, 129, 256, 899, 1000] {
            let (a, b) = (&a[..len], &b[..len.min(900)]);
            let zeros = a.iter().filter(|&&byte| byte == 0).count();
            assert_eq!(super::bytes(a, |byte| byte == 0), zeros);
            let differ = a.iter().zip(b).filter(|(a, b)| a != b).count();
            assert_eq!(super::differences(a, b), differ);
        }
        assert_eq!(super::bytes(&[1; 1000], |byte| byte == 1), 1000);
    }
}
