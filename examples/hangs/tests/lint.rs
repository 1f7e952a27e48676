//! What `blitz lint` finds in programs that end: each lint in one with it, and not in one without it.
#![cfg(unix)]

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use blitz_io_inspect::Certainty::{Certain, Probable};
use blitz_io_inspect::lint::{Finding, Lint, Run, judge};

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("it is ours");
    }
}

/// Runs a program of a binary of this package, and reads what it has written.
fn record(binary: &str, name: &str, variables: &[(&str, &str)]) -> Run {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = format!("blitz-lint-test-{}-{count}", std::process::id());
    let folder = Folder(std::env::temp_dir().join(folder));
    fs::create_dir(&folder.0).expect("the name is new");
    let ended = Command::new(binary)
        .arg(name)
        .env("BLITZ_LINT", &folder.0)
        .envs(variables.iter().copied())
        .status()
        .expect("it was built");
    assert!(ended.success(), "{name}: {ended}");
    let mut files = fs::read_dir(&folder.0).expect("it is ours");
    let file = files.next().expect("the program has written a record");
    let text = fs::read_to_string(file.unwrap().path()).unwrap();
    assert!(files.next().is_none(), "{name}: two files");
    Run::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn found(name: &str) -> Vec<Finding> {
    judge(&[record(env!("CARGO_BIN_EXE_blitz-io-lints"), name, &[])])
}

#[track_caller]
fn finds(name: &str, lint: Lint) -> Finding {
    let mut found = found(name);
    assert_eq!(found.len(), 1, "{name}: {found:#?}");
    let finding = found.remove(0);
    assert_eq!(finding.lint, lint, "{name}: {finding:#?}");
    finding
}

#[track_caller]
fn finds_nothing(name: &str) {
    assert_eq!(found(name), [], "{name}");
}

/// The lines that a finding has are those of this file of the package.
#[track_caller]
fn has_lines(finding: &Finding, count: usize) {
    let lines = finding.lines();
    let ours = lines
        .iter()
        .filter(|line| line.contains("blitz-io-lints.rs:"));
    assert_eq!(ours.count(), lines.len(), "{finding:#?}");
    assert_eq!(lines.len(), count, "{finding:#?}");
}

#[test]
fn two_locks_in_both_orders() {
    let finding = finds("two_orders", Lint::LockOrder);
    assert_eq!(finding.certainty, Certain);
    assert!(finding.summary.contains("\"a\"") && finding.summary.contains("\"b\""));
    has_lines(&finding, 2);
    finds_nothing("one_order");
}

#[test]
fn three_locks_in_a_circle() {
    let finding = finds("three_in_a_circle", Lint::LockOrder);
    assert_eq!((finding.certainty, finding.steps.len()), (Certain, 3));
    finds_nothing("three_in_order");
}

#[test]
fn a_task_and_a_thread() {
    let finding = finds("task_and_thread", Lint::LockOrder);
    assert_eq!(finding.certainty, Certain);
    has_lines(&finding, 4);
}

#[test]
fn locks_of_one_line_are_told_apart() {
    finds_nothing("two_of_one_line");
    let finding = finds("two_of_one_line_both_ways", Lint::LockOrder);
    assert_eq!(finding.certainty, Certain);
}

#[test]
fn other_locks_of_the_same_two_lines_are_probable() {
    let finding = finds("others_of_two_lines", Lint::LockOrder);
    assert_eq!(finding.certainty, Probable);
}

#[test]
fn readers_do_not_keep_each_other_out() {
    finds_nothing("readers_both_ways");
    finds_nothing("thread_readers_both_ways");
    finds("a_writer_both_ways", Lint::LockOrder);
}

#[test]
fn orders_that_cannot_meet_are_none() {
    for name in [
        "within_a_third_lock",
        "tried",
        "moved_guard",
        "futures_of_one_task",
    ] {
        finds_nothing(name);
    }
}

#[test]
fn a_guard_of_threads_over_an_await() {
    let finding = finds("guard_over_await", Lint::GuardAcrossAwait);
    has_lines(&finding, 2);
    finds_nothing("guard_before_await");
}

#[test]
fn a_poll_that_waits_for_a_lock_of_threads() {
    let finding = finds("poll_waits_for_lock", Lint::BlockingInPoll);
    // That of the task, that of the wait, and that of the holder.
    has_lines(&finding, 3);
    finds_nothing("job_waits_for_lock");
    finds_nothing("in_place_waits_for_lock");
}

#[test]
#[cfg(target_os = "linux")]
fn a_poll_that_sleeps_or_computes_for_ten_milliseconds() {
    finds("poll_sleeps", Lint::BlockingInPoll);
    finds("poll_computes", Lint::BlockingInPoll);
    finds_nothing("polls_are_short");
}

#[test]
fn a_run_with_many_locks_stays_bounded_and_says_so() {
    let run = record(env!("CARGO_BIN_EXE_blitz-io-lints"), "many_locks", &[]);
    assert!(run.edges.len() <= 16_384, "{}", run.edges.len());
    assert!(run.lost.held > 99_000, "{:?}", run.lost);
    assert_eq!(judge(&[run]), []);
}

/// Programs that hang if two of their tasks or threads meet. Here they do not.
#[test]
fn programs_that_hang_in_another_schedule() {
    for name in [
        "two_mutexes",
        "three_locks",
        "local_tasks_lock",
        "two_thread_mutexes",
        "thread_write_beside_upgradable",
    ] {
        let apart = [("BLITZ_HANGS_APART", "1")];
        let run = record(env!("CARGO_BIN_EXE_blitz-io-hangs"), name, &apart);
        let found = judge(&[run]);
        let orders = found.iter().filter(|f| f.lint == Lint::LockOrder);
        assert_eq!(orders.count(), 1, "{name}: {found:#?}");
    }
}
