//! Linux and Android: `futex(2)` and `futex_waitv(2)`.
//!
//! `FUTEX_WAIT_BITSET` takes an absolute deadline, so a wait that was interrupted by a
//! signal continues with the same arguments; the kernel compares the word again.
//! `futex_waitv` is new in Linux 5.16, and sandboxes forbid it more often than `futex`; the
//! first use finds out whether it works.

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use libc::{c_int, c_long};

use super::table::first_changed;
use crate::atomic::AtomicU32;
use crate::word::Word;
use crate::{Group, Scope, WAIT_ANY_MAX, WaitAny, WaitResult};

#[path = "any.rs"]
mod any;
#[path = "monotonic.rs"]
mod monotonic;

pub(crate) const COUNTS_WAKES: bool = true;

pub(crate) fn name() -> &'static str {
    "futex"
}

pub(crate) fn supports_shared() -> bool {
    true
}

pub(crate) fn wait<W: Word>(
    word: &W,
    expected: u32,
    deadline: Option<Instant>,
    scope: Scope,
) -> WaitResult {
    wait_with(word, expected, deadline, scope, EVERYBODY)
}

/// Sleeps as a member of a group; any thread may wake it.
pub(crate) fn wait_in_group<W: Word>(
    word: &W,
    expected: u32,
    deadline: Option<Instant>,
    group: Group,
) -> WaitResult {
    wait_with(word, expected, deadline, Scope::Private, bit_of(group))
}

fn wait_with<W: Word>(
    word: &W,
    expected: u32,
    deadline: Option<Instant>,
    scope: Scope,
    bits: c_int,
) -> WaitResult {
    let address = word.address();
    let timeout = deadline.and_then(monotonic::at).and_then(Timespec::new);
    loop {
        // SAFETY: `word` is borrowed, so the kernel can compare its four aligned bytes while this
        // thread is in the call.
        let error = match unsafe { futex_wait(address, scope, expected, timeout.as_ref(), bits) } {
            Ok(()) => return WaitResult::Woken,
            Err(error) => error,
        };
        match error {
            libc::EAGAIN => return WaitResult::ValueChanged,
            libc::ETIMEDOUT => return WaitResult::TimedOut,
            libc::EINTR => {}
            error => fail("futex", error),
        }
    }
}

const EVERYBODY: c_int = libc::FUTEX_BITSET_MATCH_ANY;

fn bit_of(group: Group) -> c_int {
    match group {
        Group::First => 1,
        Group::Second => 2,
    }
}

/// Wakes only members of a group.
pub(crate) fn wake_group(address: *const (), n: usize, group: Group) -> usize {
    let n = c_int::try_from(n).unwrap_or(c_int::MAX);
    let operation = libc::FUTEX_WAKE_BITSET | libc::FUTEX_PRIVATE_FLAG;
    let nothing = ptr::null::<u32>();
    // SAFETY: FUTEX_WAKE_BITSET, like FUTEX_WAKE, does not touch the memory.
    let woken = unsafe {
        libc::syscall(
            SYS_FUTEX,
            address,
            operation,
            n,
            nothing,
            nothing,
            bit_of(group),
        )
    };
    usize::try_from(woken).unwrap_or(0)
}

pub(crate) fn wake(address: *const (), n: usize, scope: Scope) -> usize {
    any::wake_before(address, n, scope, |n| {
        let n = c_int::try_from(n).unwrap_or(c_int::MAX);
        let operation = libc::FUTEX_WAKE | private_flag(scope);
        // SAFETY: FUTEX_WAKE does not touch the memory. For an address that is no longer
        // mapped, the call does nothing or fails.
        let woken = unsafe { libc::syscall(SYS_FUTEX, address, operation, n) };
        // It fails only for shared words that are no longer mapped, on which this process
        // cannot wake any thread.
        usize::try_from(woken).unwrap_or(0)
    })
}

const UNKNOWN: u8 = 0;
const WORKS: u8 = 1;
const MISSING: u8 = 2;
/// Tells whether `futex_waitv` can be used.
static WAIT_ANY: AtomicU8 = AtomicU8::new(UNKNOWN);

pub(crate) fn has_wait_any() -> bool {
    match WAIT_ANY.load(Ordering::Relaxed) {
        WORKS => true,
        MISSING => false,
        _ => {
            let works = probe_waitv();
            let state = if works { WORKS } else { MISSING };
            WAIT_ANY.store(state, Ordering::Relaxed);
            works
        }
    }
}

/// Tests whether `futex_waitv` can be used. Old kernels answer "no such call"; sandboxes
/// answer the same or "not permitted". A kernel that has the call rejects an empty list as
/// invalid.
#[cold]
fn probe_waitv() -> bool {
    // SAFETY: there are no words to read and there is no timeout.
    let answer = unsafe { futex_waitv(&[], None) };
    answer == Err(libc::EINVAL)
}

pub(crate) fn wait_any(
    words: &[(&AtomicU32, u32)],
    deadline: Option<Instant>,
    scope: Scope,
) -> WaitAny {
    if has_wait_any() {
        if let Some(result) = wait_any_in_kernel(words, deadline, scope) {
            return result;
        }
    }
    any::wait_any(words, deadline, scope)
}

/// Returns `None` if the kernel has no memory left for the list, or refuses the call.
fn wait_any_in_kernel(
    words: &[(&AtomicU32, u32)],
    deadline: Option<Instant>,
    scope: Scope,
) -> Option<WaitAny> {
    let mut list = [WaitV::UNUSED; WAIT_ANY_MAX];
    for (entry, (word, expected)) in list.iter_mut().zip(words) {
        *entry = WaitV::new(word, *expected, scope);
    }
    let list = &list[..words.len()];
    let timeout = deadline
        .and_then(monotonic::at)
        .map(|(tv_sec, tv_nsec)| Timespec { tv_sec, tv_nsec });
    loop {
        // SAFETY: the words are borrowed, so they stay valid during the call.
        let error = match unsafe { futex_waitv(list, timeout.as_ref()) } {
            Ok(index) => return Some(WaitAny::Woken(index)),
            Err(error) => error,
        };
        match error {
            // The kernel does not say which word differs. If none differs any more, wait
            // again.
            libc::EAGAIN => {
                if let Some(index) = first_changed(words) {
                    return Some(WaitAny::ValueChanged(index));
                }
            }
            libc::ETIMEDOUT => return Some(WaitAny::TimedOut),
            libc::EINTR => {}
            libc::ENOMEM => return None,
            // A sandbox was entered after the first use.
            libc::EPERM | libc::EACCES | libc::ENOSYS => {
                WAIT_ANY.store(MISSING, Ordering::Relaxed);
                return None;
            }
            error => fail("futex_waitv", error),
        }
    }
}

fn private_flag(scope: Scope) -> c_int {
    match scope {
        Scope::Private => libc::FUTEX_PRIVATE_FLAG,
        Scope::Shared => 0,
    }
}

fn last_error() -> c_int {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

#[cold]
fn fail(call: &str, error: c_int) -> ! {
    panic!("{call} failed: {}", io::Error::from_raw_os_error(error));
}

/// # Safety
///
/// `address` points to four aligned bytes that stay valid during the call.
unsafe fn futex_wait(
    address: *const (),
    scope: Scope,
    expected: u32,
    timeout: Option<&Timespec>,
    bits: c_int,
) -> Result<(), c_int> {
    let operation = libc::FUTEX_WAIT_BITSET | private_flag(scope);
    let timeout = timeout.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the caller guarantees that `address` is valid; `timeout` is null or comes
    // from a reference; `SYS_FUTEX` takes the layout that `Timespec` has.
    let result = unsafe {
        libc::syscall(
            SYS_FUTEX,
            address,
            operation,
            expected,
            timeout,
            ptr::null::<u32>(), // not used by this operation
            bits,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(last_error())
    }
}

/// # Safety
///
/// The words in `list` stay valid during the call.
unsafe fn futex_waitv(list: &[WaitV], timeout: Option<&Timespec<i64>>) -> Result<usize, c_int> {
    let flags: u32 = 0;
    let timeout = timeout.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: `list` is valid for its length and in the kernel's layout. The caller guarantees
    // that the words in it are valid. `timeout` is null or comes from a reference to the kernel's
    // 64-bit timespec.
    let result = unsafe {
        libc::syscall(
            libc::SYS_futex_waitv,
            list.as_ptr(),
            list.len() as libc::c_uint,
            flags,
            timeout,
            libc::CLOCK_MONOTONIC,
        )
    };
    usize::try_from(result).map_err(|_| last_error())
}

/// The kernel's `struct futex_waitv`.
#[repr(C)]
#[derive(Clone, Copy)]
struct WaitV {
    val: u64,
    uaddr: u64,
    flags: u32,
    reserved: u32,
}

impl WaitV {
    const UNUSED: Self = Self {
        val: 0,
        uaddr: 0,
        flags: 0,
        reserved: 0,
    };

    fn new(word: &AtomicU32, expected: u32, scope: Scope) -> Self {
        const FUTEX_32: c_int = 2;
        Self {
            val: u64::from(expected),
            // The kernel reads through this address, so the pointer's provenance is
            // exposed.
            uaddr: word.address().expose_provenance() as u64,
            flags: (FUTEX_32 | private_flag(scope)) as u32,
            reserved: 0,
        }
    }
}

/// The timespec of `futex`: two of the kernel's `long`s. (`futex_waitv` takes two 64-bit
/// numbers everywhere.)
#[repr(C)]
struct Timespec<Long = KernelLong> {
    tv_sec: Long,
    tv_nsec: Long,
}

// The 32-bit calling convention of x86-64 has 64-bit times, and so have 32-bit systems that
// are too new to have had others.
#[cfg(any(
    target_pointer_width = "64",
    target_arch = "x86_64",
    target_arch = "riscv32"
))]
type KernelLong = i64;
#[cfg(not(any(
    target_pointer_width = "64",
    target_arch = "x86_64",
    target_arch = "riscv32"
)))]
type KernelLong = i32;

#[cfg(not(target_arch = "riscv32"))]
const SYS_FUTEX: c_long = libc::SYS_futex;
#[cfg(target_arch = "riscv32")]
const SYS_FUTEX: c_long = libc::SYS_futex_time64;

impl Timespec {
    /// Returns `None` if this type cannot express the time. With 32 bits, the limit is 68
    /// years after the start of the machine.
    #[allow(
        clippy::useless_conversion,
        reason = "the fields are 32 bits wide on some systems"
    )]
    fn new((tv_sec, tv_nsec): (i64, i64)) -> Option<Self> {
        Some(Self {
            tv_sec: tv_sec.try_into().ok()?,
            tv_nsec: tv_nsec.try_into().ok()?,
        })
    }
}
