//! Predictions for people.

use std::fmt::Write as _;

use super::{Estimate, Figures, Prediction};
use crate::trace::text::time;

/// The difference between a replay and its recording above which there is a warning.
const OFF: f64 = 0.1;

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
    let names = all.iter().map(|one| one.what_if.chars().count());
    let width = names.max().unwrap_or(0).clamp(12, 48);
    let mut text = format!(
        "\n{:width$} {:>9} {:20} {:>9} {:20} {:>9}\n",
        "What if", "p50", "", "p99", "", "a second"
    );
    let Figures {
        p50,
        p99,
        per_second,
    } = first.recorded;
    _ = writeln!(
        text,
        "  {:width$} {:>7} {:20} {:>9} {:20} {per_second:>9.0}",
        "as recorded",
        time(p50),
        "",
        time(p99),
        ""
    );
    for one in all {
        _ = writeln!(
            text,
            "  {:width$} {:>7} {:20} {:>9} {:20} {:>9.0} {}",
            one.what_if,
            time(one.p50.value as u64),
            times(one.p50),
            time(one.p99.value as u64),
            times(one.p99),
            one.per_second.value,
            format_args!("({:.0} to {:.0})", one.per_second.low, one.per_second.high)
        );
    }
    warnings(first, all, &mut text);
    text
}

fn times(of: Estimate) -> String {
    format!("({} to {})", time(of.low as u64), time(of.high as u64))
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
    let forced = all.iter().map(|one| one.forced).max().unwrap_or(0);
    if forced != 0 {
        _ = writeln!(
            text,
            "Take these with care: {forced} waits of a replay ended without a cause."
        );
    }
}
