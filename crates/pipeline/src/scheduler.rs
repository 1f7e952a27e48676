//! `Scheduler`: which worker does what next, and why no pipeline can hang.
//!
//! # Workers
//!
//! All workers of a pipeline are equal. No worker *is* the reader or the writer: any free
//! worker reads the next item, processes one, or writes the next result. So one worker is
//! enough to run any pipeline, and each further one only makes it faster.
//!
//! # Items and tokens
//!
//! Items are numbered from 0 in the order in which they are read. At any time
//!
//! ```text
//! base ≤ written by each sink ≤ … done … ≤ claimed ≤ assembled ≤ read by each source ≤ base + capacity
//! ```
//!
//! An item holds one of `capacity` tokens from the moment at which the first source reads
//! its part until the last sink has written it. Tokens are given out in input order, and
//! they come back in input order (`base` advances only over items that every sink has
//! written). The token of item `n` has a slot, `n % capacity`, which holds its parts and
//! its results. This is the only bound: there is always room for finished results.
//!
//! # Steps
//!
//! Under one lock, a worker *publishes* the outcome of its last step and *chooses* the
//! next:
//!
//! | step | possible if |
//! |---|---|
//! | write `n` with sink `k` | no worker uses sink `k`, and its next item, `n`, is done |
//! | read part `s` of item `n` | no worker uses source `s`, and `n < base + capacity` |
//! | process `n` | all its parts were read, no worker has claimed it, and fewer than `in_stages` workers process an item |
//! | leave | everything below `limit` was written, or the run was stopped |
//!
//! Only items below `limit` are touched. The end of the input and the first failure (in
//! input order) lower `limit` to the item at which they happened; so everything before it
//! is still written, in order. A panic or a cancellation stops the run: no further step is
//! chosen.
//!
//! # No cycle of waits
//!
//! Suppose that no worker is in a step, and the run is not over. Then `base < limit`, and
//! some step is possible for item `base`, whatever the capacity and the number of workers:
//!
//! 1. The item has its token by definition. If a part of it was not read, reading that part
//!    is possible.
//! 2. If all parts were read and the item is not claimed, processing it is possible: no worker
//!    processes an item.
//! 3. If it was claimed, it is done, as no worker is in a step. Each sink that has not
//!    written it is free and has written all items before it. So writing it is possible.
//!
//! A step waits for nothing that belongs to the pipeline: it runs a closure of the user, and
//! then it publishes.
//!
//! # No wake-up is lost
//!
//! A worker that can choose no step lists itself in `sleepers` under the same lock under
//! which it looked. Every event that makes a step possible, or ends the run, is published
//! under that lock. If it is published before the look, the look finds it; if after the
//! listing, the publishing worker finds the sleeper. The publishing worker takes one
//! sleeper from the list and unparks that worker, whether it sleeps already or
//! not; if it is not asleep yet, it will not fall asleep.
//!
//! A worker that is about to choose first counts the possible steps. If there is one beside
//! its own, it wakes a sleeper, unless a woken worker is still `on_its_way`: that worker
//! will do the same before it chooses. The waker releases the lock for the wake-up, and
//! counts again before it chooses. So, whenever the lock is free, one of these holds:
//!
//! 1. No step is possible.
//! 2. No worker sleeps.
//! 3. A woken worker is on its way.
//!
//! The last worker that is awake never sleeps (see above: no worker is in a step, so a step
//! is possible), and a worker that leaves wakes all others. A cancellation, too, is
//! published under the lock, and wakes all workers.
//!
//! The wake-up comes before the choice for speed only. A woken worker often preempts its
//! waker, on the same processor. It would find no step that the waker holds, and would sleep
//! again; so the two would take turns on one processor for as long as the run lasts.
//!
//! # Workers that are tasks
//!
//! A worker may be a task. It does the same steps, but where a thread sleeps on its word, a
//! task leaves its waker in the list. It does so under the lock, so a worker that takes the
//! entry off the list wakes the task with the waker of its last poll. A spurious poll finds
//! the task's entry still there, and takes it off as if the task had not slept.
//!
//! A step of a task may wait for I/O for as long as the other end likes. There are more
//! tasks than sources and sinks together, so such steps never use up all tasks; the
//! argument above holds for the rest. A task that waits in a step leaves its waker in
//! `pending`, under the lock, after it has checked whether the run is over. The worker that
//! ends the run takes these wakers as well: if that happens before the check, the task sees
//! the end; if after it, the task is woken. It then gives its step up. A task that its
//! executor drops stops the run, so no other waits for its step.
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use blitz_io_core::CachePadded;
use blitz_io_core::{Lock, LockGuard, Parker, Spin, processors};
use blitz_io_futex::atomic::AtomicBool;
use blitz_io_futex::atomic::Ordering::Relaxed;
use blitz_io_observe::{Blocking, Caller, Kind, Object};

use crate::progress::Progress;
use crate::state::{Listed, Outcome, Size, State, Step};

/// Decides which worker does what next; see the module documentation.
#[derive(Debug)]
pub struct Scheduler {
    state: Lock<State>,
    parkers: Box<[CachePadded<Parker>]>,
    cancelled: Arc<AtomicBool>,
    /// Its readers are the workers.
    pub object: Object,
}

impl Scheduler {
    pub fn new(size: Size, cancelled: Arc<AtomicBool>) -> Self {
        Self {
            state: Lock::new(State::new(size)),
            parkers: (0..size.workers).map(|_| CachePadded::default()).collect(),
            cancelled,
            object: Object::new(),
        }
    }

    /// Publishes what worker `me` has done, and chooses what it does next.
    pub fn next(&self, me: usize, outcome: Outcome) -> Step {
        let mut state = self.state.lock();
        state.publish(outcome);
        loop {
            state = self.wake_for_the_rest(state);
            state = match self.choose(state) {
                Ok(step) => return step,
                Err(state) => self.sleep(me, state),
            }
        }
    }

    /// Does the same as `next` for a worker that is a task. After `Pending`, the task will
    /// be woken.
    pub fn poll_next(&self, me: usize, outcome: &mut Outcome, cx: &Context<'_>) -> Poll<Step> {
        let waker = cx.waker().clone();
        let outcome = std::mem::replace(outcome, Outcome::Woken);
        let mut state = self.state.lock();
        let mut old = None;
        if outcome == Outcome::Woken {
            let listed = state.sleepers.iter().position(|it| it.worker == me);
            match listed {
                Some(at) => old = state.sleepers.swap_remove(at).waker,
                None => state.on_its_way = false,
            }
        }
        state.publish(outcome);
        state = self.wake_for_the_rest(state);
        let chosen = match self.choose(state) {
            Ok(step) => Poll::Ready(step),
            Err(state) => {
                drop(self.list(me, state, Some(waker)));
                Poll::Pending
            }
        };
        drop(old);
        chosen
    }

    /// Polls for the end of the run while a step of worker `me`, a task, waits for I/O. Returns `Ready` at
    /// the end, so that the worker gives the step up.
    pub fn poll_given_up(&self, me: usize, cx: &Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        let mut state = self.state.lock();
        if state.stopped || state.is_over() {
            return Poll::Ready(());
        }
        let old = state.pending[me].replace(waker);
        drop(state);
        drop(old);
        Poll::Pending
    }

    /// Counts a worker that is a task and has left.
    pub fn left(&self) {
        let mut state = self.state.lock();
        state.remaining -= 1;
        let last = state.remaining == 0;
        let runner = state.runner.take_if(|_| last);
        drop(state);
        if let Some(runner) = runner {
            runner.wake();
        }
    }

    /// Waits until all workers that are tasks have left.
    pub fn poll_left(&self, cx: &Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        let mut state = self.state.lock();
        if state.remaining == 0 {
            return Poll::Ready(());
        }
        let old = state.runner.replace(waker);
        drop(state);
        drop(old);
        Poll::Pending
    }

    /// Drops the waker of the task that waited for the workers to leave.
    pub fn forget_runner(&self) {
        let runner = self.state.lock().runner.take();
        drop(runner);
    }

    /// Stops the run at once: a closure has panicked, or the run is cancelled.
    pub fn stop(&self) {
        let mut state = self.state.lock();
        state.stopped = true;
        self.release(state);
    }

    /// Returns `true` if no worker is needed any more.
    pub fn has_ended(&self) -> bool {
        let state = self.state.lock();
        self.cancelled.load(Relaxed) || state.stopped || state.is_over()
    }

    /// Returns the item that every sink will write next.
    pub fn written(&self) -> u64 {
        self.state.lock().base
    }

    /// Returns `true` if the run was stopped before its end.
    pub fn was_stopped(&self) -> bool {
        let state = self.state.lock();
        state.stopped && !state.is_over()
    }

    /// Returns the item at which a source ended before another, and the number of that
    /// source.
    pub fn uneven(&self) -> Option<(u64, usize)> {
        self.state.lock().uneven
    }

    pub fn progress(&self) -> Progress {
        self.state.lock().progress()
    }

    /// Chooses a step, if one is possible; otherwise returns the guard of the locked state.
    #[inline(always)]
    fn choose<'a>(&'a self, mut state: LockGuard<'a, State>) -> Result<Step, LockGuard<'a, State>> {
        if self.cancelled.load(Relaxed) {
            state.stopped = true;
        }
        match state.choose() {
            Some(Step::Leave) => {
                self.release(state);
                Ok(Step::Leave)
            }
            Some(step) => Ok(step),
            None => Err(state),
        }
    }

    /// Wakes another worker, if there is more to do than this one takes. This worker has not
    /// chosen its step yet: the woken worker may preempt it on this processor, and would
    /// find no step if this worker held it.
    #[inline]
    fn wake_for_the_rest<'a>(&'a self, state: LockGuard<'a, State>) -> LockGuard<'a, State> {
        if state.sleepers.is_empty() || state.on_its_way {
            return state;
        }
        self.wake_another(state)
    }

    #[cold]
    fn wake_another<'a>(&'a self, mut state: LockGuard<'a, State>) -> LockGuard<'a, State> {
        while !state.on_its_way && state.can_choose_twice() {
            let Some(sleeper) = state.sleepers.pop() else {
                break;
            };
            state.on_its_way = true;
            drop(state);
            self.wake(sleeper);
            state = self.state.lock();
        }
        state
    }

    fn wake(&self, sleeper: Listed) {
        match sleeper.waker {
            None => self.parkers[sleeper.worker].unpark(),
            Some(waker) => waker.wake(),
        }
    }

    /// Ends the run: wakes all workers.
    #[cold]
    fn release(&self, mut state: LockGuard<'_, State>) {
        let sleepers = std::mem::take(&mut state.sleepers);
        let pending: Vec<Waker> = state.pending.iter_mut().filter_map(Option::take).collect();
        drop(state);
        sleepers.into_iter().for_each(|sleeper| self.wake(sleeper));
        pending.into_iter().for_each(Waker::wake);
    }

    fn list<'a>(
        &'a self,
        worker: usize,
        mut state: LockGuard<'a, State>,
        waker: Option<Waker>,
    ) -> LockGuard<'a, State> {
        state.sleepers.push(Listed { worker, waker });
        state
    }

    #[cold]
    fn sleep<'a>(&'a self, me: usize, state: LockGuard<'a, State>) -> LockGuard<'a, State> {
        let state = self.list(me, state, None);
        // Spinning helps if there is a processor for each worker.
        let spins = state.size.workers <= processors();
        drop(state);
        let parker = &self.parkers[me];
        if spins {
            let mut spin = Spin::PAUSE;
            while !parker.is_notified() && spin.turn() {}
        }
        {
            let _waits = Blocking::new(Kind::PipelineWorker, &self.object, Caller::UNKNOWN, false);
            parker.park(None);
        }
        let mut state = self.state.lock();
        state.on_its_way = false;
        state
    }

    /// Panics unless no step is possible, no worker sleeps, or a woken worker is on its way.
    /// For models: see "No wake-up is lost" in the module documentation.
    #[cfg(loom)]
    pub fn assert_no_lost_wake_up(&self) {
        let state = self.state.lock();
        assert!(
            state.sleepers.is_empty() || state.on_its_way || !state.can_choose(),
            "a worker sleeps beside a possible step"
        );
    }
}
