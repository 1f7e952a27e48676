//! Runs each example as a user would, on real input, and checks its output and exit code.
//!
//! `cargo test` builds the examples before it runs this.

mod book;
mod chat;
mod chat_server;
mod counter;
mod http_server;
#[cfg(target_os = "linux")]
mod ipc;
#[cfg(unix)]
mod job_queue;
mod json_sums;
mod key_value;
mod server;
#[cfg(unix)]
mod supervisor;
mod tail;
mod third_party;
mod tls_echo;
mod word_count;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// Returns the command of a program: examples are built in the folder beside that of the
/// tests.
fn program(name: &str) -> Command {
    let mut path = std::env::current_exe().unwrap();
    assert!(path.pop() && path.pop());
    path.extend(["examples", name]);
    path.set_extension(std::env::consts::EXE_EXTENSION);
    assert!(path.exists(), "build the examples first: cargo test does");
    let mut command = Command::new(path);
    blitz_io_testing::limited(&mut command);
    command
}

/// The result of a program.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

/// Runs a program to its end with this input.
fn run(mut command: Command, input: &str) -> Ran {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // An error means that the program does not read its input.
    _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    ran(child.wait_with_output().unwrap())
}

/// Waits until `holds` returns true, and fails if it never does.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "not after {PATIENCE:?}: {what}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// How long a test waits for an event that must happen.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(900);

fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Returns the folder of the repository.
fn repository() -> PathBuf {
    let mut path = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    path.pop();
    path
}
