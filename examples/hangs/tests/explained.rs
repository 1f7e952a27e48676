//! `blitz sim` says of a deadlock what `blitz why` says.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

mod program;

use program::blitz;

/// Runs a program that hangs, and returns what `blitz sim` prints.
fn simulated(program: &str) -> String {
    // Other tests run meanwhile.
    let folder = format!("blitz-simulated-{}-{program}", std::process::id());
    let traces = std::env::temp_dir().join(folder);
    let ran = blitz()
        .args(["sim", "run", "--seeds", "1", "--faults", "none", "--traces"])
        .arg(&traces)
        .args(["--", env!("CARGO_BIN_EXE_blitz-io-hangs"), program])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(4), "{program}: {text}");
    _ = std::fs::remove_dir_all(traces);
    text
}

#[test]
fn a_deadlock_of_tasks_has_their_names_and_lines() {
    let text = simulated("two_mutexes");
    let expected = [
        "certain: deadlock: ",
        "\"transfer\"",
        "\"report\"",
        "Mutex \"accounts\"",
        "Mutex \"audit\"",
        "locks.rs:",
    ];
    for words in expected {
        assert!(text.contains(words), "no {words} in {text}");
    }
}

#[test]
fn a_deadlock_of_threads_has_their_objects() {
    let text = simulated("two_thread_mutexes");
    assert!(text.contains("certain: deadlock: "), "{text}");
    assert!(text.contains("locks.rs:"), "{text}");
}

#[test]
fn a_task_that_waits_for_itself_is_named() {
    let text = simulated("self_lock");
    assert!(text.contains("certain: self-wait: "), "{text}");
}
