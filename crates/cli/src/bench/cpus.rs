//! `--cpus`: the processors that the whole run is pinned to.

use std::collections::BTreeSet;
use std::str::FromStr;

use crate::exit::Exit;

/// The highest number that one of the system's sets can hold.
const LAST: usize = 1023;

/// A list such as `0` or `0,2-3`, in order and without repetitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpus(pub Vec<usize>);

impl FromStr for Cpus {
    type Err = String;

    fn from_str(list: &str) -> Result<Cpus, String> {
        let mut cpus = BTreeSet::new();
        for part in list.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(format!("the range {part} ends before it begins"));
            }
            cpus.extend(first..=last);
        }
        Ok(Cpus(cpus.into_iter().collect()))
    }
}

fn number(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(number) if number <= LAST => Ok(number),
        Ok(number) => Err(format!("processor {number} is beyond the last, {LAST}")),
        Err(_) => Err(format!(
            "'{text}' is no processor; write a list such as 0,2-3"
        )),
    }
}

impl Cpus {
    /// Pins this thread, and with it all threads and processes that it starts later.
    #[cfg(target_os = "linux")]
    pub fn pin(&self) -> Result<(), Exit> {
        let allowed = allowed();
        if let Some(missing) = self.0.iter().find(|cpu| !allowed.contains(cpu)) {
            let allowed: Vec<String> = allowed.iter().map(usize::to_string).collect();
            return Err(Exit::usage(
                format_args!("--cpus: this process may not run on processor {missing}"),
                format_args!("It may run on {}.", allowed.join(", ")),
            ));
        }
        // SAFETY: a `cpu_set_t` is an array of bits; all zeroes is the empty set.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        for &cpu in &self.0 {
            // SAFETY: the set is initialised, and has a bit for each number to `LAST`.
            unsafe { libc::CPU_SET(cpu, &mut set) };
        }
        // SAFETY: the pointer is to a live set of the size that is given.
        let result = unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) };
        if result != 0 {
            let error = std::io::Error::last_os_error();
            return Err(Exit::Failed(format!("--cpus: {error}")));
        }
        Ok(())
    }

    /// Fails: this system has no call that pins all threads that start later.
    #[cfg(not(target_os = "linux"))]
    pub fn pin(&self) -> Result<(), Exit> {
        Err(Exit::usage(
            "--cpus: not on this system",
            "Start the run with the system's own tool for it, and without --cpus.",
        ))
    }
}

/// Returns the processors that this process may run on.
#[cfg(target_os = "linux")]
fn allowed() -> Vec<usize> {
    // SAFETY: a `cpu_set_t` is an array of bits; all zeroes is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live set of the size that is given.
    if unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) } != 0 {
        return Vec::new();
    }
    // SAFETY: the set is initialised, and has a bit for each number to `LAST`.
    (0..=LAST)
        .filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        let cpus = |list: &str| list.parse::<Cpus>().map(|cpus| cpus.0);
        assert_eq!(cpus("0"), Ok(vec![0]));
        assert_eq!(cpus("3,0-1,1"), Ok(vec![0, 1, 3]));
        for wrong in ["", "x", "1,", "-1", "2-1", "0-4096", "1-2-3"] {
            assert!(cpus(wrong).is_err(), "{wrong}");
        }
    }
}
