//! A chart of some rows: their ratios on one logarithmic scale.

use minijinja::{Value, context};

use super::markdown::charted;
use super::runs::{Against, Runs};
use super::scale::Scale;
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
}

const WIDTH: u32 = 760;
/// The position where the names end and the scale begins.
const LEFT: u32 = 280;
/// Room for the text behind the longest bar.
const RIGHT: u32 = 130;
const TOP: usize = 44;
const ROW: usize = 26;

/// Returns a scale on which these ratios fit, from 1/2 or less to 4 or more.
fn scale_over(ratios: impl Iterator<Item = f64>) -> Scale {
    let logs = ratios.map(f64::log2).filter(|log| log.is_finite());
    let ends = logs.fold((-1.0, 2.0), |(low, high), log| {
        (f64::min(low, log), f64::max(high, log))
    });
    Scale {
        low: ends.0.floor(),
        high: ends.1.ceil(),
    }
}

fn place(scale: &Scale, ratio: f64) -> f64 {
    f64::from(LEFT) + scale.position(ratio) * f64::from(WIDTH - RIGHT - LEFT)
}

/// Returns powers of two, few enough that their labels do not touch: their labels and positions.
fn ticks(scale: &Scale) -> Vec<(String, String)> {
    let step = ((scale.high - scale.low) as i32 / 8).max(1);
    let ticks = scale.powers(step).map(|power| f64::from(power).exp2());
    ticks
        .map(|tick| (tick.to_string(), at(place(scale, tick))))
        .collect()
}

/// Returns the chart as an SVG document: of the summary's rows or, if none of those was
/// measured, of all rows. Returns `None` if no row has a peer.
pub fn svg(runs: &Runs, theme: Theme) -> Option<String> {
    let rows = charted(runs);
    if rows.is_empty() {
        return None;
    }
    let scale = scale_over(rows.iter().map(|(_, best)| best.ratio));
    let height = TOP + ROW * rows.len() + 14;
    let values = context! {
        width => WIDTH,
        height,
        names_end => LEFT - 14,
        title => "Times as fast as the best peer",
        is_dark => theme == Theme::Dark,
        ticks => ticks(&scale),
        ticks_top => TOP - 6,
        ticks_bottom => height - 10,
        labels => TOP - 12,
        rows => rows.iter().enumerate()
            .map(|(i, (title, best))| bar(title, best, TOP + ROW * i + 3, &scale))
            .collect::<Vec<_>>(),
    };
    let chart = template::render("chart.svg", include_str!("chart.svg"), values);
    Some(chart)
}

/// Formats a position.
fn at(position: f64) -> String {
    format!("{position:.1}")
}

/// Returns the values of a row whose bar begins at `top`.
fn bar(title: &str, best: &Against, top: usize, scale: &Scale) -> Value {
    let verdict = match best.range.verdict() {
        Verdict::Above => "won",
        Verdict::Tie => "tied",
        Verdict::Below => "lost",
    };
    let (one, end) = (place(scale, 1.0), place(scale, best.ratio));
    let (from, to) = (one.min(end), one.max(end));
    let [low, high] = [best.range.low, best.range.high].map(|ratio| place(scale, ratio));
    context! {
        title, verdict, top,
        from => at(from),
        width => at((to - from).max(1.0)),
        low => at(low),
        high => at(high),
        text_at => at(to.max(high) + 6.0),
        text => format!("{} × {}", ratio_figure(best.ratio), best.name),
    }
}
