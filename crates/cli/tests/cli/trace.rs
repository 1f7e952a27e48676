//! `blitz trace` with a program that the test stands in for. `examples/slow` tests what real programs record.

use std::fs;
use std::path::Path;

use super::common::{Ran, blitz, expect};

/// A request that runs for one millisecond and sleeps for three.
const RECORD: &str = r#"{"format":1,"kinds":["Sleep"],"names":["GET /x"],"locations":["src/main.rs:7"],"command":"server",
"events":[[1,0,0,0,3,2,0],[13,0,0,1,3,1,0],[4,1000000,0,0,3,0,1],[2,1000000,0,0,3,2,0],[9,4000000,1,0,3,2,0],
[1,4000000,0,0,3,2,0],[8,4000000,0,0,3,0,1],[14,4000000,0,0,3,1,0]]}"#;

/// Runs the command in this folder. The program writes this record.
fn trace(folder: &Path, options: &[&str], record: &str, then: &str) -> Ran {
    let script = format!(
        "cat > \"$BLITZ_TRACE/1.blitz\" <<'END'\n{record}\nEND\necho output $BLITZ_TRACE_EVENTS\n{then}"
    );
    let mut command = blitz(&["trace"]);
    command.args(options).args(["--", "sh", "-c", &script]);
    Ran::from(command.current_dir(folder).output().unwrap())
}

#[test]
fn a_program_is_recorded_and_reported_and_its_recording_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let ran = trace(
        folder.path(),
        &["-o", "x.blitz", "--events", "77"],
        RECORD,
        "",
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for part in [
        "1 request in 4.0 ms",
        "timer Sleep at src/main.rs:7",
        "75.0 %",
        "output 77",
    ] {
        assert!(ran.out.contains(part), "{ran:?}");
    }
    let file = folder.path().join("x.blitz");
    let again = expect(0, &["trace", "report", file.to_str().unwrap()]);
    assert!(ran.out.ends_with(&again.out), "{again:?}");
    assert_eq!(fs::read_to_string(file).unwrap(), format!("{RECORD}\n"));
}

#[test]
fn json_is_alone_on_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let ran = trace(folder.path(), &["--json", "--slowest", "1"], RECORD, "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["slowest"]["causes"][0]["category"], "timer");
    assert_eq!(ran.json()["paths"][0]["nanos"], 4_000_000);
    assert!(ran.err.contains("output"), "{ran:?}");
}

#[test]
fn a_page_and_a_file_for_chrome_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--html", "x.html", "--chrome", "x.json"];
    let ran = trace(folder.path(), &options, RECORD, "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let page = fs::read_to_string(folder.path().join("x.html")).unwrap();
    for part in [
        "<title>server</title>",
        "href=\"#request-0\"",
        "id=\"request-0\"",
        "<p>1 request in 4.0 ms",
        // The only bar, and room for the text below it.
        "<svg width=\"70\"",
        "src/main.rs:7",
        "<p>The longest poll took 1.0 ms, and ran for 1.0 ms of it: GET /x",
    ] {
        assert!(page.contains(part), "{page}");
    }
    assert!(
        !page.contains("<script") && !page.contains("http"),
        "{page}"
    );
    // What may be wider than a phone scrolls in a box of its own.
    let tables = page.matches("<table>").count();
    assert!(tables > 0 && page.matches("<div class=\"wide\"><table>").count() == tables);
    let chrome = fs::read_to_string(folder.path().join("x.json")).unwrap();
    let chrome: serde_json::Value = serde_json::from_str(&chrome).unwrap();
    assert!(chrome["traceEvents"].as_array().unwrap().len() > 5);
    let ran = trace(folder.path(), &["--html", "/does/not/exist"], RECORD, "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
}

#[test]
fn recordings_are_exported() {
    let folder = tempfile::tempdir().unwrap();
    let options = [
        "--perfetto",
        "x.pftrace",
        "--folded",
        "x.folded",
        "--pprof",
        "x.pb",
        "--otlp",
        "x.json",
    ];
    let ran = trace(folder.path(), &options, RECORD, "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    // The tests of the inspector read the others.
    assert_eq!(
        read("x.folded"),
        b"GET /x;timer Sleep at src/main.rs:7 3000\n"
    );
    assert!(read("x.pftrace").len() > 100 && read("x.pb").len() > 50);
    let spans: serde_json::Value = serde_json::from_slice(&read("x.json")).unwrap();
    assert!(spans["resourceSpans"].is_array());
    let ran = trace(
        folder.path(),
        &["--folded", "-", "-o", "x.blitz"],
        RECORD,
        "",
    );
    assert!(
        ran.out
            .ends_with("GET /x;timer Sleep at src/main.rs:7 3000\n"),
        "{ran:?}"
    );
    assert!(!ran.out.contains("p99"), "{ran:?}");
}

#[test]
fn a_change_is_predicted() {
    let folder = tempfile::tempdir().unwrap();
    let scenarios = [
        "--what-if",
        "timer / 3",
        "--what-if",
        "running * 3, workers 7",
    ];
    let ran = trace(folder.path(), &scenarios, RECORD, "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for part in [
        "What if",
        "as recorded",
        "timer / 3",
        "running * 3, workers 7",
        "2.0 ms",
        "6.0 ms",
    ] {
        assert!(ran.out.contains(part), "{part}: {ran:?}");
    }
    let ran = trace(
        folder.path(),
        &["--json", "--what-if", "timer / 3"],
        RECORD,
        "",
    );
    let first = &ran.json()["what_if"][0];
    assert_eq!(
        (&first["what_if"], &first["p99"]["value"]),
        (&"timer / 3".into(), &2e6.into())
    );
    let ran = trace(
        folder.path(),
        &["--what-if", "Mutex accounts / 2"],
        RECORD,
        "",
    );
    assert_eq!(ran.code, Some(64), "{ran:?}");
    assert!(ran.err.contains("timer Sleep src/main.rs:7"), "{ran:?}");
    let both = ["--what-if", "timer / 3", "--what-if", "Mutex lib.rs:4 / 2"];
    let ran = trace(folder.path(), &both, RECORD, "");
    let which = "\"Mutex lib.rs:4 / 2\": nothing in the recording is called so";
    assert!(ran.err.contains(which), "{ran:?}");
    let ran = trace(folder.path(), &["--what-if", "be faster"], RECORD, "");
    assert_eq!(ran.code, Some(64), "{ran:?}");
    assert!(ran.err.contains("workers 8"), "{ran:?}");
    // Without a request the report says what to do.
    let ran = trace(
        folder.path(),
        &["--what-if", "workers 8"],
        "{\"format\":1}",
        "",
    );
    assert_eq!(ran.code, Some(3), "{ran:?}");
}

/// A request takes a lock for a millisecond, of which an earlier release is lost. The replay waits for that release as long as another
/// task sleeps.
const LOST: &str = r#"{"format":1,"kinds":["Mutex","Sleep"],"names":["GET /x"],"locations":["src/main.rs:7"],"objects":["accounts"],
"events":[[1,0,0,0,7,2,0],[4,0,1,0,7,0,1],[2,100000,0,0,7,2,0],[1,200000,0,0,3,2,0],[11,200000,0,1,3,0,1],[2,300000,0,0,3,2,0],
[1,1000000,0,0,5,2,0],[13,1000000,0,1,5,1,0],[11,1000000,0,1,5,0,1],[12,2000000,0,1,5,0,0],[14,2000000,0,0,5,1,0],[2,2000000,0,0,5,2,0],
[9,100000000,1,0,7,2,0],[1,100000000,0,0,7,2,0],[8,100000000,1,0,7,0,1],[2,100100000,0,0,7,2,0]]}"#;

#[test]
fn a_recording_that_no_replay_is_like_predicts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let asked = ["--what-if", "Mutex accounts / 2"];
    let ran = trace(folder.path(), &asked, LOST, "");
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let says = "No prediction: a replay of this recording without a change has a p50 of 100.1 ms and a p99 of 100.1 ms.\n\
                The requests took 1.0 ms and 1.0 ms.";
    assert!(ran.out.contains(says), "{ran:?}");
    assert!(!ran.out.contains("as recorded"), "{ran:?}");
    let ran = trace(
        folder.path(),
        &["--json", "--what-if", "Mutex accounts / 2"],
        LOST,
        "",
    );
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let report = ran.json();
    assert_eq!(report["misfit"]["replayed"]["p50"], 100_100_000, "{ran:?}");
    assert_eq!(report["misfit"]["recorded"]["p50"], 1_000_000, "{ran:?}");
    assert!(report["what_if"].is_null(), "{ran:?}");
}

#[test]
fn a_program_that_fails_or_writes_nothing_is_no_success() {
    let folder = tempfile::tempdir().unwrap();
    let ran = trace(folder.path(), &[], RECORD, "exit 7");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.err.contains('7') && ran.out.contains("timer"),
        "{ran:?}"
    );
    let ran = trace(folder.path(), &[], "{\"format\":1000}", "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let ran = trace(folder.path(), &[], "{\"format\":1}", "");
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.out.contains("trace::request"), "{ran:?}");
    assert!(
        ran.out
            .contains("cargo add blitz-io --features tower --git"),
        "{ran:?}"
    );
    assert!(ran.out.contains("\n    blitz migrate\n"), "{ran:?}");
    let last = ran.out.lines().last();
    assert!(last.unwrap().starts_with("The exit status is 3"), "{ran:?}");
    let ran = expect(1, &["trace", "--", "true"]);
    assert!(ran.err.contains("inspect"), "{ran:?}");
    expect(1, &["trace", "--", "/does/not/exist"]);
    expect(1, &["trace", "no-such-program", "--last", "5s"]);
}

/// Starts a process whose recording was read at the nanosecond `now`. It has one answer to all questions.
#[cfg(unix)]
fn live(is_on: bool, now: u64) -> tempfile::TempDir {
    let head = format!("{{\"is_on\":{is_on},\"was_off\":false,\"now\":{now},");
    super::why::process_with(RECORD.replacen('{', &head, 1).into())
}

#[cfg(unix)]
#[test]
fn a_process_without_a_recorder_has_done_nothing_just_now() {
    let last = ["trace", "4242", "--last", "5s"];
    let home = live(false, 4_000_000);
    let ran = super::why::run(1, home.path(), &last);
    assert!(
        ran.out.is_empty() && ran.err.contains("BLITZ_TRACE=1"),
        "{ran:?}"
    );
    assert!(ran.err.contains("blitz trace 4242 --for"), "{ran:?}");
    let home = live(true, 4_000_000);
    let ran = super::why::run(0, home.path(), &last);
    assert!(ran.out.starts_with("1 request in 4.0 ms"), "{ran:?}");
}

#[cfg(unix)]
#[test]
fn the_file_of_a_live_process_has_what_was_reported() {
    // The request is older, or has begun before.
    for (now, time) in [(u64::MAX / 2, "--for"), (4_000_000, "--last")] {
        let home = live(true, now);
        let file = home.path().join("x.blitz");
        let file = file.to_str().unwrap();
        let options = ["trace", "4242", time, "1ms", "-o", file];
        let ran = super::why::run(3, home.path(), &options);
        let read = expect(3, &["trace", "report", file]);
        assert_eq!(ran.out, read.out);
    }
}

/// The package that marks requests has to come from where the program's Tokio comes: there would be two of them otherwise.
#[test]
fn a_program_on_the_drop_in_gets_the_command_that_adds_what_marks_requests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    let root = root.to_str().unwrap();
    let git = "https://example.org/you/blitz-io";
    for (line, options) in [
        (
            format!("path = \"{root}/drop-in/tokio\""),
            format!("--path {root}/crates/blitz-io\n"),
        ),
        (
            format!("git = \"{git}\", tag = \"v1.2.3\""),
            format!("--git {git} --tag v1.2.3\n"),
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        fs::write(folder.path().join("src/main.rs"), "fn main() {}").unwrap();
        let manifest = format!(
            "[package]\nname = \"program\"\nedition = \"2021\"\n\n[patch.crates-io]\ntokio = {{ {line} }}\n"
        );
        fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
        let ran = trace(folder.path(), &[], "{\"format\":1}", "");
        assert_eq!(ran.code, Some(3), "{ran:?}");
        let expected = format!("    cargo add blitz-io --features tower {options}");
        assert!(ran.out.contains(&expected), "{expected}: {ran:?}");
    }
    // The package has this name and these features there.
    let manifest = fs::read_to_string(format!("{root}/crates/blitz-io/Cargo.toml")).unwrap();
    for part in ["name = \"blitz-io\"\n", "\ninspect = [", "\ntower = ["] {
        assert!(manifest.contains(part), "{part}");
    }
}

/// A task that waits for a timer, without a request.
#[test]
fn without_requests_tasks_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = RECORD
        .replace("[13,0,0,1,3,1,0],", "")
        .replace(",[14,4000000,0,0,3,1,0]", "");
    let ran = trace(folder.path(), &["--html", "x.html"], &tasks, "");
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.out
            .contains("3.0 ms in 1 wait: timer Sleep at src/main.rs:7"),
        "{ran:?}"
    );
    let page = fs::read_to_string(folder.path().join("x.html")).unwrap();
    for part in [
        "<h2>Tasks, by the line that spawned them</h2>",
        "src/main.rs:7",
    ] {
        assert!(page.contains(part), "{page}");
    }
    let ran = trace(folder.path(), &["--json"], &tasks, "");
    assert_eq!(ran.json()["tasks"][0]["waits"][0]["max"], 3_000_000);
    let ran = trace(folder.path(), &["--json"], RECORD, "");
    assert!(ran.json().get("tasks").is_none(), "{ran:?}");
}

#[test]
fn wrong_arguments_are_refused() {
    expect(64, &["trace", "--events", "7"]);
    expect(64, &["trace", "report"]);
    expect(64, &["trace", "1", "--for", "ten"]);
    expect(64, &["trace", "1", "--for", "1s", "--last", "1s"]);
    expect(64, &["trace", "1", "--", "true"]);
    expect(64, &["trace", "--"]);
    expect(64, &["trace", "--last", "1s", "--", "true"]);
    let path = expect(64, &["trace", "target/debug/server"]);
    assert!(
        path.err.ends_with("blitz trace -- target/debug/server\n"),
        "{path:?}"
    );
    let help = expect(0, &["trace", "--help"]);
    for part in [
        "blitz_io::trace::request",
        "blitz trace [OPTIONS] [PID|NAME]\n",
        "blitz trace [OPTIONS] -- <PROGRAM>...\n",
        "blitz trace report [OPTIONS] <FILE>...\n",
    ] {
        assert!(help.out.contains(part), "{help:?}");
    }
}

/// A recording may take long, and would be lost.
#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_program_runs() {
    let folder = tempfile::tempdir().unwrap();
    let ran = folder.path().join("ran");
    let file = folder.path().join("missing/x");
    let (file, touch) = (file.to_str().unwrap(), ["touch", ran.to_str().unwrap()]);
    for option in [
        &["trace", "-o"],
        &["trace", "--html"],
        &["trace", "--folded"],
        &["lint", "--sarif"],
    ] {
        let refused = expect(1, &[option, &[file, "--"][..], &touch].concat());
        assert!(
            refused.err.contains("missing/x cannot be written: "),
            "{refused:?}"
        );
        assert!(!ran.exists(), "{option:?}");
    }
}

#[test]
fn without_a_process_it_takes_the_only_one() {
    let home = tempfile::tempdir().unwrap();
    let mut command = blitz(&["trace", "--for", "1ms"]);
    let ran = Ran::from(
        command
            .env("XDG_RUNTIME_DIR", home.path())
            .output()
            .unwrap(),
    );
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("no process answers"), "{ran:?}");
    assert!(ran.err.contains("`blitz trace -- PROGRAM`"), "{ran:?}");
}

/// A task of process 7 sends a question at 1 ms, and receives the answer at 4 ms.
const FRONT: &str = r#"{"format":1,"pid":7,"kinds":["ipc::Receiver"],"names":["GET /x"],"locations":["src/front.rs:7"],"command":"front",
"objects":[null],"events":[[1,0,0,0,3,2,0],[13,0,0,1,3,1,0],[24,1000000,0,5,3,70,0],[26,1000000,0,8,3,71,0],
[3,1000000,0,1,3,0,1],[2,1000000,0,0,3,2,0],[9,4000000,2,0,3,2,0],[1,4000000,0,0,3,2,0],[25,4000000,0,6,3,71,0],
[7,4000000,0,1,3,0,1],[14,4000000,0,0,3,1,0]]}"#;
/// A thread of process 8 receives it at 2 ms and answers at 3 ms.
const BACK: &str = r#"{"format":1,"pid":8,"kinds":[],"command":"back","events":[[25,2000000,0,5,4,70,0],
[24,3000000,0,6,4,71,0]]}"#;

#[test]
fn recordings_of_two_processes_are_one_report() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, record: &str| {
        let path = folder.path().join(name);
        fs::write(&path, record).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (front, back) = (file("front.blitz", FRONT), file("back.blitz", BACK));
    let alone = expect(0, &["trace", "report", &front]);
    assert!(
        alone.out.contains("in process 8 (not recorded)"),
        "{alone:?}"
    );
    let both = expect(0, &["trace", "report", &front, &back]);
    for part in [
        "of the processes 7, 8",
        "running in process 8",
        "  process 8 ",
    ] {
        assert!(both.out.contains(part), "{both:?}");
    }
    assert!(!both.out.contains("not recorded"), "{both:?}");
    let wrong = ["trace", "report", &front, &back, "--what-if", "workers 8"];
    expect(64, &wrong);
}
