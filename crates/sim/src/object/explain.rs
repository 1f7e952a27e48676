//! The program's own report about a deadlock.
//!
//! A program with records of its waits gives the object a function that writes a report
//! ([`blitz_sim_explains`]). It finds the object's function by `dlsym`, so it needs no object at other times.
//!
//! When no thread can run any more, a new thread calls the program's function: the last one that ran may be at its end,
//! where it has no thread-local variables left. The new thread runs under simulation, without faults. It may wait
//! and start threads, and the run ends when it has returned, or when no thread can run again. What it does is no
//! part of the run: the counters, the hash and the time are then those of the deadlock ([`ended`]).

use core::ffi::c_void;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::atomics;
use crate::end;
use crate::identity::PROCESS;
use crate::shared::region::{DECISIONS, verdict};
use crate::state::sim;
use crate::thread;

/// Takes a part of a report.
type Write = unsafe extern "C" fn(*const u8, usize);
/// Writes a report about these threads, by the numbers of `gettid`.
type Explain = unsafe extern "C" fn(*const u32, usize, Write);

/// Decisions for which a report needs room.
const ROOM: usize = 1 << 12;

/// The program's function.
static EXPLAIN: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// State of the run at the deadlock.
#[derive(Clone, Copy)]
pub struct Before {
    hash: u64,
    points: u64,
    now: u64,
    decided: u32,
    threads: u32,
}

/// Gives the object the function that explains a deadlock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_sim_explains(explain: Explain) {
    EXPLAIN.store(explain as *mut c_void, Ordering::Relaxed);
}

/// Lets the program explain a deadlock, which ends the run. Returns if it cannot.
pub unsafe fn begin() {
    let s = sim();
    let region = s.region();
    let has_room = region.decided as usize + ROOM < DECISIONS;
    if s.explained.is_some() || EXPLAIN.load(Ordering::Relaxed).is_null() || !has_room {
        return;
    }
    s.explained = Some(Before {
        hash: region.hash,
        points: region.points.load(Ordering::Relaxed),
        now: region.now,
        decided: region.decided,
        threads: region.threads,
    });
    // Also if the report ends the process.
    region.verdict = verdict::DEADLOCK;
    (region.faults, region.preempt) = (0, 0);
    (region.until, region.recording) = (0, 0);
    atomics::turn_off();
    thread::pthread_create(&mut 0, null(), run, null_mut());
}

unsafe extern "C" fn run(_: *mut c_void) -> *mut c_void {
    let s = sim();
    let others = s.live.iter().filter(|id| **id != s.current);
    let threads: Vec<u32> = others.map(|id| PROCESS as u32 + *id).collect();
    let explain = EXPLAIN.load(Ordering::Relaxed);
    // Not null: `begin` has looked.
    let explain = core::mem::transmute::<*mut c_void, Explain>(explain);
    end::note("what `blitz why` says:\n");
    explain(threads.as_ptr(), threads.len(), write);
    end::with(verdict::DEADLOCK, "");
}

unsafe extern "C" fn write(text: *const u8, length: usize) {
    let bytes = core::slice::from_raw_parts(text, length);
    end::note(&String::from_utf8_lossy(bytes));
}

/// Takes a report's own steps away from the run that ends now. Returns the verdict.
pub unsafe fn ended(verdict: u32) -> u32 {
    let s = sim();
    let Some(before) = s.explained.take() else {
        return verdict;
    };
    if verdict != verdict::DEADLOCK {
        end::note("(the report has ended early)\n");
    }
    let region = s.region();
    region.hash = before.hash;
    region.points.store(before.points, Ordering::Relaxed);
    region.now = before.now;
    region.decided = before.decided;
    region.threads = before.threads;
    verdict::DEADLOCK
}
