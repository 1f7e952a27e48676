//! The table and the report of a failure.

use std::fmt::Write;

use blitz_io_sim::{Outcome, Program, Verdict};
use serde::Serialize;

use super::choices::counted;
use super::stacks;

/// Lines of the program's output that are shown.
const LINES: usize = 40;

/// One test or program.
#[derive(Serialize)]
pub struct Row {
    pub test: String,
    pub schedules: u64,
    pub seconds: f64,
    /// All orders were tried.
    pub complete: bool,
    /// The most calls of one run.
    pub points: u64,
    /// `None` if the search ended early, or did not begin, because another test had failed.
    #[serde(serialize_with = "as_text")]
    pub verdict: Option<Verdict>,
    pub seed: Option<u64>,
    pub trace: Option<String>,
    /// The report of a run that did not pass.
    #[serde(skip)]
    pub details: String,
}

impl Row {
    /// Creates the row of a test that was not run, as another one had failed.
    pub fn not_run(test: String) -> Self {
        Row {
            test,
            schedules: 0,
            seconds: 0.0,
            complete: false,
            points: 0,
            verdict: None,
            seed: None,
            trace: None,
            details: String::new(),
        }
    }

    /// Returns `true` if the verdict is known, and one of these.
    pub fn is(&self, wanted: impl FnOnce(Verdict) -> bool) -> bool {
        self.verdict.is_some_and(wanted)
    }

    /// Returns the word of the table.
    pub fn word(&self) -> String {
        word(self.verdict)
    }
}

fn word(verdict: Option<Verdict>) -> String {
    verdict.map_or_else(|| "stopped".to_owned(), |verdict| verdict.to_string())
}

fn as_text<S: serde::Serializer>(verdict: &Option<Verdict>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&word(*verdict))
}

/// Returns the table of all rows. `atomics`: threads changed at atomic operations, too.
pub fn table(rows: &[Row], atomics: bool) -> String {
    let width = rows
        .iter()
        .map(|row| row.test.chars().count())
        .max()
        .unwrap_or(0)
        .max(4);
    let mut text = format!(
        "{:width$}  {:>9}  {:>8}  {:>8}  verdict\n",
        "test", "schedules", "seconds", "calls"
    );
    for row in rows {
        let all = match (row.complete, atomics) {
            (true, true) => " (all orders of atomic operations)",
            (true, false) => " (all orders of calls)",
            (false, _) => "",
        };
        let verdict = row.word();
        let _ = write!(
            text,
            "{:width$}  {:>9}  {:>8.2}  {:>8}  {verdict}{all}",
            row.test, row.schedules, row.seconds, row.points
        );
        if let Some(seed) = row.seed {
            let _ = write!(text, ", seed {seed}");
        }
        if let Some(trace) = &row.trace {
            let _ = write!(text, ", {trace}");
        }
        text.push('\n');
    }
    let failed = rows.iter().filter(|row| row.is(Verdict::is_failure));
    let failed = failed.count();
    let incomplete = rows.iter().filter(|row| row.is(Verdict::is_incomplete));
    let incomplete = incomplete.count();
    let stopped = rows.iter().filter(|row| row.verdict.is_none()).count();
    let passed = rows.len() - failed - incomplete - stopped;
    let runs: u64 = rows.iter().map(|row| row.schedules).sum();
    let _ = write!(
        text,
        "\n{passed} passed, {failed} failed, {incomplete} not simulated to the end; {}\n",
        counted(usize::try_from(runs).unwrap_or(usize::MAX), "schedule")
    );
    if stopped > 0 {
        let _ = writeln!(
            text,
            "{} stopped after the first failure: --keep-going runs all to their ends",
            counted(stopped, "test")
        );
    }
    text
}

/// Returns what is known of a run that did not pass.
pub fn failure(row: &Row) -> String {
    let runs = usize::try_from(row.schedules).unwrap_or(usize::MAX);
    let runs = counted(runs, "schedule");
    format!(
        "\n{}: {} after {runs}\n{}",
        row.test,
        row.word(),
        row.details
    )
}

/// Returns the report of a run and the end of its output.
pub fn details(program: &Program, outcome: &Outcome) -> String {
    let mut text = stacks::readable(program, &outcome.report);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let output = String::from_utf8_lossy(&outcome.output);
    let lines: Vec<_> = output.lines().collect();
    let left_out = lines.len().saturating_sub(LINES);
    if left_out > 0 {
        let _ = writeln!(text, "  | … {left_out} lines");
    }
    for line in &lines[left_out..] {
        let _ = writeln!(text, "  | {line}");
    }
    text
}
