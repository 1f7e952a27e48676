//! Runs each command quickly: it ends successfully, its work was verified (otherwise it
//! would fail), and every contender has a row with figures.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Runs the program. A program that hangs has lost a wake-up.
fn run(arguments: &[&str]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_second-opinion"))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let deadline = Instant::now() + Duration::from_secs(240);
    while child.try_wait().expect("it can be waited for").is_none() {
        if Instant::now() > deadline {
            child.kill().expect("it can be ended");
            panic!("{arguments:?} hangs");
        }
        sleep(Duration::from_millis(20));
    }
    child.wait_with_output().expect("its output can be read")
}

fn answer(arguments: &[&str]) -> String {
    let output = run(arguments);
    let text = String::from_utf8(output.stdout).expect("it is text");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    assert!(text.contains("is verified"), "{text}");
    text
}

/// Counts the rows with this name; each must have a time that is not zero.
fn rows(text: &str, name: &str) -> usize {
    let rows: Vec<_> = text
        .lines()
        .filter(|line| line.trim_start_matches("| ").starts_with(name))
        .collect();
    for row in &rows {
        let has_time = row.split('|').any(|cell| {
            [" ns", " µs", " ms"]
                .iter()
                .any(|unit| cell.trim().ends_with(unit))
        });
        assert!(has_time, "{row}");
    }
    rows.len()
}

#[test]
fn semaphore() {
    let text = answer(&["semaphore", "--quick"]);
    assert_eq!(rows(&text, "naive futex, wakes one, 8 threads"), 4);
    for name in [
        "naive futex, wakes all, 8 threads",
        "std mutex + condvar, 8 threads",
        "tokio, 8 threads (block_on)",
        "blitz-io, 8 threads",
        "tokio, 8 tasks on 2 workers",
        "tokio, 8 tasks on 4 workers  ",
        "tokio, 8 tasks on 4 workers, awaits inside",
        "blitz-io, 8 tasks on 2 workers",
    ] {
        assert_eq!(rows(&text, name), 5, "{name}\n{text}");
    }
}

#[test]
fn rwlock() {
    let text = answer(&["rwlock", "--quick"]);
    for name in [
        "naive futex, 6 threads",
        "std, 6 threads",
        "parking_lot, 6 threads",
        "tokio, 6 threads (block_on)",
        "blitz-io, 6 threads",
        "tokio, 6 tasks on 2 workers",
        "blitz-io, 6 tasks on 4 workers",
    ] {
        assert_eq!(rows(&text, name), 2, "{name}\n{text}");
    }
}

#[test]
fn barriers() {
    let text = answer(&["barriers", "--quick"]);
    for name in [
        "naive futex",
        "std",
        "blitz-io Barrier",
        "blitz-io SpinBarrier",
        "spinning without a yield",
        "tokio, tasks",
        "blitz-io, tasks",
    ] {
        assert_eq!(rows(&text, name), 7, "{name}\n{text}");
    }
}

#[test]
fn spin_draws_only_when_asked() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("spin.svg");
    let _ = std::fs::remove_file(&file);
    let text = answer(&["spin", "--quick"]);
    assert_eq!(rows(&text, "blitz-io Mutex"), 3, "{text}");
    assert_eq!(rows(&text, "blitz-io Parker"), 2, "{text}");
    assert_eq!(rows(&text, "not at all"), 5, "{text}");
    assert!(!file.exists());

    answer(&[
        "spin",
        "--quick",
        "--plot",
        file.to_str().expect("a plain path"),
    ]);
    let picture = std::fs::read_to_string(&file).expect("it was drawn");
    assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"));
    assert_eq!(picture.matches("section of").count(), 4);
    assert_eq!(picture.matches("answer of").count(), 4);
}

#[test]
fn a_picture_that_cannot_be_drawn_is_a_failure() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no such folder/spin.svg");
    let output = run(&[
        "spin",
        "--quick",
        "--plot",
        file.to_str().expect("a plain path"),
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("spin.svg"));
}

/// The counts are known: a compare-and-swap to lock, and one more read-modify-write if
/// the release needs it.
#[test]
fn peers() {
    let text = answer(&["peers", "--quick"]);
    for name in [
        "mutex of blitz-io  ",
        "mutex of std",
        "mutex of tokio",
        "semaphore of tokio",
    ] {
        assert_eq!(rows(&text, name), 1, "{name}\n{text}");
    }
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        assert_eq!(locked(&text, "mutex of std"), Some(2), "{text}");
        assert_eq!(locked(&text, "mutex of parking_lot"), Some(2), "{text}");
    }
}

/// If calls can be counted at all, an echo makes at least a read and a write.
#[test]
fn io() {
    let text = answer(&["io", "--quick"]);
    let row = text.lines().find(|line| line.starts_with("| echo_64_2"));
    let cells: Vec<_> = row
        .expect("it is a row")
        .split('|')
        .map(str::trim)
        .collect();
    for cell in &cells[2..5] {
        let calls = cell.parse().unwrap_or(2.0);
        assert!((2.0..20.0).contains(&calls), "{text}");
    }
}

/// Returns the fourth column, if this process may trace its children.
fn locked(text: &str, name: &str) -> Option<u32> {
    let row = text
        .lines()
        .find(|line| line.starts_with(&format!("| {name}")))?;
    let cell = row.split('|').nth(4)?.trim();
    match cell {
        "–" => Some(2),
        count => count.parse().ok(),
    }
}

#[test]
fn usage_errors_have_their_exit_code() {
    assert_eq!(run(&["everything"]).status.code(), Some(2));
    assert_eq!(run(&[]).status.code(), Some(2));
    assert!(run(&["--help"]).status.success());
}
