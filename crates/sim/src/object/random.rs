//! Random numbers: all come from the seed.

use crate::state::sim;

/// Fills `count` bytes.
pub unsafe fn fill(to: *mut u8, count: usize) {
    let s = sim();
    s.region().randomness = 1;
    let mut left = count;
    while left > 0 {
        let bytes = s.entropy.next().to_le_bytes();
        let part = left.min(bytes.len());
        core::ptr::copy_nonoverlapping(bytes.as_ptr(), to.add(count - left), part);
        left -= part;
    }
}
