//! The grouping of cycles into bins.
//!
//! Each of the first cycles is counted for itself: those of every machine with short reads,
//! for which the report has fastp's form. The cycles of long reads after these are counted in
//! bins, each narrower than a five-hundredth of its position. So the memory and the reports do
//! not grow with the length of the longest read.

use std::ops::Range;

/// Number of cycles that are counted one by one.
pub const EXACT: usize = 1 << 12;
/// Number of bins between a position and twice that position.
const BINS: usize = EXACT / WIDTH;
/// The width of the first bins, which doubles as the position doubles.
const WIDTH: usize = 8;

/// Returns the first cycle of a bin.
pub fn start(bin: usize) -> usize {
    let Some(after) = bin.checked_sub(EXACT) else {
        return bin;
    };
    let (doublings, rest) = (after / BINS, after % BINS);
    (EXACT + rest * WIDTH) << doublings
}

/// Returns the bin of a cycle.
pub fn of(cycle: usize) -> usize {
    if cycle < EXACT {
        return cycle;
    }
    let doublings = (cycle / EXACT).ilog2() as usize;
    let rest = ((cycle >> doublings) - EXACT) / WIDTH;
    EXACT + doublings * BINS + rest
}

/// Returns the bins of these cycles, with the cycles in each.
pub fn within(cycles: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
    let bins = if cycles.is_empty() {
        0..0
    } else {
        of(cycles.start)..of(cycles.end - 1) + 1
    };
    bins.map(move |bin| {
        let range = start(bin).max(cycles.start)..start(bin + 1).min(cycles.end);
        (bin, range)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_cover_all_cycles_in_order() {
        let mut expected = 0;
        for bin in 0..of(1 << 40) {
            let (first, end) = (start(bin), start(bin + 1));
            assert_eq!(first, expected);
            assert!((of(first), of(end - 1)) == (bin, bin));
            assert!(end - first == 1 || (end - first) * 500 <= first);
            expected = end;
        }
        assert!(of(1 << 28) < 4 * EXACT);
        let parts: Vec<_> = within(4095..4106).collect();
        assert_eq!(
            parts,
            [(4095, 4095..4096), (4096, 4096..4104), (4097, 4104..4106)]
        );
        assert_eq!(within(7..7).count(), 0);
    }
}
