//! Busy processes beside a run: foreign load of the same priority.
//!
//! A busy process computes until its standard input ends. The system closes that pipe
//! when the process at its other end ends, for whatever reason, so no busy process
//! outlives its run. A busy process also ends when it has received nothing for longer
//! than any sample may take: the run then hangs or was stopped. It ignores Ctrl-C, which
//! a terminal sends to it too: the run is then still in its last sample, and that sample
//! must have its load.

use std::hint::black_box;
use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio, exit};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// The busy processes of a run. They end when this value is dropped.
#[derive(Debug, Default)]
pub struct Hogs(Vec<Child>);

impl Hogs {
    /// Starts `count` processes and waits until all of them are busy. `command` returns a
    /// command that calls [`run`] as soon as it can.
    ///
    /// # Errors
    ///
    /// Fails if a process does not start, or ends before it is busy.
    pub fn start(count: usize, command: impl Fn() -> Command) -> io::Result<Hogs> {
        let mut hogs = Hogs::default();
        for _ in 0..count {
            let mut command = command();
            apart_from_the_terminal(&mut command);
            let child = command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            hogs.0.push(child);
        }
        for hog in &mut hogs.0 {
            let mut ready = [0];
            let out = hog.stdout.as_mut().expect("it was piped");
            out.read_exact(&mut ready)?;
        }
        Ok(hogs)
    }

    /// Tells all of them that the run continues.
    ///
    /// # Errors
    ///
    /// Fails if one of them has ended: the measurement then lacks its load.
    pub fn keep(&mut self) -> io::Result<()> {
        for hog in &mut self.0 {
            if let Some(status) = hog.try_wait()? {
                return Err(io::Error::other(format!("it ended with {status}")));
            }
            hog.stdin.as_mut().expect("it was piped").write_all(&[0])?;
        }
        Ok(())
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            // An error does not matter: the process may have ended before.
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}

/// Keeps a processor busy, until standard input ends or nothing has arrived there for
/// as long as `silence`.
pub fn run(silence: Duration) -> ! {
    ignore_interrupts();
    let heard = Arc::new(AtomicU64::new(0));
    let counter = heard.clone();
    thread::spawn(move || listen(&counter));
    let mut out = io::stdout();
    if out.write_all(&[0]).and_then(|()| out.flush()).is_err() {
        exit(0);
    }
    let mut last = (0, Instant::now());
    let mut x: u64 = 1;
    loop {
        for _ in 0..1_000_000 {
            x = black_box(x.wrapping_mul(0x5851_F42D_4C95_7F2D));
        }
        let now = heard.load(Relaxed);
        if now != last.0 {
            last = (now, Instant::now());
        } else if last.1.elapsed() > silence {
            exit(1);
        }
    }
}

/// Counts the bytes that arrive, and ends the process when the input ends.
fn listen(heard: &AtomicU64) {
    let mut input = io::stdin();
    let mut bytes = [0; 64];
    loop {
        match input.read(&mut bytes) {
            Ok(1..) => _ = heard.fetch_add(1, Relaxed),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => exit(0),
        }
    }
}

#[cfg(unix)]
fn ignore_interrupts() {
    // SAFETY: ignoring a signal runs no code and touches no memory of this process.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
}

#[cfg(not(unix))]
fn ignore_interrupts() {}

#[cfg(windows)]
fn apart_from_the_terminal(command: &mut Command) {
    use std::os::windows::process::CommandExt;

    const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
    command.creation_flags(CREATE_NEW_PROCESS_GROUP);
}

#[cfg(not(windows))]
fn apart_from_the_terminal(_: &mut Command) {}
