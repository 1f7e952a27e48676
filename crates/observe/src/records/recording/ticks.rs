//! The clock of events: the processor's counter where it runs at one speed at all times, else the system's clock.
//!
//! A pair of both, taken when the recorder starts, and another one, taken when the events are read, convert the
//! ticks to nanoseconds.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::records::recording::clock::nanos;

const UNKNOWN: u8 = 0;
const COUNTER: u8 = 1;
const SYSTEM: u8 = 2;

static SOURCE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Two pairs have at least this distance: the shorter, the less exact is the speed.
const APART: Duration = Duration::from_millis(20);

/// Returns the ticks now.
#[inline]
pub(super) fn now() -> u64 {
    match SOURCE.load(Ordering::Relaxed) {
        COUNTER => counter::now(),
        SYSTEM => nanos(),
        _ => choose(),
    }
}

#[cold]
fn choose() -> u64 {
    let source = if counter::is_steady() {
        COUNTER
    } else {
        SYSTEM
    };
    SOURCE.store(source, Ordering::Relaxed);
    now()
}

/// One moment in both clocks.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    ticks: u64,
    nanos: u64,
}

impl Pair {
    pub(super) fn now() -> Self {
        // A thread that loses its processor between the two readings takes longer than another attempt.
        let attempt = |_| {
            let before = now();
            let nanos = nanos();
            let after = now();
            (after.wrapping_sub(before), before, nanos)
        };
        let (took, before, nanos) = (0..8).map(attempt).min().unwrap_or_default();
        Self {
            ticks: before + took / 2,
            nanos,
        }
    }
}

/// The ticks of a millisecond; 0 if they are not known yet.
static MILLISECOND: AtomicU64 = AtomicU64::new(0);
/// The moment from which on the speed is measured.
static FIRST: OnceLock<Pair> = OnceLock::new();
/// The shortest time that says how fast the ticks are, in nanoseconds.
const SHORT: u64 = 1_000_000;

/// Returns the number of ticks in a millisecond. In the first millisecond after the first call it is not known, and so
/// high that no time reaches it.
#[inline]
pub(super) fn millisecond() -> u64 {
    match MILLISECOND.load(Ordering::Relaxed) {
        0 => measure(),
        known => known,
    }
}

#[cold]
#[inline(never)]
fn measure() -> u64 {
    let first = FIRST.get_or_init(Pair::now);
    let Some(ticks) = per_millisecond(*first, Pair::now()) else {
        return u64::MAX;
    };
    MILLISECOND.store(ticks, Ordering::Relaxed);
    ticks
}

/// Returns the number of ticks in a millisecond; `None` if the moments are not so far apart.
fn per_millisecond(first: Pair, last: Pair) -> Option<u64> {
    let nanos = last.nanos.checked_sub(first.nanos)?;
    if nanos < SHORT {
        return None;
    }
    let ticks = u128::from(last.ticks.checked_sub(first.ticks)?);
    let ticks = ticks * u128::from(SHORT) / u128::from(nanos);
    u64::try_from(ticks.max(1)).ok()
}

/// Returns the time of so many ticks.
pub(super) fn time(ticks: u64) -> Duration {
    of_ticks(ticks, millisecond())
}

fn of_ticks(ticks: u64, millisecond: u64) -> Duration {
    let nanos = u128::from(ticks) * u128::from(SHORT) / u128::from(millisecond);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// Converts ticks to nanoseconds of the monotonic clock.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    first: Pair,
    ticks: u64,
    nanos: u64,
}

impl Scale {
    /// Measures the speed since `first`, which may take a moment.
    pub(super) fn since(first: Pair) -> Self {
        let mut last = Pair::now();
        let apart = last.nanos.saturating_sub(first.nanos);
        let missing = APART.saturating_sub(Duration::from_nanos(apart));
        if !missing.is_zero() {
            thread::sleep(missing);
            last = Pair::now();
        }
        Self {
            first,
            ticks: last.ticks.saturating_sub(first.ticks).max(1),
            nanos: last.nanos.saturating_sub(first.nanos),
        }
    }

    /// Returns the nanoseconds of these ticks.
    pub(super) fn nanos(&self, ticks: u64) -> u64 {
        let scaled = |ticks: u64| {
            let product = u128::from(ticks) * u128::from(self.nanos);
            (product / u128::from(self.ticks)) as u64
        };
        // An event may be older than the pair.
        match ticks.checked_sub(self.first.ticks) {
            Some(after) => self.first.nanos.saturating_add(scaled(after)),
            None => self
                .first
                .nanos
                .saturating_sub(scaled(self.first.ticks - ticks)),
        }
    }
}

#[cfg(all(target_arch = "x86_64", not(target_env = "sgx"), not(miri)))]
mod counter {
    use std::arch::x86_64::{__cpuid, _rdtsc};

    #[inline]
    pub(super) fn now() -> u64 {
        // SAFETY: each processor of this kind has the instruction.
        unsafe { _rdtsc() }
    }

    /// Returns `true` if the processor says that the counter has one speed in all states.
    pub(super) fn is_steady() -> bool {
        const LEAF: u32 = 0x8000_0007;
        // It has no preconditions in newer versions of Rust.
        #[allow(unused_unsafe, reason = "it is not safe in the oldest version")]
        // SAFETY: each processor of this kind has the instruction.
        let (last, facts) = unsafe { (__cpuid(0x8000_0000).eax, __cpuid(LEAF).edx) };
        last >= LEAF && facts & 1 << 8 != 0
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod counter {
    #[inline]
    pub(super) fn now() -> u64 {
        let ticks: u64;
        // SAFETY: programs may read the counter, and it changes nothing.
        unsafe {
            std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags));
        }
        ticks
    }

    /// The architecture demands it.
    pub(super) fn is_steady() -> bool {
        true
    }
}

#[cfg(not(any(
    all(target_arch = "x86_64", not(target_env = "sgx"), not(miri)),
    all(target_arch = "aarch64", not(miri))
)))]
mod counter {
    pub(super) fn now() -> u64 {
        crate::records::recording::clock::nanos()
    }

    pub(super) fn is_steady() -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_before_and_after_the_pair_have_their_times() {
        let first = Pair {
            ticks: 1_000,
            nanos: 500_000,
        };
        let scale = Scale {
            first,
            ticks: 2_000,
            nanos: 1_000,
        };
        assert_eq!(scale.nanos(1_000), 500_000);
        assert_eq!(scale.nanos(3_000), 501_000);
        assert_eq!(scale.nanos(0), 499_500);
    }

    #[test]
    fn the_speed_is_known_after_a_millisecond() {
        let at = |ticks, nanos| Pair { ticks, nanos };
        let first = at(700, 500);
        assert_eq!(per_millisecond(first, at(900, 1_000_499)), None);
        assert_eq!(per_millisecond(first, at(4_700, 2_000_500)), Some(2_000));
        // A counter that is slower than that.
        assert_eq!(per_millisecond(first, at(700, 2_000_500)), Some(1));
        assert_eq!(of_ticks(3_000, 2_000), Duration::from_micros(1_500));
        assert_eq!(of_ticks(3_000, u64::MAX), Duration::ZERO);
    }

    #[test]
    fn time_does_not_go_back() {
        let scale = Scale::since(Pair::now());
        let (before, after) = (now(), now());
        assert!(before <= after && scale.nanos(before) <= scale.nanos(after));
    }
}
