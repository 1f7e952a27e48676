//! Runs each program of several processes and asks it from outside, as `blitz why` does.
#![cfg(target_os = "linux")]

mod program;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use blitz_io_inspect::{
    Answer, Certainty, Finding, ProcessState, Snapshot, Wait, Waiter, ask_with_peers,
};
use program::{Program, blitz};

/// A folder for the shared memory of one program.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static LAST: AtomicUsize = AtomicUsize::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let name = format!("hangs-{}-{number}", std::process::id());
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).expect("it is a folder of the build");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // The next build removes what is left.
        _ = fs::remove_dir_all(&self.0);
    }
}

struct Processes {
    program: Program,
    folder: Folder,
}

impl Processes {
    fn start(name: &str) -> Self {
        let folder = Folder::new();
        let variables = [("BLITZ_HANGS_FOLDER", folder.0.as_os_str())];
        Self {
            program: Program::start_with(name, &variables),
            folder,
        }
    }

    /// Asks until the answer has come to this state.
    fn until(&mut self, is_there: impl Fn(&Answer) -> bool) -> Answer {
        loop {
            self.program.still_runs();
            match ask_with_peers(self.program.0.id(), "blitz-io-hangs") {
                Ok(answer) if is_there(&answer) => return answer,
                _ => std::thread::yield_now(),
            }
        }
    }

    /// Waits for a finding of a kind.
    fn finds(&mut self, kind: &str, certainty: Certainty) -> (Answer, Finding) {
        let is_it = |finding: &&Finding| finding.kind == kind;
        let answer = self.until(|answer| answer.findings.iter().any(|f| is_it(&f)));
        let finding = answer.findings.iter().find(is_it).unwrap().clone();
        assert_eq!(finding.certainty, certainty, "{finding:#?}");
        (answer, finding)
    }

    fn pid(&self) -> u32 {
        self.program.0.id()
    }

    /// The shared memory with this name.
    fn path(&self, name: &str) -> String {
        let file = format!("{name}-{}.ring", self.pid());
        self.folder.0.join(file).to_str().unwrap().to_owned()
    }
}

/// The kind of each wait, the file of its shared memory, and its process, in ascending order.
fn waits(snapshot: &Snapshot, waits: &[Wait]) -> Vec<(String, String, u32)> {
    let describe = |wait: &Wait| {
        assert!(wait.location.contains("processes.rs:"), "{wait:#?}");
        let end = snapshot.end(wait)?;
        Some((wait.kind.clone(), end.path.clone(), end.pid))
    };
    let mut waits: Vec<_> = waits.iter().filter_map(describe).collect();
    waits.sort();
    waits
}

/// The process that is not the asked one.
fn peer(answer: &Answer) -> u32 {
    assert_eq!(answer.snapshot.processes.len(), 2);
    answer.snapshot.processes[1].pid
}

#[test]
fn two_locks() {
    let mut processes = Processes::start("two_process_locks");
    let (answer, finding) = processes.finds("deadlock", Certainty::Certain);
    let snapshot = &answer.snapshot;
    let expected = [
        (processes.path("gateway"), processes.pid()),
        (processes.path("sessions"), peer(&answer)),
    ];
    let expected = expected.map(|(path, pid)| ("ipc::Semaphore".to_owned(), path, pid));
    assert_eq!(waits(snapshot, &finding.waits), expected);
    let pids: Vec<_> = finding
        .waiters
        .iter()
        .map(|&waiter| snapshot.process_of(waiter))
        .collect();
    assert_eq!(
        pids,
        [&snapshot.processes[0], &snapshot.processes[1]].map(Some)
    );
    assert!(
        finding
            .waiters
            .iter()
            .all(|waiter| matches!(waiter, Waiter::Thread(_)))
    );
}

#[test]
fn two_locks_of_tasks() {
    let mut processes = Processes::start("two_process_locks_tasks");
    let (answer, finding) = processes.finds("deadlock", Certainty::Certain);
    let name = |waiter: &Waiter| answer.snapshot.task(waiter.task()?)?.name.clone().into();
    let mut names: Vec<Option<String>> = finding.waiters.iter().map(name).collect();
    names.sort();
    assert_eq!(names, ["agent", "gateway"].map(|name| Some(name.into())));
    assert_eq!(waits(&answer.snapshot, &finding.waits).len(), 2);
}

#[test]
fn crossed_routes() {
    let mut processes = Processes::start("crossed_routes");
    let (answer, finding) = processes.finds("deadlock", Certainty::Certain);
    let mut pids = [processes.pid(), peer(&answer)].map(Waiter::Process);
    pids.sort();
    let mut waiters = finding.waiters.clone();
    waiters.sort();
    assert_eq!(waiters, pids);
    let expected = [
        (processes.path("locks"), processes.pid()),
        (processes.path("names"), peer(&answer)),
    ];
    let expected = expected.map(|(path, pid)| ("ipc::Receiver".to_owned(), path, pid));
    assert_eq!(waits(&answer.snapshot, &finding.waits), expected);
}

/// A thread without records could have the sender, or another process could join as one.
#[test]
fn crossed_routes_that_may_have_another_sender() {
    for program in ["crossed_routes_threads", "crossed_channels"] {
        let mut processes = Processes::start(program);
        let (answer, finding) = processes.finds("deadlock", Certainty::Probable);
        assert_eq!(
            waits(&answer.snapshot, &finding.waits).len(),
            2,
            "{finding:#?}"
        );
    }
}

#[test]
fn route_to_oneself() {
    let mut processes = Processes::start("route_to_oneself");
    let (answer, finding) = processes.finds("self-wait", Certainty::Certain);
    let expected = (
        "ipc::Sender".to_owned(),
        processes.path("echo"),
        processes.pid(),
    );
    assert_eq!(waits(&answer.snapshot, &finding.waits), [expected]);
    assert_eq!(finding.waiters, [Waiter::Process(processes.pid())]);
}

#[test]
fn stopped_receiver() {
    let mut processes = Processes::start("stopped_receiver");
    let (answer, finding) = processes.finds("stopped-peer", Certainty::Probable);
    let expected = (
        "ipc::Sender".to_owned(),
        processes.path("images"),
        processes.pid(),
    );
    assert_eq!(waits(&answer.snapshot, &finding.waits), [expected]);
    let stopped = answer.snapshot.process(peer(&answer)).unwrap();
    assert_eq!(finding.waiters[1..], [Waiter::Process(stopped.pid)]);
    assert_eq!(stopped.state, ProcessState::Stopped);
    assert!(
        stopped
            .command
            .ends_with(&format!("stopped_receiver {}", processes.pid()))
    );
    assert!(!stopped.has_records);
    // It has not run since it stopped itself, which was before the first of three rounds.
    let first = answer
        .snapshot
        .process(stopped.pid)
        .and_then(|process| process.idle_ms);
    let is_longer = |answer: &Answer| {
        let process = answer.snapshot.process(stopped.pid);
        process.and_then(|process| process.idle_ms) > first
    };
    if fs::exists("/proc/self/sched").unwrap() {
        processes.until(is_longer);
    }
}

#[test]
fn stopped_sender() {
    let mut processes = Processes::start("stopped_sender");
    let (answer, finding) = processes.finds("stopped-peer", Certainty::Probable);
    let task = finding.waiters[0]
        .task()
        .and_then(|id| answer.snapshot.task(id));
    assert_eq!(task.unwrap().name, "viewer");
    let expected = (
        "ipc::Receiver".to_owned(),
        processes.path("images"),
        processes.pid(),
    );
    assert_eq!(waits(&answer.snapshot, &finding.waits), [expected]);
}

/// The command describes a process that does not answer.
#[test]
fn the_command_names_the_peer() {
    let mut processes = Processes::start("stopped_receiver");
    let (answer, _) = processes.finds("stopped-peer", Certainty::Probable);
    let (pid, peer) = (processes.pid().to_string(), peer(&answer));
    let print = |options: &[&str]| {
        let printed = blitz().args(["why", &pid]).args(options).output();
        let printed = printed.expect("it starts");
        assert_eq!(printed.status.code(), Some(2), "probable: {printed:?}");
        String::from_utf8(printed.stdout).unwrap()
    };
    // Where the lines end depends on the length of the paths.
    let text: Vec<_> = print(&[]).split_whitespace().map(str::to_owned).collect();
    let text = text.join(" ");
    assert!(text.contains("probable: stopped-peer: "), "{text}");
    assert!(text.contains(&format!(" process {peer}: ")), "{text}");
    let has_time = fs::exists("/proc/self/sched").unwrap();
    let stopped = if has_time {
        "stopped, has not run for "
    } else {
        "stopped, "
    };
    assert!(text.contains(stopped), "{text}");
    let json: Answer = serde_json::from_str(&print(&["--json"])).unwrap();
    assert!(
        json.findings
            .iter()
            .any(|finding| finding.kind == "stopped-peer")
    );
    let dot = print(&["--dot"]);
    assert!(dot.contains("subgraph cluster_1 {"), "{dot}");
    let picture = processes.folder.0.join("graph.svg");
    print(&["--svg", picture.to_str().unwrap()]);
    let picture = fs::read_to_string(picture).unwrap();
    assert!(picture.contains(&format!("process {peer}")), "{picture}");
}

/// A process that is stopped itself cannot answer, which the command says at once.
#[test]
fn a_stopped_process_is_not_asked() {
    let mut processes = Processes::start("crossed_routes");
    processes.finds("deadlock", Certainty::Certain);
    let pid = processes.pid().to_string();
    let sent = Command::new("kill").args(["-STOP", &pid]).status();
    assert!(sent.expect("kill is a program of each Unix").success());
    // The kernel stops it some time later.
    loop {
        let printed = blitz().args(["why", &pid]).output().expect("it starts");
        let error = String::from_utf8(printed.stderr).unwrap();
        if error.contains("it is stopped") {
            assert_eq!(printed.status.code(), Some(1));
            break;
        }
    }
}

/// Nothing is found once the program and its peer wait, and again later.
fn is_fine(program: &str, waits: usize) {
    let mut processes = Processes::start(program);
    let is_there = |answer: &Answer| {
        let ends = answer
            .snapshot
            .waits
            .iter()
            .filter(|wait| answer.snapshot.end(wait).is_some());
        let kinds = ends.filter(|wait| wait.kind != "ipc::Barrier");
        kinds.count() == waits
    };
    for _ in 0..3 {
        let answer = processes.until(is_there);
        assert_eq!(answer.findings, []);
    }
}

#[test]
fn idle_slow_receiver() {
    is_fine("idle_slow_receiver", 1);
}

#[test]
fn idle_process_locks() {
    is_fine("idle_process_locks", 2);
}
