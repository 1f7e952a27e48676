//! The loop in progress: at most one for each pool, published in one word.
//!
//! # The protocol
//!
//! `state` holds a generation, whether the loop is closed, and how many workers have
//! entered it. The *caller* is the thread that requests the loop; it need not be a worker.
//!
//! 1. The caller takes the slot (`busy`); if another loop is in it, the caller forks
//!    instead.
//! 2. It writes `work`, opens the next generation, with no worker inside, and wakes idle
//!    workers.
//! 3. It takes part itself until nothing is left to take.
//! 4. It closes the loop, which returns the number of workers that have entered, and waits
//!    until `left` is as large.
//! 5. It clears `left` and gives the slot back.
//!
//! A worker enters by adding one to a state that is open and of a generation in which it
//! has not taken part. So a worker that wakes late finds the loop closed and delays no
//! other thread: the caller waits only for workers that have begun a piece.
//!
//! **`work` is alive while a worker uses it.** The worker entered before the loop was closed, so
//! the caller counts it, and does not return before it has left. The worker reads `work` after it
//! has entered (acquire), so it reads the `work` of its generation.
//!
//! **The caller's wake-up is not lost.** It sets `SLEEPS` in `left` with a compare-exchange and
//! sleeps while `left` holds the value that it wrote. A worker leaves by adding one. Either its
//! addition returns `SLEEPS`, and it wakes the caller, or it comes before the exchange, and the
//! exchange fails.

use std::cell::Cell;
use std::ptr;

use blitz_io_core::CachePadded;

use blitz_io_futex::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use blitz_io_futex::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

use blitz_io_core::pause::look;
use blitz_io_core::this_processor;
use blitz_io_observe::trace::{AwaitsJob, RunsJob};
use blitz_io_observe::{self as observe, Blocking, Caller, Kind, Object};

const CLOSED: u64 = 1 << 31;
const ENTERED: u64 = CLOSED - 1;
const GENERATION: u64 = 1 << 32;

const SLEEPS: u32 = 1 << 31;
/// Placeholder for an unknown processor.
const ANYWHERE: u32 = u32::MAX;
/// Number of times the caller checks for workers that are about to leave before it sleeps.
/// These checks take about as long as a sleep would.
const LOOKS: u32 = if cfg!(loom) { 1 } else { 200 };

/// The work of the participants; the argument is the participant's number.
pub type Work<'a> = dyn Fn(usize) + Sync + 'a;

pub struct LoopSlot {
    state: CachePadded<AtomicU64>,
    left: CachePadded<AtomicU32>,
    busy: AtomicBool,
    /// The processor that ran the caller when the loop began.
    caller: AtomicU32,
    /// Points to the caller's `&Work`.
    work: AtomicPtr<&'static Work<'static>>,
    /// The object for reports. Each worker that has entered holds it as a reader.
    part: Object,
    /// The taken part of each share. Only for the thread that has the slot.
    cursors: Box<[CachePadded<AtomicUsize>]>,
}

/// The right to run one loop.
pub struct Reserved<'a>(&'a LoopSlot);

impl LoopSlot {
    pub fn new(participants: usize) -> Self {
        Self {
            state: CachePadded::new(AtomicU64::new(CLOSED)),
            left: CachePadded::new(AtomicU32::new(0)),
            busy: AtomicBool::new(false),
            caller: AtomicU32::new(ANYWHERE),
            work: AtomicPtr::new(ptr::null_mut()),
            part: Object::new(),
            cursors: (0..participants)
                .map(|_| CachePadded::new(AtomicUsize::new(0)))
                .collect(),
        }
    }

    /// Takes the slot, unless another loop is in it.
    pub fn reserve(&self) -> Option<Reserved<'_>> {
        let taken = self.busy.load(Relaxed) || self.busy.swap(true, Acquire);
        (!taken).then(|| Reserved(self))
    }

    /// Returns `true` if a loop is open that a worker can enter whose last loop was `last`.
    pub fn is_open_for(&self, last: &Cell<u64>) -> bool {
        let state = self.state.load(SeqCst);
        state & CLOSED == 0 && state / GENERATION != last.get()
    }

    /// Returns `true` if such a loop is open, and one more worker on this processor would take time
    /// from its participants: `most` workers or more have entered, or the caller runs on
    /// this processor and has just been interrupted.
    pub fn is_full_for(&self, last: &Cell<u64>, most: usize, here: Option<u32>) -> bool {
        let state = self.state.load(Acquire);
        let open = state & CLOSED == 0 && state / GENERATION != last.get();
        let displaces = || here == Some(self.caller.load(Relaxed));
        open && ((state & ENTERED) as usize >= most || displaces())
    }

    /// Returns the generation of the last loop.
    pub fn generation(&self) -> u64 {
        self.state.load(Relaxed) / GENERATION
    }

    /// Takes part in the loop, if there is one in which this worker has not taken part yet.
    #[inline]
    pub fn take_part(&self, last: &Cell<u64>) -> bool {
        self.is_open_for(last) && self.enter(last)
    }

    fn enter(&self, last: &Cell<u64>) -> bool {
        let mut state = self.state.load(Acquire);
        loop {
            if state & CLOSED != 0 || state / GENERATION == last.get() {
                return false;
            }
            match self
                .state
                .compare_exchange_weak(state, state + 1, AcqRel, Acquire)
            {
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        last.set(state / GENERATION);
        let participant = (state & ENTERED) as usize + 1;
        let work = self.work.load(Acquire);
        if cfg!(loom) {
            assert!(!work.is_null(), "there is no loop");
        }
        // SAFETY: by the proof at the top of this file, the caller waits until this worker has left.
        let work = unsafe { *work };
        self.part.acquired_shared();
        {
            let _runs = RunsJob::new(self.number());
            work(participant);
        }
        self.part.released_shared();
        let before = self.left.fetch_add(1, AcqRel);
        if before & SLEEPS != 0 {
            blitz_io_futex::wake_one(&*self.left);
        }
        true
    }
}

impl Reserved<'_> {
    /// Returns a counter for each participant, which starts at 0.
    pub fn cursors(&self) -> &[CachePadded<AtomicUsize>] {
        &self.0.cursors
    }

    /// Runs `work` in this thread, as participant 0, and in every worker that arrives in
    /// time. `publish` wakes them. `work` does not panic.
    pub fn run(self, work: &Work<'_>, publish: impl FnOnce()) {
        let slot = self.0;
        for cursor in &slot.cursors {
            cursor.store(0, Relaxed);
        }
        // In a model of a mistake, late workers must find work that asserts, not freed
        // memory.
        let pointer: *const &Work<'_> = if cfg!(loom) {
            Box::leak(Box::new(work))
        } else {
            &raw const work
        };
        let processor = this_processor().unwrap_or(ANYWHERE);
        slot.caller.store(processor, Relaxed);
        slot.work.store(pointer.cast_mut().cast(), Release);
        let generation = slot.state.load(Relaxed) / GENERATION + 1;
        slot.state
            .store(generation.wrapping_mul(GENERATION), SeqCst);
        publish();
        work(0);
        let entered = slot.state.fetch_or(CLOSED, AcqRel) & ENTERED;
        slot.wait_for(entered as u32);
    }
}

impl LoopSlot {
    /// Returns the number of its loops in recordings.
    fn number(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    fn wait_for(&self, entered: u32) {
        let _waits = AwaitsJob::new(self.number());
        if !look(LOOKS, || self.left.load(Acquire) == entered) {
            self.sleep_until_left(entered);
        }
    }

    #[cold]
    fn sleep_until_left(&self, entered: u32) {
        let _waits = Blocking::new(Kind::ForkJoin, &self.part, Caller::UNKNOWN, false);
        let mut left = self.left.load(Acquire);
        while left & !SLEEPS != entered {
            if left & SLEEPS == 0 {
                match self
                    .left
                    .compare_exchange(left, left | SLEEPS, AcqRel, Acquire)
                {
                    Ok(_) => left |= SLEEPS,
                    Err(now) => {
                        left = now;
                        continue;
                    }
                }
            }
            let _record = observe::sleeping(&*self.left);
            blitz_io_futex::wait(&self.left, left);
            left = self.left.load(Acquire);
        }
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.0.left.store(0, Relaxed);
        self.0.busy.store(false, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_full_where_its_caller_runs_and_when_enough_have_entered() {
        let (slot, last, other) = (LoopSlot::new(3), Cell::new(0), Cell::new(0));
        assert!(!slot.is_full_for(&last, 0, Some(1)), "there is no loop");
        let reserved = slot.reserve().unwrap();
        let begun = Cell::new(false);
        let participate = |participant: usize| assert!(participant < 2);
        reserved.run(&participate, || {
            slot.caller.store(1, Relaxed);
            assert!(slot.is_full_for(&last, 1, Some(1)));
            assert!(!slot.is_full_for(&last, 1, Some(0)));
            assert!(!slot.is_full_for(&last, 1, None));
            assert!(slot.take_part(&other));
            assert!(slot.is_full_for(&last, 1, Some(0)));
            assert!(!slot.is_full_for(&last, 2, Some(0)));
            assert!(!slot.is_full_for(&other, 0, Some(1)), "it was there");
            begun.set(true);
        });
        assert!(begun.get());
        assert!(!slot.is_full_for(&last, 0, Some(1)), "it is over");
    }
}
