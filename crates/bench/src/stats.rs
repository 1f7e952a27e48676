//! The statistics: medians, and bootstrap intervals of their ratio.
//!
//! Two contenders are measured in the same process, iteration by iteration.
//! Iteration `i` of one and iteration `i` of the other ran within milliseconds, so
//! the machine was in the same state. The bootstrap preserves that: it draws *pairs*,
//! not single samples. The random numbers come from a fixed seed, so the same samples
//! always give the same interval.

/// The number of draws of the bootstrap. With the fixed seed this is enough to make
/// the ends of the interval stable in the third digit.
const DRAWS: usize = 10_000;

const SEED: u64 = 0x6C62_272E_07BB_0142;

/// A 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The conclusion from an interval of a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval is above 1.
    Above,
    /// The whole interval is below 1.
    Below,
    /// The interval contains 1: the samples cannot tell the two apart.
    Tie,
}

impl Interval {
    /// Returns where the interval lies relative to 1.
    ///
    /// ```
    /// use blitz_io_bench::stats::{Interval, Verdict};
    /// assert_eq!(Interval { low: 1.1, high: 1.4 }.verdict(), Verdict::Above);
    /// assert_eq!(Interval { low: 0.9, high: 1.0 }.verdict(), Verdict::Tie);
    /// ```
    pub fn verdict(self) -> Verdict {
        if self.low > 1.0 {
            Verdict::Above
        } else if self.high < 1.0 {
            Verdict::Below
        } else {
            Verdict::Tie
        }
    }
}

/// Returns the median; of an even count, the mean of the two in the middle.
///
/// # Panics
///
/// Panics if `samples` is empty.
///
/// ```
/// assert_eq!(blitz_io_bench::stats::median(&[3.0, 1.0, 2.0]), 2.0);
/// assert_eq!(blitz_io_bench::stats::median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
/// ```
pub fn median(samples: &[f64]) -> f64 {
    median_in_place(&mut samples.to_vec())
}

/// Returns the smallest sample, or infinity if there is none.
pub fn min(samples: &[f64]) -> f64 {
    samples.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Returns the 95 % interval of `median(over) / median(under)`, where `over[i]` and
/// `under[i]` were measured together.
///
/// # Panics
///
/// Panics if the two are empty or differ in length.
///
/// ```
/// use blitz_io_bench::stats::paired_ratio;
/// let twice = paired_ratio(&[2.0, 4.0, 6.0], &[1.0, 2.0, 3.0]);
/// assert!(twice.low <= 2.0 && twice.high >= 2.0);
/// ```
pub fn paired_ratio(over: &[f64], under: &[f64]) -> Interval {
    assert_eq!(over.len(), under.len(), "samples come in pairs");
    let mut random = Random(SEED);
    interval(|a, b| {
        for _ in 0..over.len() {
            let pair = random.below(over.len());
            a.push(over[pair]);
            b.push(under[pair]);
        }
    })
}

/// Returns the 95 % interval of `median(over) / median(under)` for samples that were
/// *not* measured together, such as those of two runs on two days.
///
/// # Panics
///
/// Panics if either is empty.
pub fn unpaired_ratio(over: &[f64], under: &[f64]) -> Interval {
    let mut random = Random(SEED);
    interval(|a, b| {
        a.extend((0..over.len()).map(|_| over[random.below(over.len())]));
        b.extend((0..under.len()).map(|_| under[random.below(under.len())]));
    })
}

/// Draws many times and cuts 2.5 % off both ends.
fn interval(mut draw: impl FnMut(&mut Vec<f64>, &mut Vec<f64>)) -> Interval {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    let mut ratios: Vec<f64> = (0..DRAWS)
        .map(|_| {
            a.clear();
            b.clear();
            draw(&mut a, &mut b);
            median_in_place(&mut a) / median_in_place(&mut b)
        })
        .collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let cut = DRAWS / 40;
    Interval {
        low: ratios[cut],
        high: ratios[DRAWS - 1 - cut],
    }
}

fn median_in_place(samples: &mut [f64]) -> f64 {
    assert!(!samples.is_empty(), "the median of nothing");
    samples.sort_unstable_by(f64::total_cmp);
    let middle = samples.len() / 2;
    if samples.len() % 2 == 1 {
        samples[middle]
    } else {
        (samples[middle - 1] + samples[middle]) / 2.0
    }
}

/// SplitMix64: small, fast, and good enough to draw indices.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}
