//! Atomic operations as points, in programs that are linked with the library in `src/linked`.
//!
//! Only the thread with the baton is at a point. A thread of the program has none while it ends, after the last
//! destructors that are part of the simulation: its operations are real ones then, and no points.
//!
//! # Idle operations
//!
//! A thread that waits in a loop of atomic operations for another one makes no call, and each of its operations is a
//! point, so others get their turn. But a strategy may let it go on for long, and time hardly passes. An operation
//! is *idle* if it does not change its value. After [`IDLE`] of them in a row without a call, others run, and if none
//! can, time moves to the earliest deadline: nothing else can end the loop.

use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use crate::baton;
use crate::c;
use crate::state::{active, sim};

/// Idle operations in a row after which others run: as many as there are points that a thread passes in a row in any case
/// (`baton`). A lock spins for some hundred operations before it sleeps, and with fewer here no order would come to
/// its sleep while another thread can run.
const IDLE: u32 = 1_000;

/// The library's counter of operations that have changed a value.
static CHANGES: AtomicPtr<AtomicU64> = AtomicPtr::new(core::ptr::null_mut());
/// The run has these points.
static IS_ON: AtomicBool = AtomicBool::new(false);
/// The thread with the baton, by libc's record of it; zero: it has ended, and the next one has not begun.
static HOLDER: AtomicUsize = AtomicUsize::new(0);

type Point = unsafe extern "C" fn(*const u8, usize, usize);

/// Connects the program's library with this object.
#[unsafe(no_mangle)]
unsafe extern "C" fn blitz_sim_atomics(changes: *mut AtomicU64) -> Point {
    CHANGES.store(changes, Ordering::Relaxed);
    operation
}

/// Returns `true` if the program has the instrumentation.
pub fn is_instrumented() -> bool {
    !CHANGES.load(Ordering::Relaxed).is_null()
}

/// Makes atomic operations points of this run.
pub fn turn_on() {
    IS_ON.store(true, Ordering::Relaxed);
}

/// Ends that.
pub fn turn_off() {
    IS_ON.store(false, Ordering::Relaxed);
}

/// The calling thread has the baton.
pub unsafe fn holds() {
    HOLDER.store(c::pthread_self(), Ordering::Relaxed);
}

/// The calling thread has passed the baton on, and ends.
pub fn leaves() {
    HOLDER.store(0, Ordering::Relaxed);
}

/// Returns how many operations have changed a value.
pub unsafe fn changes() -> u64 {
    match CHANGES.load(Ordering::Relaxed).as_ref() {
        Some(changes) => changes.load(Ordering::Relaxed),
        None => 0,
    }
}

/// The running thread is about to execute an operation.
unsafe extern "C" fn operation(name: *const u8, length: usize, address: usize) {
    let is_point = IS_ON.load(Ordering::Relaxed)
        && active()
        && HOLDER.load(Ordering::Relaxed) == c::pthread_self();
    if !is_point {
        return;
    }
    // A literal of the library, which stays loaded.
    let name = core::slice::from_raw_parts(name, length);
    let name = core::str::from_utf8_unchecked(name);
    let changes = changes();
    let me = sim().me();
    // No other thread has run since the thread's last operation.
    let idle = if me.seen_changes == changes {
        me.idle + 1
    } else {
        0
    };
    let spins = idle >= IDLE;
    me.is_repeating = me.repeats.add((name.as_ptr() as usize, address), changes);
    baton::point_of_atomic(name, address, spins);
    let me = sim().me();
    me.idle = if spins { 0 } else { idle };
    me.seen_changes = self::changes();
}
