//! `blitz lint` with a program that the test stands in for. `examples/hangs` tests what real programs record.

use std::fs;

use super::common::{Ran, blitz, expect};

/// Two locks in both orders, as a shell script writes them.
const RECORD: &str = r#"{"format":1,"edges":[
{"from":{"lock":"a","kind":"Mutex","at":"src/bank.rs:10"},"to":{"lock":"b","kind":"Mutex","at":"src/bank.rs:11"},"owner":{"task":1}},
{"from":{"lock":"b","kind":"Mutex","at":"src/bank.rs:20"},"to":{"lock":"a","kind":"Mutex","at":"src/bank.rs:21"},"owner":{"task":2}}]}"#;

/// Runs the command in a folder of its own, with this file of allowed findings.
fn lint(options: &[&str], record: &str, then: &str, allowed: Option<&str>) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    if let Some(allowed) = allowed {
        fs::write(folder.path().join("blitz-lint.toml"), allowed).unwrap();
    }
    let script =
        format!("cat > \"$BLITZ_LINT/1.blitzlint\" <<'END'\n{record}\nEND\necho output\n{then}");
    let mut command = blitz(&["lint"]);
    command.args(options).args(["--", "sh", "-c", &script]);
    Ran::from(command.current_dir(folder.path()).output().unwrap())
}

#[test]
fn findings_have_an_exit_code_of_their_own_and_both_lines() {
    let ran = lint(&[], RECORD, "", None);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    for part in [
        "lock-order",
        "src/bank.rs:11",
        "src/bank.rs:21",
        "1 finding in 1 process",
    ] {
        assert!(ran.out.contains(part), "{ran:?}");
    }
    let ran = lint(&[], "{\"format\":1}", "", None);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn json_is_alone_on_standard_output() {
    let ran = lint(&["--json"], RECORD, "", None);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(ran.json()["findings"][0]["lint"], "lock-order");
    assert_eq!(
        ran.json()["findings"][0]["steps"][1]["takes"]["at"],
        "src/bank.rs:21"
    );
    assert!(ran.err.contains("output"), "{ran:?}");
}

#[test]
fn a_finding_is_allowed_with_a_reason() {
    let entry = |at: &str| {
        format!(
            "[[allow]]\nlint = \"lock-order\"\nat = \"{at}\"\nreason = \"one task at a time\"\n"
        )
    };
    let ran = lint(&["--json"], RECORD, "", Some(&entry("bank.rs:21")));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["allowed"][0]["reason"], "one task at a time");
    let ran = lint(&[], RECORD, "", Some(&entry("bank.rs:2")));
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.err.contains("nothing was found"), "{ran:?}");
    let ran = lint(&[], RECORD, "", Some("[[allow]]\nlint = \"lock-order\"\n"));
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn a_program_that_fails_or_writes_nothing_is_no_success() {
    let ran = lint(&[], "{\"format\":1}", "exit 7", None);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains('7'), "{ran:?}");
    let ran = expect(1, &["lint", "--", "true"]);
    assert!(ran.err.contains("inspect"), "{ran:?}");
    expect(1, &["lint", "--", "/does/not/exist"]);
    let ran = lint(&[], "{\"format\":1000}", "", None);
    assert_eq!(ran.code, Some(1), "{ran:?}");
}

#[test]
fn wrong_arguments_are_refused_and_each_lint_is_explained() {
    expect(2, &["lint"]);
    expect(2, &["lint", "--explain", "lock-odor"]);
    for lint in ["lock-order", "guard-across-await", "blocking-in-poll"] {
        let ran = expect(0, &["lint", "--explain", lint]);
        assert!(
            ran.out.starts_with(lint) && ran.out.contains("What to change"),
            "{ran:?}"
        );
    }
}
