//! A logarithmic scale of ratios.

/// A scale from `2^low` to `2^high`.
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Scale {
    /// Returns the position of a ratio, from 0 to 1. Ratios beyond an end are at that end.
    pub(super) fn position(&self, ratio: f64) -> f64 {
        let log = ratio.max(f64::MIN_POSITIVE).log2();
        (log.clamp(self.low, self.high) - self.low) / (self.high - self.low)
    }

    /// Returns the exponents of the powers of two that fit and that `step` divides.
    pub(super) fn powers(&self, step: i32) -> impl Iterator<Item = i32> + use<> {
        let (low, high) = (self.low.ceil() as i32, self.high.floor() as i32);
        (low..=high).filter(move |power| power % step == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_in_the_middle_and_the_far_ends_are_cut() {
        let scale = Scale {
            low: -2.0,
            high: 2.0,
        };
        let positions = [1.0, 2.0, 0.5, 1000.0, 0.0].map(|ratio| scale.position(ratio));
        assert_eq!(positions, [0.5, 0.75, 0.25, 1.0, 0.0]);
    }
}
