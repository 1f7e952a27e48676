//! The threads that sleep in a futex, as the system says.
//!
//! A thread without a record may sleep in a futex of another library, such as `std::sync::Mutex`: the
//! system knows its address. And if no thread is left that could wake another one, no wait of the process
//! ends. Two snapshots say so if all of these hold:
//!
//! 1. Each look at a thread, beside those at the inspector's, finds it in a futex that has no deadline and
//!    that only a thread of this process can wake. A thread that was woken and has not run yet is in none.
//!    The first thread of a program of tests may have a deadline, in the harness: it ends a wait for the result of a
//!    test only to say that the test takes long.
//! 2. The system has counted the same runs of the thread before and after both looks, and both snapshots
//!    find the same threads.
//!
//! By 2 a thread has not begun to run from its first look to its second one. By 1 it slept at both, so it
//! slept in between. So there is a moment, after the first look at the last thread, at which all threads
//! slept. There were no others, as a thread that sleeps starts none. Only a handler of a signal can end
//! that state.

use blitz_io_observe::Kind;

use crate::names::SYSTEM_NUMBER;
use crate::snapshot::{Snapshot, TaskState, Thread, Wait, Waiter};

/// A thread that sleeps in a futex.
#[cfg_attr(
    not(any(target_os = "linux", target_os = "android")),
    allow(dead_code, reason = "no system but Linux says it")
)]
pub(crate) struct Sleeper {
    /// The system's number of the thread.
    system: u32,
    name: String,
    /// The first word.
    address: u64,
    /// The number of times that it has run.
    runs: u64,
    is_timed: bool,
}

/// All sleepers; and a number, if no thread is left that could wake them, which changes when one has run.
#[derive(Default)]
pub(crate) struct Sleepers {
    pub(crate) sleepers: Vec<Sleeper>,
    pub(crate) all_asleep: Option<u64>,
    pub(crate) handles_signals: bool,
    /// The system's numbers of all threads but the inspector's, in order; `None` if it does not tell.
    pub(crate) threads: Option<Vec<u32>>,
    /// The facts that the system keeps to itself.
    pub(crate) missing: Vec<String>,
}

impl Sleepers {
    /// Returns `true` if the system says that no thread has this number.
    pub(crate) fn is_without(&self, number: u32) -> bool {
        let all = self.threads.as_ref();
        all.is_some_and(|all| all.binary_search(&number).is_err())
    }
}

/// Asks the system.
pub(crate) fn read() -> Sleepers {
    system::read()
}

impl Sleeper {
    /// Adds the wait of a thread without a record. `number`: that of the thread, if it has one.
    pub(crate) fn add_to(&self, snapshot: &mut Snapshot, number: Option<u64>) {
        let thread = number.unwrap_or(SYSTEM_NUMBER | u64::from(self.system));
        if number.is_none() {
            snapshot.threads.push(Thread {
                id: thread,
                name: self.name.clone(),
                system: Some(self.system),
                has_ended: false,
            });
        }
        snapshot.waits.push(Wait {
            id: thread << 40 | self.runs,
            waiter: runs_on(snapshot, thread).unwrap_or(Waiter::Thread(thread)),
            thread,
            kind: Kind::UnknownFutex.name().into(),
            semantics: Kind::UnknownFutex.semantics(),
            object: None,
            task: None,
            runtime: None,
            source: Some(format!("{:#x}", self.address)),
            location: String::new(),
            since_ms: snapshot.at_ms,
            waiting_ms: 0,
            is_timed: self.is_timed,
            blocks_thread: true,
            is_direct: false,
            is_handed: false,
        });
    }

    pub(crate) fn system(&self) -> u32 {
        self.system
    }
}

/// Returns the task that a thread polls, or the closure that it runs.
fn runs_on(snapshot: &Snapshot, thread: u64) -> Option<Waiter> {
    let mut tasks = snapshot.tasks.iter();
    let polled = tasks.find(|task| task.state == TaskState::Running && task.thread == thread);
    let mut jobs = snapshot.jobs.iter();
    let job = jobs.find(|job| job.thread == Some(thread));
    let id = polled.map(|task| task.id).or(job.map(|job| job.id));
    id.map(Waiter::Task)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use std::fs;
    use std::hash::{DefaultHasher, Hash, Hasher};
    use std::io;
    use std::path::Path;
    use std::sync::OnceLock;

    use blitz_io_core::PerProcess;

    use super::{Sleeper, Sleepers};
    use crate::proc_files::{memory, runs};
    use crate::process::{is_own, own_signals};
    use crate::stacks;

    pub(super) fn read() -> Sleepers {
        let mut all = Sleepers::default();
        let threads = match fs::read_dir(THREADS) {
            Ok(threads) => threads,
            Err(error) => {
                all.missing.push(without_threads(&error));
                return all;
            }
        };
        let mut seen = DefaultHasher::new();
        let mut all_asleep = true;
        // The threads with a deadline.
        let mut limited: Vec<u32> = Vec::new();
        let mut numbers = Some(Vec::new());
        for thread in threads {
            let number = thread.as_ref().ok().and_then(number);
            let sleeper = match thread {
                Ok(thread) => look(&thread.path()),
                Err(_) => Look::Awake,
            };
            if !matches!(sleeper, Look::Own) {
                numbers = numbers.zip(number).map(|(mut numbers, number)| {
                    numbers.push(number);
                    numbers
                });
            }
            match sleeper {
                Look::Own => {}
                Look::Asleep(sleeper, needs_us) => {
                    (sleeper.system, sleeper.runs).hash(&mut seen);
                    all_asleep &= needs_us;
                    limited.extend(sleeper.is_timed.then_some(sleeper.system));
                    all.sleepers.push(sleeper);
                }
                Look::Awake => all_asleep = false,
            }
        }
        if let Some(numbers) = &mut numbers {
            numbers.sort_unstable();
        }
        all.threads = numbers;
        all.handles_signals = handles_signals();
        all_asleep &= !all.sleepers.is_empty() && limited.into_iter().all(waits_for_tests);
        all.all_asleep = all_asleep.then(|| seen.finish());
        all
    }

    /// Returns `true` if the thread is the first one, and is in the harness of Rust's tests.
    fn waits_for_tests(system: u32) -> bool {
        /// It is there from the begin to the end, and to look takes most of a second.
        static IS_THERE: PerProcess<OnceLock<bool>> = PerProcess::new(OnceLock::default);
        system == std::process::id()
            && *IS_THERE.get_or_init(|| stacks::is_in(system, "test::run_tests"))
    }

    /// Returns the system's number of a thread.
    fn number(thread: &fs::DirEntry) -> Option<u32> {
        thread.file_name().to_str()?.parse().ok()
    }

    /// The folders of this process's threads.
    const THREADS: &str = "/proc/self/task";

    /// Returns the note of a report in a program that sees no `/proc`, such as one in a chroot: it lacks threads.
    fn without_threads(error: &io::Error) -> String {
        format!(
            "The process cannot read {THREADS} ({error}). So this report has no thread without a record, no stack, \
             and no finding `all-asleep`."
        )
    }

    enum Look {
        /// A thread of the inspector.
        Own,
        /// A thread that sleeps in a futex; `true` if only a thread of this process can wake it.
        Asleep(Sleeper, bool),
        /// Anything else.
        Awake,
    }

    fn look(thread: &Path) -> Look {
        let name = fs::read_to_string(thread.join("comm")).unwrap_or_default();
        let name = name.trim_end();
        if is_own(name) {
            return Look::Own;
        }
        match sleeper(thread, name) {
            Some((sleeper, needs_us)) => Look::Asleep(sleeper, needs_us),
            None => Look::Awake,
        }
    }

    fn sleeper(thread: &Path, name: &str) -> Option<(Sleeper, bool)> {
        let before = runs(thread)?;
        let call = fs::read_to_string(thread.join("syscall")).ok()?;
        let (words, is_timed) = futex(&call).or_else(|| futexes(&call))?;
        // Otherwise its stack, which may have the list of words, was another one.
        if runs(thread)? != before {
            return None;
        }
        let mut all = words.iter();
        let needs_us = all.all(|word| word.is_private || is_own_memory(word.address));
        let sleeper = Sleeper {
            system: thread.file_name()?.to_str()?.parse().ok()?,
            name: name.into(),
            address: words.first()?.address,
            runs: before,
            is_timed,
        };
        Some((sleeper, needs_us))
    }

    /// A word on which a thread sleeps.
    #[derive(Debug, PartialEq)]
    struct Word {
        address: u64,
        is_private: bool,
    }

    /// Returns the arguments of a system call, if the line of `/proc` says that a thread is in this one.
    fn arguments(line: &str, call: libc::c_long) -> Option<[u64; 6]> {
        let mut words = line.split_ascii_whitespace();
        if words.next()?.parse() != Ok(call) {
            return None;
        }
        let mut found = [0; 6];
        for (argument, word) in found.iter_mut().zip(words.by_ref().take(6)) {
            *argument = u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()?;
        }
        // The stack pointer follows.
        words.next().map(|_| found)
    }

    /// Returns the word, and whether there is a deadline, if a thread sleeps in a futex.
    fn futex(line: &str) -> Option<(Vec<Word>, bool)> {
        let [address, operation, _, timeout, ..] = arguments(line, libc::SYS_futex)?;
        let is_private = operation & libc::FUTEX_PRIVATE_FLAG as u64 != 0;
        let word = Word {
            address,
            is_private,
        };
        Some((vec![word], timeout != 0))
    }

    /// Returns the words of a thread that sleeps on several of them. Their list is in its memory, which
    /// this reads as a file: the thread may have ended.
    fn futexes(line: &str) -> Option<(Vec<Word>, bool)> {
        /// The system takes no more.
        const MOST: u64 = 128;
        /// A value, an address, flags, and four bytes that mean nothing.
        const SIZE: usize = 24;
        /// `FUTEX2_PRIVATE`.
        const PRIVATE: u32 = 128;
        let [list, count, _, timeout, ..] = arguments(line, libc::SYS_futex_waitv)?;
        let length = SIZE * count.min(MOST) as usize;
        let bytes = memory(list, length);
        if bytes.len() != length {
            return None;
        }
        let words = bytes.chunks_exact(SIZE).map(|entry| {
            let (address, flags) = (entry[8..16].try_into(), entry[16..20].try_into());
            Some(Word {
                address: u64::from_ne_bytes(address.ok()?),
                is_private: u32::from_ne_bytes(flags.ok()?) & PRIVATE != 0,
            })
        });
        Some((words.collect::<Option<_>>()?, timeout != 0))
    }

    /// Returns `true` if the program has signal handlers of its own. Those of the inspector and of the C
    /// library do not count, nor do those of faults, which a sleeping thread does not commit.
    fn handles_signals() -> bool {
        const FAULTS: [i32; 5] = [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGILL,
            libc::SIGFPE,
            libc::SIGTRAP,
        ];
        /// Two signals below the first one that is free for programs.
        const OF_LIBRARY: u64 = 0b11 << 31;
        let Ok(status) = fs::read_to_string("/proc/self/status") else {
            return true;
        };
        let mut lines = status.lines();
        let caught = lines.find_map(|line| line.strip_prefix("SigCgt:"));
        let Some(caught) = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()) else {
            return true;
        };
        let faults = FAULTS
            .iter()
            .fold(0, |mask, signal| mask | 1 << (signal - 1));
        caught & !(faults | OF_LIBRARY | own_signals() | stacks::signal()) != 0
    }

    /// Returns `true` if the memory at this address is not shared with other processes. A thread that joins
    /// another one sleeps on such memory, in a futex that could be shared.
    fn is_own_memory(address: u64) -> bool {
        let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let has_it = |line: &&str| {
            let range = line
                .split_once(' ')
                .and_then(|(range, _)| range.split_once('-'));
            let number = |digits| u64::from_str_radix(digits, 16).ok();
            let ends = range.and_then(|(first, end)| Some(number(first)?..number(end)?));
            ends.is_some_and(|ends| ends.contains(&address))
        };
        let line = maps.lines().find(has_it);
        let rights = line.and_then(|line| line.split_ascii_whitespace().nth(1));
        rights.is_some_and(|rights| rights.ends_with('p'))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        /// Returns the line for a system call with these arguments, the others of which are 0.
        fn line(call: libc::c_long, arguments: [u64; 4]) -> String {
            let [a, b, c, d] = arguments;
            format!("{call} {a:#x} {b:#x} {c:#x} {d:#x} 0x0 0x0 0x1 0x2\n")
        }

        #[test]
        fn lines_of_the_system() {
            let call = libc::SYS_futex;
            let word = |is_private| Word {
                address: 0x56,
                is_private,
            };
            let sleeps = |operation, timeout| futex(&line(call, [0x56, operation, 0, timeout]));
            assert_eq!(sleeps(0x189, 0), Some((vec![word(true)], false)));
            assert_eq!(sleeps(0x109, 0x7ffc), Some((vec![word(false)], true)));
            let short = format!("{call} 0x56 0x189");
            let other = line(1, [0x56, 0x189, 0, 0]);
            for other in ["running\n", "", "-1 0x1 0x2", &short, &other] {
                assert_eq!(futex(other), None, "{other}");
            }
        }

        #[test]
        fn a_list_of_words() {
            let list = [1_u64, 0x56, 130, 2, 0x78, 2];
            let address = list.as_ptr().addr() as u64;
            let sleeps = |address, count, timeout| {
                futexes(&line(libc::SYS_futex_waitv, [address, count, 0, timeout]))
            };
            let words = [(0x56, true), (0x78, false)].map(|(address, is_private)| Word {
                address,
                is_private,
            });
            assert_eq!(sleeps(address, 2, 0), Some((words.into(), false)));
            assert_eq!(sleeps(0, 2, 0), None, "no memory");
            assert_eq!(futexes(&line(libc::SYS_futex, [address, 2, 0, 0])), None);
        }

        #[test]
        fn a_report_without_proc_says_what_it_lacks() {
            let missing = without_threads(&io::ErrorKind::NotFound.into());
            assert!(missing.contains("/proc/self/task (") && missing.contains("all-asleep"));
        }

        #[test]
        fn own_memory() {
            let local = 0_u32;
            assert!(is_own_memory((&raw const local).addr() as u64));
            assert!(!is_own_memory(0));
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod system {
    use super::Sleepers;

    pub(super) fn read() -> Sleepers {
        Sleepers::default()
    }
}
