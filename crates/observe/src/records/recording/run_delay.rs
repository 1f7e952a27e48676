//! The time for which the system had the current thread ready and ran other threads, and that on a processor.

use std::time::Duration;

/// Returns that time since the thread began; `None` where the system does not count it, and in a simulation.
///
/// Reading the counter takes some microseconds: it is a file. No descriptor is kept, which a fork would hand to another
/// thread, and which the program may close.
pub(super) fn total() -> Option<Duration> {
    if super::simulator::is_simulated() {
        return None;
    }
    read()
}

/// Returns the nanoseconds that the current thread has had on a processor. The file above has them, too, but up to a tick
/// of the system too few.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn processor() -> Option<u64> {
    Some(blitz_io_futex::system_clock::nanos_of(
        libc::CLOCK_THREAD_CPUTIME_ID,
    ))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn processor() -> Option<u64> {
    None
}

/// Allocates nothing: the program's allocator may be what is recorded.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn read() -> Option<Duration> {
    use std::fs::File;
    use std::io::Read;

    let mut text = [0; 64];
    let mut file = File::open("/proc/thread-self/schedstat").ok()?;
    let length = file.read(&mut text).ok()?;
    parse(std::str::from_utf8(&text[..length]).ok()?)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn read() -> Option<Duration> {
    None
}

/// The file has the nanoseconds on a processor, those in a queue for one, and the number of times that it ran.
#[cfg(any(test, target_os = "linux", target_os = "android"))]
fn parse(text: &str) -> Option<Duration> {
    let nanos = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_is_the_delay() {
        assert_eq!(parse("12 3456 7\n"), Some(Duration::from_nanos(3_456)));
        assert_eq!(parse(""), None);
        assert_eq!(parse("1 -2 3"), None);
    }
}
