//! The table and the report of a failure.

use std::fmt::{self, Write};

use blitz_io_sim::{Outcome, Program, Verdict};
use serde::Serialize;

use super::choices::counted;
use super::printed;
use super::stacks;

/// How a test or program has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Ran(Verdict),
    /// The test has `#[ignore]`, and no argument selects such tests.
    Ignored,
    /// Its harness says that no test has run.
    NoTest,
}

impl End {
    pub fn is_failure(self) -> bool {
        matches!(self, End::Ran(verdict) if verdict.is_failure())
    }

    /// Returns `true` if it says nothing about the program, although it was to run.
    pub fn is_incomplete(self) -> bool {
        match self {
            End::Ran(verdict) => verdict.is_incomplete(),
            End::Ignored => false,
            End::NoTest => true,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Ran(verdict) => verdict.fmt(f),
            End::Ignored => f.write_str("ignored"),
            End::NoTest => f.write_str("no test has run"),
        }
    }
}

/// One test or program.
#[derive(Serialize)]
pub struct Row {
    pub test: String,
    pub schedules: u64,
    pub seconds: f64,
    /// All orders were tried.
    pub complete: bool,
    /// There is one order.
    pub only_one: bool,
    /// The most threads of one run.
    pub threads: u32,
    /// The run of another test has failed, or Ctrl-C was pressed, before this one was done.
    pub stopped: bool,
    /// The number of seeds, if the search has some.
    #[serde(skip)]
    pub wanted: Option<u64>,
    /// The most calls of one run.
    pub points: u64,
    #[serde(serialize_with = "as_text")]
    pub verdict: End,
    pub seed: Option<u64>,
    /// `--seed` with this number and `--seeds 1` repeats the failure.
    pub seed_repeats: bool,
    pub trace: Option<String>,
    /// The report of a run that did not pass.
    #[serde(skip)]
    pub details: String,
}

fn as_text<S: serde::Serializer>(verdict: &End, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(verdict)
}

impl Row {
    /// Returns the row of a test that was not begun.
    pub fn not_run(test: String) -> Self {
        Self {
            test,
            schedules: 0,
            seconds: 0.0,
            complete: false,
            only_one: false,
            threads: 0,
            stopped: true,
            wanted: None,
            points: 0,
            verdict: End::Ran(Verdict::Passed),
            seed: None,
            seed_repeats: true,
            trace: None,
            details: String::new(),
        }
    }

    /// Returns the row of a test with `#[ignore]`.
    pub fn ignored(test: String) -> Self {
        Self {
            stopped: false,
            verdict: End::Ignored,
            ..Self::not_run(test)
        }
    }

    /// Returns the verdict as the table has it. `orders`: the orders of which all were tried, if the row is complete.
    fn shown(&self, orders: &str) -> String {
        match (self.stopped, self.complete) {
            (true, _) if self.schedules == 0 => "not run".to_owned(),
            (true, _) => match self.wanted {
                Some(wanted) => format!("stopped ({} of {wanted})", self.schedules),
                None => "stopped".to_owned(),
            },
            (false, true) if self.only_one => format!("{} (its only order)", self.verdict),
            (false, true) => format!("{} ({orders})", self.verdict),
            (false, false) => self.verdict.to_string(),
        }
    }
}

/// Returns the table of all rows. `orders`: see [`Row::shown`]. `is_interrupted`: Ctrl-C was pressed.
pub fn table(rows: &[Row], orders: &str, is_interrupted: bool) -> String {
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
        let verdict = row.shown(orders);
        let _ = write!(
            text,
            "{:width$}  {:>9}  {:>8.2}  {:>8}  {verdict}",
            row.test, row.schedules, row.seconds, row.points
        );
        if let Some(seed) = row.seed {
            let _ = write!(text, ", seed {seed}");
            if !row.seed_repeats {
                text += " (only the trace repeats it)";
            }
        }
        if let Some(trace) = &row.trace {
            let _ = write!(text, ", {trace}");
        }
        text.push('\n');
    }
    let failed = rows.iter().filter(|row| row.verdict.is_failure()).count();
    let incomplete = rows
        .iter()
        .filter(|row| row.verdict.is_incomplete())
        .count();
    let stopped = rows.iter().filter(|row| row.stopped).count();
    let ignored = rows.iter().filter(|row| row.verdict == End::Ignored);
    let ignored = ignored.count();
    let passed = rows.len() - failed - incomplete - stopped - ignored;
    let runs: u64 = rows.iter().map(|row| row.schedules).sum();
    let _ = write!(
        text,
        "\n{passed} passed, {failed} failed, {incomplete} not simulated to the end{}; {}\n",
        match ignored {
            0 => String::new(),
            ignored => format!(", {ignored} ignored"),
        },
        counted(runs, "schedule")
    );
    if stopped > 0 {
        let tests = counted(stopped, "test");
        text += &if is_interrupted {
            format!("interrupted, with {tests} not done\n")
        } else {
            format!("stopped at the first failure, with {tests} not done: --keep-going runs them\n")
        };
    }
    text
}

/// Returns what is known of a run that did not pass.
pub fn failure(row: &Row) -> String {
    let runs = counted(row.schedules, "schedule");
    format!(
        "\n{}: {} after {runs}\n{}",
        row.test, row.verdict, row.details
    )
}

/// Returns the report of a run and its output: the parts that matter, or `all` of it.
pub fn details(program: &Program, outcome: &Outcome, all: bool) -> String {
    let mut text = stacks::readable(program, &outcome.report);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let output = String::from_utf8_lossy(&outcome.output);
    text + &printed::shown(&output, all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_was_stopped_has_not_passed() {
        let row = |test: &str| Row::not_run(test.to_owned());
        let failed = Row {
            schedules: 3,
            stopped: false,
            verdict: End::Ran(Verdict::Deadlock),
            ..row("hangs")
        };
        let complete = Row {
            schedules: 2,
            stopped: false,
            complete: true,
            ..row("ends")
        };
        let stopped = Row {
            schedules: 9,
            ..row("other")
        };
        let begun = Row {
            schedules: 7,
            wanted: Some(1_000),
            ..row("begun")
        };
        let rows = [failed, complete, stopped, begun, row("late")];
        let text = table(&rows, "all orders", false);
        let ends = |name: &str, verdict: &str| {
            let mut lines = text.lines().filter(|line| line.starts_with(name));
            lines.any(|line| line.ends_with(verdict))
        };
        assert!(ends("hangs", "  deadlock"), "{text}");
        assert!(ends("ends", "  passed (all orders)"), "{text}");
        assert!(ends("other", "  stopped"), "{text}");
        assert!(ends("begun", "  stopped (7 of 1000)"), "{text}");
        assert!(ends("late", "  not run"), "{text}");
        assert!(ends("1 passed, 1 failed", "; 21 schedules"), "{text}");
        assert!(
            ends("stopped at the first failure, with 3 tests not done", ""),
            "{text}"
        );
        let text = table(&rows, "all orders", true);
        assert!(text.ends_with("\ninterrupted, with 3 tests not done\n"));
    }

    #[test]
    fn an_ignored_test_has_not_passed_and_neither_has_one_that_has_not_run() {
        let none = Row {
            stopped: false,
            verdict: End::NoTest,
            ..Row::not_run("none".to_owned())
        };
        let rows = [Row::ignored("slow".to_owned()), none];
        let text = table(&rows, "all orders", false);
        let last = "\n0 passed, 0 failed, 1 not simulated to the end, 1 ignored; 0 schedules\n";
        assert!(text.ends_with(last), "{text}");
        assert!(text.contains("  ignored\n"), "{text}");
        assert!(text.contains("  no test has run\n"), "{text}");
    }
}
