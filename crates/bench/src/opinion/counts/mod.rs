//! Events that the system counts during an iteration: sleeps, preemptions, processor time,
//! and system calls if this process may count them.

#[cfg(target_os = "linux")]
mod calls;

use std::time::Duration;

/// The process's counters at one moment, or their change between two moments.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    /// Times a thread fell asleep.
    pub sleeps: Option<u64>,
    /// Times a thread that could run lost its processor, including by yielding.
    pub preemptions: Option<u64>,
    /// The time of all threads, in the program and in the system.
    pub processor: Option<Duration>,
    pub system_calls: Option<u64>,
}

impl Counts {
    /// Returns the difference to the earlier counts.
    pub fn without(self, before: Counts) -> Counts {
        let difference =
            |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then.unwrap_or(0)));
        Counts {
            sleeps: difference(self.sleeps, before.sleeps),
            preemptions: difference(self.preemptions, before.preemptions),
            processor: self
                .processor
                .map(|now| now.saturating_sub(before.processor.unwrap_or_default())),
            system_calls: difference(self.system_calls, before.system_calls),
        }
    }
}

/// Reads the counters of this process, including threads that start later.
pub struct Counter {
    #[cfg(target_os = "linux")]
    calls: Option<calls::SystemCalls>,
}

impl Counter {
    pub fn new() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            calls: calls::SystemCalls::count(),
        }
    }

    pub fn read(&self) -> Counts {
        Counts {
            system_calls: self.system_calls(),
            ..usage()
        }
    }

    #[cfg(target_os = "linux")]
    fn system_calls(&self) -> Option<u64> {
        self.calls.as_ref()?.read()
    }

    #[cfg(not(target_os = "linux"))]
    fn system_calls(&self) -> Option<u64> {
        None
    }
}

/// Runs `body` on this thread, and returns the system calls that the other existing threads
/// make during it, or `None` if this process may not count them.
#[cfg(target_os = "linux")]
pub fn calls_of_others<T>(body: impl FnOnce() -> T) -> (T, Option<u64>) {
    let calls = calls::SystemCalls::of_others();
    let value = body();
    (value, calls.and_then(|calls| calls.read()))
}

/// As on Linux, but nothing is counted.
#[cfg(not(target_os = "linux"))]
pub fn calls_of_others<T>(body: impl FnOnce() -> T) -> (T, Option<u64>) {
    (body(), None)
}

/// Returns the process's counters until now, without its system calls.
#[cfg(unix)]
pub(crate) fn usage() -> Counts {
    // SAFETY: a `rusage` consists of numbers; all zeroes is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live, writable `rusage`.
    if unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) } != 0 {
        return Counts::default();
    }
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    Counts {
        sleeps: Some(usage.ru_nvcsw as u64),
        preemptions: Some(usage.ru_nivcsw as u64),
        processor: Some(time(usage.ru_utime) + time(usage.ru_stime)),
        system_calls: None,
    }
}

#[cfg(not(unix))]
pub(crate) fn usage() -> Counts {
    Counts::default()
}
