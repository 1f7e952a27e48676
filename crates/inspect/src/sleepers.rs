//! The threads that sleep in a futex, as the system says.
//!
//! A thread without a record may sleep in a futex of another library, such as `std::sync::Mutex`: the
//! system knows its address. And if no thread is left that could wake another one, no wait of the process
//! ends. Two snapshots say so if all of these hold:
//!
//! 1. Each look at a thread, beside those at the inspector's, finds it in a futex that has no deadline and
//!    that only a thread of this process can wake. A thread that was woken and has not run yet is in none.
//! 2. The system has counted the same runs of the thread before and after both looks, and both snapshots
//!    find the same threads.
//!
//! By 2 a thread has not begun to run from its first look to its second one. By 1 it slept at both, so it
//! slept in between. So there is a moment, after the first look at the last thread, at which all threads
//! slept. There were no others, as a thread that sleeps starts none. Only a handler of a signal can end
//! that state.

use crate::graph::UNKNOWN_FUTEX;
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
    address: u64,
    /// How often it has run.
    runs: u64,
    is_timed: bool,
}

/// All sleepers; and a number, if no thread is left that could wake them, which changes when one has run.
#[derive(Default)]
pub(crate) struct Sleepers {
    pub(crate) sleepers: Vec<Sleeper>,
    pub(crate) all_asleep: Option<u64>,
    pub(crate) handles_signals: bool,
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
            });
        }
        snapshot.waits.push(Wait {
            id: thread << 40 | self.runs,
            waiter: runs_on(snapshot, thread).unwrap_or(Waiter::Thread(thread)),
            thread,
            kind: UNKNOWN_FUTEX.into(),
            object: None,
            task: None,
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

/// The task that a thread polls, or the closure that it runs.
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
    use std::path::Path;

    use super::{Sleeper, Sleepers};
    use crate::process::is_own;
    use crate::signal;

    pub(super) fn read() -> Sleepers {
        let mut all = Sleepers::default();
        let Ok(threads) = fs::read_dir("/proc/self/task") else {
            return all;
        };
        let mut seen = DefaultHasher::new();
        let mut all_asleep = true;
        for thread in threads {
            let sleeper = match thread {
                Ok(thread) => look(&thread.path()),
                Err(_) => Look::Awake,
            };
            match sleeper {
                Look::Own => {}
                Look::Asleep(sleeper, needs_us) => {
                    (sleeper.system, sleeper.runs).hash(&mut seen);
                    all_asleep &= needs_us && !sleeper.is_timed;
                    all.sleepers.push(sleeper);
                }
                Look::Awake => all_asleep = false,
            }
        }
        all.handles_signals = handles_signals();
        all.all_asleep = (all_asleep && !all.sleepers.is_empty()).then(|| seen.finish());
        all
    }

    enum Look {
        /// A thread of the inspector.
        Own,
        /// In a futex, and whether only a thread of this process can wake it.
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
        if runs(thread)? != before {
            return None;
        }
        let (address, operation, is_timed) = futex(&call)?;
        let is_private = operation & libc::FUTEX_PRIVATE_FLAG as u64 != 0;
        let sleeper = Sleeper {
            system: thread.file_name()?.to_str()?.parse().ok()?,
            name: name.into(),
            address,
            runs: before,
            is_timed,
        };
        Some((sleeper, is_private || is_own_memory(address)))
    }

    /// How often a processor has begun to run a thread.
    fn runs(thread: &Path) -> Option<u64> {
        let text = fs::read_to_string(thread.join("schedstat")).ok()?;
        text.split_ascii_whitespace().nth(2)?.parse().ok()
    }

    /// The address, the operation, and whether there is a deadline, if the line of `/proc` says that a
    /// thread sleeps in a futex.
    fn futex(line: &str) -> Option<(u64, u64, bool)> {
        let mut words = line.split_ascii_whitespace();
        if words.next()?.parse() != Ok(libc::SYS_futex) {
            return None;
        }
        let mut arguments = words.map(|word| {
            let digits = word.strip_prefix("0x")?;
            u64::from_str_radix(digits, 16).ok()
        });
        let address = arguments.next()??;
        let operation = arguments.next()??;
        let timeout = arguments.nth(1)??;
        Some((address, operation, timeout != 0))
    }

    /// Whether the program has handlers of signals, other than those of its own faults, which a sleeping
    /// thread does not commit, and the ones that the inspector and the library of the system have.
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
        caught & !(faults | OF_LIBRARY | signal::own()) != 0
    }

    /// Whether the memory at this address is not shared with other processes. A thread that joins another
    /// one sleeps on such memory, in a futex that could be shared.
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

        #[test]
        fn lines_of_the_system() {
            let call = libc::SYS_futex;
            let line =
                |timeout| format!("{call} 0x56 0x189 0x0 {timeout} 0x0 0xffffffff 0x1 0x2\n");
            assert_eq!(futex(&line("0x0")), Some((0x56, 0x189, false)));
            assert_eq!(futex(&line("0x7ffc")), Some((0x56, 0x189, true)));
            for other in [
                "running\n",
                "",
                "-1 0x1 0x2",
                "1 0x56 0x189 0x0 0x0 0x0 0x0 0x1 0x2",
            ] {
                assert_eq!(futex(other), None, "{other}");
            }
            assert_eq!(futex(&format!("{call} 0x56 0x189")), None);
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
