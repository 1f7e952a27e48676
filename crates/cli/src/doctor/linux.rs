//! Linux: every call is tried.

use std::fs;
use std::io::{self, ErrorKind};
use std::mem;
use std::path::Path;

use io_uring::{IoUring as Ring, Probe as RingProbe, opcode};
use libc::{c_int, c_long};

use super::{IoUring, Probe, Processors, System};

/// Tries what the kernel offers.
pub fn probe() -> System {
    System {
        processors: processors(),
        futex_waitv: Some(futex_waitv()),
        membarrier: Some(membarrier()),
        io_uring: Some(io_uring()),
        clock_source: read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    }
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn processors() -> Processors {
    let allowed = allowed().unwrap_or(1);
    Processors {
        online: online().unwrap_or(allowed),
        allowed,
        quota: quota(),
    }
}

/// Asks the system's files: musl's `sysconf` counts only the processors that the process may use.
fn online() -> Option<usize> {
    members(&read("/sys/devices/system/cpu/online")?)
}

/// Returns the number of processors in a list such as `0-3,8`.
fn members(list: &str) -> Option<usize> {
    list.split(',')
        .map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
            Some(last.checked_sub(first)? + 1)
        })
        .sum()
}

fn allowed() -> Option<usize> {
    // SAFETY: `cpu_set_t` is an array of bits; all zeroes is the empty set.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: the pointer is to a live set of the size that is given.
    let result = unsafe { libc::sched_getaffinity(0, mem::size_of_val(&set), &mut set) };
    // SAFETY: the set is initialised, by this function and then by the kernel.
    (result == 0).then(|| unsafe { libc::CPU_COUNT(&set) } as usize)
}

/// Returns the tightest limit on the path from this process's control group to the root.
fn quota() -> Option<f64> {
    let groups = read("/proc/self/cgroup")?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let root = Path::new("/sys/fs/cgroup");
    let own = root.join(group);
    let limits = own.ancestors().take_while(|path| path.starts_with(root));
    limits
        .filter_map(|path| share(&read(path.join("cpu.max"))?))
        .min_by(f64::total_cmp)
}

/// Parses `cpu.max`, which holds microseconds of time in a period, or `max`.
fn share(limit: &str) -> Option<f64> {
    let (time, period) = limit.split_once(' ')?;
    Some(time.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
}

/// Probes `futex_waitv`. An empty list is invalid, but only a kernel that has the call
/// reports that.
fn futex_waitv() -> Probe {
    let nothing = std::ptr::null::<u8>();
    // SAFETY: a list of no words is not read, and there is no timeout.
    let result = unsafe { libc::syscall(libc::SYS_futex_waitv, nothing, 0, 0, nothing, 0) };
    match answer(result) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Probe::yes("the kernel has it"),
        Err(error) => Probe::no(refusal(&error)),
        Ok(_) => Probe::no("it accepts what it must reject"),
    }
}

fn membarrier() -> Probe {
    let ask = |command: c_int| {
        // SAFETY: these commands touch no memory of this process.
        answer(unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) })
    };
    let commands = match ask(libc::MEMBARRIER_CMD_QUERY) {
        Ok(commands) => commands,
        Err(error) => return Probe::no(refusal(&error)),
    };
    if commands & c_long::from(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0 {
        return Probe::no("the kernel's membarrier has no PRIVATE_EXPEDITED");
    }
    let registered = ask(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
        .and_then(|_| ask(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED));
    match registered {
        Ok(_) => Probe::yes("PRIVATE_EXPEDITED registers and runs"),
        Err(error) => Probe::no(refusal(&error)),
    }
}

fn answer(result: c_long) -> io::Result<c_long> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Describes why a call failed, to distinguish an old kernel from a sandbox.
fn refusal(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => "forbidden (a sandbox or a setting)".to_owned(),
        ErrorKind::Unsupported => "missing (an old kernel, or a sandbox)".to_owned(),
        _ if error.raw_os_error() == Some(libc::ENOSYS) => {
            "missing (an old kernel, or a sandbox)".to_owned()
        }
        _ => error.to_string(),
    }
}

fn io_uring() -> IoUring {
    let disabled = read("/proc/sys/kernel/io_uring_disabled").and_then(|text| text.parse().ok());
    let mut found = IoUring {
        setup: Probe::no("not tried"),
        disabled,
        operations: Default::default(),
        setup_flags: Default::default(),
    };
    let ring = match Ring::new(8) {
        Ok(ring) => ring,
        Err(error) => {
            found.setup = Probe::no(refusal(&error));
            return found;
        }
    };
    found.setup = Probe::yes("a ring can be made");
    let mut known = RingProbe::new();
    if ring.submitter().register_probe(&mut known).is_err() {
        found.setup = Probe::yes("a ring can be made, but the kernel cannot list its operations");
    }
    // The two multishot forms have no code of their own. The kernel added them in the same
    // release as the operation that is queried here.
    found.operations = [
        ("ACCEPT multishot", opcode::Socket::CODE),
        ("RECV multishot", opcode::SendZc::CODE),
        ("SEND_ZC", opcode::SendZc::CODE),
        ("FUTEX_WAIT", opcode::FutexWait::CODE),
        ("FUTEX_WAITV", opcode::FutexWaitV::CODE),
        ("WAITID", opcode::WaitId::CODE),
    ]
    .map(|(name, code)| (name, known.is_supported(code)))
    .into();
    found.setup_flags = setup_flags();
    found
}

fn setup_flags() -> std::collections::BTreeMap<&'static str, bool> {
    let single = <Ring>::builder().setup_single_issuer().build(8).is_ok();
    let deferred = <Ring>::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .build(8)
        .is_ok();
    // The flags that a runtime's drivers request.
    let cooperative = <Ring>::builder()
        .setup_coop_taskrun()
        .setup_taskrun_flag()
        .build(8)
        .is_ok();
    [
        ("SINGLE_ISSUER", single),
        ("DEFER_TASKRUN", deferred),
        ("COOP_TASKRUN", cooperative),
    ]
    .into()
}

#[cfg(test)]
mod tests {
    use super::{members, share};

    #[test]
    fn a_list_of_processors_has_members() {
        assert_eq!(members("0"), Some(1));
        assert_eq!(members("0-3,8"), Some(5));
        assert_eq!(members("3-0"), None);
        assert_eq!(members(""), None);
    }

    #[test]
    fn a_share_is_time_by_period() {
        assert_eq!(share("150000 100000"), Some(1.5));
        assert_eq!(share("max 100000"), None);
        assert_eq!(share(""), None);
    }
}
