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
use std::thread::JoinHandle;

/// Returns the command of a program: examples are built in the folder beside that of the
/// tests.
fn program(name: &str) -> Command {
    let mut path = std::env::current_exe().unwrap();
    assert!(path.pop() && path.pop());
    path.extend(["examples", name]);
    path.set_extension(std::env::consts::EXE_EXTENSION);
    assert!(path.exists(), "build the examples first: cargo test does");
    #[cfg_attr(not(unix), expect(unused_mut))]
    let mut command = Command::new(path);
    #[cfg(unix)]
    limit(&mut command);
    command
}

/// Lets the system end the program after a quarter of an hour, with SIGALRM: a test that waits for one
/// that never ends fails, instead of hanging.
#[cfg(unix)]
fn limit(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    // SAFETY: between fork and exec, the closure makes one system call, which touches no memory.
    unsafe {
        command.pre_exec(|| {
            libc::alarm(900);
            Ok(())
        })
    };
}

/// The result of a program.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

/// Runs a program to its end with this input. One that does not end is killed, and the test fails
/// with its name.
fn run(mut command: Command, input: &str) -> Ran {
    let name = command.get_program().to_owned();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // An error means that the program does not read its input.
    _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let out = read_in_a_thread(child.stdout.take().unwrap());
    let err = read_in_a_thread(child.stderr.take().unwrap());
    let start = std::time::Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if start.elapsed() < PATIENCE => {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            None => {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
        }
    };
    let (out, err) = (out.join().unwrap(), err.join().unwrap());
    let Some(status) = status else {
        panic!("not after {PATIENCE:?}: the end of {name:?}\n{out}{err}");
    };
    Ran {
        code: status.code().unwrap_or(-1),
        out,
        err,
    }
}

/// Reads all of a stream, so that the program at its other end never waits for us.
fn read_in_a_thread(mut stream: impl std::io::Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    })
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
