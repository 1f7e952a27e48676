//! The machine on which a run took place.

use serde::{Deserialize, Serialize};

/// Enough to judge whether two runs can be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// Processors this process may use.
    pub cores: usize,
    /// The operating system and the processor's architecture.
    pub os: String,
    /// The kernel's release; empty where it is not available.
    pub kernel: String,
}

impl Machine {
    /// Describes the current machine.
    ///
    /// ```
    /// assert!(blitz_io_bench::Machine::describe().cores >= 1);
    /// ```
    pub fn describe() -> Machine {
        use std::env::consts::{ARCH, OS};
        Machine {
            cpu: cpu().unwrap_or_else(|| format!("unknown {ARCH}")),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            os: format!("{OS} {ARCH}"),
            kernel: kernel().unwrap_or_default(),
        }
    }
}

/// Reads the name from `/proc/cpuinfo`, or from the variable that Windows sets.
fn cpu() -> Option<String> {
    if let Ok(text) = std::fs::read_to_string("/proc/cpuinfo") {
        let is_name = |line: &&str| line.starts_with("model name") || line.starts_with("Model");
        let name = text.lines().find(is_name)?.split_once(':')?.1;
        return Some(name.trim().to_owned());
    }
    std::env::var("PROCESSOR_IDENTIFIER").ok()
}

#[cfg(unix)]
fn kernel() -> Option<String> {
    use std::ffi::CStr;

    // SAFETY: `utsname` is an array of characters; all zeroes is a valid value.
    let mut name: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live, writable `utsname`.
    if unsafe { libc::uname(&mut name) } != 0 {
        return None;
    }
    // SAFETY: `uname` succeeded, so `release` is a zero-terminated string
    // inside `name`, which lives until the end of this function.
    let release = unsafe { CStr::from_ptr(name.release.as_ptr()) };
    Some(release.to_string_lossy().into_owned())
}

#[cfg(not(unix))]
fn kernel() -> Option<String> {
    None
}
