//! The program's own report about its waits.
//!
//! A program with records of its waits gives the object two functions. It finds the object's functions for that by
//! `dlsym`, so it needs no object at other times.
//!
//! # At a deadlock
//!
//! When no thread can run any more, a new thread calls the first function ([`blitz_sim_explains`]): the last one that ran may
//! be at its end, where it has no thread-local variables left. The new thread runs under simulation, without faults. It may wait
//! and start threads, and the run ends when it has returned, or when no thread can run again. What it does is no
//! part of the run: the counters, the hash and the time are then those of the deadlock ([`ended`]).
//!
//! # While threads run
//!
//! The second function ([`blitz_sim_judges`]) is for a state in which threads could run. A copy of the process calls it: a
//! fork, in which all threads but a new one wait for ever ([`ask`]). So the run
//! continues as without the question. Only the report, in the shared memory, is longer afterwards.
//!
//! # Deadlocks beside threads that go on
//!
//! An interval wakes its task for ever, so a run in which two others have deadlocked has always a thread that can run. But
//! a cycle of waiters that only the members could end stays for ever. So the run asks for one
//! when it has made [`FIRST`] points, and then each time that their number has doubled ([`judge`]). A long run asks a few times only. A
//! cycle counts if a second question, [`LATER`] points later, finds it again with the same waits: at one moment, a thread may be
//! about to change its records.

use core::ffi::c_void;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::atomics;
use crate::c::{EINTR, Start, nr};
use crate::dispatch::CLONE;
use crate::end;
use crate::identity::PROCESS;
use crate::shared::region::{DECISIONS, Region, verdict};
use crate::state::{Class, NEVER, State, sim};
use crate::sys;
use crate::thread;

/// Takes a part of a report.
type Write = unsafe extern "C" fn(*const u8, usize);
/// Writes a report about these threads, by the numbers of `gettid`.
type Explain = unsafe extern "C" fn(*const u32, usize, Write);

/// Writes a report about a program whose threads may run ([`REPORT`]), or eight bytes that name the oldest certain finding
/// ([`FINDING`]; zero: there is none).
type Judge = unsafe extern "C" fn(u32, Write);

const REPORT: u32 = 0;
const FINDING: u32 = 1;

/// Decisions for which a report needs room.
const ROOM: usize = 1 << 12;
/// Points at which a run asks first whether waits can never end. Each question takes as long as some hundred points.
pub const FIRST: u64 = 1 << 12;
/// Points after which a second question confirms a finding.
const LATER: u64 = 1 << 10;
/// Seconds of processor time after which a copy of the process ends that does not answer.
const PATIENCE: u64 = 10;

/// The program's functions.
static EXPLAIN: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static JUDGE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
/// The question to the program: [`REPORT`] or [`FINDING`].
static mut WANTED: u32 = REPORT;

/// State of the run before a report.
#[derive(Clone, Copy)]
pub struct Before {
    hash: u64,
    points: u64,
    now: u64,
    stepped: u64,
    until: u64,
    verdict: u32,
    decided: u32,
    threads: u32,
    faults: u32,
    preempt: u32,
    recording: u32,
    scripted: u32,
    no_timeouts: u32,
    opportunities: u32,
    randomness: u32,
    happened: u32,
    names_length: u32,
}

impl Before {
    fn of(region: &Region) -> Before {
        Before {
            hash: region.hash,
            points: region.points.load(Ordering::Relaxed),
            now: region.now,
            stepped: region.stepped,
            until: region.until,
            verdict: region.verdict,
            decided: region.decided,
            threads: region.threads,
            faults: region.faults,
            preempt: region.preempt,
            recording: region.recording,
            scripted: region.scripted,
            no_timeouts: region.no_timeouts,
            opportunities: region.opportunities,
            randomness: region.randomness,
            happened: region.happened,
            names_length: region.names_length,
        }
    }

    /// Undoes the steps of a report.
    fn restore(&self, region: &mut Region) {
        region.hash = self.hash;
        region.points.store(self.points, Ordering::Relaxed);
        region.now = self.now;
        region.stepped = self.stepped;
        region.until = self.until;
        region.verdict = self.verdict;
        region.decided = self.decided;
        region.threads = self.threads;
        region.faults = self.faults;
        region.preempt = self.preempt;
        region.recording = self.recording;
        region.scripted = self.scripted;
        region.no_timeouts = self.no_timeouts;
        region.opportunities = self.opportunities;
        region.randomness = self.randomness;
        region.happened = self.happened;
        region.names_length = self.names_length;
    }
}

/// Gives the object the function that explains a deadlock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_sim_explains(explain: Explain) {
    EXPLAIN.store(explain as *mut c_void, Ordering::Relaxed);
}

/// Gives the object the function that judges a program while its threads run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_sim_judges(judge: Judge) {
    JUDGE.store(judge as *mut c_void, Ordering::Relaxed);
}

/// Returns `true` if the program has a function for questions while its threads run.
pub unsafe fn can_ask() -> bool {
    !JUDGE.load(Ordering::Relaxed).is_null() && has_room()
}

unsafe fn has_room() -> bool {
    let s = sim();
    s.explained.is_none() && s.region().decided as usize + ROOM < DECISIONS
}

/// Lets the program explain a deadlock, which ends the run. Returns if it cannot.
pub unsafe fn begin() {
    if !EXPLAIN.load(Ordering::Relaxed).is_null() && has_room() {
        start(explain);
    }
}

/// Lets a new thread write a report, which is no part of the run.
unsafe fn start(report: Start) {
    let s = sim();
    let region = s.region();
    s.explained = Some(Before::of(region));
    // Also if the report ends the process.
    region.verdict = verdict::DEADLOCK;
    (region.faults, region.preempt) = (0, 0);
    (region.until, region.recording) = (0, 0);
    atomics::turn_off();
    thread::pthread_create(&mut 0, null(), report, null_mut());
}

unsafe extern "C" fn explain(_: *mut c_void) -> *mut c_void {
    let s = sim();
    let others = s.live.iter().filter(|id| **id != s.current);
    let threads: Vec<u32> = others.map(|id| PROCESS as u32 + *id).collect();
    let explain = EXPLAIN.load(Ordering::Relaxed);
    // Not null: `begin` has looked.
    let explain = core::mem::transmute::<*mut c_void, Explain>(explain);
    end::note(HEAD);
    explain(threads.as_ptr(), threads.len(), write);
    end::with(verdict::DEADLOCK, "");
}

/// The line before what the program says.
const HEAD: &str = "what `blitz why` says:\n";

unsafe extern "C" fn write(text: *const u8, length: usize) {
    let bytes = core::slice::from_raw_parts(text, length);
    end::note(&String::from_utf8_lossy(bytes));
}

/// Lets a program that has a function for it add its own report. The run is as before.
pub unsafe fn report() {
    if can_ask() {
        end::note(HEAD);
        ask(REPORT);
    }
}

/// Ends the run as a deadlock if some waits can never end, although threads could run. Otherwise the next question comes
/// later.
pub unsafe fn judge() {
    let points = sim().region().points.load(Ordering::Relaxed);
    let before = core::mem::take(&mut sim().finding);
    sim().next_judgement = (points + 1).next_power_of_two();
    // A test that has ended waits for threads that are about to end.
    if !can_ask() || !sim().ending.is_empty() {
        return;
    }
    let length = sim().region().text_length;
    sim().region().finding = 0;
    ask(FINDING);
    sim().region().text_length = length;
    let finding = sim().region().finding;
    if finding == 0 {
        return;
    }
    if finding == before {
        end::stuck();
    }
    if before == 0 {
        sim().finding = finding;
        sim().next_judgement = points + LATER;
    }
}

/// Asks a copy of this process, which has all of its memory, and waits for the answer.
unsafe fn ask(what: u32) {
    const WAIT4: usize = 61;
    /// Also for a child that sends no signal at its end.
    const ALL: usize = 0x4000_0000;
    let before = Before::of(sim().region());
    let running = sim().region().running.load(Ordering::Relaxed);
    // No signal at the end: the program may have a handler.
    let child = sys::call(usize::from(CLONE), [0; 6]);
    if child == 0 {
        answer(what);
    }
    if child > 0 {
        while sys::call(WAIT4, [child as usize, 0, ALL, 0, 0, 0]) == -(EINTR as isize) {}
    }
    before.restore(sim().region());
    sim().region().running.store(running, Ordering::Relaxed);
}

/// Answers in the copy, whose threads but this one do not exist. This one waits for ever, too, and a new one answers.
unsafe fn answer(what: u32) -> ! {
    const PRLIMIT: usize = 302;
    const PROCESSOR_TIME: usize = 0;
    const DEATH_SIGNAL: usize = 1;
    const SIGKILL: usize = 9;
    let limit = [PATIENCE, PATIENCE];
    sys::call(nr::PRCTL, [DEATH_SIGNAL, SIGKILL, 0, 0, 0, 0]);
    sys::call(
        PRLIMIT,
        [0, PROCESSOR_TIME, limit.as_ptr() as usize, 0, 0, 0],
    );
    WANTED = what;
    let s = sim();
    for thread in &mut s.threads {
        if thread.state != State::Done {
            thread.state = State::Blocked;
        }
        (thread.key, thread.deadline) = ((Class::Sleep, 0), NEVER);
        thread.set.clear();
        thread.other_keys.clear();
    }
    s.queues.clear();
    s.due.clear();
    // No deadline passes, and nothing that is under way arrives: the descriptors are those of the run.
    s.ending.push(s.current);
    (s.next_deadline, s.next_judgement) = (NEVER, NEVER);
    let region = s.region();
    (region.no_timeouts, region.scripted) = (1, s.at_script);
    start(judges);
    end::with(verdict::DEADLOCK, "");
}

unsafe extern "C" fn judges(_: *mut c_void) -> *mut c_void {
    let judge = JUDGE.load(Ordering::Relaxed);
    // Not null: `can_ask` has looked.
    let judge = core::mem::transmute::<*mut c_void, Judge>(judge);
    let take = if WANTED == FINDING {
        take_finding
    } else {
        write
    };
    judge(WANTED, take);
    end::with(verdict::DEADLOCK, "");
}

unsafe extern "C" fn take_finding(bytes: *const u8, length: usize) {
    if length == size_of::<u64>() {
        sim().region().finding = bytes.cast::<u64>().read_unaligned();
    }
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
    before.restore(s.region());
    verdict::DEADLOCK
}
