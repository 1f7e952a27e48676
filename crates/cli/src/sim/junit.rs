//! The table as JUnit XML.

use std::fmt::Write;

use super::choices::counted;
use super::report::{End, Row};
use crate::why::picture::escaped;

/// Returns the document. A run that could not be simulated to its end is an error, not a failure.
pub fn document(rows: &[Row]) -> String {
    let failures = rows.iter().filter(|row| row.verdict.is_failure()).count();
    let errors = rows
        .iter()
        .filter(|row| row.verdict.is_incomplete())
        .count();
    let seconds: f64 = rows.iter().map(|row| row.seconds).sum();
    let skipped = rows.iter().filter_map(why_skipped).count();
    let counts = format!(
        "name=\"blitz sim\" tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{seconds:.3}\"",
        rows.len()
    );
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n<testsuite {counts}>\n"
    );
    for row in rows {
        let (class, name) = row.test.split_once("::").unwrap_or(("", &row.test));
        let _ = write!(
            text,
            "<testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\"",
            attribute(class),
            attribute(name),
            row.seconds
        );
        if let Some(why) = why_skipped(row) {
            let _ = writeln!(text, "><skipped message=\"{why}\"/></testcase>");
            continue;
        }
        let tag = match row.verdict {
            verdict if verdict.is_failure() => "failure",
            verdict if verdict.is_incomplete() => "error",
            _ => {
                text.push_str("/>\n");
                continue;
            }
        };
        let runs = usize::try_from(row.schedules).unwrap_or(usize::MAX);
        let mut message = format!("{} after {}", row.verdict, counted(runs, "schedule"));
        if let Some(seed) = row.seed {
            let _ = write!(message, ", seed {seed}");
        }
        let trace = row.trace.as_deref().unwrap_or("");
        let _ = write!(
            text,
            ">\n<{tag} type=\"{}\" message=\"{}\">{}{}</{tag}>\n</testcase>\n",
            attribute(&row.verdict.to_string()),
            attribute(&message),
            characters(&row.details),
            characters(trace),
        );
    }
    text.push_str("</testsuite>\n</testsuites>\n");
    text
}

/// Returns why a test is not done.
fn why_skipped(row: &Row) -> Option<&'static str> {
    match row.verdict {
        _ if row.stopped => Some("stopped at the failure of another test, or by a signal"),
        End::Ignored => Some("ignored"),
        _ => None,
    }
}

/// Escapes text. XML has no form for most control characters.
fn characters(text: &str) -> String {
    let allowed = |letter: char| {
        let is_allowed = matches!(letter, '\t' | '\n' | ' '..='\u{fffd}' | '\u{10000}'..);
        if is_allowed { letter } else { '\u{fffd}' }
    };
    escaped(&text.chars().map(allowed).collect::<String>())
}

fn attribute(text: &str) -> String {
    characters(text).replace('\n', "&#10;")
}

#[cfg(test)]
mod tests {
    use blitz_io_sim::Verdict;

    use super::*;

    #[test]
    fn each_verdict_has_its_element() {
        let row = |test: &str, verdict| Row {
            schedules: 12,
            seconds: 0.5,
            stopped: false,
            points: 7,
            verdict: End::Ran(verdict),
            seed: Some(11),
            details: "a < b\u{1b}[0m".to_owned(),
            ..Row::not_run(test.to_owned())
        };
        let rows = [
            row("app::passes", Verdict::Passed),
            row("app::module::\"hangs\"", Verdict::Deadlock),
            row("program", Verdict::Escaped),
            Row::not_run("late".to_owned()),
        ];
        let text = document(&rows);
        for part in [
            "<testsuite name=\"blitz sim\" tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\" time=\"1.500\">",
            "<testcase classname=\"app\" name=\"passes\" time=\"0.500\"/>",
            "<testcase classname=\"app\" name=\"module::&quot;hangs&quot;\" time=\"0.500\">",
            "<failure type=\"deadlock\" message=\"deadlock after 12 schedules, seed 11\">a &lt; b\u{fffd}[0m</failure>",
            "<error type=\"escaped\"",
            "name=\"late\" time=\"0.000\"><skipped message=",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
