//! The scale that all ratios share: logarithmic, with 1 in the middle.

use std::fmt::{self, Write};

use super::super::document::Row;
use super::super::{range, times};

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

    /// Returns the powers of two that fit, few enough that they do not touch.
    fn ticks(&self) -> impl Iterator<Item = i32> {
        let reach = self.reach.floor() as i32;
        let step = if reach > 3 { 2 } else { 1 };
        (-reach..=reach).filter(move |power| power % step == 0)
    }

    /// Writes the scale's own line.
    pub fn write_scale(&self, page: &mut String) -> fmt::Result {
        page.push_str(
            "<div class=\"scale\" aria-hidden=\"true\"><span class=\"sides\"><span>peer faster</span><span>blitz-io faster</span></span><span class=\"ticks\">",
        );
        for power in self.ticks() {
            let label = match power {
                p if p < 0 => format!("1/{}", 1 << -p),
                p => (1 << p).to_string(),
            };
            let place = self.place(f64::from(power).exp2());
            write!(page, "<i style=\"left:{place:.2}%\">{label}</i>")?;
        }
        page.push_str("</span></div>\n");
        Ok(())
    }

    /// Writes one row's dot and line.
    pub fn write_strip(&self, page: &mut String, row: &Row) -> fmt::Result {
        let (Some(ratio), Some(interval)) = (row.ratio, row.ratio_ci95) else {
            return Ok(());
        };
        let [low, high] = interval.map(|end| self.place(end));
        write!(
            page,
            "<span class=\"strip\" role=\"img\" aria-label=\"{}, 95 % interval {}\"><s></s><u style=\"left:{low:.2}%;width:{:.2}%\"></u><i style=\"left:{:.2}%\"></i></span>",
            times(ratio),
            range(interval),
            high - low,
            self.place(ratio),
        )
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
