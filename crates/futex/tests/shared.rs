//! Words in memory that is mapped more than once: by two processes, or twice by
//! this one.
//!
//! The tests with two processes start their own program again, with the name of the test
//! and the file to map, and so play both roles.
#![cfg(unix)]

mod common;

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicUsize;
use std::{env, fs, process, ptr, thread};

use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_futex::{Scope, WaitAny, WaitResult, system, wake_all};
use common::{Sleepers, eventually, in_forever, sleeps, thread_id};

const FILE_VARIABLE: &str = "BLITZ_FUTEX_TEST_FILE";
const WORDS: usize = 8;

/// A file that is removed when dropped.
struct SharedFile(PathBuf);

impl SharedFile {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("blitz-io-futex-test-{}-{count}", process::id());
        let path = env::temp_dir().join(name);
        File::create(&path).unwrap().set_len(4096).unwrap();
        Self(path)
    }
}

impl Drop for SharedFile {
    fn drop(&mut self) {
        fs::remove_file(&self.0).unwrap();
    }
}

/// One mapping of such a file.
struct Mapping(*mut libc::c_void);

// SAFETY: a mapping belongs to the process, and its words are atomics.
unsafe impl Send for Mapping {}
// SAFETY: a mapping belongs to the process, and its words are atomics.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(path: &Path) -> Self {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).open(path).unwrap();
        // SAFETY: a fresh mapping of an open file, which is one page long.
        let address = unsafe {
            libc::mmap(
                ptr::null_mut(),
                4096,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        assert_ne!(address, libc::MAP_FAILED);
        Self(address)
    }

    fn words(&self) -> &[AtomicU32; WORDS] {
        // SAFETY: the page is mapped as long as `self` lives, is large enough,
        // and is only ever used through atomics.
        unsafe { &*self.0.cast() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this size, and `words` borrows from `self`.
        assert_eq!(unsafe { libc::munmap(self.0, 4096) }, 0);
    }
}

/// Returns the mapping that the parent wants this process to use, if this process is a
/// child.
fn mapping_of_child() -> Option<Mapping> {
    let path = env::var_os(FILE_VARIABLE)?;
    Some(Mapping::new(Path::new(&path)))
}

fn start_child(test: &str, file: &SharedFile) -> Child {
    blitz_io_testing::limited(&mut Command::new(env::current_exe().unwrap()))
        .args(["--exact", test, "--nocapture"])
        .env(FILE_VARIABLE, &file.0)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits until the word is no longer `previous`, and fails after a long time.
fn wait_for_change(word: &AtomicU32, previous: u32) -> u32 {
    let deadline = in_forever();
    loop {
        let now = word.load(Ordering::Acquire);
        if now != previous {
            return now;
        }
        let result = Scope::Shared.wait_deadline(word, previous, deadline);
        assert_ne!(result, Ok(WaitResult::TimedOut), "a wake-up was lost");
    }
}

const ROUNDS: u32 = 2_000;

/// Plays one of two players: waits for every second number and increments it.
fn play(ball: &AtomicU32, first: u32) {
    let mut turn = first;
    while turn < 2 * ROUNDS {
        let mut now = ball.load(Ordering::Acquire);
        while now != turn {
            now = wait_for_change(ball, now);
        }
        ball.store(turn + 1, Ordering::Release);
        Scope::Shared.wake_one(ball).unwrap();
        turn += 2;
    }
}

#[test]
fn two_processes_play_ping_pong() {
    if !system::supports_shared() {
        return assert_unsupported();
    }
    if let Some(mapping) = mapping_of_child() {
        return play(&mapping.words()[0], 1);
    }
    let file = SharedFile::new();
    let mapping = Mapping::new(&file.0);
    let mut child = start_child("two_processes_play_ping_pong", &file);
    play(&mapping.words()[0], 0);
    assert!(child.wait().unwrap().success());
    assert_eq!(mapping.words()[0].load(Ordering::Relaxed), 2 * ROUNDS);
}

#[test]
fn a_process_waits_on_many_shared_words() {
    if !system::supports_shared() {
        return assert_unsupported();
    }
    const NAME: &str = "a_process_waits_on_many_shared_words";
    if let Some(mapping) = mapping_of_child() {
        // Answers on word 0 with the index of each other word that changed.
        let [answer, questions @ ..] = mapping.words();
        for _ in questions {
            let list: Vec<_> = questions.iter().map(|word| (word, 0)).collect();
            let index = loop {
                match Scope::Shared.wait_any(&list, in_forever()).unwrap() {
                    WaitAny::TimedOut => panic!("a wake-up was lost"),
                    result => {
                        let index = result.index().unwrap();
                        if questions[index].load(Ordering::Acquire) != 0 {
                            break index;
                        }
                    }
                }
            };
            questions[index].store(0, Ordering::Relaxed);
            answer.store(index as u32 + 1, Ordering::Release);
            Scope::Shared.wake_one(answer).unwrap();
        }
        return;
    }
    let file = SharedFile::new();
    let mapping = Mapping::new(&file.0);
    let mut child = start_child(NAME, &file);
    let [answer, questions @ ..] = mapping.words();
    for (i, question) in questions.iter().enumerate() {
        let previous = answer.load(Ordering::Relaxed);
        question.store(1, Ordering::Release);
        Scope::Shared.wake_one(question).unwrap();
        assert_eq!(wait_for_change(answer, previous), i as u32 + 1);
    }
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_process_killed_in_its_sleep_harms_nobody() {
    if !system::supports_shared() {
        return assert_unsupported();
    }
    const NAME: &str = "a_process_killed_in_its_sleep_harms_nobody";
    if let Some(mapping) = mapping_of_child() {
        let [word, id, ..] = mapping.words();
        id.store(thread_id(), Ordering::SeqCst);
        loop {
            Scope::Shared.wait(word, 0).unwrap();
        }
    }
    let file = SharedFile::new();
    let mapping = Mapping::new(&file.0);
    let [word, id, ..] = mapping.words();
    let mut child = start_child(NAME, &file);
    let process = child.id().to_string();
    eventually(|| id.load(Ordering::SeqCst) != 0);
    eventually(|| sleeps(&process, id.load(Ordering::SeqCst)));
    child.kill().unwrap();
    child.wait().unwrap();

    // Dead processes are not woken, and living ones are.
    assert_eq!(Scope::Shared.wake_all(word), Ok(0));
    let bedroom = Sleepers::new(1);
    thread::scope(|s| {
        let sleeper = s.spawn(|| {
            bedroom.enter(0);
            wait_for_change(word, 0)
        });
        bedroom.wait_until_asleep();
        word.store(5, Ordering::Release);
        let woken = Scope::Shared.wake_one(word).unwrap();
        if system::counts_wakes() {
            assert_eq!(woken, 1);
        }
        assert_eq!(sleeper.join().unwrap(), 5);
    });
}

#[test]
fn only_shared_wakes_cross_mappings() {
    if !system::supports_shared() {
        return assert_unsupported();
    }
    let file = SharedFile::new();
    let (here, there) = (Mapping::new(&file.0), Mapping::new(&file.0));
    let (here, there) = (&here.words()[0], &there.words()[0]);
    for scope in [Scope::Private, Scope::Shared] {
        let bedroom = Sleepers::new(1);
        thread::scope(|s| {
            let sleeper = s.spawn(|| {
                bedroom.enter(0);
                scope.wait_deadline(here, 0, None).unwrap()
            });
            bedroom.wait_until_asleep();
            let woken = scope.wake_all(there).unwrap();
            if system::counts_wakes() {
                assert_eq!(woken, usize::from(scope == Scope::Shared));
            }
            if scope == Scope::Private {
                // First the wrong address, then the right one.
                assert!(!sleeper.is_finished());
                eventually(|| {
                    scope.wake_all(here).unwrap();
                    sleeper.is_finished()
                });
            }
            assert_eq!(sleeper.join().unwrap(), WaitResult::Woken);
        });
    }
}

#[test]
fn a_word_may_be_unmapped_before_the_wake() {
    let file = SharedFile::new();
    let mapping = Mapping::new(&file.0);
    let address: *const AtomicU32 = &mapping.words()[0];
    drop(mapping);
    assert_eq!(wake_all(address), 0);
    if system::supports_shared() {
        assert_eq!(Scope::Shared.wake_all(address), Ok(0));
    }
}

fn assert_unsupported() {
    let word = AtomicU32::new(0);
    assert!(Scope::Shared.wait(&word, 1).is_err());
}
