//! What an answer costs a process with very many tasks: the time, and the memory while it answers and afterwards. These
//! tests print it. They compare it with limits that a quiet machine keeps, so they run on demand only:
//! `cargo test --release --test many -- --ignored --nocapture`.
#![cfg(target_os = "linux")]

mod program;

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{ChildStdout, Stdio};
use std::time::{Duration, Instant};

use blitz_io_inspect::ask;
use program::Program;

/// The limit of the time for one answer.
const TIME: Duration = Duration::from_secs(3);
/// The limit of the memory for it, in KiB.
const MEMORY: u64 = 50 << 10;
/// The limit of what stays afterwards, in KiB.
const KEPT: u64 = 2 << 10;
/// The questions, one after another.
const QUESTIONS: usize = 3;

/// Returns a number of KiB from the status of a process.
fn status(pid: u32, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_ascii_whitespace().nth(1));
    number
        .and_then(|number| number.parse().ok())
        .expect("the system says it")
}

/// Makes the present memory of a process its highest one.
fn forget_peak(pid: u32) {
    fs::write(format!("/proc/{pid}/clear_refs"), "5").expect("it is our child");
}

fn first_line(stdout: ChildStdout) -> String {
    let mut line = String::new();
    BufReader::new(stdout)
        .read_line(&mut line)
        .expect("it is a pipe");
    line
}

fn asks(count: usize) {
    let text = count.to_string();
    let variables = [("BLITZ_HANGS_COUNT", OsStr::new(&text))];
    let mut program = Program::start_piped("idle_many", &variables, Stdio::piped());
    let stdout = program.0.stdout.take().expect("it is a pipe");
    assert_eq!(first_line(stdout), format!("{count} tasks\n"));
    let pid = program.0.id();
    for question in 1..=QUESTIONS {
        let (before, own) = (status(pid, "VmRSS"), status(pid, "RssAnon"));
        forget_peak(pid);
        let begin = Instant::now();
        let answer = ask(pid, "blitz-io-hangs").expect("it answers");
        let took = begin.elapsed();
        let (during, after) = (status(pid, "VmHWM"), status(pid, "RssAnon"));
        let left_out = answer.snapshot.left_out.as_ref();
        let groups = left_out.map_or(0, |left_out| left_out.groups.len());
        println!(
            "{count} tasks, question {question}: {} ms; {} KiB more during it, {} KiB more after it; {} tasks in detail, {groups} groups",
            took.as_millis(),
            during.saturating_sub(before),
            after.saturating_sub(own),
            answer.snapshot.tasks.len(),
        );
        assert_eq!(answer.findings, []);
        // Idle workers have records.
        let mut waits = answer.snapshot.waits.iter();
        assert!(waits.all(|wait| wait.kind != "unknown futex"));
        assert!(took <= TIME, "{took:?}");
        assert!(
            during <= before + MEMORY,
            "{before} KiB before, {during} during"
        );
        assert!(
            after <= own + KEPT,
            "{own} KiB of its own before, {after} after"
        );
        let tasks = answer.snapshot.tasks.len() as u64;
        let counted = left_out.map_or(0, |left_out| {
            let tasks = left_out.groups.iter().filter(|group| group.kind == "task");
            tasks.map(|group| group.count).sum()
        });
        // The future of `block_on` is one, too.
        assert!(tasks + counted >= count as u64, "{tasks} and {counted}");
    }
}

#[test]
#[ignore = "it depends on the machine: see above"]
fn a_hundred_thousand_tasks() {
    asks(100_000);
}

#[test]
#[ignore = "it depends on the machine: see above"]
fn a_million_tasks() {
    asks(1_000_000);
}
