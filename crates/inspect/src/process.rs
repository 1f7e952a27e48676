//! Facts about a process from the system: its command line, its state, when it ran.

#[cfg(all(unix, feature = "records"))]
use std::sync::atomic::{AtomicU64, Ordering};

use crate::snapshot::Process;
#[cfg(feature = "records")]
use crate::snapshot::ProcessState;

/// The names of the threads that belong to the inspector: they end no wait of the program.
#[cfg(feature = "records")]
const OWN_THREADS: [&str; 3] = ["blitz-inspect", "blitz-clock", "blitz-watchdog"];

/// Returns `true` if a thread with this name belongs to the inspector.
#[cfg(all(feature = "records", any(target_os = "linux", target_os = "android")))]
pub(crate) fn is_own(name: &str) -> bool {
    OWN_THREADS.contains(&name)
}

/// The signals that the inspector handles, as a mask of the system.
#[cfg(all(unix, feature = "records"))]
static OWN_SIGNALS: AtomicU64 = AtomicU64::new(0);

/// Notes that the inspector handles this signal from now on.
#[cfg(all(unix, feature = "records"))]
pub(crate) fn own_signal(signal: std::ffi::c_int) {
    if let Some(bit) = 1_u64.checked_shl((signal - 1).unsigned_abs()) {
        OWN_SIGNALS.fetch_or(bit, Ordering::Relaxed);
    }
}

/// Returns the signals that the inspector handles, as a mask of the system.
#[cfg(all(feature = "records", any(target_os = "linux", target_os = "android")))]
pub(crate) fn own_signals() -> u64 {
    OWN_SIGNALS.load(Ordering::Relaxed)
}

/// Describes this process, whose waits are in the snapshot.
#[cfg(feature = "records")]
pub(crate) fn own() -> Process {
    let arguments = std::env::args_os();
    let words: Vec<_> = arguments
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    Process {
        pid: std::process::id(),
        command: words.join(" "),
        state: ProcessState::Running,
        idle_ms: None,
        has_records: true,
        threads: system::threads_beside(&OWN_THREADS),
    }
}

/// Describes a process, whose waits are not known, and returns when it started, or 0.
#[cfg(unix)]
pub(crate) fn other(pid: u32) -> (Process, u64) {
    let (state, started) = system::state(pid);
    let process = Process {
        pid,
        command: system::command(pid),
        state,
        idle_ms: None,
        has_records: false,
        threads: 0,
    };
    (process, started)
}

/// Returns the time for which no thread of a process has run, in milliseconds.
#[cfg(unix)]
pub(crate) fn idle(pid: u32) -> Option<u64> {
    system::idle(pid)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;
    use std::thread;

    use crate::snapshot::ProcessState;

    /// Returns the number of threads of this process that have none of these names.
    #[cfg(feature = "records")]
    pub(super) fn threads_beside(names: &[&str]) -> usize {
        let Ok(threads) = fs::read_dir("/proc/self/task") else {
            return 0;
        };
        let is_counted = |thread: &fs::DirEntry| {
            let name = fs::read_to_string(thread.path().join("comm"));
            !name.is_ok_and(|name| names.contains(&name.trim_end()))
        };
        threads.flatten().filter(is_counted).count()
    }

    /// Returns the facts about a process or thread behind its name, which is in parentheses and may hold
    /// anything. `None` if it has ended.
    fn facts(folder: &Path) -> Option<String> {
        let text = fs::read_to_string(folder.join("stat")).ok()?;
        Some(text.rsplit_once(')').map_or("", |(_, facts)| facts).into())
    }

    /// Returns the state and the start time.
    pub(super) fn state(pid: u32) -> (ProcessState, u64) {
        let Some(facts) = facts(format!("/proc/{pid}").as_ref()) else {
            return (ProcessState::Ended, 0);
        };
        let mut fields = facts.split_ascii_whitespace();
        let state = match fields.next() {
            Some("R") => ProcessState::Running,
            Some("S" | "D" | "I") => ProcessState::Sleeping,
            Some("T" | "t") => ProcessState::Stopped,
            Some("Z" | "X" | "x") => ProcessState::Ended,
            _ => ProcessState::Unknown,
        };
        let started = fields.nth(18).and_then(|field| field.parse().ok());
        (state, started.unwrap_or(0))
    }

    pub(super) fn command(pid: u32) -> String {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = words.split(|&byte| byte == 0).map(String::from_utf8_lossy);
        let words: Vec<_> = words.collect();
        words.join(" ").trim_end().to_owned()
    }

    /// The kernel notes when a thread ran last by the clock of the thread's processor. These clocks differ:
    /// they stop while the processor handles interrupts or runs another guest of the machine. So the
    /// present is the time at which a thread of this process runs on that processor.
    pub(super) fn idle(pid: u32) -> Option<u64> {
        let mut present = BTreeMap::new();
        let mut idle = None;
        for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()? {
            let thread = thread.ok()?.path();
            let (processor, last) = (processor(&thread)?, ran_at(&thread)?);
            let now = present
                .entry(processor)
                .or_insert_with(|| now_on(processor));
            let time = (*now)?.saturating_sub(last);
            idle = Some(idle.map_or(time, |idle: u64| idle.min(time)));
        }
        idle
    }

    /// Returns the processor on which a thread ran last.
    fn processor(thread: &Path) -> Option<usize> {
        let facts = facts(thread)?;
        facts.split_ascii_whitespace().nth(36)?.parse().ok()
    }

    /// Returns the time at which a thread ran last, in milliseconds of its processor's clock.
    fn ran_at(thread: &Path) -> Option<u64> {
        let text = fs::read_to_string(thread.join("sched")).ok()?;
        let line = text
            .lines()
            .find(|line| line.starts_with("se.exec_start"))?;
        let (_, time) = line.split_once(':')?;
        time.trim().split('.').next()?.parse().ok()
    }

    /// Returns the time of a processor's clock; `None` if this process may not run there.
    fn now_on(processor: usize) -> Option<u64> {
        let read = move || {
            if processor >= libc::CPU_SETSIZE as usize {
                return None;
            }
            // SAFETY: all zeros is a valid set of processors.
            let mut only: libc::cpu_set_t = unsafe { std::mem::zeroed() };
            // SAFETY: the set has this processor.
            unsafe { libc::CPU_SET(processor, &mut only) };
            // SAFETY: the pointer is to a set of this size. 0 is this thread.
            let moved = unsafe { libc::sched_setaffinity(0, size_of_val(&only), &raw const only) };
            (moved == 0).then(|| ran_at("/proc/thread-self".as_ref()))?
        };
        let thread = thread::Builder::new().spawn(read).ok()?;
        thread.join().ok()?
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod system {
    #[cfg(unix)]
    use crate::snapshot::ProcessState;

    /// 0: not known.
    #[cfg(feature = "records")]
    pub(super) fn threads_beside(_: &[&str]) -> usize {
        0
    }

    #[cfg(unix)]
    pub(super) fn state(_: u32) -> (ProcessState, u64) {
        (ProcessState::Unknown, 0)
    }

    #[cfg(unix)]
    pub(super) fn command(_: u32) -> String {
        String::new()
    }

    #[cfg(unix)]
    pub(super) fn idle(_: u32) -> Option<u64> {
        None
    }
}
