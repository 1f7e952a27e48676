//! Each program again beside an accept loop, a ticker and a signal handler, as in a service. There, a thread is always
//! left that could wake another one.
#![cfg(target_os = "linux")]

#[path = "program/found.rs"]
mod found;
mod program;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use blitz_io_inspect::{Answer, ask_with_peers};
use found::FOUND;
use program::Program;

/// Not healthy in a service: a task keeps its worker while its children sleep.
const BLOCKS: &str = "idle_scope_of_sleepers";

/// The programs run at the same time.
const AT_ONCE: usize = 4;
/// The accept loop of the service waits so many milliseconds before a healthy program has been asked often enough.
const LONG: u64 = 3_000;
/// The tasks of the service.
const SERVICE: usize = 3;

fn start(name: &str) -> Program {
    Program::start_with(name, &[("BLITZ_HANGS_LIVE", OsStr::new("1"))])
}

/// The answer of a program whose service has begun.
fn answer(program: &mut Program) -> Answer {
    answer_of(program, SERVICE)
}

/// The answer of a program with so many tasks at least.
fn answer_of(program: &mut Program, tasks: usize) -> Answer {
    loop {
        program.still_runs();
        match ask_with_peers(program.0.id(), "blitz-io-hangs") {
            Ok(answer) if answer.snapshot.tasks.len() >= tasks => return answer,
            _ => thread::yield_now(),
        }
    }
}

fn for_each<T: Sync>(all: &[T], body: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(item) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    body(item);
                }
            });
        }
    });
}

/// The names of all programs.
fn programs() -> Vec<String> {
    let listed = Command::new(env!("CARGO_BIN_EXE_blitz-io-hangs")).output();
    let names = String::from_utf8(listed.expect("it was built").stdout).unwrap();
    names.lines().map(str::to_owned).collect()
}

/// Waits for the finding of each program.
fn finds_all(
    start: impl Fn(&str) -> Program + Sync,
    answer: impl Fn(&mut Program) -> Answer + Sync,
) {
    for_each(FOUND, |&(name, kind)| {
        let mut program = start(name);
        let mut is_found = || answer(&mut program).findings.iter().any(|f| f.kind == kind);
        while !is_found() {}
    });
}

/// The findings do not depend on the service.
#[test]
fn the_same_programs_have_these_findings_alone() {
    finds_all(Program::start, |program| answer_of(program, 0));
}

/// Three of four hangs are found. The others are listed only: one end of such a wait is a plain value or a shared word
/// that any live thread could have, or it is outside the process.
#[test]
fn a_live_service_hides_no_hang_whose_end_is_known() {
    finds_all(start, answer);
    let known: HashSet<&str> = FOUND.iter().map(|&(name, _)| name).collect();
    assert_eq!(known.len(), FOUND.len());
    let mut hangs = programs();
    hangs.retain(|name| found::hangs(name));
    assert!(
        known.len() * 4 >= hangs.len() * 3,
        "{} of {}",
        known.len(),
        hangs.len()
    );
}

#[test]
fn healthy_programs_have_no_finding_beside_a_live_service() {
    let mut healthy = programs();
    healthy.retain(|name| name.starts_with("idle_") && name != BLOCKS);
    for_each(&healthy, |name| {
        let mut program = start(name);
        loop {
            let Answer { snapshot, findings } = answer(&mut program);
            assert_eq!(findings, [], "{name}");
            // Some findings are about waits of a second or two.
            if snapshot.waits.iter().any(|wait| wait.waiting_ms >= LONG) {
                break;
            }
        }
    });
}
