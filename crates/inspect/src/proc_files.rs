//! Files of `/proc` about this process and its threads.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Returns the number of times that a processor has begun to run a thread.
pub(crate) fn runs(thread: &Path) -> Option<u64> {
    let text = fs::read_to_string(thread.join("schedstat")).ok()?;
    let runs = text.split_ascii_whitespace().nth(2)?.parse().ok();
    // Some systems have the file and do not count. A thread that sleeps has run.
    runs.filter(|&runs| runs != 0)
}

/// Returns so many bytes of this process's memory, or fewer if they are not mapped. Reads a file, so a filter of
/// system calls sees none that it would not expect (it may end the process at `process_vm_readv`).
pub(crate) fn memory(address: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let memory = File::open("/proc/self/mem");
    let count = memory.and_then(|memory| memory.read_at(&mut bytes, address));
    bytes.truncate(count.unwrap_or(0));
    bytes
}

/// Returns `true` if a filter decides on the system calls of a thread. It may end the process at one that it
/// does not know.
#[cfg(any(
    test,
    all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )
))]
pub(crate) fn is_filtered(status: &str) -> bool {
    /// `SECCOMP_MODE_DISABLED`.
    const DISABLED: &str = "0";
    let mut lines = status.lines();
    let mode = lines.find_map(|line| line.strip_prefix("Seccomp:"));
    mode.is_some_and(|mode| mode.trim() != DISABLED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_of_system_calls_is_known() {
        assert!(is_filtered("Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n"));
        assert!(!is_filtered("Name:\tx\nSeccomp:\t0\nSeccomp_filters:\t0\n"));
        assert!(!is_filtered(""), "an old system, without filters");
    }

    #[test]
    fn memory_that_is_not_mapped_is_not_read() {
        let local = [1_u8, 2, 3];
        assert_eq!(memory(local.as_ptr().addr() as u64, 3), local);
        assert!(memory(0, 3).is_empty());
    }
}
