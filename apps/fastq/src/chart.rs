//! Pictures of the HTML report, as SVG.

use crate::bins;
use crate::number::{number, push_fixed};
use std::fmt::Write;

/// A line of a chart.
pub struct Line<'a> {
    pub name: &'a str,
    pub colour: &'a str,
    pub values: &'a [f64],
}

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 260.0;
/// Room for the numbers beside the axes.
const LEFT: f64 = 44.0;
const BOTTOM: f64 = 34.0;
const TOP: f64 = 22.0;
/// Number of points of a line; more would not be visible.
const POINTS: usize = 900;

/// The axes of a chart.
struct Axes {
    /// The greatest value, and the distance between two values with a number.
    top: f64,
    step: f64,
    /// The number of places.
    len: usize,
}

impl Axes {
    fn of(lines: &[Line<'_>]) -> Self {
        let entries = lines.iter().map(|line| line.values.len()).max();
        let most = lines
            .iter()
            .flat_map(|line| line.values)
            .copied()
            .filter(|value| value.is_finite())
            .fold(0.0, f64::max);
        let step = nice(most / 4.0);
        Self {
            top: (most / step).ceil().max(1.0) * step,
            step,
            len: bins::start(entries.unwrap_or(0)),
        }
    }

    fn x(&self, place: usize) -> f64 {
        LEFT + place as f64 / (self.len.max(2) - 1) as f64 * (WIDTH - LEFT - 10.0)
    }

    fn y(&self, value: f64) -> f64 {
        TOP + (1.0 - value / self.top) * (HEIGHT - TOP - BOTTOM)
    }

    /// Draws the numbers of the values and of the places, which are counted from `first`.
    fn draw(&self, out: &mut String, places: &str, first: usize) {
        let mut value = 0.0;
        while value <= self.top * 1.001 {
            let at = self.y(value);
            let _ = write!(
                out,
                "<line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#8884\"/>"
            );
            let _ = write!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                at + 4.0,
                number(value)
            );
            value += self.step;
        }
        let every = nice(self.len as f64 / 10.0).max(1.0) as usize;
        for at in (first.next_multiple_of(every) - first..self.len).step_by(every) {
            let _ = write!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                self.x(at),
                HEIGHT - BOTTOM + 16.0,
                at + first
            );
        }
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{places}</text>",
            WIDTH - 10.0,
            HEIGHT - 4.0
        );
    }

    fn draw_line(&self, out: &mut String, line: &Line<'_>) {
        let stride = line.values.len().div_ceil(POINTS).max(1);
        let _ = write!(
            out,
            "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" points=\"",
            line.colour
        );
        let values = line.values.iter().enumerate().step_by(stride);
        let points = values.filter(|(_, value)| value.is_finite());
        for (nth, (at, &value)) in points.enumerate() {
            if nth > 0 {
                out.push(' ');
            }
            push_fixed(out, self.x(bins::start(at)), 1);
            out.push(',');
            push_fixed(out, self.y(value), 1);
        }
        out.push_str("\"/>");
    }
}

/// Draws lines over places that are counted from `first`, and later ones in [`bins`].
pub fn draw(lines: &[Line<'_>], places: &str, first: usize) -> String {
    let axes = Axes::of(lines);
    let mut out = format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">");
    axes.draw(&mut out, places, first);
    let mut legend = LEFT + 12.0;
    for line in lines {
        axes.draw_line(&mut out, line);
        let (colour, name) = (line.colour, line.name);
        let _ = write!(
            out,
            "<rect x=\"{legend}\" y=\"4\" width=\"12\" height=\"8\" fill=\"{colour}\"/><text x=\"{}\" y=\"12\">{name}</text>",
            legend + 16.0
        );
        // A letter is about six units wide.
        legend += 40.0 + 6.0 * name.len() as f64;
    }
    out.push_str("</svg>\n");
    out
}

/// Returns the least of 1, 2 and 5 times a power of ten that is not below `value`.
fn nice(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|times| times * power)
        .into_iter()
        .find(|&step| step >= value * 0.999)
        .unwrap_or(power * 10.0)
}

/// Draws a small picture of the frequency of each place.
pub fn spark(places: &[u64]) -> String {
    let most = places.iter().copied().max().unwrap_or(0).max(1) as f64;
    let width = places.len().max(1);
    let points: Vec<_> = places
        .iter()
        .enumerate()
        .map(|(at, &times)| format!("{at},{:.1}", 20.0 - 20.0 * times as f64 / most))
        .collect();
    format!(
        "<svg viewBox=\"0 0 {width} 20\" preserveAspectRatio=\"none\" style=\"width:12rem;height:20px\">\
         <polyline fill=\"none\" stroke=\"#2a6f97\" points=\"{}\"/></svg>",
        points.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        for (value, step) in [
            (0.9, 1.0),
            (1.1, 2.0),
            (37.0, 50.0),
            (0.003, 0.005),
            (0.0, 1.0),
            (1000.0, 1000.0),
        ] {
            assert!(
                (nice(value) - step).abs() < 1e-9,
                "{value}: {}",
                nice(value)
            );
        }
    }

    #[test]
    fn charts_of_nothing_are_drawn() {
        let line = Line {
            name: "x",
            colour: "red",
            values: &[],
        };
        assert!(draw(&[line], "cycle", 1).ends_with("</svg>\n"));
        assert!(spark(&[]).ends_with("</svg>"));
    }
}
