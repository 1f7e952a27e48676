//! A barrier.

use std::ffi::c_int;

use blitz_io::sync::{Barrier, BarrierWaitResult};
use blitz_io_core::coop;

use crate::args::put_if_wanted;
use crate::error::{Outcome, entry};
use crate::storage::Storage;
use crate::wait::{self, Limit, is_fiber};

/// A barrier, by value: the last of a number of threads and fibers releases all of them.
/// Initialise it with `BLITZ_BARRIER_INIT(count)`; a count of 0 counts as 1. It needs no
/// destruction. Do not copy or move it after its first use. It can be used again at once. Free it when all
/// calls with it have returned: not as soon as one wait has ended.
#[repr(C)]
pub struct blitz_barrier {
    state: u32,
    config: u32,
    space: [u64; 9],
}

// SAFETY: the fields are as required.
unsafe impl Storage for blitz_barrier {
    type Primitive = Barrier;

    fn new(count: u32) -> Barrier {
        Barrier::new(count.max(1) as usize)
    }
}

/// Waits until as many threads and fibers have arrived as the barrier counts. Suspends the calling
/// fiber, or blocks the calling thread.
///
/// `is_leader` becomes true for one of them, and false for the others; it may be NULL. Returns
/// `BLITZ_OK`; `BLITZ_ECANCELED` in a fiber that is cancelled; or `BLITZ_EINVAL` if `barrier` is
/// NULL. A fiber that is cancelled while it waits still counts for the round.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_barrier_wait(
    barrier: *mut blitz_barrier,
    is_leader: *mut bool,
) -> c_int {
    entry(|| {
        let barrier = blitz_barrier::of(barrier)?;
        if is_fiber() {
            return finish(wait::on(barrier.wait(), Limit::Never), is_leader);
        }
        // A thread spins before it sleeps. A task of Rust that calls C blocks, as in every function here.
        let result = coop::outside_polls(|| barrier.blocking_wait());
        finish(Ok(result), is_leader)
    })
}

/// Waits as `blitz_barrier_wait` does, but until `deadline_ns` at most (nanoseconds of
/// `blitz_now_ns`). After the deadline the caller no longer waits, but still counts for the
/// round.
///
/// Returns what `blitz_barrier_wait` returns, or `BLITZ_ETIMEDOUT`.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_barrier_wait_until(
    barrier: *mut blitz_barrier,
    deadline_ns: u64,
    is_leader: *mut bool,
) -> c_int {
    entry(|| {
        let barrier = blitz_barrier::of(barrier)?;
        finish(wait::on(barrier.wait(), Limit::at(deadline_ns)), is_leader)
    })
}

fn finish(arrived: Outcome<BarrierWaitResult>, is_leader: *mut bool) -> Outcome {
    let arrived = arrived?;
    put_if_wanted(is_leader, arrived.is_leader());
    Ok(())
}
