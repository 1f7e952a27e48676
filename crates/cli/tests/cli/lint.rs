//! `blitz lint` with a program that the test stands in for. `examples/hangs` tests what real programs record.

use std::fs;

use serde_json::Value;

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
    assert!(!ran.out.contains("of std"), "{ran:?}");
    let ran = lint(&[], "{\"format\":1}", "", None);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("locks of std are not seen"), "{ran:?}");
    assert!(
        expect(0, &["lint", "--help"])
            .out
            .contains("Locks of std are not seen")
    );
}

/// A test that hangs answers, unless the user has switched that off.
#[test]
fn the_program_answers_blitz_why() {
    let ran = lint(&[], RECORD, "echo asked $BLITZ_INSPECT", None);
    assert!(ran.out.contains("asked 1"), "{ran:?}");
    let script = "echo asked $BLITZ_INSPECT; echo '{\"format\":1}' > \"$BLITZ_LINT/1.blitzlint\"";
    let mut command = blitz(&["lint", "--", "sh", "-c", script]);
    let ran = Ran::from(command.env("BLITZ_INSPECT", "0").output().unwrap());
    assert!(ran.out.contains("asked 0"), "{ran:?}");
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

/// The fields that the schema of SARIF 2.1.0 requires, and the types of the optional fields in the log.
fn check_sarif(log: &Value) {
    assert_eq!(log["version"], "2.1.0");
    assert!(log["$schema"].as_str().unwrap().contains("sarif-2.1.0"));
    for run in log["runs"].as_array().unwrap() {
        let driver = &run["tool"]["driver"];
        assert!(driver["name"].is_string() && driver["version"].is_string());
        let rules = driver["rules"].as_array().unwrap();
        for rule in rules {
            assert!(rule["id"].is_string(), "{rule}");
            for text in ["shortDescription", "fullDescription", "help"] {
                assert!(!rule[text]["text"].as_str().unwrap().is_empty(), "{rule}");
            }
        }
        for invocation in run["invocations"].as_array().unwrap() {
            assert!(invocation["executionSuccessful"].is_boolean());
        }
        for result in run["results"].as_array().unwrap() {
            assert!(result["message"]["text"].is_string(), "{result}");
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(result["ruleId"], rules[index]["id"]);
            let level = result["level"].as_str().unwrap();
            assert!(["none", "note", "warning", "error"].contains(&level));
            assert!(result["occurrenceCount"].as_u64().unwrap() >= 1);
            let fingerprints = result["partialFingerprints"].as_object().unwrap();
            assert!(fingerprints.values().all(Value::is_string));
            for list in ["locations", "relatedLocations"] {
                for location in result[list].as_array().into_iter().flatten() {
                    let physical = &location["physicalLocation"];
                    assert!(physical["artifactLocation"]["uri"].is_string());
                    let line = physical["region"]["startLine"].as_u64();
                    assert!(line.is_none_or(|line| line >= 1), "{location}");
                }
            }
            for suppression in result["suppressions"].as_array().into_iter().flatten() {
                let kind = suppression["kind"].as_str().unwrap();
                assert!(["inSource", "external"].contains(&kind));
            }
        }
    }
}

#[test]
fn a_file_for_code_review_has_the_findings_and_those_that_are_allowed() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    let read = || -> Value { serde_json::from_slice(&fs::read(path).unwrap()).unwrap() };

    let ran = lint(&["--sarif", path], RECORD, "", None);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.out.contains("1 finding in 1 process"), "{ran:?}");
    let log = read();
    check_sarif(&log);
    let result = &log["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "lock-order");
    assert_eq!(result["level"], "error");
    let first = &result["locations"][0]["physicalLocation"];
    assert_eq!(first["artifactLocation"]["uri"], "src/bank.rs");
    assert_eq!(first["region"]["startLine"], 10);
    assert_eq!(result["relatedLocations"].as_array().unwrap().len(), 3);
    let fingerprint = result["partialFingerprints"].clone();

    let allowed =
        "[[allow]]\nlint = \"lock-order\"\nat = \"bank.rs\"\nreason = \"one at a time\"\n";
    let ran = lint(&["--sarif", path, "--json"], RECORD, "", Some(allowed));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let log = read();
    check_sarif(&log);
    let result = &log["runs"][0]["results"][0];
    assert_eq!(result["suppressions"][0]["justification"], "one at a time");
    assert_eq!(result["partialFingerprints"], fingerprint);

    let ran = lint(&["--sarif", path], "{\"format\":1}", "exit 7", None);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let log = read();
    check_sarif(&log);
    assert_eq!(log["runs"][0]["results"].as_array().unwrap().len(), 0);
    assert_eq!(
        log["runs"][0]["invocations"][0]["executionSuccessful"],
        false
    );

    let ran = lint(&["--sarif", "/does/not/exist/lint.sarif"], RECORD, "", None);
    assert_eq!(ran.code, Some(1), "{ran:?}");
}

#[test]
fn findings_for_those_who_ask_for_all_are_counted_otherwise() {
    let record = r#"{"format":1,"handed":[{"side":{"lock":"a","kind":"Semaphore","at":"src/jobs.rs:7"},
        "task":{"task":1},"count":1}]}"#;
    let ran = lint(&[], record, "", None);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("--pedantic shows 1 more"), "{ran:?}");
    let ran = lint(&["--json"], record, "", None);
    assert_eq!(ran.json()["pedantic"], 1);
    let ran = lint(&["--pedantic"], record, "", None);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.out.contains("futurelock-risk") && ran.out.contains("src/jobs.rs:7"),
        "{ran:?}"
    );
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
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.err.contains("blitz-lint.toml cannot be read"),
        "{ran:?}"
    );
}

/// A program without the feature is told which commands to try.
#[test]
fn the_commands_to_try_are_those_of_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let lint = |words: &[&str]| {
        let mut command = blitz(&["lint", "--"]);
        let output = command.args(words).current_dir(folder.path()).output();
        let ran = Ran::from(output.unwrap());
        assert_eq!(ran.code, Some(1), "{ran:?}");
        ran.err
    };
    let inner = folder.path().join("src");
    fs::create_dir(&inner).unwrap();
    // Without a lock file, nothing is known of the program.
    assert!(lint(&["true"]).contains("--features inspect, which `blitz migrate` writes"));
    let package = "[[package]]\nname = \"tokio\"\nversion = \"1.40.0\"\n";
    fs::write(folder.path().join("Cargo.lock"), package).unwrap();
    let said = lint(&["true", "a b"]);
    let commands =
        "  blitz migrate\n  cargo build --features inspect\n  blitz lint -- true 'a b'\n";
    assert!(said.ends_with(commands), "{said}");
    // Cargo has said that the package has no such feature.
    for feature in ["tokio/inspect", "inspect"] {
        let said = lint(&["false", "--features", feature]);
        assert!(said.contains("after `blitz migrate`"), "{said}");
    }
    assert!(!lint(&["false"]).contains("migrate"));
    let ours = format!("{package}dependencies = [\"blitz-io\"]\n");
    fs::write(folder.path().join("Cargo.lock"), ours).unwrap();
    let said = lint(&["true"]);
    assert!(
        said.contains("blitz lint -- true") && !said.contains("migrate"),
        "{said}"
    );
    // The program's own feature, whose packages are in the lock file.
    let features = "[features]\ninspect = [\"tokio/inspect\"]\n";
    fs::write(folder.path().join("Cargo.toml"), features).unwrap();
    let said = lint(&["true"]);
    assert!(said.contains("cargo build --features inspect\n"), "{said}");
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
    expect(64, &["lint"]);
    expect(64, &["lint", "--explain", "lock-odor"]);
    for lint in [
        "lock-order",
        "guard-across-await",
        "blocking-in-poll",
        "futurelock-risk",
        "leaked-task",
        "unbounded-growth",
        "lost-permit",
        "no-deadline",
        "wake-storm",
    ] {
        let ran = expect(0, &["lint", "--explain", lint]);
        assert!(
            ran.out.starts_with(lint) && ran.out.contains("What to change"),
            "{ran:?}"
        );
    }
}

#[test]
fn a_comment_in_the_program_allows_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    let lint_with = |comment: &str| {
        // The finding has the lines 10, 11, 20 and 21.
        let program = format!("{}{comment}\n", "\n".repeat(9));
        fs::write(folder.path().join("src/bank.rs"), program).unwrap();
        let script = format!("cat > \"$BLITZ_LINT/1.blitzlint\" <<'END'\n{RECORD}\nEND\n");
        let mut command = blitz(&["lint", "--json", "--", "sh", "-c", &script]);
        Ran::from(command.current_dir(folder.path()).output().unwrap())
    };
    let ran = lint_with("let a = 1; // blitz-lint: allow(lock-order): never at once");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["allowed"][0]["reason"], "never at once");
    for wrong in [
        "// blitz-lint: allow(lock-order):",
        "// blitz-lint: allow(leaked-task): never at once",
        "\n\n// blitz-lint: allow(lock-order): too far away",
    ] {
        assert_eq!(lint_with(wrong).code, Some(3), "{wrong}");
    }
}
