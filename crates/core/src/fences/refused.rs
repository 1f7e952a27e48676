//! A barrier for all threads where a sandbox has taken `membarrier` away from a process
//! that relies on it.
//!
//! It runs once in the life of a process, so it may be slow. But it must be a barrier: no wait is
//! long enough to know that another processor's store is visible. There are two ways; the first
//! one that the sandbox allows is used:
//!
//! * **Visit every processor.** The caller moves itself to every processor on which a thread of
//!   the process may run, one after the other. A thread that ran there when the visit began has
//!   left the processor by its end, and a switch between threads is a full fence. A thread that
//!   moves during the visits is switched as well. A thread that starts during the visits runs
//!   after the caller's earlier stores. So each thread has passed a fence after the last visit.
//! * **Take a page away.** Memory that was written is made read-only. The system returns
//!   from that when no processor that runs the process may write to it any more, for which
//!   it interrupts them; an interrupt is a full fence. Processors with `INVLPGB` do without
//!   the interrupt, and this way is not used there.
//!
//! If neither is allowed, the process ends with a message: to go on would be to lose
//! wake-ups, and to let two threads into a biased lock.

use std::ptr;

use crate::affinity::Affinity;

/// Makes every thread of the process pass a full fence, without `membarrier`.
#[cold]
pub fn fence_everywhere() {
    if !visit_every_processor() && !take_a_page_away() {
        eprintln!(
            "blitz-io: the system has begun to refuse membarrier to this process, which relies \
             on it, and forbids sched_setaffinity and mprotect as well. Allow one of them in \
             the sandbox, or enter the sandbox before the first use of a lock or a channel."
        );
        std::process::abort();
    }
}

fn visit_every_processor() -> bool {
    let (Some(mine), Some(all)) = (Affinity::of_this_thread(), Affinity::of_all_threads()) else {
        return false;
    };
    let visited = (all.processors()).all(|processor| Affinity::one(processor).bind_this_thread());
    mine.bind_this_thread() && visited
}

fn take_a_page_away() -> bool {
    const PAGE: usize = 4096;
    const INVLPGB: u32 = 1 << 3;
    if invalidates_by(INVLPGB) {
        return false;
    }
    // SAFETY: the mapping is new and belongs to this function, which writes to it before the
    // protection changes and does not use its address after `munmap`.
    unsafe {
        let (use_of, kind) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        let page = libc::mmap(ptr::null_mut(), PAGE, use_of, kind, -1, 0);
        if page == libc::MAP_FAILED {
            return false;
        }
        page.cast::<u8>().write_volatile(1);
        let taken = libc::mprotect(page, PAGE, libc::PROT_READ) == 0;
        libc::munmap(page, PAGE);
        taken
    }
}

/// Whether the processor says that it has this way to invalidate others' translations.
fn invalidates_by(way: u32) -> bool {
    #[cfg(target_arch = "x86")]
    use std::arch::x86::__cpuid;
    #[cfg(target_arch = "x86_64")]
    use std::arch::x86_64::__cpuid;

    const SIZES: u32 = 0x8000_0008;
    // SAFETY: each processor that Rust's standard library runs on has the instruction.
    #[allow(unused_unsafe, reason = "safe in later versions of Rust")]
    unsafe {
        __cpuid(0x8000_0000).eax >= SIZES && __cpuid(SIZES).ebx & way != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_work_here_and_leave_the_thread_where_it_may_run() {
        let before = Affinity::of_this_thread();
        assert!(
            before
                .as_ref()
                .is_some_and(|set| set.processors().count() > 0)
        );
        // A sandbox around the tests may forbid them, or bind a thread to another processor.
        let visited = visit_every_processor();
        assert!(visited || take_a_page_away() || invalidates_by(1 << 3));
        assert_eq!(Affinity::of_this_thread(), before);
    }
}
