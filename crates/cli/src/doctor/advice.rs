//! Conclusions from the findings.

use super::{Findings, IoUring};

/// Describes what blitz-io uses on this machine.
pub fn uses(found: &Findings) -> Vec<String> {
    let mut uses = vec![format!("Threads sleep with {}.", found.futex.backend)];
    uses.push(if found.futex.wait_any_in_kernel {
        "Waiting for any of several words is one system call (futex_waitv).".to_owned()
    } else {
        "Waiting for any of several words goes through a table of waiters in this process."
            .to_owned()
    });
    uses.push(match found.release_fence {
        "membarrier" => {
            "Releasing a lock is a plain store; a thread that goes to sleep pays for the fence with membarrier."
                .to_owned()
        }
        "fence" => "Releasing a lock is a store and a fence.".to_owned(),
        other => format!("Releasing a lock is a {other}."),
    });
    uses.push(if usable(found) == 1 {
        "Nothing spins: with one processor, no other thread could release anything meanwhile.".to_owned()
    } else {
        format!(
            "Waiting threads spin briefly before they sleep, because {} processors can run at once.",
            usable(found)
        )
    });
    if let Some(ring) = &found.io_uring {
        uses.push(files(ring));
    }
    if !found.futex.shared_memory {
        uses.push("Waiting in shared memory, between processes, does not work here.".to_owned());
    }
    uses
}

/// Describes how a runtime reads and writes files.
fn files(ring: &IoUring) -> String {
    let why = if std::env::var_os("BLITZ_IO_URING").is_some_and(|value| value == "0") {
        "BLITZ_IO_URING=0 forbids io_uring"
    } else if !ring.setup.works {
        return format!(
            "Files are written, and read from the disk, by the blocking pool: io_uring is {}.",
            ring.setup.detail
        );
    } else if ring.setup_flags.get("COOP_TASKRUN") == Some(&false) {
        "this kernel's io_uring is too old"
    } else {
        return "`File::write_at`, `read_at` of what the system does not have in memory, and small writes and syncs of a `File` go through io_uring; sockets and pipes use epoll.".to_owned();
    };
    format!("Files are written, and read from the disk, by the blocking pool: {why}.")
}

/// Describes what a user could change, and how.
pub fn advice(found: &Findings) -> Vec<String> {
    let mut advice = Vec::new();
    advise_processors(found, &mut advice);
    if found.futex_waitv.as_ref().is_some_and(|probe| !probe.works) {
        advice.push(
            "futex_waitv: run Linux 5.16 or newer, or allow the call in the container's seccomp profile."
                .to_owned(),
        );
    }
    if found.membarrier.as_ref().is_some_and(|probe| !probe.works) {
        advice.push(
            "membarrier: allow the call in the container's seccomp profile; uncontended locks get faster."
                .to_owned(),
        );
    }
    if let Some(slow) = slow_clock(found) {
        advice.push(format!(
            "The clock source is {slow}, which is slow to read ({:.0} ns): timed waits and latency figures pay for it. \
             See whether /sys/devices/system/clocksource/clocksource0/available_clocksource offers tsc.",
            found.costs.clock_ns
        ));
    }
    advice
}

/// Returns how many processors' worth of threads can run at once.
fn usable(found: &Findings) -> usize {
    let allowed = found.processors.allowed;
    match found.processors.quota {
        Some(quota) => allowed.min(quota.ceil().max(1.0) as usize),
        None => allowed,
    }
}

fn advise_processors(found: &Findings, advice: &mut Vec<String>) {
    let processors = &found.processors;
    if processors.allowed < processors.online {
        advice.push(format!(
            "This process may run on {} of {} processors. Widen it with taskset, docker --cpuset-cpus, or \
             the CPUAffinity= of its systemd unit.",
            processors.allowed, processors.online
        ));
    }
    if let Some(quota) = processors.quota
        && quota < processors.allowed as f64
    {
        advice.push(format!(
            "The control group grants {quota:.2} processors' time, less than the {} it may run on. A thread that \
             holds a lock when the time is used up keeps everybody waiting until the next period: raise the limit \
             (docker --cpus, CPUQuota=) or run fewer threads.",
            processors.allowed
        ));
    }
    if processors.online == 1 {
        advice.push(
            "The machine has one processor. Threads take turns; give a virtual machine a second one to let them \
             run at once."
                .to_owned(),
        );
    }
}

fn slow_clock(found: &Findings) -> Option<&str> {
    let source = found.clock_source.as_deref()?;
    (found.costs.clock_ns > 150.0).then_some(source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::{IoUring, Probe, examine};

    fn healthy() -> Findings {
        let mut found = examine();
        found.processors.online = 4;
        found.processors.allowed = 4;
        found.processors.quota = None;
        found.futex_waitv = None;
        found.membarrier = None;
        found.io_uring = None;
        found.costs.clock_ns = 20.0;
        found
    }

    #[test]
    fn a_healthy_machine_needs_no_advice() {
        assert_eq!(advice(&healthy()), Vec::<String>::new());
    }

    #[test]
    fn one_processor_means_no_spinning() {
        let mut found = healthy();
        found.processors.allowed = 1;
        assert!(
            uses(&found)
                .iter()
                .any(|line| line.starts_with("Nothing spins"))
        );
        assert!(advice(&found)[0].contains("1 of 4 processors"));
    }

    #[test]
    fn a_quota_below_the_processors_is_named() {
        let mut found = healthy();
        found.processors.quota = Some(1.5);
        assert!(advice(&found)[0].contains("1.50 processors' time"));
        assert_eq!(usable(&found), 2);
    }

    #[test]
    fn what_nothing_uses_needs_no_advice() {
        let mut found = healthy();
        found.io_uring = Some(IoUring {
            setup: Probe::no("forbidden"),
            disabled: Some(2),
            operations: Default::default(),
            setup_flags: Default::default(),
        });
        assert_eq!(advice(&found), Vec::<String>::new());
    }
}
