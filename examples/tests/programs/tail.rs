//! Files that grow, shrink, disappear and come back.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};

use crate::{PATIENCE, program};

/// A running `tail`, and the lines that it prints.
struct Tail {
    child: Child,
    lines: Receiver<String>,
    errors: Receiver<String>,
}

impl Drop for Tail {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Returns the lines of a pipe, which a separate thread reads.
fn lines(pipe: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines() {
            if line.is_ok_and(|line| sender.send(line).is_err()) {
                return;
            }
        }
    });
    receiver
}

impl Tail {
    fn start(file: &Path, count: &str) -> Self {
        let mut command = program("tail");
        command.args(["--interval", "5", "-n", count]).arg(file);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        Self {
            lines: lines(child.stdout.take().unwrap()),
            errors: lines(child.stderr.take().unwrap()),
            child,
        }
    }

    fn prints(&self, expected: &str) {
        assert_eq!(self.lines.recv_timeout(PATIENCE).unwrap(), expected);
    }

    fn says(&self, expected: &str) {
        let line = self.errors.recv_timeout(PATIENCE).unwrap();
        assert!(line.ends_with(expected), "{line}");
    }
}

fn append(path: &Path, text: &str) {
    let file = OpenOptions::new().append(true).create(true).open(path);
    file.unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn it_prints_the_last_lines_and_those_that_follow() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    // More than it reads at once on its way back from the end.
    let mut text: String = (0..5_000).map(|n| format!("line {n}\n")).collect();
    text += "unfinished";
    append(&path, &text);
    let tail = Tail::start(&path, "3000");
    for n in 2001..5000 {
        tail.prints(&format!("line {n}"));
    }
    append(&path, " at first\nnext\n");
    tail.prints("unfinished at first");
    tail.prints("next");
    // A burst that is larger than a buffer.
    append(&path, &"y\n".repeat(200_000));
    for _ in 0..200_000 {
        tail.prints("y");
    }
}

#[test]
fn a_file_that_becomes_shorter_is_read_from_its_begin() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    append(&path, "a\nb\nc\n");
    let tail = Tail::start(&path, "1");
    tail.prints("c");
    File::create(&path).unwrap();
    tail.says("became shorter");
    append(&path, "d\n");
    tail.prints("d");
}

/// On Windows, an open file cannot be renamed.
#[cfg(unix)]
#[test]
fn logs_that_are_rotated_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    append(&path, "first\n");
    let tail = Tail::start(&path, "10");
    tail.prints("first");
    for round in 0..20 {
        append(&path, &format!("last of {round}\n"));
        std::fs::rename(&path, folder.path().join("old")).unwrap();
        append(&path, &format!("first after {round}\n"));
        tail.prints(&format!("last of {round}"));
        tail.prints(&format!("first after {round}"));
        tail.says("moved or removed");
    }
    std::fs::remove_file(&path).unwrap();
    tail.says("moved or removed");
    append(&path, "back\n");
    tail.prints("back");
}

#[test]
fn a_file_that_is_not_there_yet_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let tail = Tail::start(&path, "0");
    let line = tail.errors.recv_timeout(PATIENCE).unwrap();
    assert!(line.starts_with("tail: "), "{line}");
    append(&path, "now\n");
    tail.prints("now");
}
