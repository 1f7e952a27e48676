//! Threads that a test has left when it has ended.
//!
//! A program that runs a test in a thread T calls these functions there, which it finds by `dlsym`:
//!
//! 1. [`blitz_sim_test_begins`] before the test. From then on, each thread's record has where it was started.
//! 2. [`blitz_sim_test_ended`] after it. T lets all other threads run until none of them can. In that time no deadline
//!    passes, and there are no faults. So a thread that was about to end does so, and one that would wait is left, however
//!    short its sleep is.
//!
//! Then the threads are listed that have not ended and that T has started since, or a thread has started that T has started
//! since, and so on. Two kinds are not listed: those of other tests, which other threads have started, and those that
//! serve the process ([`blitz_sim_serves`]). These stay on purpose, for all tests of the process. The threads of a runtime do not serve the
//! process, idle ones neither: the runtime's end ends them.
//!
//! # The other threads do come to a stop
//!
//! T is ready all the time, so time never moves to a deadline, and no deadline passes on the way (`baton::expire`). A thread that goes
//! on for ever without progress ends the run as a livelock. Two threads in which tests have ended at the same time do not
//! wait for each other: `Simulation::ending` has both.

use core::ffi::{c_char, c_void};

use crate::baton;
use crate::c;
use crate::end;
use crate::state::{State, active, sim};

/// Frames of the stack that starts a thread.
const FRAMES: usize = 32;

/// Takes a thread: its number, its name, and the addresses on the stack that has started it, the innermost first.
type Take = unsafe extern "C" fn(*mut c_void, u32, *const c_char, *const usize, usize);

/// A test begins in the calling thread. Returns the number that the next thread will have.
#[unsafe(no_mangle)]
unsafe extern "C" fn blitz_sim_test_begins() -> u32 {
    if !active() {
        return 0;
    }
    let s = sim();
    s.keeps_starts = true;
    s.threads.len() as u32
}

/// The test that began when the next thread had the number `since` has ended. Gives `take` each thread that it has left, and
/// `to` with it. The report then says what each waits for.
#[unsafe(no_mangle)]
unsafe extern "C" fn blitz_sim_test_ended(since: u32, to: *mut c_void, take: Take) {
    if !active() {
        return;
    }
    let me = sim().current;
    sim().ending.push(me);
    while others_run() {
        baton::yield_now("the end of a test");
    }
    sim().ending.retain(|id| *id != me);
    let left = left(since);
    if !left.is_empty() {
        sim().has_left = true;
        end::note("left at the end of the test:\n");
    }
    for id in left {
        end::list_thread(id);
        let starts = end::outside(&sim().threads[id as usize].starts);
        let name = sim().threads[id as usize].name.as_ptr();
        take(to, id, name.cast(), starts.as_ptr(), starts.len());
    }
}

/// The calling thread serves the process, and stays on purpose.
#[unsafe(no_mangle)]
unsafe extern "C" fn blitz_sim_serves() {
    if active() {
        sim().me().serves = true;
    }
}

/// Returns the stack of the running thread, if it must be kept for the thread that it is about to start.
pub unsafe fn starts() -> Vec<usize> {
    if !sim().keeps_starts {
        return vec![];
    }
    let mut frames = [core::ptr::null_mut(); FRAMES];
    let count = c::backtrace(frames.as_mut_ptr(), FRAMES as i32);
    let frames = frames[..count as usize].iter();
    frames.map(|frame| *frame as usize).collect()
}

unsafe fn others_run() -> bool {
    let s = sim();
    let mut others = s.live.iter().filter(|id| !s.ending.contains(id));
    others.any(|id| s.threads[*id as usize].state == State::Ready)
}

/// Returns the threads that the running one has left.
unsafe fn left(since: u32) -> Vec<u32> {
    let s = sim();
    let is_left = |id: &u32| {
        let serves = s.threads[*id as usize].serves;
        *id >= since && !serves && root(since, *id) == s.current
    };
    s.live.iter().copied().filter(is_left).collect()
}

/// Returns the thread older than the test that has started a thread, directly or not.
unsafe fn root(since: u32, mut id: u32) -> u32 {
    while id >= since {
        // It is older than the thread.
        id = sim().threads[id as usize].parent;
    }
    id
}
