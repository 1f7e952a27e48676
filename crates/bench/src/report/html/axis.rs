//! The scale that all ratios share: logarithmic, with 1 in the middle.

use minijinja::{Value, context};

use super::super::document::Row;

/// A scale from `1 / 2^reach` to `2^reach`.
pub struct Axis {
    reach: f64,
}

impl Axis {
    /// Creates a scale on which every row's ratio fits. Intervals may extend beyond it;
    /// they are cut at the edge.
    pub fn over<'a>(rows: impl Iterator<Item = &'a Row>) -> Axis {
        let farthest = rows
            .filter_map(|row| row.ratio)
            .map(|ratio| ratio.log2().abs())
            .filter(|distance| distance.is_finite())
            .fold(0.0, f64::max);
        Axis {
            reach: (farthest * 1.15).clamp(1.2, 5.0),
        }
    }

    /// Returns the position of a ratio, in percent from the left.
    fn place(&self, ratio: f64) -> f64 {
        let distance = ratio.max(f64::MIN_POSITIVE).log2() / self.reach;
        50.0 + 50.0 * distance.clamp(-1.0, 1.0)
    }

    /// Returns the powers of two that fit, few enough that they do not touch: their labels and
    /// positions.
    pub fn ticks(&self) -> Vec<(String, String)> {
        let reach = self.reach.floor() as i32;
        let step = if reach > 3 { 2 } else { 1 };
        let powers = (-reach..=reach).filter(|power| power % step == 0);
        let tick = |power: i32| {
            let one = if power < 0 { "1/" } else { "" };
            let place = self.place(f64::from(power).exp2());
            (format!("{one}{}", 1 << power.abs()), format!("{place:.2}"))
        };
        powers.map(tick).collect()
    }

    /// Returns the places of a row's dot and line.
    pub fn strip(&self, ratio: f64, interval: [f64; 2]) -> Value {
        let [low, high] = interval.map(|end| self.place(end));
        context! {
            low => format!("{low:.2}"),
            width => format!("{:.2}", high - low),
            middle => format!("{:.2}", self.place(ratio)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_in_the_middle_and_the_far_ends_are_cut() {
        let axis = Axis { reach: 2.0 };
        assert_eq!(axis.place(1.0), 50.0);
        assert_eq!(axis.place(2.0), 75.0);
        assert_eq!(axis.place(0.5), 25.0);
        assert_eq!(axis.place(1000.0), 100.0);
        assert_eq!(axis.place(0.0), 0.0);
    }
}
