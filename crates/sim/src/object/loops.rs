//! Loops of the program that make no call.
//!
//! Such a loop waits for memory that another thread writes, and would keep the baton for ever. Each known one
//! has a breakpoint at its mark (`survey`). After [`ROUNDS`] executions of marks without a point
//! between, the thread is at a point: another one runs. So the place depends on the program only,
//! whenever and by whichever thread the loop was found.
//!
//! # A breakpoint
//!
//! Its byte takes the place of the first byte of an instruction in this process's copy of the program. A
//! thread that executes it gets SIGTRAP. The byte is put back for one step of the thread and then
//! replaced again. No other thread runs in between, because only the holder of the baton executes
//! instructions of the program.
//!
//! # A computation
//!
//! A mark may be in a loop that computes. So a thread whose loop nobody can end (no other thread can
//! run, and none waits for a time), or that has been preempted [`MOST`] times, loses the breakpoints until
//! its next point, and computes as fast as ever.

use crate::baton;
use crate::c::nr;
use crate::shared::region::{LOOPS, Region};
use crate::step;
use crate::survey;
use crate::sys;
use crate::trap::Context;

/// Executions of marks before another thread runs.
const ROUNDS: u32 = 32;
/// Preemptions of a thread between two of its points.
pub const MOST: u32 = 2_000;
const INT3: u8 = 0xcc;
const PAGE: usize = 4096;

/// A place of a breakpoint, and the program's byte at that place.
#[derive(Clone, Copy)]
struct Mark {
    at: usize,
    byte: u8,
}

static mut MARKS: [Mark; LOOPS] = [Mark { at: 0, byte: 0 }; LOOPS];
static mut COUNT: usize = 0;
/// The breakpoints are in their places.
static mut IS_ARMED: bool = false;
/// Executions of marks since the last point.
static mut ROUND: u32 = 0;
/// The mark whose instruction is executed now.
static mut STEPPED_OVER: usize = 0;

/// Sets the breakpoints of a run.
pub unsafe fn begin(region: &Region) {
    let (start, end) = step::program();
    for offset in &region.loops[..region.looping as usize] {
        let at = start + *offset as usize;
        if at >= end || has(at) {
            continue;
        }
        // Readable, writable and executable. A kernel that refuses leaves the loop as it is.
        let page = at & !(PAGE - 1);
        if sys::call(nr::MPROTECT, [page, PAGE, 7, 0, 0, 0]) < 0 {
            continue;
        }
        let byte = *(at as *const u8);
        (&raw mut MARKS)
            .cast::<Mark>()
            .add(COUNT)
            .write(Mark { at, byte });
        COUNT += 1;
    }
    arm();
}

unsafe fn marks() -> &'static [Mark] {
    core::slice::from_raw_parts((&raw const MARKS).cast::<Mark>(), COUNT)
}

/// Returns `true` if this address has a breakpoint.
pub unsafe fn has(at: usize) -> bool {
    marks().iter().any(|mark| mark.at == at)
}

unsafe fn arm() {
    IS_ARMED = true;
    for mark in marks() {
        write(mark.at, INT3);
    }
}

unsafe fn disarm() {
    IS_ARMED = false;
    for mark in marks() {
        write(mark.at, mark.byte);
    }
}

unsafe fn write(at: usize, byte: u8) {
    (at as *mut u8).write_volatile(byte);
}

/// Removes the breakpoints permanently: a debugger would stop at each.
pub unsafe fn forget() {
    disarm();
    COUNT = 0;
}

/// The thread has reached a point.
pub unsafe fn point() {
    if COUNT != 0 {
        ROUND = 0;
        if !IS_ARMED {
            arm();
        }
    }
}

/// A breakpoint was executed: RIP is behind it. Returns `false` if it is the program's own. Otherwise the
/// next instruction is the one under it.
pub unsafe fn hit(context: *mut Context) -> bool {
    let at = (*context).registers[16] - 1;
    let Some(mark) = marks().iter().find(|mark| mark.at == at) else {
        return false;
    };
    if step::holds() {
        ROUND += 1;
        if ROUND >= ROUNDS {
            ROUND = 0;
            survey::stop();
            if !baton::spun() {
                disarm();
            }
            step::settle(context);
        }
    }
    write(at, mark.byte);
    STEPPED_OVER = at;
    (*context).registers[16] = at;
    true
}

/// The instruction under a breakpoint was executed.
pub unsafe fn put_back() {
    if STEPPED_OVER != 0 && IS_ARMED {
        write(STEPPED_OVER, INT3);
    }
    STEPPED_OVER = 0;
}
