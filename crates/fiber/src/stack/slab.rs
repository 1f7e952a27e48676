//! Stacks from the system, many at once.
//!
//! A *slab* is one mapping that is cut into stacks. It is never unmapped. The lowest bytes of each
//! stack, [`GUARD`] or more, are its guard: any use of them is a fault.
//!
//! Since version 6.13 Linux marks guards in its page tables (`MADV_GUARD_INSTALL`), so a slab
//! stays one mapping. Elsewhere a guard is a mapping of its own without rights, and each stack
//! costs two mappings. Linux allows 65,530 in a process (`vm.max_map_count`), which is enough for
//! 32,000 fibers.
//!
//! Huge pages are switched off for slabs: a fiber that uses 4 KiB would cost 2 MiB.

use std::io;
use std::num::NonZeroUsize;
use std::ptr;

/// Enough for any page size in use, once rounded up to pages.
pub(super) const GUARD: usize = if cfg!(all(
    any(
        target_arch = "aarch64",
        target_arch = "powerpc64",
        target_arch = "loongarch64"
    ),
    not(target_vendor = "apple")
)) {
    64 * 1024
} else {
    16 * 1024
};
/// A slab has at least one stack, and otherwise this size.
const SLAB: usize = 16 << 20;
/// The tops of stacks lie at so many different offsets in their pages, as equal addresses share
/// few places in the processor's caches.
const COLOURS: usize = 8;
const COLOUR: usize = 256;
const _: () = assert!(COLOURS * COLOUR <= 4 * 1024);

/// The addresses of a stack with its guard.
pub(super) struct Region {
    low: NonZeroUsize,
    size: usize,
    guard: usize,
    /// Number of bytes that are left unused at the top.
    offset: usize,
}

impl Region {
    #[inline]
    pub(super) fn base(&self) -> NonZeroUsize {
        let top = self.low.get() + self.size - self.offset;
        NonZeroUsize::new(top).unwrap_or(self.low)
    }

    #[inline]
    pub(super) fn limit(&self) -> NonZeroUsize {
        self.low
    }

    /// Returns the size in bytes of the guard, which begins at `limit`.
    #[inline]
    pub(super) fn guard(&self) -> usize {
        self.guard
    }

    /// Gives the memory back to the system, which takes it when it needs some.
    pub(super) fn forget_contents(&self) {
        let low = ptr::without_provenance_mut::<libc::c_void>(self.low.get() + self.guard);
        // SAFETY: the pool has mapped this memory, and no code uses it now. An error leaves it as
        // it is, which does no harm.
        unsafe { libc::madvise(low, self.size - self.guard, FREE) };
    }
}

#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_vendor = "apple",
    target_os = "freebsd"
)))]
const FREE: libc::c_int = libc::MADV_DONTNEED;
#[cfg(any(
    target_os = "linux",
    target_os = "android",
    target_vendor = "apple",
    target_os = "freebsd"
))]
const FREE: libc::c_int = libc::MADV_FREE;

/// Maps a slab, and adds its stacks to `free`. Each has `size` bytes, of which the lowest [`GUARD`] are
/// its guard, and `beyond` more bytes of guard below these.
#[cold]
pub(super) fn map(size: usize, beyond: usize, free: &mut Vec<Region>) -> io::Result<()> {
    let (size, guard) = (size + beyond, GUARD + beyond);
    let count = (SLAB / size).max(1);
    let slab = reserve(size * count)?;
    for number in 0..count {
        let low = slab.get() + number * size;
        if let Err(error) = install_guard(low, guard) {
            if number == 0 {
                // SAFETY: the mapping is new, and not in use.
                unsafe { libc::munmap(ptr::without_provenance_mut(slab.get()), size * count) };
                return Err(error);
            }
            // The rest of the slab stays unused.
            break;
        }
        free.push(Region {
            low: NonZeroUsize::new(low).unwrap_or(slab),
            size,
            guard,
            offset: number % COLOURS * COLOUR,
        });
    }
    Ok(())
}

/// Asks for addresses only. The BSDs have no such flag, and reserve nothing anyway.
#[cfg(not(any(target_os = "freebsd", target_os = "openbsd", target_os = "netbsd")))]
const NO_RESERVE: libc::c_int = libc::MAP_NORESERVE;
#[cfg(any(target_os = "freebsd", target_os = "openbsd", target_os = "netbsd"))]
const NO_RESERVE: libc::c_int = 0;

/// Maps memory, none of which is used yet.
fn reserve(size: usize) -> io::Result<NonZeroUsize> {
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANON | NO_RESERVE;
    // SAFETY: a new mapping wherever the system chooses.
    let slab = unsafe { libc::mmap(ptr::null_mut(), size, rights, flags, -1, 0) };
    if slab == libc::MAP_FAILED {
        return Err(explain(io::Error::last_os_error()));
    }
    #[cfg(any(target_os = "linux", target_os = "android"))]
    // SAFETY: advice for the new mapping. A kernel without huge pages refuses it, and needs none.
    unsafe {
        libc::madvise(slab, size, libc::MADV_NOHUGEPAGE);
    }
    NonZeroUsize::new(slab.addr()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

/// Makes the guard of a new stack.
fn install_guard(low: usize, size: usize) -> io::Result<()> {
    let low = ptr::without_provenance_mut::<libc::c_void>(low);
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        const MADV_GUARD_INSTALL: libc::c_int = 102;
        // SAFETY: the memory is new, and not in use.
        if unsafe { libc::madvise(low, size, MADV_GUARD_INSTALL) } == 0 {
            return Ok(());
        }
    }
    // SAFETY: the memory is new, and not in use.
    if unsafe { libc::mprotect(low, size, libc::PROT_NONE) } == 0 {
        return Ok(());
    }
    Err(explain(io::Error::last_os_error()))
}

/// Names the limit that is most likely reached.
fn explain(error: io::Error) -> io::Error {
    if !cfg!(any(target_os = "linux", target_os = "android"))
        || error.raw_os_error() != Some(libc::ENOMEM)
    {
        return error;
    }
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default();
    let message = format!(
        "{error}: the address space, or the limit vm.max_map_count ({}), of which a fiber takes two before Linux 6.13",
        limit.trim()
    );
    io::Error::new(io::ErrorKind::OutOfMemory, message)
}
