//! The findings in SARIF 2.1.0, the format that code review and editors read.
//!
//! A finding is a result, a lint is a rule. The first line of the program is the result's location, and the others are
//! related ones. A finding that is allowed is a result with a suppression, so that a reviewer sees it and why.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::finding::{Finding, Lint};
use crate::snapshot::Certainty;

/// The schema of the format.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Returns findings as a log in SARIF 2.1.0. A reason says why a finding is allowed. `succeeded`: the program has
/// ended with success.
///
/// ```
/// use blitz_io_inspect::lint::sarif;
///
/// let log = sarif(&[], "1.2.3", true);
/// assert_eq!(log["version"], "2.1.0");
/// assert_eq!(log["runs"][0]["tool"]["driver"]["name"], "blitz lint");
/// ```
#[must_use]
pub fn sarif(findings: &[(&Finding, Option<&str>)], version: &str, succeeded: bool) -> Value {
    let results: Vec<Value> = findings
        .iter()
        .map(|(finding, reason)| result(finding, *reason))
        .collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "blitz lint",
                "version": version,
                "informationUri": "https://github.com/blitz-io/blitz-io",
                "rules": Lint::ALL.map(rule),
            }},
            "invocations": [{ "executionSuccessful": succeeded }],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn rule(lint: Lint) -> Value {
    let page = lint.explanation();
    let title = page.lines().next().unwrap_or_default();
    let (_, short) = title.split_once(": ").unwrap_or(("", title));
    json!({
        "id": lint.name(),
        "shortDescription": { "text": short },
        "fullDescription": { "text": page },
        "help": { "text": page },
    })
}

fn result(finding: &Finding, reason: Option<&str>) -> Value {
    let lines: Vec<&str> = finding.lines().into_iter().collect();
    let mut result = json!({
        "ruleId": finding.lint.name(),
        "ruleIndex": Lint::ALL.iter().position(|lint| *lint == finding.lint),
        "level": level(finding),
        "message": { "text": finding.text().trim_end() },
        "occurrenceCount": finding.count.max(1),
        "partialFingerprints": { "blitzLint/v1": fingerprint(finding.lint, &lines) },
    });
    if let Some((first, others)) = lines.split_first() {
        result["locations"] = json!([location(first)]);
        if !others.is_empty() {
            let others = others.iter().enumerate().map(|(id, line)| {
                let mut location = location(line);
                location["id"] = json!(id + 1);
                location["message"] = json!({ "text": "the other side" });
                location
            });
            result["relatedLocations"] = others.collect();
        }
    }
    if let Some(reason) = reason {
        result["suppressions"] = json!([{ "kind": "external", "justification": reason }]);
    }
    result
}

fn level(finding: &Finding) -> &'static str {
    match finding.certainty {
        _ if finding.is_pedantic => "note",
        Certainty::Certain => "error",
        Certainty::Probable => "warning",
    }
}

/// Identifies a finding in several runs, as long as its lines stay the same.
fn fingerprint(lint: Lint, lines: &[&str]) -> String {
    // The hash of FNV, which is the same for ever.
    let text = lines
        .iter()
        .fold(lint.name().to_owned(), |all, line| all + "\n" + line);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// Returns the location of a line such as `src/main.rs:17`.
fn location(place: &str) -> Value {
    let (file, line) = place.rsplit_once(':').unwrap_or((place, ""));
    let mut physical = json!({ "artifactLocation": { "uri": uri(file) } });
    // Lines begin with 1 in the format.
    if let Some(line) = line.parse::<u32>().ok().filter(|&line| line != 0) {
        physical["region"] = json!({ "startLine": line });
    }
    json!({ "physicalLocation": physical })
}

/// Returns the reference for a path: relative ones stay so.
fn uri(path: &str) -> String {
    let path = path.replace('\\', "/");
    let drive = path.as_bytes().get(1) == Some(&b':');
    let mut uri = match (drive, path.starts_with('/')) {
        (true, _) => "file:///".to_owned(),
        (_, true) => "file://".to_owned(),
        _ => String::new(),
    };
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) || (drive && byte == b':') {
            uri.push(byte as char);
        } else {
            _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_references() {
        for (path, expected) in [
            ("src/main.rs", "src/main.rs"),
            ("src\\a b.rs", "src/a%20b.rs"),
            ("/home/ä/x.rs", "file:///home/%C3%A4/x.rs"),
            ("C:\\x.rs", "file:///C:/x.rs"),
        ] {
            assert_eq!(uri(path), expected);
        }
    }

    #[test]
    fn places_without_a_line_have_no_region() {
        assert_eq!(
            location("src/main.rs:17")["physicalLocation"]["region"]["startLine"],
            17
        );
        for place in ["main.rs", "main.rs:0", "main.rs:x"] {
            assert!(location(place)["physicalLocation"].get("region").is_none());
        }
    }
}
