//! The system's facts about a thread of this process, without a signal to it: its state, its system call,
//! and, while it sleeps in one, its stack.
//!
//! Nothing here lets the thread run.
//!
//! # The stack
//!
//! The system tells the stack pointer and the next instruction of a thread that sleeps. The copy is that of one
//! sleep if the system has counted the same runs of the thread before and after it.

use std::fs;
use std::path::Path;

use crate::proc_files::{memory, runs};
use crate::unwind::Registers;

/// So many bytes of a stack are copied at most.
const MOST: usize = 64 * 4096;
/// A thread that runs again each time has no stack.
const ATTEMPTS: usize = 3;

/// A thread as the system sees it.
pub(crate) struct Seen {
    /// Such as `sleeps in the system call futex`, or an empty string if the system does not say.
    pub(crate) state: String,
    /// The registers that are known, and the memory at the stack pointer.
    pub(crate) stack: Option<(Registers, Vec<u8>)>,
}

/// Looks at a thread, which may run at the same time.
pub(crate) fn look(thread: u32) -> Seen {
    let folder = format!("/proc/self/task/{thread}");
    let folder: &Path = folder.as_ref();
    let mut seen = Seen {
        state: state(folder),
        stack: None,
    };
    for _ in 0..ATTEMPTS {
        let before = runs(folder);
        let line = fs::read_to_string(folder.join("syscall")).unwrap_or_default();
        let Some((call, stack_pointer, pc)) = sleep(&line) else {
            continue;
        };
        let stack = memory(stack_pointer, MOST);
        if before.is_none() || runs(folder) != before {
            continue;
        }
        if let Some(call) = call {
            seen.state = format!("sleeps in {}", name_of(call));
        }
        seen.stack = Some((Registers::outside(pc, stack_pointer), stack));
        break;
    }
    seen
}

/// Returns the state of a thread as [`Seen`] has it.
pub(crate) fn state_of(thread: u32) -> String {
    let folder = format!("/proc/self/task/{thread}");
    let folder: &Path = folder.as_ref();
    let line = fs::read_to_string(folder.join("syscall")).unwrap_or_default();
    match sleep(&line) {
        Some((Some(call), ..)) => format!("sleeps in {}", name_of(call)),
        _ => state(folder),
    }
}

fn state(thread: &Path) -> String {
    let stat = fs::read_to_string(thread.join("stat")).unwrap_or_default();
    // The name before it is in parentheses, and may hold anything.
    let facts = stat.rsplit_once(')').map_or("", |(_, facts)| facts);
    let state = match facts.split_ascii_whitespace().next() {
        Some("R") => "runs, or could run",
        Some("S") => "sleeps",
        Some("D") => "sleeps, and no signal can wake it",
        Some("T" | "t") => "is stopped",
        _ => return String::new(),
    };
    let place = fs::read_to_string(thread.join("wchan")).unwrap_or_default();
    match place.trim() {
        // The system hides it from most users.
        "" | "0" => state.into(),
        place => format!("{state} in the kernel's {place}"),
    }
}

/// Returns the number of the system call, if it is in one, the stack pointer and the next instruction of a
/// thread that sleeps.
fn sleep(line: &str) -> Option<(Option<libc::c_long>, u64, u64)> {
    let mut words = line.split_ascii_whitespace();
    let call: libc::c_long = words.next()?.parse().ok()?;
    let mut ends = words.rev();
    let mut number = || u64::from_str_radix(ends.next()?.strip_prefix("0x")?, 16).ok();
    let (pc, stack_pointer) = (number()?, number()?);
    Some(((call >= 0).then_some(call), stack_pointer, pc))
}

/// Returns the name of a system call in which threads sleep, or its number.
fn name_of(call: libc::c_long) -> String {
    const EACH: &[(libc::c_long, &str)] = &[
        (libc::SYS_futex, "futex"),
        (libc::SYS_futex_waitv, "futex_waitv"),
        (libc::SYS_read, "read"),
        (libc::SYS_readv, "readv"),
        (libc::SYS_write, "write"),
        (libc::SYS_writev, "writev"),
        (libc::SYS_pread64, "pread64"),
        (libc::SYS_pwrite64, "pwrite64"),
        (libc::SYS_openat, "openat"),
        (libc::SYS_fsync, "fsync"),
        (libc::SYS_fdatasync, "fdatasync"),
        (libc::SYS_flock, "flock"),
        (libc::SYS_fcntl, "fcntl"),
        (libc::SYS_ppoll, "ppoll"),
        (libc::SYS_pselect6, "pselect6"),
        (libc::SYS_epoll_pwait, "epoll_pwait"),
        (libc::SYS_epoll_pwait2, "epoll_pwait2"),
        (libc::SYS_io_uring_enter, "io_uring_enter"),
        (libc::SYS_io_getevents, "io_getevents"),
        (libc::SYS_accept, "accept"),
        (libc::SYS_accept4, "accept4"),
        (libc::SYS_connect, "connect"),
        (libc::SYS_recvfrom, "recvfrom"),
        (libc::SYS_recvmsg, "recvmsg"),
        (libc::SYS_recvmmsg, "recvmmsg"),
        (libc::SYS_sendto, "sendto"),
        (libc::SYS_sendmsg, "sendmsg"),
        (libc::SYS_nanosleep, "nanosleep"),
        (libc::SYS_clock_nanosleep, "clock_nanosleep"),
        (libc::SYS_wait4, "wait4"),
        (libc::SYS_waitid, "waitid"),
        (libc::SYS_semop, "semop"),
        (libc::SYS_semtimedop, "semtimedop"),
        (libc::SYS_msgrcv, "msgrcv"),
        (libc::SYS_msgsnd, "msgsnd"),
        (libc::SYS_rt_sigtimedwait, "rt_sigtimedwait"),
        (libc::SYS_rt_sigsuspend, "rt_sigsuspend"),
        (libc::SYS_sched_yield, "sched_yield"),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_poll, "poll"),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_select, "select"),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_epoll_wait, "epoll_wait"),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_open, "open"),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_pause, "pause"),
    ];
    let mut all = EACH.iter();
    match all.find(|&&(number, _)| number == call) {
        Some((_, name)) => format!("the system call {name}"),
        None => format!("system call {call}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_system_has_the_call_and_two_registers() {
        let line = "202 0x1 0x80 0x2 0x0 0x0 0x0 0x7ffe10 0x7f20\n";
        assert_eq!(sleep(line), Some((Some(202), 0x7f_fe10, 0x7f20)));
        assert_eq!(
            sleep("-1 0x7ffe10 0x7f20\n"),
            Some((None, 0x7f_fe10, 0x7f20))
        );
        for other in ["running\n", "", "7"] {
            assert_eq!(sleep(other), None, "{other}");
        }
    }
}
