//! Counting bytes, in one-byte sums so that a vector register holds many of them.

/// How many bytes a one-byte sum can count.
const CHUNK: usize = 128;

/// Returns how many bytes satisfy `is`.
#[inline(always)]
pub fn bytes(all: &[u8], is: impl Fn(u8) -> bool) -> usize {
    let sum = |chunk: &[u8]| chunk.iter().map(|&byte| is(byte) as u8).sum::<u8>() as usize;
    all.chunks(CHUNK).map(sum).sum()
}

/// Returns at how many places the two differ, up to the length of the shorter one.
#[inline(always)]
pub fn differences(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let sum = |(a, b): (&[u8], &[u8])| {
        let differ = a.iter().zip(b).map(|(a, b)| (a != b) as u8);
        differ.sum::<u8>() as usize
    };
    a[..len]
        .chunks(CHUNK)
        .zip(b[..len].chunks(CHUNK))
        .map(sum)
        .sum()
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
