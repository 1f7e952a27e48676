//! Services that end, fail, hang and are ended.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};

use crate::{PATIENCE, eventually, program, run};

/// A running supervisor, and what its services print.
struct Supervisor {
    child: Child,
    lines: Receiver<String>,
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        // SIGTERM, because otherwise its services would stay.
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal(libc::SIGTERM);
        }
        _ = self.child.wait();
    }
}

impl Supervisor {
    fn start(arguments: &[&str]) -> Self {
        let mut command = program("supervisor");
        command.args(["--pause", "5", "--longest-pause", "50"]);
        let command = command.args(arguments).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let out = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines() {
                if line.is_ok_and(|line| sender.send(line).is_err()) {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).unwrap()
    }

    fn signal(&self, signal: i32) {
        let id = i32::try_from(self.child.id()).unwrap();
        // SAFETY: `kill` has no preconditions.
        assert_eq!(unsafe { libc::kill(id, signal) }, 0);
    }

    fn code(&mut self) -> Option<i32> {
        let mut code = None;
        eventually("the supervisor ends", || {
            code = self.child.try_wait().unwrap().map(|status| status.code());
            code.is_some()
        });
        code.flatten()
    }
}

/// Whether there is no process with this number, not even a zombie.
fn is_gone(id: &str) -> bool {
    // SAFETY: `kill` has no preconditions.
    unsafe { libc::kill(id.parse().unwrap(), 0) == -1 }
}

#[test]
fn what_ends_is_started_again_and_leaves_no_zombie() {
    let supervisor = Supervisor::start(&["a=echo $$", "b=echo failing $$ >&2; exit 3"]);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    while a.len() < 4 || b.len() < 4 {
        let line = supervisor.line();
        match line.split_once(" | ") {
            Some(("a", id)) => a.push(id.to_owned()),
            Some(("b", text)) => b.push(text.strip_prefix("failing ").unwrap().to_owned()),
            _ => panic!("{line}"),
        }
    }
    for id in a[..3].iter().chain(&b[..3]) {
        eventually("it has been waited for", || is_gone(id));
    }
}

/// No service that fails counts as running well, however long it had no processor.
const NEVER: &str = "900000";

#[test]
fn a_service_that_fails_too_often_ends_all() {
    let mut command = program("supervisor");
    command.args(["--pause", "10", "--tries", "3", "--grace", "60000"]);
    command.args(["--healthy", NEVER]);
    command.args(["bad=exit 3", "good=exec sleep 1000"]);
    let ran = run(command, "");
    assert_eq!(ran.code, 1);
    assert_eq!(
        ran.err,
        "supervisor: bad: exit status: 3; again in 10 ms\n\
         supervisor: bad: exit status: 3; again in 20 ms\n\
         supervisor: bad: exit status: 3; given up\n"
    );
}

#[test]
fn the_pause_has_a_limit_and_a_signal_is_said() {
    let mut command = program("supervisor");
    command.args(["--pause", "1", "--longest-pause", "4", "--tries", "6"]);
    command.args(["--healthy", NEVER]);
    let ran = run(
        {
            command.arg("x=kill -9 $$");
            command
        },
        "",
    );
    let expected: String = [1, 2, 4, 4, 4]
        .map(|pause| format!("supervisor: x: signal: 9 (SIGKILL); again in {pause} ms\n"))
        .concat();
    let expected = expected + "supervisor: x: signal: 9 (SIGKILL); given up\n";
    assert_eq!((ran.code, ran.err), (1, expected));
}

#[test]
fn sigterm_ends_the_whole_group_of_each() {
    let mut supervisor = Supervisor::start(&["a=sleep 1000 & echo $!; wait", "b=echo $$; cat"]);
    // `b` reads the end of its input and ends repeatedly; `a` has a child of its own.
    let child = loop {
        let line = supervisor.line();
        if let Some(id) = line.strip_prefix("a | ") {
            break id.to_owned();
        }
    };
    assert!(!is_gone(&child));
    supervisor.signal(libc::SIGTERM);
    assert_eq!(supervisor.code(), Some(0));
    // It belongs to the first process by now, which may wait for it late.
    eventually("the child of the service ends", || {
        is_gone(&child) || state(&child).is_none_or(|state| state == 'Z')
    });
}

/// Returns the state of the process according to the system, if the system tells it.
fn state(id: &str) -> Option<char> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    text[text.rfind(')')? + 2..].chars().next()
}

#[test]
fn what_ignores_sigterm_is_killed() {
    let script = "a=trap '' TERM; echo $$; while :; do sleep 0.05; done";
    let mut supervisor = Supervisor::start(&["--grace", "100", script]);
    let line = supervisor.line();
    let id = line.strip_prefix("a | ").unwrap();
    supervisor.signal(libc::SIGINT);
    assert_eq!(supervisor.code(), Some(0));
    assert!(is_gone(id));
}

#[test]
fn sighup_starts_them_anew() {
    let mut supervisor = Supervisor::start(&["a=echo $$; exec sleep 1000"]);
    let first = supervisor.line();
    supervisor.signal(libc::SIGHUP);
    let second = supervisor.line();
    assert_ne!(first, second);
    assert!(is_gone(first.strip_prefix("a | ").unwrap()));
    supervisor.signal(libc::SIGTERM);
    assert_eq!(supervisor.code(), Some(0));
}

#[test]
fn a_wrong_command_line_is_code_2() {
    for arguments in [&["nothing"][..], &["=x"], &["x="], &[]] {
        let mut command = program("supervisor");
        command.args(arguments);
        assert_eq!(run(command, "").code, 2, "{arguments:?}");
    }
}
