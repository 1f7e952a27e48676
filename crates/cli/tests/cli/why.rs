//! `blitz ps` and `blitz why` from outside, with a process that the test stands in for.
//! `examples/hangs` tests what real programs answer.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Stdio;
use std::thread;

use blitz_io_inspect::{Answer, Kind, Object, Snapshot, Task, TaskState, Wait, Waiter, findings};
use tempfile::TempDir;

use super::common::{Ran, blitz};

const PID: u32 = 4242;

/// A task that waits for its own mutex.
pub fn stuck() -> Answer {
    let task = Task {
        id: 7,
        name: "refresh <cache>".into(),
        location: "src/cache.rs:17".into(),
        is_root: false,
        child_of: None,
        is_pinned: false,
        state: TaskState::Idle,
        thread: 1,
        poll_ms: None,
        wakers: 1,
        polls: 2,
    };
    let object = Object {
        id: 1,
        name: Some("a cache with a name that is so long that it needs a line of its own".into()),
        holder: Some(Waiter::Task(7)),
        ..Object::default()
    };
    let wait = Wait {
        id: 3,
        waiter: Waiter::Task(7),
        thread: 1,
        kind: Kind::Mutex.name().into(),
        semantics: Kind::Mutex.semantics(),
        object: Some(object),
        task: None,
        location: "src/cache.rs:23".into(),
        since_ms: 0,
        waiting_ms: 1_500,
        is_timed: false,
        blocks_thread: false,
        source: None,
        is_direct: true,
        is_handed: false,
        runtime: None,
    };
    let snapshot = Snapshot {
        pid: PID,
        tasks: vec![task],
        waits: vec![wait],
        ..Snapshot::default()
    };
    let findings = findings(&snapshot, &snapshot);
    Answer { snapshot, findings }
}

/// A runtime directory with the socket of a process that gives this answer.
pub fn process(answer: &Answer) -> TempDir {
    process_with(serde_json::to_vec(answer).unwrap())
}

/// A process that has this answer to each question.
pub fn process_with(text: Vec<u8>) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("blitz-io");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    let listener = UnixListener::bind(folder.join(format!("{PID}-server.sock"))).unwrap();
    // The thread ends with the test program.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            if stream.read(&mut [0]).unwrap() == 1 {
                stream.write_all(&text).unwrap();
            }
        }
    });
    home
}

pub fn run(code: i32, home: &Path, arguments: &[&str]) -> Ran {
    let output = blitz(arguments).env("XDG_RUNTIME_DIR", home).output();
    let ran = Ran::from(output.expect("the command starts"));
    assert_eq!(ran.code, Some(code), "{arguments:?}\n{ran:?}");
    ran
}

#[test]
fn processes_are_listed() {
    let home = process(&stuck());
    assert_eq!(
        run(0, home.path(), &["ps"]).out,
        "     PID  NAME\n    4242  server\n"
    );
    let listed = run(0, home.path(), &["ps", "--json"]).json();
    assert_eq!(listed, serde_json::json!([{"pid": PID, "name": "server"}]));
    let empty = tempfile::tempdir().unwrap();
    let ran = run(0, empty.path(), &["ps"]);
    assert_eq!(ran.out, "     PID  NAME\n");
    assert!(ran.err.starts_with("no process answers\n"), "{ran:?}");
    assert!(ran.err.contains("BLITZ_INSPECT=1"), "{ran:?}");
    let ran = run(0, empty.path(), &["ps", "--json"]);
    assert_eq!(
        (ran.json(), ran.err),
        (serde_json::json!([]), String::new())
    );
    // The help says that an empty list is no failure.
    let help = run(0, empty.path(), &["ps", "--help"]).out;
    assert!(help.contains("it may be empty"), "{help}");
}

#[test]
fn several_processes_are_listed_with_what_to_type() {
    let home = process(&stuck());
    let folder = home.path().join("blitz-io");
    let second = UnixListener::bind(folder.join("4243-server.sock")).unwrap();
    let third = UnixListener::bind(folder.join("4244-client.sock")).unwrap();
    let servers = "    4242  server\n    4243  server\n";
    for command in ["why", "top", "trace"] {
        let ran = run(1, home.path(), &[command, "server"]);
        let expected = format!(
            "error: 2 processes with the name \"server\" answer; name one by its process id, as in \
             `blitz {command} 4242`\n\n     PID  NAME\n{servers}"
        );
        assert_eq!(ran.err, expected);
    }
    let ran = run(1, home.path(), &["why"]);
    assert!(ran.err.starts_with("error: 3 processes answer;"), "{ran:?}");
    assert!(ran.err.ends_with("    4244  client\n"), "{ran:?}");
    drop((second, third));
}

#[test]
fn a_certain_finding_is_exit_status_3() {
    let home = process(&stuck());
    for arguments in [&["why"][..], &["why", "4242"], &["why", "server"]] {
        let ran = run(3, home.path(), arguments);
        assert!(
            ran.out.starts_with("certain: self-wait: task 7 "),
            "{ran:?}"
        );
        assert!(ran.out.contains("at src/cache.rs:23"), "{ran:?}");
        // A file is searched for whole lines.
        let first = ran.out.lines().next().unwrap();
        assert!(first.ends_with(", which only it can end"), "{ran:?}");
        assert!(!ran.out.contains('\x1b'), "{ran:?}");
        // The list leaves out what the finding shows.
        assert_eq!(ran.out.matches("at src/cache.rs:23").count(), 1, "{ran:?}");
    }
    let ran = run(3, home.path(), &["why", "--all"]);
    assert_eq!(ran.out.matches("at src/cache.rs:23").count(), 2, "{ran:?}");
    let ran = run(3, home.path(), &["why", "--json"]);
    let answer: Answer = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(answer.snapshot, stuck().snapshot);
}

#[test]
fn watching_reports_again() {
    let home = process(&stuck());
    let mut command = blitz(&["why", "--watch"]);
    command.env("XDG_RUNTIME_DIR", home.path());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let lines = lines.map_while(Result::ok);
    let certain = lines.filter(|line| line.starts_with("certain: self-wait"));
    assert_eq!(certain.take(2).count(), 2);
    // Nobody reads its output any more.
    let ended = child.wait().unwrap();
    assert_eq!(ended.code(), Some(0), "{ended}");
}

#[test]
fn nothing_certain_is_exit_status_0() {
    let mut answer = stuck();
    answer.findings.clear();
    let home = process(&answer);
    assert!(
        run(0, home.path(), &["why"])
            .out
            .starts_with("nothing certain\n")
    );
}

#[test]
fn a_probable_finding_is_exit_status_2_unless_it_may_end() {
    let mut answer = stuck();
    answer.findings[0].certainty = blitz_io_inspect::Certainty::Probable;
    let kinds = [
        ("deadlock", 2),
        ("futurelock", 2),
        ("lost-holder", 2),
        ("self-wait", 2),
        ("long-poll", 0),
        ("long-wait", 0),
    ];
    for (kind, code) in kinds {
        answer.findings[0].kind = kind.into();
        let home = process(&answer);
        let ran = run(code, home.path(), &["why"]);
        let said = format!("probable: {kind}: ");
        assert!(ran.out.starts_with(&said), "{ran:?}");
    }
}

/// 2 is a probable finding, so a script that mistypes an option needs another status.
#[test]
fn wrong_arguments_are_exit_status_64() {
    let home = process(&stuck());
    for arguments in [
        &["why", "--jsn"][..],
        &["why", "--json", "--dot"],
        &["why", "--json", "--all"],
        &["wy"],
    ] {
        let ran = run(64, home.path(), arguments);
        assert!(
            ran.out.is_empty() && ran.err.starts_with("error: "),
            "{ran:?}"
        );
    }
    // A script for a shell that has no completions.
    let mut command = blitz(&["--", "blitz"]);
    let ended = command.env("BLITZ_COMPLETE", "tcsh").output().unwrap();
    assert_eq!(ended.status.code(), Some(64), "{ended:?}");
}

/// A report that may change what the program does says so before it asks.
#[test]
fn stacks_by_signals_have_a_warning() {
    let home = process(&stuck());
    assert_eq!(run(3, home.path(), &["why"]).err, "");
    let ran = run(3, home.path(), &["why", "--stacks"]);
    assert!(
        ran.err.contains("EINTR") && ran.err.contains("epoll_wait"),
        "{ran:?}"
    );
}

#[test]
fn the_graph_is_written_as_text_and_pictures() {
    let home = process(&stuck());
    let path = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    let (svg, html) = (path("graph.svg"), path("page.html"));
    let ran = run(
        3,
        home.path(),
        &["why", "--dot", "--svg", &svg, "--html", &html],
    );
    assert!(ran.out.starts_with("digraph waits {\n"), "{ran:?}");
    assert!(
        ran.out
            .contains(r#"label="task 7 \"refresh <cache>\"\nsrc/cache.rs:17", color=red"#)
    );
    let picture = fs::read_to_string(svg).unwrap();
    assert!(
        picture.ends_with("</svg>") && picture.contains("refresh &lt;cache&gt;"),
        "{picture}"
    );
    let page = fs::read_to_string(html).unwrap();
    assert!(
        page.contains("<title>server (4242)</title>") && page.contains("<svg "),
        "{page}"
    );
    let (finding, picture) = (page.find("certain: self-wait: task 7"), page.find("<svg "));
    assert!(finding.is_some() && finding < picture, "{page}");
    // The waits are below it.
    assert!(page.find("1 task, 1 wait") > picture, "{page}");
    // The style has a colour for each line in dark mode.
    let (style, body) = page.split_once("</style>").unwrap();
    for line in body.split("stroke=").skip(1) {
        let colour = line.split(' ').next().unwrap();
        assert!(style.contains(&format!("[stroke={colour}]")), "{colour}");
    }
}

#[test]
fn without_waits_the_picture_says_so() {
    let home = process(&Answer {
        snapshot: Snapshot::default(),
        findings: vec![],
    });
    let svg = home.path().join("graph.svg");
    run(0, home.path(), &["why", "--svg", svg.to_str().unwrap()]);
    assert!(fs::read_to_string(svg).unwrap().contains("no waits"));
}

#[test]
fn a_process_that_does_not_answer_is_an_error() {
    let home = process(&stuck());
    let ran = run(1, home.path(), &["why", "other"]);
    let said = "no process with the name \"other\" answers";
    assert!(ran.err.contains(said), "{ran:?}");
    let ran = run(1, home.path(), &["why", "sever"]);
    let said = "no process with the name \"sever\" answers; did you mean `blitz why server`?";
    assert!(ran.err.contains(said), "{ran:?}");
    let no_folder = home.path().join("no/folder");
    let svg = no_folder.to_str().unwrap();
    let ran = run(1, home.path(), &["why", "--svg", svg]);
    assert!(ran.err.contains("cannot be written"), "{ran:?}");
}

/// The process closes its socket before the answer, or after half of it.
#[test]
fn a_process_that_ends_before_it_answers_is_an_error() {
    let mut answer = serde_json::to_vec(&stuck()).unwrap();
    answer.truncate(answer.len() / 2);
    for text in [vec![], answer] {
        let home = process_with(text);
        let ran = run(1, home.path(), &["why"]);
        let said = format!("process {PID} has ended before it answered");
        assert!(ran.err.contains(&said), "{ran:?}");
    }
}

/// A missing process, a missing variable and a missing feature are different errors.
#[cfg(target_os = "linux")]
#[test]
fn reasons_why_a_process_does_not_answer_are_told_apart() {
    let home = tempfile::tempdir().unwrap();
    let ran = run(1, home.path(), &["why"]);
    assert!(ran.err.contains("no process answers"), "{ran:?}");
    // More than the kernel gives.
    let ran = run(1, home.path(), &["why", "4294967295"]);
    assert!(ran.err.contains("there is no process"), "{ran:?}");
    for (variable, said) in [
        (None, "BLITZ_INSPECT=1 is not in its environment"),
        (Some("1"), "without the feature `inspect`"),
    ] {
        // It reads its input, so it lives until that is closed.
        let mut command = std::process::Command::new("cat");
        command.stdin(Stdio::piped()).env_remove("BLITZ_INSPECT");
        command.env("XDG_RUNTIME_DIR", home.path());
        command.envs(variable.map(|value| ("BLITZ_INSPECT", value)));
        let mut child = command.spawn().unwrap();
        let ran = run(1, home.path(), &["why", &child.id().to_string()]);
        assert!(ran.err.contains(said), "{ran:?}");
        drop(child.stdin.take());
        child.wait().unwrap();
    }
    let help = run(0, home.path(), &["why", "--help"]).out;
    assert!(
        help.contains("BLITZ_INSPECT=1") && help.contains("Exit statuses"),
        "{help}"
    );
}
