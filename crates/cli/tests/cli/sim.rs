//! `blitz sim` from outside, on a small program in C.

use std::fs;
use std::path::Path;
use std::process::Command;

use blitz_io_sim::Trace;

use super::common::{Ran, blitz, expect};

/// Two threads that lose an update if one comes between the other's read and write; with an argument, two
/// that lock two mutexes in two orders.
const PROGRAM: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static int value;
static int get(void) { pthread_mutex_lock(&m); int v = value; pthread_mutex_unlock(&m); return v; }
static void put(int v) { pthread_mutex_lock(&m); value = v; pthread_mutex_unlock(&m); }
static void *add(void *x) { put(get() + 1); return x; }
static void both(pthread_mutex_t *a, pthread_mutex_t *b) {
    pthread_mutex_lock(a); pthread_mutex_lock(b); pthread_mutex_unlock(b); pthread_mutex_unlock(a);
}
static void *locks(void *x) { both(&n, &m); return x; }
int main(int argc, char **argv) {
    pthread_t t;
    puts("hello");
    fflush(stdout);
    if (argc > 1) {
        pthread_create(&t, 0, locks, 0); both(&m, &n); pthread_join(t, 0);
    } else {
        pthread_create(&t, 0, add, 0); add(0); pthread_join(t, 0);
        assert(value == 2);
    }
    return 0;
}"#;

fn compile(folder: &Path) -> String {
    let (source, program) = (folder.join("program.c"), folder.join("program"));
    fs::write(&source, PROGRAM).unwrap();
    let status = Command::new("cc")
        .args(["-pthread", "-o"])
        .arg(&program)
        .arg(&source)
        .status()
        .unwrap();
    assert!(status.success());
    program.to_str().unwrap().to_owned()
}

#[test]
fn a_failure_is_found_kept_replayed_and_shrunk() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path());
    let traces = folder.path().to_str().unwrap();
    let ran = expect(
        3,
        &["sim", "run", "--json", "--traces", traces, "--", &program],
    );
    let row = &ran.json()[0];
    assert_eq!(row["verdict"], "killed by signal 6");
    let file = row["trace"].as_str().unwrap().to_owned();

    let ran = expect(3, &["sim", "replay", "--times", "20", &file]);
    assert!(
        ran.out.contains("hello") && ran.out.contains("again, 20 times"),
        "{}",
        ran.out
    );

    let ran = expect(0, &["sim", "shrink", &file]);
    let trace = Trace::read(&file).unwrap();
    assert!(trace.plan.script.len() <= 2, "{}", ran.out);
    assert!(fs::metadata(&file).unwrap().len() <= 1024);
    expect(3, &["sim", "replay", &file]);
}

#[test]
fn a_deadlock_has_a_status_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path());
    let traces = folder.path().to_str().unwrap();
    let ran = expect(
        4,
        &["sim", "run", "--traces", traces, "--", &program, "deadlock"],
    );
    assert!(ran.out.contains("deadlock"), "{}", ran.out);
    assert!(
        ran.err.contains("held by thread 0") && ran.err.contains("held by thread 1"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("both"), "names of functions: {}", ran.err);
}

#[test]
fn all_orders_without_a_preemption_pass() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path());
    let ran = expect(
        0,
        &["sim", "run", "--schedule", "exhaustive:0", "--", &program],
    );
    assert!(ran.out.contains("passed (all)"), "{}", ran.out);
}

#[test]
fn each_seed_runs_twice_alike() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path());
    let ran = expect(0, &["sim", "check", "--seeds", "50", "--", &program]);
    assert!(
        ran.out
            .contains("50 seeds ran twice; 0 of 1 programs differed"),
        "{}",
        ran.out
    );
}

#[test]
fn what_cannot_be_simulated_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().to_str().unwrap();
    let ran = expect(
        1,
        &[
            "sim",
            "run",
            "--traces",
            traces,
            "--",
            "sh",
            "-c",
            "true | true",
        ],
    );
    assert!(ran.err.contains("escaped: "), "{}", ran.err);
    expect(2, &["sim", "run", "--", "cargo", "build"]);
    expect(1, &["sim", "run", "--", "there-is-no-such-program"]);
    let ran = Ran::from(blitz(&["sim", "run"]).output().unwrap());
    assert_eq!(ran.code, Some(2));
    let text = folder.path().join("text");
    fs::write(&text, "no trace").unwrap();
    expect(2, &["sim", "replay", text.to_str().unwrap()]);
}
