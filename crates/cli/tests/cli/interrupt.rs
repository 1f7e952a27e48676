//! Ctrl-C prints what there is until then.

use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::common::{Ran, blitz};

/// Starts a run that would take minutes.
fn long_run(more: &[&str]) -> Child {
    let arguments = [
        "bench",
        "--quick",
        "--iterations=10000",
        "--filter=^(mutex|rwlock_write)_uncontended$",
    ];
    blitz(&[&arguments, more].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts")
}

fn interrupt(child: &Child) {
    let pid = i32::try_from(child.id()).unwrap();
    // SAFETY: the process is our child and was not waited for yet, so its number still
    // refers to it; the call touches no memory.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGINT) }, 0);
}

/// Waits until the child handles SIGINT; before that the signal would end it.
fn wait_until_it_listens(child: &Child) {
    let path = format!("/proc/{}/status", child.id());
    let deadline = Instant::now() + Duration::from_secs(900);
    loop {
        let status = std::fs::read_to_string(&path).unwrap();
        let caught = status.lines().find_map(|l| l.strip_prefix("SigCgt:"));
        let caught = u64::from_str_radix(caught.unwrap().trim(), 16).unwrap();
        if caught & (1 << (libc::SIGINT - 1)) != 0 {
            return;
        }
        assert!(Instant::now() < deadline, "it never listens");
        sleep(Duration::from_millis(5));
    }
}

/// Returns the end of a run that was interrupted after so long.
fn interrupted(more: &[&str], after: Duration) -> Ran {
    let child = long_run(more);
    wait_until_it_listens(&child);
    sleep(after);
    interrupt(&child);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{ran:?}");
    ran
}

/// Returns the end of a run that was interrupted once it had results, which takes longer
/// on a busy machine.
fn interrupted_with(shown: &str, more: &[&str]) -> Ran {
    let waits = [500, 5_000, 25_000].map(Duration::from_millis);
    let mut runs = waits.into_iter().map(|after| interrupted(more, after));
    runs.find(|ran| ran.out.contains(shown))
        .expect("it measures nothing")
}

#[test]
fn ctrl_c_prints_the_table() {
    let ran = interrupted_with("mutex_uncontended", &[]);
    assert!(ran.out.contains("Interrupted"), "{ran:?}");
}

#[test]
fn ctrl_c_leaves_valid_json() {
    let ran = interrupted_with("mutex_uncontended", &["--json"]);
    let document = ran.json();
    assert_eq!(document["interrupted"], true);
    let row = &document["benchmarks"]["mutex_uncontended"];
    assert!(row["ns_per_op"].as_f64().unwrap() > 0.0);
    assert_eq!(
        row["samples"].as_array().unwrap().len(),
        row["peers"]["std"]["samples"].as_array().unwrap().len(),
    );
}

#[test]
fn ctrl_c_before_anything_is_measured_is_still_valid_json() {
    let ran = interrupted(&["--json"], Duration::ZERO);
    assert_eq!(ran.json()["interrupted"], true);
}

/// The search has so many seeds that it never ends.
#[test]
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
fn ctrl_c_prints_the_table_of_a_simulation() {
    let folder = tempfile::tempdir().unwrap();
    let program = super::sim::compile(folder.path());
    let traces = folder.path().to_str().unwrap();
    let run = ["sim", "run", "--seeds=1000000000000", "--traces", traces];
    let child = blitz(&[&run[..], &["--", &program, "two", "threads"]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    wait_until_it_listens(&child);
    interrupt(&child);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{ran:?}");
    let end = "\ninterrupted, with 1 test not done\n";
    assert!(ran.out.ends_with(end), "{ran:?}");
}
