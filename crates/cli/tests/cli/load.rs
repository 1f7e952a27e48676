//! `--hog` and `--cpus`.

use std::fs;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::common::{Ran, blitz, expect};

const TINY: [&str; 5] = [
    "bench",
    "--quick",
    "--iterations=1",
    "--filter=^mutex_uncontended$",
    "--json",
];

/// Starts a run that would take minutes, beside `hogs` busy processes, and waits for
/// these processes.
fn long_run(hogs: usize) -> (Child, Vec<u32>) {
    let child = blitz(&[
        "bench",
        "--quick",
        "--iterations=10000",
        "--filter=^(mutex|rwlock_write)_uncontended$",
        "--hog",
        &hogs.to_string(),
    ])
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .expect("the command starts");
    let mut found = Vec::new();
    until("the busy processes start", || {
        found = busy_children(child.id());
        found.len() == hogs
    });
    (child, found)
}

/// Waits for a condition that may take long on a busy machine.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(900);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}: not within 15 minutes");
        sleep(Duration::from_millis(10));
    }
}

/// Returns what `/proc/PID/stat` has after the name: the state, the parent, and so on.
fn status(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

/// Returns the busy processes that this process has started, once they compute.
fn busy_children(parent: u32) -> Vec<u32> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|&pid| {
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        // Ticks of processor time: more than starting takes.
        let computes = |status: &[String]| status[11].parse::<u64>().is_ok_and(|ticks| ticks >= 5);
        status(pid).is_some_and(|status| status[1] == parent.to_string() && computes(&status))
            && line.contains("\0hog\0")
    })
    .collect()
}

/// Returns whether a process has ended. It may still exist until its new parent waits for
/// it.
fn has_ended(pid: u32) -> bool {
    status(pid).is_none_or(|status| status[0] == "Z" || status[0] == "X")
}

fn signal(pid: u32, signal: i32) {
    let pid = i32::try_from(pid).unwrap();
    // SAFETY: the call touches no memory.
    let result = unsafe { libc::kill(pid, signal) };
    assert_eq!(result, 0);
}

#[test]
fn the_load_stands_in_the_document() {
    let meta = |more: &[&str]| expect(0, &[&TINY, more].concat()).json()["metadata"].clone();
    let quiet = meta(&[]);
    assert_eq!(quiet["hog"], 0);
    assert_eq!(quiet["cpus"], serde_json::json!([]));
    let allowed = fs::read_to_string("/proc/self/status").unwrap();
    let allowed = allowed
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let first = allowed.unwrap().trim().split([',', '-']).next().unwrap();
    let loaded = meta(&["--hog=2", "--cpus", first]);
    assert_eq!(loaded["hog"], 2);
    assert_eq!(loaded["cpus"][0].to_string(), first);
    // The run saw only the processors that it was given.
    assert_eq!(loaded["cores"], 1);
}

#[test]
fn busy_processes_are_busy_and_end_with_the_run() {
    let (child, hogs) = long_run(2);
    // A process listens to Ctrl-C before it starts its busy processes.
    signal(child.id(), libc::SIGINT);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(hogs.into_iter().all(has_ended));
}

#[test]
fn busy_processes_end_when_the_run_is_killed() {
    let (mut child, hogs) = long_run(2);
    child.kill().unwrap();
    child.wait().unwrap();
    until("they end", || hogs.iter().all(|&hog| has_ended(hog)));
}

#[test]
fn a_run_that_lost_its_load_is_a_failure() {
    let (child, hogs) = long_run(1);
    signal(hogs[0], libc::SIGKILL);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("lost its load"), "{ran:?}");
    assert_eq!(ran.out, "");
}

#[test]
fn a_busy_process_that_hears_nothing_ends() {
    let mut child = blitz(&["hog", "--silence=1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // The input stays open.
    let input = child.stdin.take();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    drop(input);
}
