//! The page: one file that loads nothing else, readable on a phone.
//!
//! It shows all ratios on one logarithmic scale, then a card for each scenario with a
//! bar for each contender. A figure stands as text beside every bar, so the page can be
//! read without seeing colours or shapes.

use minijinja::{Value, context};

use super::document::{Document, Figures, Row, TIE};
use super::scale::Scale;
use super::table::Score;
use super::{duration, figure, or_empty, range, template, times};
use crate::latency::{Latency, Turns};
use crate::scenario::{Compares, OURS};
use crate::tier::numbered;

/// Returns the page of one run, as a complete HTML document.
///
/// ```
/// # use std::sync::atomic::AtomicBool;
/// use blitz_io_bench::{Document, Settings, report, runner};
///
/// let outcome = runner::run(&[], &Settings::QUICK, &AtomicBool::new(false), &mut ());
/// let page = report::html::render(&Document::new(&outcome, &Settings::QUICK));
/// assert!(page.starts_with("<!DOCTYPE html>"));
/// ```
pub fn render(document: &Document) -> String {
    let scale = scale_over(document.benchmarks.values());
    let values = |wanted: &dyn Fn(&Row) -> bool| -> Vec<Value> {
        let rows = document.benchmarks.iter().filter(|(_, row)| wanted(row));
        rows.map(|(id, row)| values_of(id, row, &scale)).collect()
    };
    let tiers = numbered().filter_map(|(number, tier)| {
        let rows = values(&|row: &Row| row.tier == number);
        (!rows.is_empty()).then(|| context! { number, title => tier.title, rows })
    });
    let score = Score::of(document);
    let page = context! {
        css => Value::from_safe_string(include_str!("page.css").to_owned()),
        version => document.metadata.version,
        score => [("won", score.won), ("tied", score.tied), ("lost", score.lost)],
        heap => document.heap_bytes_per_op.as_ref().map(|heap| heap.sentence()),
        notes => notes(document),
        judged => values(&|row: &Row| row.ratio.is_some()),
        ticks => ticks(&scale),
        tiers => tiers.collect::<Vec<_>>(),
        about => about(document),
    };
    template::render("page.html", include_str!("page.html"), page)
}

/// Returns a scale with 1 in the middle on which every row's ratio fits. Intervals may extend
/// beyond it; they are cut at the edge.
fn scale_over<'a>(rows: impl Iterator<Item = &'a Row>) -> Scale {
    let logs = rows.filter_map(|row| row.ratio).map(f64::log2);
    let farthest = logs
        .map(f64::abs)
        .filter(|distance| distance.is_finite())
        .fold(0.0, f64::max);
    let reach = (farthest * 1.15).clamp(1.2, 5.0);
    Scale {
        low: -reach,
        high: reach,
    }
}

fn percent(scale: &Scale, ratio: f64) -> f64 {
    100.0 * scale.position(ratio)
}

/// Returns powers of two, few enough that they do not touch: their labels and positions.
fn ticks(scale: &Scale) -> Vec<(String, String)> {
    let powers = scale.powers(if scale.high >= 4.0 { 2 } else { 1 });
    let tick = |power: i32| {
        let one = if power < 0 { "1/" } else { "" };
        let place = percent(scale, f64::from(power).exp2());
        (format!("{one}{}", 1 << power.abs()), format!("{place:.2}"))
    };
    powers.map(tick).collect()
}

/// Returns the positions of a row's dot and line.
fn strip(scale: &Scale, ratio: f64, interval: [f64; 2]) -> Value {
    let [low, high] = interval.map(|end| percent(scale, end));
    context! {
        low => format!("{low:.2}"),
        width => format!("{:.2}", high - low),
        middle => format!("{:.2}", percent(scale, ratio)),
    }
}

/// Returns the warnings of a run.
fn notes(document: &Document) -> Vec<String> {
    let mut notes = Vec::new();
    if document.interrupted {
        let note = "This run was interrupted. It shows what was measured until then.";
        notes.push(note.to_owned());
    }
    if let Some(failed) = &document.failure {
        notes.push(format!("This run ended with a failure. {failed}."));
    }
    if document.metadata.iterations < 5 {
        let note = "Fewer than 5 iterations were measured. An interval is then only the range \
            that was seen; do not trust the winners.";
        notes.push(note.to_owned());
    }
    notes
}

/// Returns the machine and the settings of a run, each with its name.
fn about(document: &Document) -> [(&'static str, String); 7] {
    let meta = &document.metadata;
    let machine = &meta.machine;
    let counts = format!(
        "{} measured after {} warm-ups; the median is the figure",
        meta.iterations, meta.warmup
    );
    let load = meta.load.words().unwrap_or_else(|| "none".to_owned());
    [
        ("Processor", machine.cpu.clone()),
        ("Cores", machine.cores.to_string()),
        ("System", format!("{} {}", machine.os, machine.kernel)),
        ("Iterations", counts),
        ("Load", load),
        ("Measured", meta.measured_at.clone()),
        ("Version", format!("{} {}", meta.runtime, meta.version)),
    ]
}

/// Returns the values of a row's card and of its line in the overview.
fn values_of(id: &str, row: &Row, scale: &Scale) -> Value {
    let (class, verdict) = match row.winner.as_deref() {
        Some(OURS) => ("won", "won"),
        Some(TIE) => ("tied", "tie"),
        Some(_) => ("lost", "lost"),
        None => ("alone", ""),
    };
    let compares = match row.compares {
        Compares::NsPerOp => "time per operation",
        Compares::P99Ns => "99th percentile of the wait",
        Compares::P99_9Ns => "99.9th percentile of the wait",
        Compares::P50Ns => "median of the wait",
        Compares::BytesPerOp => "bytes that stay taken per operation",
    };
    let judged = row.ratio.zip(row.ratio_ci95);
    context! {
        id, class, verdict, compares,
        title => row.full_title(),
        ratio => row.ratio.map(times),
        interval => row.ratio_ci95.map(range),
        strip => judged.map(|(ratio, interval)| strip(scale, ratio, interval)),
        peer => judged.and(row.best_peer.as_deref()),
        bars => bars(row),
        waits => waits(row),
        cpu => cpu(row),
        memory => memory(row),
    }
}

fn bars(row: &Row) -> Vec<Value> {
    let value = |figures: &Figures| figures.compared(row.compares);
    let longest = (row.everybody()).fold(f64::MIN_POSITIVE, |most, (_, f)| most.max(value(f)));
    let bar = |(name, figures)| {
        let text = match row.compares {
            Compares::BytesPerOp => row.compares.text(value(figures)),
            _ => duration(value(figures)),
        };
        let width = format!("{:.2}", value(figures) / longest * 100.0);
        context! { name, ours => name == OURS, width, value => text }
    };
    row.everybody().map(bar).collect()
}

/// Returns the percentiles, if the scenario has them: a column for each contender, which fits
/// a phone better than a row for each.
fn waits(row: &Row) -> Option<Value> {
    let all = row.everybody();
    let waits: Vec<(&str, &Figures, Latency)> = all
        .filter_map(|(name, figures)| Some((name, figures, figures.latency?)))
        .collect();
    if waits.is_empty() {
        return None;
    }
    let line = |text: &dyn Fn(&Figures, &Latency) -> String| -> Vec<String> {
        let cells = waits.iter().map(|(_, figures, waits)| text(figures, waits));
        cells.collect()
    };
    let percentile = |(what, of): (_, fn(&_) -> _)| (what, line(&|_, waits| duration(of(waits))));
    let mut lines = Vec::from(Latency::FIGURES.map(percentile));
    let times = line(&|figures, _| duration(figures.ns_per_op));
    lines.push(("time per operation", times));
    if waits.iter().any(|(_, _, latency)| latency.turns.is_some()) {
        let turns = line(&|_, waits| or_empty(waits.turns, Turns::text));
        lines.push(("share of turns", turns));
    }
    let names: Vec<_> = waits.iter().map(|(name, ..)| name).collect();
    Some(context! { names, lines })
}

/// Returns the processor time of each contender, if it was measured.
fn cpu(row: &Row) -> Option<String> {
    let times = row.everybody().map(|(name, figures)| {
        let time = figures.cpu_ns_per_op?;
        Some(format!("{name} {} ns", figure(time)))
    });
    Some(times.collect::<Option<Vec<_>>>()?.join(", "))
}

/// Returns the allocations of each contender that allocates.
fn memory(row: &Row) -> String {
    let allocates = row
        .everybody()
        .filter(|(_, figures)| figures.allocs_per_op >= 0.005);
    let texts = allocates.map(|(name, figures)| {
        let (count, bytes) = (figure(figures.allocs_per_op), figure(figures.bytes_per_op));
        format!("{name} {count} ({bytes} bytes)")
    });
    texts.collect::<Vec<_>>().join(", ")
}
