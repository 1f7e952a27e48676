//! `blitz sim` from outside, on a small program in C.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use blitz_io_sim::Trace;

use super::common::{Ran, blitz, expect};

/// Two threads that lose an update if one comes between the other's read and write; with an argument, two
/// that lock two mutexes in two orders; with two arguments, two that do nothing wrong.
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
    if (argc > 2) {
        pthread_create(&t, 0, add, 0); pthread_join(t, 0);
    } else if (argc > 1) {
        pthread_create(&t, 0, locks, 0); both(&m, &n); pthread_join(t, 0);
    } else {
        pthread_create(&t, 0, add, 0); add(0); pthread_join(t, 0);
        assert(value == 2);
    }
    return 0;
}"#;

pub fn compile(folder: &Path) -> String {
    compile_text(PROGRAM, folder)
}

fn compile_text(text: &str, folder: &Path) -> String {
    let (source, program) = (folder.join("program.c"), folder.join("program"));
    fs::write(&source, text).unwrap();
    let status = Command::new("cc")
        .args(["-g", "-pthread", "-o"])
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
    let left = trace.plan.script.len();
    assert!((1..=2).contains(&left), "{}", ran.out);
    let (count, are) = match left {
        1 => ("1 choice".to_owned(), "is"),
        _ => (format!("{left} choices"), "are"),
    };
    // A line of the function that loses the update, and what ran instead.
    for part in [
        &format!("it fails because of {count}:"),
        "loses the processor before pthread_",
        "the last choice that matters: with those before it alone, the run ends with: passed",
        &format!(": add at {}/program.c:", folder.path().display()),
        &format!(" {are} left, "),
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    let again = expect(3, &["sim", "replay", &file]);
    assert!(
        again.out.contains("loses the processor before"),
        "{again:?}"
    );
    let page = folder.path().join("run.html");
    expect(
        0,
        &["sim", "replay", "--html", page.to_str().unwrap(), &file],
    );
    let page = fs::read_to_string(page).unwrap();
    for part in [
        "<h2>What makes it fail</h2>",
        "the last choice that matters",
        "<rect class=\"choice\" id=\"choice",
        &format!("◆ choice 1 of {left}: "),
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(fs::metadata(&file).unwrap().len() <= 1024);
    expect(3, &["sim", "replay", &file]);
}

/// A thread that counts, and another one that reads twice and does not expect a certain pair of values.
const RARE: &str = r#"
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int value;
static int get(void) { pthread_mutex_lock(&m); int v = value; pthread_mutex_unlock(&m); return v; }
static void put(int v) { pthread_mutex_lock(&m); value = v; pthread_mutex_unlock(&m); }
static void *count(void *x) { for (int i = 1; i < 20; i++) put(i); return x; }
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, count, 0);
    int first = get(), second = get();
    assert(first != 7 || second < 12);
    pthread_join(t, 0);
    return 0;
}"#;

#[test]
fn a_seed_does_alone_what_it_does_after_others() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile_text(RARE, folder.path());
    let traces = folder.path().to_str().unwrap();
    let pct = ["--schedule", "pct:3", "--preempt=none"];
    let run = ["sim", "run", "--json", "--traces", traces];
    let found = |options: &[&str]| {
        let ran = expect(3, &[&run, &pct[..], options, &["--", &program]].concat());
        let row = ran.json()[0].clone();
        assert_eq!(row["seed_repeats"], true);
        let trace = fs::read(row["trace"].as_str().unwrap()).unwrap();
        (row["seed"].as_u64().unwrap(), row["verdict"].clone(), trace)
    };
    // Each earlier search would find a lower seed first, so this is one that follows many others.
    let first = found(&["--seed", "51", "--seeds", "5000"]);
    let begin = (first.0 - 30).to_string();
    let seed = first.0.to_string();
    assert_eq!(found(&["--seed", &seed, "--seeds", "1"]), first);
    assert_eq!(found(&["--seed", &begin, "--seeds", "31"]), first);
}

#[test]
fn a_search_that_passes_says_what_it_has_not_tried() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path());
    let traces = folder.path().to_str().unwrap();
    let run = ["sim", "run", "--seeds", "1", "--traces", traces];
    let passes = ["--", &program, "two", "threads"];
    let ran = expect(0, &[&run[..], &passes].concat());
    assert!(ran.err.contains("changed at calls only"), "{ran:?}");
    assert!(ran.err.contains("--schedule surw --preempt"), "{ran:?}");
    assert!(ran.err.contains("rust-src"), "{ran:?}");
    // Seed 8 is the first whose threads change between two calls, if no option says otherwise.
    for (option, seeds) in [
        (&["--preempt"][..], "each seed"),
        (&["--seed", "8"], "some seeds"),
    ] {
        let ran = expect(0, &[&run[..], option, &passes].concat());
        let told = format!("with {seeds} between two");
        assert!(ran.err.contains(&told), "{ran:?}");
    }
    let none = ["--seed", "8", "--preempt=none"];
    let ran = expect(0, &[&run[..], &none, &passes].concat());
    assert!(ran.err.contains("changed at calls only"), "{ran:?}");
}

#[test]
fn a_program_with_one_thread_has_one_order() {
    let ran = expect(0, &["sim", "run", "--", "true"]);
    assert!(ran.out.contains("passed (its only order)"), "{ran:?}");
    assert!(ran.out.contains("; 1 schedule\n"), "{ran:?}");
    assert!(ran.err.contains("there is one order"), "{ran:?}");
    assert!(!ran.err.contains("--preempt"), "{ran:?}");
    // Its random numbers differ from seed to seed.
    let folder = tempfile::tempdir().unwrap();
    let text =
        "#include <sys/random.h>\nint main(void) { char c; return getrandom(&c, 1, 0) != 1; }";
    let program = compile_text(text, folder.path());
    let ran = expect(0, &["sim", "run", "--seeds", "3", "--", &program]);
    assert!(ran.out.contains("; 3 schedules\n"), "{ran:?}");
    assert!(ran.err.contains("has one thread"), "{ran:?}");
}

/// Starts a search that ends with a signal only, in a process group of its own. Returns it when it has begun the second run.
fn endless(folder: &Path, more: &[&str]) -> Child {
    let (first, mark) = (folder.join("first"), folder.join("second"));
    let text = format!(
        "#include <fcntl.h>\n#include <pthread.h>\nstatic void *thread(void *x) {{ return x; }}\n\
         int main(void) {{ pthread_t t; pthread_create(&t, 0, thread, 0); pthread_join(t, 0); \
         if (open(\"{}\", O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0) return 0; \
         return open(\"{}\", O_CREAT | O_WRONLY, 0600) < 0; }}",
        first.display(),
        mark.display()
    );
    let program = compile_text(&text, folder);
    let run = ["sim", "run", "--seeds", "1000000000000"];
    let mut child = blitz(&[&run, more, &["--", &program]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    while !mark.exists() {
        let ended = child.try_wait().unwrap();
        assert_eq!(ended, None, "it ends before it has run the program");
        std::thread::yield_now();
    }
    child
}

/// Sends a signal to a process, or, with a negative number, to its group, and returns how the search ended.
fn stopped_by(signal: libc::c_int, child: Child, sign: i32) -> Ran {
    let number = sign * i32::try_from(child.id()).unwrap();
    // SAFETY: the process is our child and was not waited for yet, so its number still refers to it and to its
    // group; the call touches no memory.
    assert_eq!(unsafe { libc::kill(number, signal) }, 0);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{ran:?}");
    ran
}

/// A terminal sends the signal of Ctrl-C to all processes of the command.
#[test]
fn ctrl_c_prints_what_was_done_until_then() {
    let folder = tempfile::tempdir().unwrap();
    let ran = stopped_by(libc::SIGINT, endless(folder.path(), &[]), -1);
    let rows: Vec<&str> = ran
        .out
        .lines()
        .filter(|row| row.starts_with("program "))
        .collect();
    let [row] = rows[..] else {
        panic!("{ran:?}");
    };
    let (_, done) = row.split_once("  stopped (").unwrap();
    let (done, rest) = done.split_once(' ').unwrap();
    assert!(done.parse::<u64>().unwrap() > 0, "{ran:?}");
    assert_eq!(rest, "of 1000000000000)", "{ran:?}");
    assert!(
        ran.out.ends_with("\ninterrupted, with 1 test not done\n"),
        "{ran:?}"
    );
}

#[test]
fn a_search_that_is_terminated_prints_its_json() {
    let folder = tempfile::tempdir().unwrap();
    let ran = stopped_by(libc::SIGTERM, endless(folder.path(), &["--json"]), 1);
    let row = &ran.json()[0];
    assert_eq!(
        (&row["stopped"], &row["verdict"]),
        (&true.into(), &"passed".into())
    );
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
    let both = ran.err.find("    both at ").expect("lines of source");
    assert!(
        ran.err.contains("/program.c:") && !ran.err.contains("libc.so"),
        "{}",
        ran.err
    );
    // `main` waits for a lock, too, so it is no thread that only joins.
    let waits = ran
        .err
        .find("thread 0 waits for a mutex")
        .expect("what it waits for");
    assert!(waits < both, "{}", ran.err);
}

#[test]
fn files_in_memory_survive_no_run_and_faults_of_the_disk_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("files.c"), folder.path().join("files"));
    let text = r#"
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
    char line[9] = "";
    FILE *file = fopen(argv[1], "w");
    if (!file || fputs("written", file) < 0 || fclose(file) != 0) return 1;
    file = fopen(argv[1], "r");
    return !(file && fgets(line, 9, file) && !strcmp(line, "written"));
}"#;
    fs::write(&source, text).unwrap();
    let mut compiler = Command::new("cc");
    compiler.arg("-o").arg(&program).arg(&source);
    assert!(compiler.status().unwrap().success());
    let (program, file) = (program.to_str().unwrap(), folder.path().join("written"));
    let traces = folder.path().to_str().unwrap();
    let run = |code, faults| {
        let mut words = vec!["sim", "run", "--seeds", "200", "--traces", traces];
        words.extend(["--fs", "memory", "--faults", faults, "--"]);
        words.extend([program, file.to_str().unwrap()]);
        expect(code, &words)
    };
    run(0, "usual");
    run(3, "enospc");
    assert!(!file.exists());
    // The trace file knows where the files are.
    let trace = folder.path().join("files.blitztrace");
    expect(3, &["sim", "replay", trace.to_str().unwrap()]);
    assert!(!file.exists());
}

#[test]
fn all_orders_without_a_preemption_pass() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path());
    let ran = expect(
        0,
        &["sim", "run", "--schedule", "exhaustive:0", "--", &program],
    );
    assert!(
        ran.out
            .contains("passed (all orders of calls without a preemption)"),
        "{}",
        ran.out
    );
}

#[test]
fn each_seed_runs_twice_alike() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path());
    let ran = expect(0, &["sim", "check", "--seeds", "50", "--", &program]);
    assert!(
        ran.out
            .contains("50 seeds ran twice; 0 of 1 program differed"),
        "{}",
        ran.out
    );
    // Runs that fail alike are equal, and a reader has to know that they fail.
    let ran = expect(0, &["sim", "check", "--seeds", "3", "--", "false"]);
    let told = "; no run passed: each failed with status 1";
    assert!(ran.out.contains(told), "{}", ran.out);
    let escapes = [
        "sim",
        "check",
        "--seeds",
        "1",
        "--",
        "sh",
        "-c",
        "true | true",
    ];
    let ran = expect(1, &escapes);
    assert!(ran.out.contains("each escaped"), "{}", ran.out);
}

/// A package with a test that fails and has `#[ignore]`, two that pass, one program without a harness, and one whose harness
/// runs no test.
fn package(folder: &Path) -> String {
    let manifest = "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\
                    [[test]]\nname = \"plain\"\nharness = false\n[[test]]\nname = \"none\"\nharness = false\n[workspace]\n";
    let ign = "#[test] #[ignore] fn must_panic() { panic!() }\n#[test] fn fine() {}\n#[test] fn fine_too() {}\n";
    let plain = "fn main() { std::fs::write(\"it-has-run\", \"\").unwrap(); }";
    // As a harness whose filters are other ones, with an option that the list needs.
    let none = "fn main() {\n    let listed = std::env::args().any(|word| word == \"--list\");\n    \
                let ignored = std::env::args().any(|word| word.contains(\"ignored\"));\n    \
                if listed && !ignored { println!(\"some: test\"); }\n    \
                if !listed { println!(\"test result: ok. 0 passed; 0 failed; 0 ignored; --include-ignored\"); }\n}";
    for (file, text) in [
        ("Cargo.toml", manifest),
        ("src/lib.rs", ""),
        ("tests/ign.rs", ign),
        ("tests/plain.rs", plain),
        ("tests/none.rs", none),
    ] {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder.join("Cargo.toml").to_str().unwrap().to_owned()
}

#[test]
fn tests_are_selected_as_their_harness_does() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = package(folder.path());
    let traces = folder.path().to_str().unwrap();
    let run = |code, target: &str, words: &[&str]| {
        let fixed = ["sim", "run", "--json", "--keep-going", "--seeds", "2"];
        let cargo = ["--traces", traces, "--", env!("CARGO"), "test", "--offline"];
        let of_cargo = ["--manifest-path", &manifest, "--test", target, "--"];
        let all = [&fixed[..], &cargo, &of_cargo, words].concat();
        expect(code, &all)
    };
    let verdicts = |ran: Ran| -> Vec<(String, String)> {
        let rows = ran.json().as_array().unwrap().clone();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let rows = rows
            .iter()
            .map(|row| (text(&row["test"]), text(&row["verdict"])));
        rows.collect()
    };
    let row = |test: &str, verdict: &str| (format!("ign::{test}"), verdict.to_owned());
    let (fine, too) = (row("fine", "passed"), row("fine_too", "passed"));
    let (left_out, fails) = (
        row("must_panic", "ignored"),
        row("must_panic", "failed with status 101"),
    );
    for (code, words, expected) in [
        (
            0,
            &[][..],
            vec![fine.clone(), too.clone(), left_out.clone()],
        ),
        (3, &["--ignored"], vec![fails.clone()]),
        (
            3,
            &["--include-ignored"],
            vec![fine.clone(), too.clone(), fails],
        ),
        (0, &["--exact", "fine"], vec![fine.clone()]),
        (
            0,
            &["--skip", "fine_too"],
            vec![fine.clone(), left_out.clone()],
        ),
        (
            0,
            &["--test-threads", "2", "--nocapture", "too", "panic"],
            vec![too, left_out],
        ),
    ] {
        assert_eq!(verdicts(run(code, "ign", words)), expected, "{words:?}");
    }
    run(64, "ign", &["--list"]);
    let ran = run(1, "ign", &["--no-such-option"]);
    assert!(ran.err.contains("no-such-option"), "{ran:?}");
    // It would run outside of the simulation.
    let ran = run(1, "plain", &[]);
    assert!(ran.err.contains("plain is left out"), "{ran:?}");
    assert!(!folder.path().join("it-has-run").exists());
    // The program says that none has run.
    let ran = run(1, "none", &[]);
    assert!(
        ran.out.contains("\"verdict\": \"no test has run\""),
        "{ran:?}"
    );
}

/// A program of tests that is given itself, with a filter that none of them has.
#[test]
fn a_program_that_runs_no_test_has_not_passed() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().to_str().unwrap();
    let result = "echo 'test result: ok. 0 passed; 0 failed; 2 filtered out'";
    let run = ["sim", "run", "--traces", traces, "--", "sh", "-c", result];
    let ran = expect(1, &run);
    let last = "\n0 passed, 0 failed, 1 not simulated to the end; 1 schedule\n";
    assert!(
        ran.out.contains("no test has run") && ran.out.ends_with(last),
        "{ran:?}"
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
    expect(64, &["sim", "run", "--", "cargo", "build"]);
    expect(1, &["sim", "run", "--", "there-is-no-such-program"]);
    let ran = Ran::from(blitz(&["sim", "run"]).output().unwrap());
    assert_eq!(ran.code, Some(64));
    let text = folder.path().join("text");
    fs::write(&text, "no trace").unwrap();
    expect(1, &["sim", "replay", text.to_str().unwrap()]);
}

/// Returns the trace file of the deadlock.
fn deadlock(folder: &Path) -> String {
    let program = compile(folder);
    let traces = folder.to_str().unwrap();
    expect(
        4,
        &["sim", "run", "--traces", traces, "--", &program, "deadlock"],
    );
    folder
        .join("program.blitztrace")
        .to_str()
        .unwrap()
        .to_owned()
}

#[test]
fn each_schedule_finds_the_deadlock() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path());
    let traces = folder.path().to_str().unwrap();
    for schedule in [
        "portfolio",
        "random",
        "pct:3",
        "pos",
        "surw",
        "exhaustive:2",
        "contended:2",
    ] {
        let run = ["sim", "run", "--schedule", schedule, "--traces", traces];
        expect(4, &[&run[..], &["--", &program, "deadlock"]].concat());
    }
}

#[test]
fn a_replay_stops_at_a_step_and_says_who_waits_where() {
    let folder = tempfile::tempdir().unwrap();
    let file = deadlock(folder.path());
    let ran = expect(0, &["sim", "replay", "--until", "2", &file]);
    assert!(
        ran.out.starts_with("step 2, after ") && ran.out.contains("is about to call pthread_"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("thread 0 could run"), "{}", ran.out);
    let ran = expect(1, &["sim", "replay", "--until", "100", &file]);
    assert!(
        ran.err.contains("ended before step 100: deadlock after "),
        "{}",
        ran.err
    );
    expect(64, &["sim", "replay", "--until", "0", &file]);
}

#[test]
fn gdb_is_started_on_the_process_that_has_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let file = deadlock(folder.path());
    // Stands for gdb: prints its arguments and the names of the process's threads.
    let script =
        "#!/bin/sh\necho \"$@\"\nfor last in \"$@\"; do :; done\ncat /proc/$last/task/*/comm\n";
    let gdb = folder.path().join("debugger");
    fs::write(&gdb, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&gdb, mode).unwrap();
    let replay = ["sim", "replay", "--gdb", &file];
    let ran = Ran::from(blitz(&replay).env("GDB", &gdb).output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.out.contains("handle SIGSYS nostop noprint pass") && ran.out.contains(" -q -p "),
        "{ran:?}"
    );
    assert_eq!(ran.out.matches("program\n").count(), 2, "{ran:?}");
    assert!(ran.err.contains("is about to call pthread_"), "{ran:?}");

    let missing = folder.path().join("no-such-gdb");
    let ran = Ran::from(blitz(&replay).env("GDB", missing).output().unwrap());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.err
            .contains("no-such-gdb is not installed. Install gdb"),
        "{ran:?}"
    );
}

#[test]
fn a_failure_is_drawn_and_reported_to_ci() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path());
    let (traces, junit) = (
        folder.path().to_str().unwrap(),
        folder.path().join("junit.xml"),
    );
    let run = ["sim", "run", "--html", "--traces", traces, "--junit"];
    let rest = [junit.to_str().unwrap(), "--", &program, "deadlock"];
    expect(4, &[&run[..], &rest].concat());
    let text = fs::read_to_string(junit).unwrap();
    for part in [
        "<testsuite name=\"blitz sim\" tests=\"1\" failures=\"1\" errors=\"0\"",
        "name=\"program\"",
        "<failure type=\"deadlock\"",
        "held by thread 0",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let page = fs::read_to_string(folder.path().join("program.html")).unwrap();
    for part in [
        "waits for a mutex at 0x",
        "the last step: deadlock",
        "held by thread 0",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let file = folder.path().join("program.blitztrace");
    let other = folder.path().join("other.html");
    let (file, other) = (file.to_str().unwrap(), other.to_str().unwrap());
    expect(0, &["sim", "replay", "--html", other, file]);
    assert_eq!(fs::read_to_string(other).unwrap(), page);
    expect(64, &["sim", "replay", "--html", other, "--gdb", file]);
}

#[test]
fn atomic_operations_are_points_in_a_program_that_is_compiled_as_told() {
    const COUNTER: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int count;
static void *adds(void *x) { atomic_store(&count, atomic_load(&count) + 1); return x; }
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, adds, 0); adds(0); pthread_join(t, 0);
    assert(atomic_load(&count) == 2);
    return 0;
}"#;
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("FILE.c"), folder.path().join("a.out"));
    fs::write(&source, COUNTER).unwrap();
    let at = folder.path().to_str().unwrap();
    let ran = expect(0, &["sim", "atomics", at]);
    let commands = ran.out.lines().filter(|line| line.starts_with("  cc "));
    for command in commands {
        let status = Command::new("sh")
            .args(["-ec", command])
            .current_dir(folder.path())
            .status()
            .unwrap();
        assert!(status.success(), "{command}");
    }
    let program = program.to_str().unwrap();
    let run = [
        "sim", "run", "--seeds", "100", "--faults", "none", "--traces", at,
    ];
    expect(0, &[&run[..], &["--preempt=none", "--", program]].concat());
    let ran = expect(
        3,
        &[&run[..], &["--json", "--atomics", "--", program]].concat(),
    );
    let file = ran.json()[0]["trace"].as_str().unwrap().to_owned();
    expect(3, &["sim", "replay", "--times", "10", &file]);

    // All orders, and one that is not compiled so.
    let all = ["--schedule", "exhaustive:0", "--atomics", "--", program];
    expect(0, &[&run[..], &all].concat());
    let ran = expect(1, &[&run[..], &["--atomics", "--", "true"]].concat());
    assert!(ran.err.contains("is not compiled with"), "{ran:?}");
}
