//! Tables.

use crate::stats::Interval;
use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, ContentArrangement, Table};

use crate::opinion::measure::Figures;

/// A table whose columns, from the second on, are numbers.
pub fn table(header: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table
        .load_preset(ASCII_MARKDOWN)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header)
        .add_rows(rows);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n")
}

/// Tabulates the cost of all contenders' contended operations.
pub fn costs(figures: &[Figures]) -> String {
    let rows = figures.iter().map(|f| {
        vec![
            f.name.clone(),
            time(f.nanos),
            interval(f.interval),
            per_thousand(f.sleeps),
            per_thousand(f.preemptions),
            per_thousand(f.system_calls),
            f.processor.map_or_else(none, time),
            f.waited
                .map_or_else(none, |part| format!("{:.1} %", 100.0 * part)),
        ]
    });
    table(
        &[
            "",
            "time",
            "95 %",
            "slept",
            "switched",
            "calls",
            "processor",
            "waited",
        ],
        rows.collect(),
    )
}

fn none() -> String {
    "–".to_owned()
}

fn per_thousand(count: Option<f64>) -> String {
    count.map_or_else(none, |count| match count * 1000.0 {
        many if many >= 10.0 => format!("{many:.0}"),
        few => format!("{few:.1}"),
    })
}

/// Formats a time with about three digits.
pub fn time(nanos: f64) -> String {
    match nanos {
        n if n < 100.0 => format!("{n:.1} ns"),
        n if n < 1_000.0 => format!("{n:.0} ns"),
        n if n < 100_000.0 => format!("{:.2} µs", n / 1e3),
        n if n < 1e6 => format!("{:.0} µs", n / 1e3),
        n => format!("{:.2} ms", n / 1e6),
    }
}

/// Formats a round number of nanoseconds.
pub fn round(nanos: u64) -> String {
    match nanos {
        0..1_000 => format!("{nanos} ns"),
        _ => format!("{} µs", nanos / 1_000),
    }
}

pub fn interval(interval: Interval) -> String {
    format!("{} – {}", time(interval.low), time(interval.high))
}
