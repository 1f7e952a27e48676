//! Hints to the compiler and to the processor.

/// The path that calls it is not the one to go straight on. It may be the usual one all the
/// same, where its work is so much that a jump does not matter.
#[inline]
#[cold]
pub(crate) fn aside() {}

/// Fetches the line of memory that is so many bytes behind an address into the cache, to be
/// written soon. Any address will do, also one where nothing is.
#[cfg(all(target_arch = "x86_64", not(any(loom, miri))))]
#[inline(always)]
pub(crate) fn fetch_to_write<const OFFSET: usize>(address: *const ()) {
    // SAFETY: it changes nothing but what is in the cache, and does not fault: the manual
    // lists no exception but for a lock prefix.
    unsafe {
        std::arch::asm!(
            "prefetchw [{} + {}]",
            in(reg) address,
            const OFFSET,
            options(nostack, preserves_flags, readonly),
        );
    }
}

/// The same.
#[cfg(all(target_arch = "aarch64", not(any(loom, miri))))]
#[inline(always)]
pub(crate) fn fetch_to_write<const OFFSET: usize>(address: *const ()) {
    // SAFETY: it changes nothing but what is in the cache, and does not fault.
    unsafe {
        std::arch::asm!(
            "prfm pstl1keep, [{}]",
            in(reg) address.wrapping_byte_add(OFFSET),
            options(nostack, preserves_flags, readonly),
        );
    }
}

/// Does nothing: there is no instruction for it, or a checker runs the program.
#[cfg(any(loom, miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[inline(always)]
pub(crate) fn fetch_to_write<const OFFSET: usize>(_address: *const ()) {}
