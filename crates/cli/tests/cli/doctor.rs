//! `blitz doctor` and `blitz completions` from outside.

use std::process::Command;

use super::common::{complete, expect};

#[test]
fn doctor_speaks_to_people() {
    let ran = expect(0, &["doctor"]);
    for heading in [
        "Program",
        "Machine",
        "What the system offers",
        "What blitz-io uses",
        "What you could change",
    ] {
        assert!(
            ran.out.contains(heading),
            "{heading} is missing in\n{}",
            ran.out
        );
    }
    // A line says what the system offers, and one what uses it.
    let is_linux = cfg!(target_os = "linux");
    assert_eq!(ran.out.contains("\n  io_uring  "), is_linux, "{}", ran.out);
    let uses = ran.out.split("What blitz-io uses").nth(1).unwrap();
    assert_eq!(uses.contains("io_uring"), is_linux, "{uses}");
    // Unused features without a consequence are in the JSON only.
    for word in ["spin hint", "exact wake counts"] {
        assert!(!ran.out.contains(word), "{word} is of no consequence");
    }
}

#[test]
fn doctor_speaks_json() {
    let found = expect(0, &["doctor", "--json"]).json();
    assert_eq!(found["version"], env!("CARGO_PKG_VERSION"));
    let target = found["target"].as_str().unwrap();
    assert!(target.starts_with(std::env::consts::ARCH), "{target}");
    let shown = expect(0, &["doctor"]).out;
    assert!(shown.contains(target), "{shown}");
    // An archive of the sources has no history.
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let head = Command::new("git")
        .args(["-C", folder, "rev-parse", "HEAD"])
        .output();
    if let Some(head) = head.ok().filter(|head| head.status.success()) {
        let head = String::from_utf8(head.stdout).unwrap();
        assert_eq!(found["revision"], head.trim());
        assert!(shown.contains(&head.trim()[..12]), "{shown}");
    }
    assert!(found["processors"]["allowed"].as_u64().unwrap() >= 1);
    assert!(!found["futex"]["backend"].as_str().unwrap().is_empty());
    assert!(found["costs"]["atomic_rmw_ns"].as_f64().unwrap() > 0.0);
    assert!(!found["uses"].as_array().unwrap().is_empty());
    if cfg!(target_os = "linux") {
        // The doctor and the library must agree about the kernel.
        let probed = found["futex_waitv"]["works"].as_bool().unwrap();
        assert_eq!(
            probed,
            found["futex"]["wait_any_in_kernel"].as_bool().unwrap()
        );
        assert!(
            !found["io_uring"]["setup"]["detail"]
                .as_str()
                .unwrap()
                .is_empty()
        );
        assert!(found["membarrier"]["works"].is_boolean());
    }
}

#[test]
fn completions_know_the_options() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = expect(0, &["completions", shell]);
        assert!(ran.out.contains("BLITZ_COMPLETE"), "{shell}");
    }
    expect(64, &["completions", "tcsh"]);

    let completed = complete(&["blitz", "bench", "--com"]);
    assert!(completed.contains(&"--compare".to_owned()), "{completed:?}");
}

#[test]
fn help_names_the_exit_codes() {
    for arguments in [&["--help"][..], &["bench", "--help"]] {
        let ran = expect(0, arguments);
        assert!(ran.out.contains("130"), "{}", ran.out);
    }
}
