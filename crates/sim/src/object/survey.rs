//! Finds the loop in which a thread is that makes no call.
//!
//! The library sends a signal when a run has used the processor for long without a point. From then on
//! the thread is stepped (`step`), and the addresses of its instructions are counted. If it reaches no
//! point, it is in a loop, and the lowest address among the most frequent ones is its mark. A run cannot
//! go on from here and be the same the next time, because the moment of the signal is not the
//! program's. So it ends, and starts again with a breakpoint at that mark (`loops`), which counts.

use crate::baton;
use crate::end;
use crate::loops;
use crate::shared::region::verdict;
use crate::state::sim;
use crate::step;

/// Instructions that a survey counts.
const STEPS: u32 = 20_000;
/// Different addresses that it knows, a power of two.
const SLOTS: usize = 4096;

static mut LEFT: u32 = 0;
static mut SEEN: [(usize, u32); SLOTS] = [(0, 0); SLOTS];

/// Starts a survey of the running thread.
pub unsafe fn start() {
    LEFT = STEPS;
    (&raw mut SEEN).write_bytes(0, 1);
}

/// The thread reaches a point: it is in no loop without one.
pub unsafe fn stop() {
    LEFT = 0;
}

/// Returns `true` during a survey.
pub unsafe fn is_on() -> bool {
    LEFT != 0
}

/// Counts an instruction of the program's file.
pub unsafe fn step(at: usize) {
    if LEFT == 0 {
        return;
    }
    let first = at.wrapping_mul(0x9e37_79b9) >> 8;
    let table = (&raw mut SEEN).cast::<(usize, u32)>();
    let mut slots = (0..16).map(|offset| table.add((first + offset) % SLOTS));
    // An address that finds no room is not counted.
    if let Some(slot) = slots.find(|slot| (**slot).0 == at || (**slot).1 == 0) {
        *slot = (at, (*slot).1 + 1);
    }
    pass();
    if LEFT == 1 {
        finish();
    }
}

/// Counts another instruction. The survey ends in the program's file.
pub unsafe fn pass() {
    if LEFT > 1 {
        LEFT -= 1;
    }
}

unsafe fn finish() {
    LEFT = 0;
    if !baton::could_change() {
        return;
    }
    if let Some(mark) = mark().filter(|mark| !loops::has(*mark)) {
        sim().region().mark = (mark - step::program().0) as u64;
        end::with(verdict::LOOP, "");
    }
}

/// Returns the lowest of the frequent addresses.
unsafe fn mark() -> Option<usize> {
    let seen = core::slice::from_raw_parts((&raw const SEEN).cast::<(usize, u32)>(), SLOTS);
    let most = seen.iter().map(|(_, count)| *count).max()?;
    let frequent = seen
        .iter()
        .filter(|(_, count)| *count > 1 && *count >= most / 4);
    frequent.map(|(at, _)| *at).min()
}
