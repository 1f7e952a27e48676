//! A chart of some rows: their ratios on one logarithmic scale.

use std::fmt::{self, Write};

use super::html::Escaped;
use super::markdown::charted;
use super::ratio_figure;
use super::runs::{Against, Runs};
use crate::stats::Verdict;

/// The reader's colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

struct Colours {
    paper: &'static str,
    ink: &'static str,
    line: &'static str,
    won: &'static str,
    tied: &'static str,
    lost: &'static str,
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

    fn colours(self) -> Colours {
        match self {
            Theme::Light => Colours {
                paper: "#ffffff",
                ink: "#1f2328",
                line: "#b8c0c8",
                won: "#2f6fd0",
                tied: "#8c959f",
                lost: "#c4432b",
            },
            Theme::Dark => Colours {
                paper: "#0d1117",
                ink: "#e6edf3",
                line: "#444c56",
                won: "#58a6ff",
                tied: "#8b949e",
                lost: "#ff7b72",
            },
        }
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
    let mut svg = String::new();
    write_svg(&mut svg, &rows, &theme.colours()).expect("a string takes everything");
    Some(svg)
}

fn write_svg(svg: &mut String, rows: &[(&str, &Against)], colours: &Colours) -> fmt::Result {
    let height = TOP + ROW * rows.len() as f64 + 14.0;
    let Colours { paper, ink, .. } = colours;
    let title = "Times as fast as the best peer";
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"13\" role=\"img\" aria-label=\"{title}\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"{paper}\"/>\n\
         <text x=\"12\" y=\"20\" fill=\"{ink}\" font-weight=\"600\">{title}</text>"
    )?;
    let scale = Scale::over(rows.iter().map(|(_, best)| best.ratio));
    for tick in scale.ticks() {
        write_tick(svg, tick, scale.place(tick), height, colours)?;
    }
    for (i, (title, best)) in rows.iter().enumerate() {
        write_row(svg, title, best, TOP + ROW * i as f64, &scale, colours)?;
    }
    svg.push_str("</svg>\n");
    Ok(())
}

fn write_tick(svg: &mut String, tick: f64, x: f64, height: f64, colours: &Colours) -> fmt::Result {
    let Colours { ink, line, .. } = colours;
    let width = if tick == 1.0 { 1.5 } else { 0.5 };
    let (top, bottom) = (TOP - 6.0, height - 10.0);
    writeln!(
        svg,
        "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\" stroke=\"{line}\" stroke-width=\"{width}\"/>\
         <text x=\"{x:.1}\" y=\"{}\" fill=\"{ink}\" text-anchor=\"middle\" font-size=\"11\">{tick}</text>",
        TOP - 12.0
    )
}

fn write_row(
    svg: &mut String,
    title: &str,
    best: &Against,
    y: f64,
    scale: &Scale,
    colours: &Colours,
) -> fmt::Result {
    let Colours { ink, .. } = colours;
    let colour = match best.range.verdict() {
        Verdict::Above => colours.won,
        Verdict::Tie => colours.tied,
        Verdict::Below => colours.lost,
    };
    let (one, end) = (scale.place(1.0), scale.place(best.ratio));
    let (from, to) = (one.min(end), one.max(end));
    let [low, high] = [best.range.low, best.range.high].map(|ratio| scale.place(ratio));
    let (base, middle) = (y + 15.0, y + 10.5);
    writeln!(
        svg,
        "<text x=\"{}\" y=\"{base}\" fill=\"{ink}\" text-anchor=\"end\">{}</text>\
         <rect x=\"{from:.1}\" y=\"{}\" width=\"{:.1}\" height=\"15\" fill=\"{colour}\"/>\
         <line x1=\"{low:.1}\" x2=\"{high:.1}\" y1=\"{middle}\" y2=\"{middle}\" stroke=\"{ink}\" stroke-width=\"1\"/>\
         <text x=\"{:.1}\" y=\"{base}\" fill=\"{ink}\" font-size=\"12\">{} × {}</text>",
        LEFT - 14.0,
        Escaped(title),
        y + 3.0,
        (to - from).max(1.0),
        to.max(high) + 6.0,
        ratio_figure(best.ratio),
        Escaped(&best.name),
    )
}

#[cfg(test)]
mod tests {
    use super::super::runs::tests::document;
    use super::*;

    #[test]
    fn a_bar_goes_from_one_to_the_ratio_in_the_colour_of_the_verdict() {
        let mut document = document(10, 40, 90);
        let won = document.benchmarks["lock"].clone();
        document
            .benchmarks
            .insert("mutex_uncontended".to_owned(), won);
        let mut runs = Runs::by_load(&[document]).unwrap().remove(0);
        let light = svg(&runs, Theme::Light).unwrap();
        let dark = svg(&runs, Theme::Dark).unwrap();
        // The scale goes from 1/2 to 4: 1 is a third of the way, 4 at the end.
        let third = (WIDTH - RIGHT - LEFT) / 3.0;
        let bar = format!(
            "<rect x=\"{:.1}\" y=\"47\" width=\"{:.1}\"",
            LEFT + third,
            2.0 * third
        );
        assert!(light.contains(&bar), "{bar}\n{light}");
        assert!(light.contains("4.00 × one") && light.contains("#2f6fd0"));
        assert!(dark.contains("#58a6ff") && !dark.contains("#2f6fd0"));
        for page in [light, dark] {
            assert!(page.starts_with("<svg ") && page.ends_with("</svg>\n"));
        }
        // Without any row of the README, all rows are shown.
        runs.rows.shift_remove("mutex_uncontended");
        assert!(svg(&runs, Theme::Light).unwrap().contains("4.00 × one"));
        runs.rows.clear();
        assert_eq!(svg(&runs, Theme::Light), None);
    }
}
