//! A lock and a token whose waiters spin for a set time before they sleep. Two or more
//! threads do the same jobs with them and with our own primitives.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use std::{hint, thread};

use crate::Work;
use crate::scenario::{Failure, verify};
use crate::threads::start_all;
use blitz_io_futex::atomic::{AtomicU32, Ordering::SeqCst};
use blitz_io_futex::{wait, wake_all, wake_one};
use crossbeam_utils::CachePadded;

use crate::opinion::measure::Done;

/// How long a thread spins, and how.
#[derive(Clone, Copy)]
pub struct Limit {
    pub time: Duration,
    /// After the first microsecond the thread yields between two checks.
    pub yields: bool,
}

impl Limit {
    /// Returns whether `found` became true in time.
    fn spin(self, mut found: impl FnMut() -> bool) -> bool {
        const PAUSE_FOR: Duration = Duration::from_micros(1);
        if found() {
            return true;
        }
        if self.time.is_zero() {
            return false;
        }
        let began = Instant::now();
        loop {
            let spent = began.elapsed();
            if spent >= self.time {
                return false;
            }
            if self.yields && spent >= PAUSE_FOR {
                thread::yield_now();
            } else {
                hint::spin_loop();
            }
            if found() {
                return true;
            }
        }
    }
}

/// A mutual exclusion lock.
pub trait Lock: Sync {
    fn with(&self, section: impl FnOnce());
}

impl Lock for blitz_io_sync::thread::Mutex<()> {
    fn with(&self, section: impl FnOnce()) {
        let _guard = self.lock();
        section();
    }
}

/// The usual futex mutex of three states.
pub struct SpinLock {
    state: AtomicU32,
    limit: Limit,
}

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const AWAITED: u32 = 2;

impl SpinLock {
    pub fn new(limit: Limit) -> Self {
        Self {
            state: AtomicU32::new(FREE),
            limit,
        }
    }

    fn try_lock(&self) -> bool {
        self.state.load(SeqCst) == FREE
            && self
                .state
                .compare_exchange(FREE, TAKEN, SeqCst, SeqCst)
                .is_ok()
    }
}

impl Lock for SpinLock {
    fn with(&self, section: impl FnOnce()) {
        if !self.limit.spin(|| self.try_lock()) {
            while self.state.swap(AWAITED, SeqCst) != FREE {
                wait(&self.state, AWAITED);
            }
        }
        section();
        if self.state.swap(FREE, SeqCst) == AWAITED {
            wake_one(&self.state);
        }
    }
}

/// Threads that lock for a section, and then do something else for half as long:
/// the other thread has then waited for about half a section.
pub fn take_turns(
    lock: impl Lock,
    threads: usize,
    operations: u64,
    half: Work,
) -> Result<Done, Failure> {
    let lock = CachePadded::new(lock);
    let count = CachePadded::new(AtomicU64::new(0));
    let share = operations / threads as u64;
    let (span, _) = start_all(threads, |member| {
        let (lock, count) = (&lock, &count);
        if threads == 2 {
            own_processor(member);
        }
        move || {
            for _ in 0..share {
                lock.with(|| {
                    // Without a read-modify-write: two concurrent threads would lose a
                    // step.
                    count.store(count.load(Relaxed) + 1, Relaxed);
                    half.run();
                    half.run();
                });
                half.run();
            }
        }
    });
    let operations = share * threads as u64;
    verify("sections that ran", operations, count.load(Relaxed))?;
    Ok(Done {
        elapsed: span.elapsed,
        operations,
        waited: None,
    })
}

/// Lets two threads wait for their turns.
pub trait Turns: Sync {
    /// Called before the first wait, in the thread of this side.
    fn prepare(&self, side: usize);
    /// Waits until the count of handovers is `mine`.
    fn wait_for(&self, side: usize, mine: u32);
    /// Sets the count, and notifies the other side.
    fn pass(&self, side: usize, next: u32);
    fn handovers(&self) -> u32;
}

/// Two sides that check a count, and sleep on it.
pub struct SpinToken {
    handovers: AtomicU32,
    asleep: [AtomicU32; 2],
    limit: Limit,
}

impl SpinToken {
    pub fn new(limit: Limit) -> Self {
        Self {
            handovers: AtomicU32::new(0),
            asleep: [AtomicU32::new(0), AtomicU32::new(0)],
            limit,
        }
    }
}

impl Turns for SpinToken {
    fn prepare(&self, _: usize) {}

    fn wait_for(&self, side: usize, mine: u32) {
        if self.limit.spin(|| self.handovers.load(SeqCst) == mine) {
            return;
        }
        self.asleep[side].store(1, SeqCst);
        loop {
            let handovers = self.handovers.load(SeqCst);
            if handovers == mine {
                break;
            }
            wait(&self.handovers, handovers);
        }
        self.asleep[side].store(0, SeqCst);
    }

    fn pass(&self, side: usize, next: u32) {
        self.handovers.store(next, SeqCst);
        if self.asleep[1 - side].load(SeqCst) != 0 {
            wake_all(&self.handovers);
        }
    }

    fn handovers(&self) -> u32 {
        self.handovers.load(SeqCst)
    }
}

/// The same token with our parkers.
#[derive(Default)]
pub struct Parkers {
    handovers: AtomicU32,
    unparkers: [OnceLock<blitz_io_sync::thread::Unparker>; 2],
}

thread_local! {
    static PARKER: blitz_io_sync::thread::Parker = blitz_io_sync::thread::Parker::new();
}

impl Turns for Parkers {
    fn prepare(&self, side: usize) {
        let _ = self.unparkers[side].set(PARKER.with(|parker| parker.unparker().clone()));
    }

    fn wait_for(&self, _: usize, mine: u32) {
        while self.handovers.load(SeqCst) != mine {
            PARKER.with(blitz_io_sync::thread::Parker::park);
        }
    }

    fn pass(&self, side: usize, next: u32) {
        self.handovers.store(next, SeqCst);
        let other = self.unparkers[1 - side].get();
        other.expect("set before the start").unpark();
    }

    fn handovers(&self) -> u32 {
        self.handovers.load(SeqCst)
    }
}

/// Two threads hand a token back and forth. Each works for a while before it passes the
/// token on, while the other one waits.
pub fn ping_pong(turns: impl Turns, handovers: u64, answer: Work) -> Result<Done, Failure> {
    let turns = CachePadded::new(turns);
    let rounds = (handovers / 2) as u32;
    let (span, _) = start_all(2, |side| {
        let turns = &turns;
        turns.prepare(side);
        own_processor(side);
        move || {
            for round in 0..rounds {
                let mine = 2 * round + side as u32;
                turns.wait_for(side, mine);
                answer.run();
                turns.pass(side, mine + 1);
            }
        }
    });
    verify("handovers", 2 * rounds, turns.handovers())?;
    Ok(Done {
        elapsed: span.elapsed,
        operations: u64::from(2 * rounds),
        waited: None,
    })
}

/// Pins this thread to a processor of its own. Otherwise the system may run both threads
/// on one processor, where they wait for each other in another way.
fn own_processor(member: usize) {
    let allowed = core_affinity::get_core_ids().unwrap_or_default();
    if let Some(&processor) = allowed.get(member) {
        core_affinity::set_for_current(processor);
    }
}
