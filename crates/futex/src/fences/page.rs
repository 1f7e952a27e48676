//! A barrier for all threads, where a sandbox has taken `membarrier` away from a process that
//! relies on it.
//!
//! A page that was written is made read-only. The system returns from that when no processor that
//! runs the process may write to the page any more, for which it interrupts them. An interrupt is
//! a full fence.
//!
//! Processors with `INVLPGB` invalidate others' translations without an interrupt. The barrier is
//! not possible there.

use std::ptr;

/// Makes every thread of the process pass a full fence. Returns `false` if that is not possible.
#[cold]
pub fn take_away() -> bool {
    const PAGE: usize = 4096;
    if invalidates_without_interrupt() {
        return false;
    }
    // SAFETY: the mapping is new and belongs to this function, which writes to it before the
    // protection changes and does not use its address after `munmap`.
    unsafe {
        let (protection, kind) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        let page = libc::mmap(ptr::null_mut(), PAGE, protection, kind, -1, 0);
        if page == libc::MAP_FAILED {
            return false;
        }
        page.cast::<u8>().write_volatile(1);
        let taken = libc::mprotect(page, PAGE, libc::PROT_READ) == 0;
        libc::munmap(page, PAGE);
        taken
    }
}

/// Returns `true` if the processor has `INVLPGB`.
fn invalidates_without_interrupt() -> bool {
    #[cfg(target_arch = "x86")]
    use std::arch::x86::__cpuid;
    #[cfg(target_arch = "x86_64")]
    use std::arch::x86_64::__cpuid;

    const SIZES: u32 = 0x8000_0008;
    const INVLPGB: u32 = 1 << 3;
    // SAFETY: each processor that Rust's standard library runs on has the instruction.
    #[allow(unused_unsafe, reason = "safe in later versions of Rust")]
    unsafe {
        __cpuid(0x8000_0000).eax >= SIZES && __cpuid(SIZES).ebx & INVLPGB != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_taken_away_unless_the_processor_needs_no_interrupt() {
        assert_ne!(take_away(), invalidates_without_interrupt());
    }
}
