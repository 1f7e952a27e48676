//! The arguments of the harness of Rust's tests, and its last line.

use std::ffi::OsString;

use crate::exit::Exit;

/// Which tests the user wants.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The arguments that select tests.
    pub of_list: Vec<OsString>,
    /// The argument by which a test with `#[ignore]` runs.
    pub ignored: Option<&'static str>,
}

/// Options that select tests, with a value that may be the next word.
const SELECT_BY_VALUE: [&str; 2] = ["--skip", "-Z"];
/// Options about output, order and threads: each test runs alone.
const OTHERS: [&str; 9] = [
    "--nocapture",
    "--no-capture",
    "--show-output",
    "-q",
    "--quiet",
    "--report-time",
    "--ensure-time",
    "--shuffle",
    "--fail-fast",
];
/// Options of that kind, with a value that may be the next word.
const OTHERS_BY_VALUE: [&str; 5] = [
    "--test-threads",
    "--format",
    "--color",
    "--logfile",
    "--shuffle-seed",
];

impl Selection {
    /// Sorts the arguments for the harness. Unknown ones stay: the harness refuses them.
    pub fn parse(words: &[OsString]) -> Result<Selection, Exit> {
        let mut selection = Selection::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let text = word.to_str().unwrap_or("");
            let name = text.split_once('=').map_or(text, |(name, _)| name);
            let has_value = name.len() < text.len();
            match name {
                "--list" | "--help" | "-h" => {
                    return Err(Exit::usage(
                        format_args!("With {name}, the tests do not run."),
                        "Leave it out, or give it to `cargo test`.",
                    ));
                }
                "--ignored" => selection.ignored = Some("--ignored"),
                "--include-ignored" => selection.ignored = Some("--include-ignored"),
                _ if OTHERS.contains(&name) => continue,
                _ if OTHERS_BY_VALUE.contains(&name) => {
                    if !has_value {
                        words.next();
                    }
                    continue;
                }
                _ => {}
            }
            selection.of_list.push(word.clone());
            if SELECT_BY_VALUE.contains(&name) && !has_value {
                selection.of_list.extend(words.next().cloned());
            }
        }
        Ok(selection)
    }
}

/// Returns `true` if a harness says at its end that no test has run.
pub fn ran_none(output: &[u8]) -> bool {
    let text = String::from_utf8_lossy(output);
    let mut results = text
        .lines()
        .filter_map(|line| line.strip_prefix("test result: "));
    let counted = |result: &str| {
        // `ok. 0 passed; 0 failed; 1 ignored; ...`
        let parts = result.split([';', '.']).map(str::trim);
        parts
            .filter(|part| part.ends_with(" passed") || part.ends_with(" failed"))
            .all(|part| part.starts_with("0 "))
    };
    results.next_back().is_some_and(counted)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    fn parsed(line: &str) -> (String, Option<&'static str>) {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let Ok(selection) = Selection::parse(&words) else {
            panic!("{line}");
        };
        let of_list = selection.of_list.join(OsStr::new(" "));
        (of_list.into_string().unwrap(), selection.ignored)
    }

    #[test]
    fn arguments_that_select_tests_are_kept_and_those_about_output_are_not() {
        for (line, kept, ignored) in [
            ("", "", None),
            ("one two --exact", "one two --exact", None),
            ("--ignored", "--ignored", Some("--ignored")),
            (
                "--include-ignored one",
                "--include-ignored one",
                Some("--include-ignored"),
            ),
            ("--skip slow --skip=late", "--skip slow --skip=late", None),
            (
                "--test-threads 4 --nocapture one --format=pretty -q",
                "one",
                None,
            ),
            ("--unknown one", "--unknown one", None),
        ] {
            assert_eq!(parsed(line), (kept.to_owned(), ignored), "{line}");
        }
        assert!(Selection::parse(&["--list".into()]).is_err());
    }

    #[test]
    fn the_last_result_says_whether_a_test_has_run() {
        let none = "test result: ok. 0 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        let one = "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        let failed = one.replace("1 passed; 0 failed", "0 passed; 1 failed");
        assert!(ran_none(format!("running 1 test\n{none}\n").as_bytes()));
        assert!(!ran_none(one.as_bytes()));
        assert!(!ran_none(failed.as_bytes()));
        // A test may print the result of another program.
        assert!(!ran_none(format!("{none}\n{one}\n").as_bytes()));
        assert!(!ran_none(b"no harness"));
    }
}
