//! A process and its socket: forked, killed, ended, and without a descriptor left.
#![cfg(all(feature = "records", unix))]

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::FromRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use blitz_io_inspect::{ask_without_stacks, directory, list, serve};

const ROLE: &str = "BLITZ_INSPECT_ROLE";

fn own_name() -> String {
    let program = std::env::current_exe().unwrap();
    program.file_name().unwrap().to_str().unwrap().to_owned()
}

fn socket(pid: u32) -> PathBuf {
    let name = format!("{pid}-{}.sock", own_name());
    directory().unwrap().join(name)
}

/// This program again, as another process.
struct Other {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Other {
    fn start(role: &str) -> Self {
        let program = std::env::current_exe().unwrap();
        let mut process = blitz_io_testing::limited(&mut Command::new(program))
            .args(["--exact", "the_other_process", "--nocapture"])
            .env(ROLE, role)
            // The other user has a folder of its own.
            .env_remove("XDG_RUNTIME_DIR")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: process.stdin.take(),
            output: BufReader::new(process.stdout.take().unwrap()),
            process,
        }
    }

    /// Returns what follows this word in a line of the process.
    fn says(&mut self, word: &str) -> String {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() != 0 {
            // The test harness may have begun the line.
            if let Some((_, rest)) = line.split_once(word) {
                return rest.trim().to_owned();
            }
            line.clear();
        }
        panic!("the process has ended without {word:?}");
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn pid(&self) -> u32 {
        self.process.id()
    }

    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Asks the process until it answers: on a loaded machine, that may take longer than the limit.
fn answers(pid: u32) {
    loop {
        match ask_without_stacks(pid, &own_name()) {
            Ok(answer) => return assert_eq!(answer.snapshot.pid, pid),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock, "{error}"),
        }
    }
}

fn say(line: &str) {
    println!("\n{line}");
    io::stdout().flush().unwrap();
}

/// Returns at the end of the input.
fn hear() {
    let mut line = [0];
    // SAFETY: the pointer is to one byte. The standard library's input has a lock and a buffer, of
    // which a forked child has a copy.
    while unsafe { libc::read(0, line.as_mut_ptr().cast(), 1) } == 1 && line[0] != b'\n' {}
}

#[test]
fn the_other_process() {
    match std::env::var(ROLE).as_deref() {
        Ok("serves") => {
            serve().unwrap();
            say("ready");
            hear();
        }
        Ok("forks") => {
            serve().unwrap();
            // SAFETY: no other thread of this process has a lock that the child needs.
            let child = unsafe { libc::fork() };
            if child != 0 {
                say(&format!("forked {child}"));
                loop {
                    std::thread::park();
                }
            }
            hear();
            serve().unwrap();
            say("ready");
            hear();
            std::process::exit(0);
        }
        Ok("drops its privileges") => {
            serve().unwrap();
            become_nobody();
            say("ready");
            hear();
        }
        Ok("is of another user") => {
            become_nobody();
            serve().unwrap();
            say("ready");
            hear();
        }
        Ok("is full") => {
            serve().unwrap();
            let mut client = unconnected();
            let limit = libc::rlimit {
                rlim_cur: 64,
                rlim_max: 64,
            };
            // SAFETY: the pointer is to a limit.
            let result = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
            assert_eq!(result, 0);
            let mut files = Vec::new();
            while let Ok(file) = File::open("/dev/null") {
                files.push(file);
            }
            connect(&client, &socket(std::process::id()));
            client.write_all(b"?").unwrap();
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).unwrap();
            assert!(answer.starts_with(b" {"), "{} bytes", answer.len());
            drop(files);
            say("answered");
        }
        _ => {}
    }
}

fn become_nobody() {
    const NOBODY: libc::uid_t = 65_534;
    // SAFETY: the call takes a number only.
    assert_eq!(unsafe { libc::setuid(NOBODY) }, 0);
}

fn unconnected() -> UnixStream {
    // SAFETY: the call takes numbers only.
    let descriptor = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM, 0) };
    assert!(descriptor >= 0);
    // SAFETY: it is a socket, and nothing else has it.
    unsafe { UnixStream::from_raw_fd(descriptor) }
}

fn connect(client: &UnixStream, path: &std::path::Path) {
    use std::os::fd::AsRawFd;

    // SAFETY: all zeros is a valid address.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let bytes = path.as_os_str().as_bytes();
    assert!(bytes.len() < address.sun_path.len());
    for (to, from) in address.sun_path.iter_mut().zip(bytes) {
        *to = *from as libc::c_char;
    }
    let size = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the pointer is to an address of this size.
    let result = unsafe { libc::connect(client.as_raw_fd(), (&raw const address).cast(), size) };
    assert_eq!(result, 0);
}

#[test]
fn a_forked_child_does_not_speak_for_its_dead_parent() {
    let mut parent = Other::start("forks");
    let child: u32 = parent.says("forked ").parse().unwrap();
    let name = own_name();
    answers(parent.pid());
    parent.kill();
    // At once, and not because of a limit.
    let error = ask_without_stacks(parent.pid(), &name).unwrap_err();
    assert!(
        [io::ErrorKind::ConnectionRefused, io::ErrorKind::NotFound].contains(&error.kind()),
        "{error}"
    );
    // The child answers as soon as it wants to.
    parent.tell("serve");
    parent.says("ready");
    answers(child);
    let found = list().unwrap();
    assert!(found.contains(&(child, name)));
    drop(parent.input.take());
    _ = parent.output.read_to_end(&mut Vec::new());
}

#[test]
fn the_socket_of_a_process_that_has_ended_is_removed() {
    let mut other = Other::start("serves");
    other.says("ready");
    assert!(socket(other.pid()).exists());
    drop(other.input.take());
    assert!(other.process.wait().unwrap().success());
    assert!(!socket(other.pid()).exists());
}

#[test]
fn the_socket_of_a_process_that_was_killed_is_removed_by_the_next_list() {
    let mut other = Other::start("serves");
    other.says("ready");
    other.kill();
    let own = (other.pid(), own_name());
    assert!(!list().unwrap().contains(&own));
    assert!(!socket(other.pid()).exists());
}

#[test]
fn root_may_ask_a_process_of_another_user() {
    // SAFETY: the call has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        return;
    }
    for role in ["drops its privileges", "is of another user"] {
        let mut other = Other::start(role);
        other.says("ready");
        answers(other.pid());
        assert!(list().unwrap().contains(&(other.pid(), own_name())));
        other.kill();
        assert!(!list().unwrap().contains(&(other.pid(), own_name())));
    }
}

#[test]
fn a_process_without_a_descriptor_left_answers() {
    let mut other = Other::start("is full");
    other.says("answered");
    drop(other.input.take());
    assert!(other.process.wait().unwrap().success());
}
