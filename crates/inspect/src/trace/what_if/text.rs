//! Predictions for people.

use std::fmt::Write as _;

use super::{Estimate, Figures, NamedPrediction, Prediction, ReadyAfter};
use crate::trace::text::{longest, time};

/// The difference between a replay and its recording above which there is a warning, and the share of requests that
/// arrive when they did.
const OFF: f64 = 0.1;
/// The number of names that have a row of their own.
const NAMES: usize = 8;
/// The most letters of the first column.
const LABEL: usize = 48;

/// Returns predictions as a table for people; an empty string if there are none.
///
/// ```
/// use blitz_io_inspect::trace::predictions;
///
/// assert_eq!(predictions(&[]), "");
/// ```
#[must_use]
pub fn predictions(all: &[Prediction]) -> String {
    let Some(first) = all.first() else {
        return String::new();
    };
    let mut rows = vec![["What if", "p50", "", "p99", "", "a second", ""].map(str::to_owned)];
    rows.push(recorded("  as recorded", &first.recorded));
    for named in shown(first) {
        rows.push(recorded(&format!("    {}", named.name), &named.recorded));
    }
    for one in all {
        let estimates = [one.p50, one.p99, one.per_second];
        rows.push(predicted(&format!("  {}", one.what_if), estimates));
        for named in shown(one) {
            let estimates = [named.p50, named.p99, named.per_second];
            rows.push(predicted(&format!("    {}", named.name), estimates));
        }
    }
    let mut text = format!("\n{}", table(&rows));
    let more = first.by_name.len().saturating_sub(NAMES);
    if more != 0 {
        _ = writeln!(text, "The JSON has {more} more names of requests.");
    }
    warnings(first, all, &mut text);
    text
}

/// Returns the names with rows of their own. A single one has the figures of all requests.
fn shown(one: &Prediction) -> &[NamedPrediction] {
    match one.by_name.len() {
        0 | 1 => &[],
        count => &one.by_name[..count.min(NAMES)],
    }
}

fn recorded(label: &str, of: &Figures) -> [String; 7] {
    let none = String::new;
    let rate = format!("{:.0}", of.per_second);
    [
        label.to_owned(),
        time(of.p50),
        none(),
        time(of.p99),
        none(),
        rate,
        none(),
    ]
}

fn predicted(label: &str, [p50, p99, rate]: [Estimate; 3]) -> [String; 7] {
    let value = |of: Estimate| time(of.value as u64);
    let interval = |of: Estimate| format!("({} to {})", time(of.low as u64), time(of.high as u64));
    [
        label.to_owned(),
        value(p50),
        interval(p50),
        value(p99),
        interval(p99),
        format!("{:.0}", rate.value),
        format!("({:.0} to {:.0})", rate.low, rate.high),
    ]
}

/// Returns the rows with their columns below each other: values end at the right, and texts begin at the left.
fn table(rows: &[[String; 7]]) -> String {
    let label = |row: &[String; 7]| shortened(&row[0]);
    let widths: [usize; 7] = std::array::from_fn(|column| {
        let lengths = rows.iter().map(|row| match column {
            0 => label(row).chars().count(),
            column => row[column].chars().count(),
        });
        lengths.max().unwrap_or(0)
    });
    let mut text = String::new();
    for row in rows {
        let mut line = format!("{:width$}", label(row), width = widths[0]);
        for (column, word) in row.iter().enumerate().skip(1) {
            let width = widths[column];
            _ = match column % 2 {
                1 => write!(line, "  {word:>width$}"),
                _ => write!(line, " {word:width$}"),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Returns the text, or its beginning.
fn shortened(text: &str) -> String {
    if text.chars().count() <= LABEL {
        return text.to_owned();
    }
    text.chars().take(LABEL - 1).chain(['…']).collect()
}

/// Warns if polls block the workers: then these come first.
fn ready_after(what_if: &str, after: &ReadyAfter, text: &mut String) {
    _ = writeln!(
        text,
        "Take \"{what_if}\" with care: its waits took {} in all, and their tasks were then ready for {},\n\
         as no worker was free. Look at the polls that keep the workers first.",
        time(after.waited),
        time(after.ready)
    );
    if let Some(poll) = &after.longest_poll {
        _ = writeln!(text, "{}", longest(poll));
    }
}

fn warnings(first: &Prediction, all: &[Prediction], text: &mut String) {
    let (recorded, replayed) = (first.recorded, first.replayed);
    let off = |one: u64, other: u64| (one as f64 / other.max(1) as f64 - 1.0).abs() > OFF;
    if off(replayed.p50, recorded.p50) || off(replayed.p99, recorded.p99) {
        _ = writeln!(
            text,
            "Take these with care: a replay without a change has a p50 of {} and a p99 of {}.",
            time(replayed.p50),
            time(replayed.p99)
        );
    }
    if first.arrivals as f64 > OFF * first.requests as f64 {
        _ = writeln!(
            text,
            "Take these with care: {} of {} requests have a task of their own that began when a socket became ready,\n\
             as with a connection for each. The replay lets them arrive when they did. If their clients wait for an answer\n\
             first, a faster service gets requests sooner, and a slower one later: no interval includes that.",
            first.arrivals, first.requests
        );
    }
    for one in all {
        if let Some(after) = &one.ready_after {
            ready_after(&one.what_if, after, text);
        }
    }
    let forced = all.iter().map(|one| one.forced).max().unwrap_or(0);
    if forced != 0 {
        _ = writeln!(
            text,
            "Take these with care: {forced} waits of a replay ended without a cause."
        );
    }
}
