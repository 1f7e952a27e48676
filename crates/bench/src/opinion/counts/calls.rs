//! Linux: the number of system calls of this process, from the tracepoint that
//! each call passes. Reading it needs a privilege, which root has and other users
//! mostly lack; without it the column stays empty.

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::FromRawFd;

const TRACEPOINT: u32 = 2;
const INHERIT: u64 = 1 << 1;

/// `struct perf_event_attr` in its first version.
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    breakpoint_address: u64,
}

/// Counts from its creation on.
pub struct SystemCalls(Vec<File>);

impl SystemCalls {
    /// Counts the calls of this thread and of all threads that it starts, directly or not.
    pub fn count() -> Option<Self> {
        let this_thread = 0;
        Some(Self(vec![of_thread(this_thread)?]))
    }

    /// Counts the calls of the other threads that exist now, and of those that they
    /// start.
    pub fn of_others() -> Option<Self> {
        // SAFETY: the call takes nothing and always succeeds.
        let this_thread = unsafe { libc::gettid() };
        let mut counters = Vec::new();
        for entry in fs::read_dir("/proc/self/task").ok()?.flatten() {
            let thread = entry.file_name().to_str()?.parse().ok()?;
            if thread != this_thread {
                // A thread that has ended since the listing makes no calls.
                counters.extend(of_thread(thread));
            }
        }
        (!counters.is_empty()).then_some(Self(counters))
    }

    /// Returns the sum over all threads, including those that have ended.
    pub fn read(&self) -> Option<u64> {
        self.0.iter().map(count_in).sum()
    }
}

/// Creates a counter of one thread's calls, and of the threads that it starts from now on.
fn of_thread(thread: libc::pid_t) -> Option<File> {
    let attributes = Attributes {
        kind: TRACEPOINT,
        size: size_of::<Attributes>() as u32,
        config: tracepoint()?,
        sample_period: 0,
        sample_type: 0,
        read_format: 0,
        flags: INHERIT,
        wakeup_events: 0,
        breakpoint_type: 0,
        breakpoint_address: 0,
    };
    let (any_processor, no_group, no_flags) = (-1, -1, 0_u64);
    // SAFETY: the attributes are as long as they state; the call only reads them.
    let file = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            thread,
            any_processor,
            no_group,
            no_flags,
        )
    };
    if file < 0 {
        return None;
    }
    // SAFETY: the call has just made this descriptor for us.
    Some(unsafe { File::from_raw_fd(file as i32) })
}

fn count_in(mut counter: &File) -> Option<u64> {
    let mut count = [0; 8];
    counter.read_exact(&mut count).ok()?;
    Some(u64::from_ne_bytes(count))
}

fn tracepoint() -> Option<u64> {
    ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"]
        .iter()
        .find_map(|root| {
            fs::read_to_string(format!("{root}/events/raw_syscalls/sys_enter/id")).ok()
        })?
        .trim()
        .parse()
        .ok()
}
