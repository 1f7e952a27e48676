//! Shared parts of the tests of this crate: a directory for each test, messages that can be
//! checked, and child processes that play a role.

#![allow(dead_code, reason = "each program uses a part of it")]

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use blitz_io_ipc::Builder;
use tempfile::TempDir;

/// Longer than any step here takes; a wait that is longer is a hang.
pub const LONG: Duration = Duration::from_secs(900);

/// A directory in shared memory that must be empty at the end.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir_in("/dev/shm").unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Counts the segments, and the folders of participants without a segment.
    pub fn segments(&self) -> usize {
        let entries = std::fs::read_dir(self.path()).unwrap();
        let names: HashSet<_> = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| {
                path.extension()
                    .is_some_and(|ending| ending == "ring" || ending == "participants")
            })
            .filter_map(|path| path.file_stem().map(ToOwned::to_owned))
            .collect();
        names.len()
    }

    pub fn in_it(&self, builder: Builder) -> Builder {
        builder.directory(self.path())
    }
}

/// A generator of random numbers that is good enough for tests.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// Makes message `number` of a sender: both numbers, and bytes that follow from them.
pub fn message(sender: u64, number: u64, max: usize) -> Vec<u8> {
    let mut random = Random(sender << 32 ^ number);
    let len = 16 + random.below(max as u64 - 15) as usize;
    let mut bytes = [sender.to_le_bytes(), number.to_le_bytes()].concat();
    while bytes.len() < len {
        bytes.push(random.next() as u8);
    }
    bytes
}

/// Returns sender and number of a message, which must be whole.
pub fn check(bytes: &[u8], max: usize) -> (u64, u64) {
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let (sender, number) = (word(0), word(8));
    assert_eq!(bytes, message(sender, number, max), "a torn message");
    (sender, number)
}

/// Numbers that a child writes, and that its parent can read even if the child is killed.
pub struct Log(File, u64);

impl Log {
    pub fn create(path: &Path) -> Self {
        let mut options = OpenOptions::new();
        let file = options.create(true).truncate(true).read(true).write(true);
        Self(file.open(path).unwrap(), 0)
    }

    /// Replaces the number.
    pub fn set(&self, value: u64) {
        self.0.write_all_at(&value.to_le_bytes(), 0).unwrap();
    }

    /// Adds a number.
    pub fn push(&mut self, values: [u64; 2]) {
        let bytes = values.map(u64::to_le_bytes).concat();
        self.0.write_all_at(&bytes, self.1).unwrap();
        self.1 += 16;
    }

    pub fn read(path: &Path) -> Vec<u64> {
        let bytes = std::fs::read(path).unwrap_or_default();
        let words = bytes.chunks_exact(8);
        words
            .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
            .collect()
    }

    /// Waits until a child has written, and returns the numbers.
    pub fn wait(path: &Path) -> Vec<u64> {
        let deadline = Instant::now() + LONG;
        loop {
            let numbers = Self::read(path);
            if !numbers.is_empty() {
                return numbers;
            }
            assert!(Instant::now() < deadline, "a child writes nothing");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A child process that is killed when this is dropped.
pub struct Process(pub Child);

const ROLE: &str = "BLITZ_IPC_CHILD";

impl Process {
    /// Runs `test` of this program, which calls [`role`], with `arguments`.
    pub fn start(test: &str, arguments: &[String]) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(ROLE, arguments.join("\n"))
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn();
        Self(child.unwrap())
    }

    pub fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: the child has not been waited for, so its number is not used again.
        assert_eq!(unsafe { libc::kill(self.0.id() as i32, signal) }, 0);
    }

    /// Waits for its end. Returns the exit code, or `None` if it was killed by a signal.
    pub fn wait(mut self) -> Option<i32> {
        let deadline = Instant::now() + LONG;
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < deadline, "a child hangs");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Returns the arguments of this process if it is a child.
pub fn role() -> Option<Vec<String>> {
    let arguments = std::env::var(ROLE).ok()?;
    Some(arguments.split('\n').map(str::to_owned).collect())
}

pub fn directory_of(arguments: &[String]) -> PathBuf {
    PathBuf::from(&arguments[1])
}

/// The user that [`give_up_rights`] makes a thread of root.
pub const NOBODY: u32 = 65534;

/// Makes this thread, and no other, a user without rights, so that files belong to another
/// user. If such a user starts the test, it has only its own files, and takes its rights
/// away.
pub fn give_up_rights() -> bool {
    const SAME: libc::uid_t = libc::uid_t::MAX;
    // SAFETY: the system call, unlike the function of the C library, is for one thread.
    unsafe { libc::syscall(libc::SYS_setresuid, SAME, NOBODY, SAME) == 0 }
}
