//! A chart of some rows: their ratios on one logarithmic scale.

use minijinja::{Value, context};

use super::markdown::charted;
use super::runs::{Against, Runs};
use super::{ratio_figure, template};
use crate::stats::Verdict;

/// The reader's colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl Theme {
    /// Both themes.
    pub const ALL: [Theme; 2] = [Theme::Light, Theme::Dark];

    /// Returns the name of the file in which the documents look for the chart.
    pub fn file(self) -> &'static str {
        match self {
            Theme::Light => "benchmark-light.svg",
            Theme::Dark => "benchmark-dark.svg",
        }
    }

    fn colours(self) -> Value {
        let [paper, ink, line, won, tied, lost] = match self {
            Theme::Light => [
                "#ffffff", "#1f2328", "#b8c0c8", "#2f6fd0", "#8c959f", "#c4432b",
            ],
            Theme::Dark => [
                "#0d1117", "#e6edf3", "#444c56", "#58a6ff", "#8b949e", "#ff7b72",
            ],
        };
        context! { paper, ink, line, won, tied, lost }
    }
}

const WIDTH: f64 = 760.0;
/// The position where the names end and the scale begins.
const LEFT: f64 = 280.0;
/// Room for the text behind the longest bar.
const RIGHT: f64 = 130.0;
const TOP: f64 = 44.0;
const ROW: f64 = 26.0;

/// The scale: from the least to the greatest power of two that is needed.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn over(ratios: impl Iterator<Item = f64>) -> Scale {
        let logs: Vec<f64> = ratios
            .map(f64::log2)
            .filter(|log| log.is_finite())
            .collect();
        Scale {
            low: logs.iter().copied().fold(-1.0, f64::min).floor(),
            high: logs.iter().copied().fold(2.0, f64::max).ceil(),
        }
    }

    fn place(&self, ratio: f64) -> f64 {
        let log = ratio.log2().clamp(self.low, self.high);
        LEFT + (log - self.low) / (self.high - self.low) * (WIDTH - RIGHT - LEFT)
    }

    /// Returns powers of two, few enough that their labels do not touch.
    fn ticks(&self) -> impl Iterator<Item = f64> {
        let (low, high) = (self.low as i32, self.high as i32);
        let step = ((high - low) / 8).max(1);
        let ticks = (low..=high).filter(move |power| power % step == 0);
        ticks.map(|power| f64::from(power).exp2())
    }
}

/// Returns the chart as an SVG document: of the README's rows or, if none of those was
/// measured, of all rows. Returns `None` if no row has a peer.
pub fn svg(runs: &Runs, theme: Theme) -> Option<String> {
    let rows = charted(runs);
    if rows.is_empty() {
        return None;
    }
    let scale = Scale::over(rows.iter().map(|(_, best)| best.ratio));
    let height = TOP + ROW * rows.len() as f64 + 14.0;
    let values = context! {
        width => text(WIDTH),
        height => text(height),
        names_end => text(LEFT - 14.0),
        title => "Times as fast as the best peer",
        colours => theme.colours(),
        ticks => scale.ticks().map(|tick| (text(tick), at(scale.place(tick)))).collect::<Vec<_>>(),
        ticks_top => text(TOP - 6.0),
        ticks_bottom => text(height - 10.0),
        labels => text(TOP - 12.0),
        rows => (rows.iter().zip(0..))
            .map(|((title, best), i)| bar(title, best, TOP + ROW * f64::from(i), &scale))
            .collect::<Vec<_>>(),
    };
    Some(template::render(
        "chart.svg",
        include_str!("chart.svg"),
        values,
    ))
}

/// Formats a number without needless digits.
fn text(number: f64) -> String {
    number.to_string()
}

/// Formats a position.
fn at(position: f64) -> String {
    format!("{position:.1}")
}

/// Returns the values of a row whose upper edge is at `y`.
fn bar(title: &str, best: &Against, y: f64, scale: &Scale) -> Value {
    let verdict = match best.range.verdict() {
        Verdict::Above => "won",
        Verdict::Tie => "tied",
        Verdict::Below => "lost",
    };
    let (one, end) = (scale.place(1.0), scale.place(best.ratio));
    let (from, to) = (one.min(end), one.max(end));
    let [low, high] = [best.range.low, best.range.high].map(|ratio| scale.place(ratio));
    context! {
        title, verdict,
        top => text(y + 3.0),
        middle => text(y + 10.5),
        base => text(y + 15.0),
        from => at(from),
        width => at((to - from).max(1.0)),
        low => at(low),
        high => at(high),
        text_at => at(to.max(high) + 6.0),
        text => format!("{} × {}", ratio_figure(best.ratio), best.name),
    }
}
