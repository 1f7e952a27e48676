//! The file with the findings that are no faults.

use std::fmt::{self, Display, Formatter};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use blitz_io_inspect::lint::{Finding, Lint};
use toml_edit::{DocumentMut, Table};

use crate::exit::Exit;

/// The file that is read if there is one.
const FILE: &str = "blitz-lint.toml";

/// The findings that are allowed.
#[derive(Debug)]
pub struct Allowed(Vec<Entry>);

/// One entry of the file.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    lint: Lint,
    /// A file, or a file and a line.
    at: String,
    reason: String,
}

impl Allowed {
    /// Reads the file, which need not exist if it was not named.
    pub fn read(path: Option<&Path>) -> Result<Self, Exit> {
        let (file, is_named) = (path.unwrap_or(Path::new(FILE)), path.is_some());
        let wrong = |problem: String| {
            Exit::unreadable(file, problem).with_advice("`blitz lint --help` shows such a file.")
        };
        match fs::read_to_string(file) {
            Ok(text) => parse(&text).map(Self).map_err(wrong),
            Err(error) if error.kind() == ErrorKind::NotFound && !is_named => Ok(Self(vec![])),
            Err(error) => Err(wrong(error.to_string())),
        }
    }

    /// Returns why a finding is allowed.
    pub fn reason(&self, finding: &Finding) -> Option<&str> {
        let mut entries = self.0.iter();
        let entry = entries.find(|entry| entry.fits(finding))?;
        Some(&entry.reason)
    }

    /// Returns the entries that fit to no finding.
    pub fn unused(&self, findings: &[Finding]) -> impl Iterator<Item = &Entry> {
        let is_used = |entry: &Entry| findings.iter().any(|finding| entry.fits(finding));
        self.0.iter().filter(move |entry| !is_used(entry))
    }
}

impl Entry {
    fn fits(&self, finding: &Finding) -> bool {
        let fits = |line: &str| {
            let file = line.rsplit_once(':').map_or(line, |(file, _)| file);
            ends_with(line, &self.at) || ends_with(file, &self.at)
        };
        self.lint == finding.lint && finding.lines().into_iter().any(fits)
    }
}

impl Display for Entry {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "the allowed {} at {}", self.lint, self.at)
    }
}

/// Returns `true` if a path is, or ends with, whole parts of another one.
fn ends_with(path: &str, end: &str) -> bool {
    let before = path.strip_suffix(end);
    before.is_some_and(|before| before.is_empty() || before.ends_with(['/', '\\']))
}

fn parse(text: &str) -> Result<Vec<Entry>, String> {
    let file: DocumentMut = text.parse().map_err(|error| format!("{error}"))?;
    if let Some((key, _)) = file.iter().find(|(key, _)| *key != "allow") {
        return Err(format!("{key:?} is not known; there is [[allow]]"));
    }
    let Some(entries) = file.get("allow") else {
        return Ok(vec![]);
    };
    let entries = entries.as_array_of_tables();
    let entries = entries.ok_or("`allow` is not [[allow]]")?;
    entries.iter().map(entry).collect()
}

fn entry(table: &Table) -> Result<Entry, String> {
    const KEYS: [&str; 3] = ["lint", "at", "reason"];
    if let Some((key, _)) = table.iter().find(|(key, _)| !KEYS.contains(key)) {
        return Err(format!(
            "{key:?} is not known; there are {}",
            KEYS.join(", ")
        ));
    }
    let word = |key: &str| {
        let value = table.get(key).and_then(|value| value.as_str());
        let value = value.filter(|value| !value.trim().is_empty());
        value.ok_or_else(|| format!("an entry of [[allow]] has no {key:?}"))
    };
    Ok(Entry {
        lint: word("lint")?.parse()?,
        at: word("at")?.to_owned(),
        reason: word("reason")?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_need_a_known_lint_a_place_and_a_reason() {
        let whole = "[[allow]]\nlint = \"lock-order\"\nat = \"a.rs:1\"\nreason = \"why\"\n";
        assert_eq!(parse(whole).unwrap().len(), 1);
        assert_eq!(parse("").unwrap(), []);
        for (wrong, told) in [
            (whole.replace("reason = \"why\"", ""), "reason"),
            (whole.replace("why", " "), "reason"),
            (whole.replace("a.rs:1", ""), "at"),
            (whole.replace("lock-order", "lock-odor"), "lock-odor"),
            (whole.replace("reason", "because"), "because"),
            ("deny = 1".to_owned(), "deny"),
            ("allow = 1".to_owned(), "[[allow]]"),
        ] {
            let error = parse(&wrong).unwrap_err();
            assert!(error.contains(told), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_place_is_the_end_of_a_path_in_whole_parts() {
        assert!(ends_with("src/a.rs:1", "a.rs:1") && ends_with("a.rs", "a.rs"));
        assert!(!ends_with("src/a.rs:11", "a.rs:1") && !ends_with("src/aa.rs", "a.rs"));
    }
}
