//! The part of the HTML report that shows reads before and after the filters in one
//! picture.

use crate::chart::{self, Line};
use crate::report::Report;
use crate::stats::Summary;
use std::fmt::Write;

/// The colours of the reads 1 and 2 before and after the filters.
const BEFORE: [&str; 2] = ["#999", "#c9a27e"];
const AFTER: [&str; 2] = ["#2a6f97", "#e76f51"];

/// The title of a curve, its values, and where they start.
type Curve = (&'static str, &'static str, usize, fn(&Summary) -> Vec<f64>);

const CURVES: [Curve; 3] = [
    ("Mean quality by cycle", "cycle", 1, |stats| {
        last(&stats.qualities)
    }),
    ("Share of G and C by cycle", "cycle", 1, |stats| {
        last(&stats.contents)
    }),
    ("Length, % of the reads", "bases", 0, |stats| {
        let whole = (stats.reads as f64).max(1.0);
        let share = |&reads: &u64| reads as f64 * 100.0 / whole;
        stats.lengths.iter().map(share).collect()
    }),
];

/// Returns the curve of all bases.
fn last(curves: &[(&str, Vec<f64>)]) -> Vec<f64> {
    curves.last().map_or(vec![], |(_, values)| values.clone())
}

/// Writes this part of the report.
pub fn write(out: &mut String, report: &Report) {
    out.push_str("<h2>Before and after filtering</h2>\n");
    for (title, places, first, values) in CURVES {
        let mut all = vec![];
        for (which, stats) in report.before.iter().enumerate() {
            all.push((["read 1", "read 2"][which], BEFORE[which], values(stats)));
        }
        let names = if report.merge {
            &["merged"][..]
        } else {
            &["read 1 after", "read 2 after"]
        };
        for (which, (stats, name)) in report.after.iter().zip(names).enumerate() {
            all.push((name, AFTER[which], values(stats)));
        }
        let lines: Vec<_> = all
            .iter()
            .map(|&(name, colour, ref values)| Line {
                name,
                colour,
                values,
            })
            .collect();
        let picture = chart::draw(&lines, places, first);
        let _ = writeln!(out, "<h3>{title}</h3>\n{picture}");
    }
}
