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
    for step in &finding.steps {
        let spawned_at = step.spawned_at.as_deref().unwrap_or_default();
        assert!(spawned_at.contains("blitz-io-lints.rs:"), "{finding:#?}");
    }
    finds_nothing("one_order");
}

#[test]
fn handlers_of_two_connections() {
    let finding = finds("handlers_in_two_orders", Lint::LockOrder);
    assert_eq!(finding.certainty, Probable);
    assert!(
        finding.summary.contains("as a connection does"),
        "{finding:#?}"
    );
    has_lines(&finding, 2);
    finds_nothing("handlers_in_one_order");
}

#[test]
fn children_of_a_scope_take_two_locks_in_both_orders() {
    let finding = finds("children_in_two_orders", Lint::LockOrder);
    assert_eq!(finding.certainty, Certain);
    assert!(
        finding.text().contains(" of a scope, spawned at "),
        "{finding:#?}"
    );
    has_lines(&finding, 4);
    finds_nothing("children_in_one_order");
}

#[test]
fn a_child_takes_a_lock_while_its_task_has_another_one() {
    finds("child_within_a_lock", Lint::LockOrder);
    finds_nothing("child_within_a_lock_in_one_order");
}

#[test]
#[cfg(target_os = "linux")]
fn a_poll_of_a_child_or_of_all_of_them_computes() {
    let finding = finds("child_computes", Lint::BlockingInPoll);
    assert!(finding.text().contains(" of a scope"), "{finding:#?}");
    let finding = finds("children_compute_together", Lint::BlockingInPoll);
    assert!(finding.text().contains("  task "), "{finding:#?}");
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
fn locks_that_default_makes_are_told_apart() {
    finds_nothing("made_by_default");
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
fn a_connection_takes_locks_while_it_waits_for_its_socket() {
    let finding = finds("beside_a_socket", Lint::LockOrder);
    assert_eq!(finding.certainty, Certain);
}

#[test]
fn a_guard_of_threads_over_an_await() {
    let finding = finds("guard_over_await", Lint::GuardAcrossAwait);
    has_lines(&finding, 2);
    finds_nothing("guard_before_await");
}

#[test]
fn a_guard_of_tasks_over_awaits_for_long_while_others_wait() {
    let finding = finds("guard_of_tasks_is_kept", Lint::GuardAcrossAwait);
    has_lines(&finding, 2);
    finds_nothing("guard_of_tasks_is_kept_alone");
    finds_nothing("guard_of_tasks_is_kept_shortly");
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
    let finding = finds("poll_of_request_computes", Lint::BlockingInPoll);
    // That of the task, and those of the waits before and after.
    has_lines(&finding, 3);
    let text = finding.text();
    assert!(text.contains(" (GET /hash), spawned at "), "{text}");
    assert!(text.contains("the longest part of it between "), "{text}");
    finds_nothing("poll_panics");
    finds_nothing("polls_are_short");
}

#[test]
fn a_run_with_many_locks_stays_bounded_and_says_so() {
    let run = record(env!("CARGO_BIN_EXE_blitz-io-lints"), "many_locks", &[]);
    assert!(run.edges.len() <= 16_384, "{}", run.edges.len());
    assert!(run.lost.held > 99_000, "{:?}", run.lost);
    assert_eq!(judge(&[run]), []);
}

#[test]
fn a_lock_that_is_read_twice_beside_a_writer() {
    let finding = finds("reads_twice", Lint::LockOrder);
    assert_eq!(finding.certainty, Probable);
    has_lines(&finding, 3);
    finds_nothing("reads_twice_and_writes_alone");
    finds_nothing("reads_twice_in_two_futures");
}

#[test]
fn a_future_that_has_a_lock_and_is_not_polled() {
    let finding = finds("future_keeps_lock", Lint::FuturelockRisk);
    assert!(!finding.is_pedantic, "{finding:#?}");
    has_lines(&finding, 2);
    finds_nothing("future_gives_lock_up");
    finds_nothing("future_gets_lock");
    assert!(finds("notified_later", Lint::FuturelockRisk).is_pedantic);
}

#[test]
fn tasks_that_are_left_when_their_runtime_ends() {
    let finding = finds("tasks_await_each_other", Lint::LeakedTask);
    assert!(
        finding.certainty == Certain && !finding.is_pedantic,
        "{finding:#?}"
    );
    // Task 3 awaits where it is spawned.
    has_lines(&finding, 3);
    assert!(finds("task_awaits_nothing", Lint::LeakedTask).is_pedantic);
    finds_nothing("tasks_are_left");
}

#[test]
fn a_channel_without_a_limit_that_only_gets_longer() {
    has_lines(&finds("channel_grows", Lint::UnboundedGrowth), 1);
    finds_nothing("channel_is_emptied");
    finds_nothing("channel_is_filled_first");
}

#[test]
fn permits_that_are_forgotten() {
    let finding = finds("permits_are_forgotten", Lint::LostPermit);
    assert!(!finding.is_pedantic && finding.count == 4, "{finding:#?}");
    has_lines(&finding, 1);
    finds_nothing("permits_are_added");
    // Each permit that was taken after the first time is forgotten, too.
    assert_eq!(
        finds("all_permits_are_forgotten", Lint::LostPermit).count,
        3
    );
    finds("permit_is_forgotten_and_awaited", Lint::LostPermit);
    finds("permit_was_awaited_and_is_forgotten", Lint::LostPermit);
    finds_nothing("permit_lets_through_once");
}

#[test]
fn a_request_that_waits_for_a_socket_without_a_deadline() {
    assert!(finds("request_without_deadline", Lint::NoDeadline).is_pedantic);
    finds_nothing("request_with_deadline");
    assert!(finds("child_of_request_without_deadline", Lint::NoDeadline).is_pedantic);
    finds_nothing("child_of_request_with_deadline");
    finds_nothing("socket_of_no_request");
    finds_nothing("connection_without_request");
}

#[test]
fn an_event_that_wakes_many_tasks_for_one() {
    assert!(finds("many_are_woken", Lint::WakeStorm).is_pedantic);
    finds_nothing("all_have_work");
}

/// Programs that hang if their tasks and threads meet, or a branch needs what another future has. Here they do not.
#[test]
fn programs_that_hang_in_another_schedule() {
    const APART: &[(Lint, &[&str])] = &[
        (
            Lint::LockOrder,
            &[
                "two_mutexes",
                "three_locks",
                "local_tasks_lock",
                "two_thread_mutexes",
                "two_own_locks",
                "thread_write_beside_upgradable",
                "thread_and_task",
                "two_tables",
                "scope_two_mutexes",
                "scope_two_mutexes_within",
                "parallel_scope_two_mutexes",
                "read_twice",
                "thread_read_twice",
            ],
        ),
        (
            Lint::FuturelockRisk,
            &[
                "futurelock_select",
                "futurelock_semaphore",
                "futurelock_rwlock",
                "futurelock_notify",
                "futurelock_reserve",
                "futurelock_of_connection",
            ],
        ),
        (
            Lint::BlockingInPoll,
            &["blocked_worker", "busy_first_poll", "std_mutex_in_a_task"],
        ),
        (
            Lint::GuardAcrossAwait,
            &["guard_over_await", "set_waits_for_owner"],
        ),
        (
            Lint::LostPermit,
            &[
                "leaked_permit",
                "thread_leaked_permit",
                "permits_leaked_one_by_one",
            ],
        ),
    ];
    let mut by_default = 0;
    for (lint, names) in APART {
        for name in *names {
            let finding = flags(name, "BLITZ_HANGS_APART", *lint);
            by_default += u32::from(!finding.is_pedantic);
        }
    }
    assert!(by_default >= 24, "{by_default}");
}

/// Programs that end although their tasks wait for ever: the main task does not wait for them.
#[test]
fn programs_that_leave_tasks_that_hang() {
    for name in LEFT {
        _ = flags(name, "BLITZ_HANGS_LEFT", Lint::LeakedTask);
    }
}

/// A program that ends, as the variable asks for it, has one finding of this lint.
#[track_caller]
fn flags(name: &str, variable: &str, lint: Lint) -> Finding {
    let hangs = env!("CARGO_BIN_EXE_blitz-io-hangs");
    let mut found = judge(&[record(hangs, name, &[(variable, "1")])]);
    let of_lint = found.iter().filter(|finding| finding.lint == lint);
    assert_eq!(of_lint.count(), 1, "{name}: {found:#?}");
    found.retain(|finding| finding.lint == lint);
    found.remove(0)
}

const LEFT: &[&str] = &[
    "self_lock",
    "join_each_other",
    "join_holds_lock",
    "set_waits_for_owner",
    "join_itself",
    "write_while_reading",
    "read_while_writing",
    "two_readers_upgrade",
    "cell_needs_itself",
    "cells_need_each_other",
    "futurelock_unordered",
    "unordered_holds_lock",
    "scope_two_mutexes",
    "scope_two_mutexes_within",
    "scope_sibling_holds_lock",
    "scope_body_holds_lock",
    "parallel_scope_holds_lock",
    "parallel_scope_two_mutexes",
];
