//! `Scheduler`: which worker does what next, and why no pipeline can hang.
//!
//! # Workers
//!
//! All workers of a pipeline are the same. Nobody *is* the reader or the writer: whichever
//! worker is free reads the next item, processes one, or writes the next result. So one
//! worker is enough to run any pipeline, and each further one only makes it faster.
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
//! its part until the last sink is through with it. Tokens are given out in input order, and
//! they come back in input order (`base` moves on only over items that every sink has
//! written). The token of item `n` has a slot, `n % capacity`, in which its parts and its
//! results lie. This is the only bound: whatever a worker has finished, there is room for.
//!
//! # Steps
//!
//! Under one lock, a worker *publishes* the outcome of its last step and *chooses* the next:
//!
//! | step | possible if |
//! |---|---|
//! | write `n` with sink `k` | nobody uses sink `k`, and `n` is done and the next for it |
//! | read part `s` of item `n` | nobody uses source `s`, and `n < base + capacity` |
//! | process `n` | all its parts were read, and nobody has claimed it |
//! | leave | everything below `limit` was written, or the run was stopped |
//!
//! Only items below `limit` are touched. The end of the input and the first failure (in
//! input order) lower `limit` to the item at which they happened; so what came before is
//! still written, in order. A panic and a cancellation stop the run: nothing more is chosen.
//!
//! # No cycle of waits
//!
//! Say nobody is in a step, and the run is not over. Then `base < limit`. Item `base` has its
//! token by definition, so if a part of it was not read, reading it is possible. If all were
//! read and it is not claimed, processing it is possible. If it was claimed, it is done, as
//! nobody is in a step; each sink that has not written it is free and has written all before
//! it, so writing it is possible. In each case some step is possible, whatever the
//! capacity and the number of workers. A step waits for nothing that belongs to the
//! pipeline: it runs a closure of the user, and after that it publishes.
//!
//! # No wake-up is lost
//!
//! A worker that can choose nothing lists itself in `sleepers` under the same lock under
//! which it looked. All that makes a step possible, or ends the run, is published under that
//! lock: before the look, then the look finds it; or after the listing, then the publishing
//! worker finds the sleeper. It takes one from the list and changes that worker's own
//! word, whether it sleeps already or not; if it is not asleep yet, it will not fall asleep.
//!
//! A worker that publishes wakes at most one other, if there is more to do than it takes
//! itself, and none while a woken one is still `on_its_way`: that one looks at everything,
//! and wakes the next in turn. So, whenever the lock is free: nothing is possible, or nobody
//! sleeps, or somebody is on its way. The last worker that is awake never sleeps (see above:
//! nobody is in a step, so something is possible), and a worker that leaves wakes everybody.
//! Cancelling wakes nobody: a sleeper exists only beside a worker in a step, which sees it.

use std::collections::VecDeque;
use std::sync::Arc;

use blitz_futex::atomic::AtomicBool;
use blitz_futex::atomic::Ordering::Relaxed;
use blitz_sync::internals::{Lock, LockGuard};
use crossbeam_utils::CachePadded;

use crate::mutant::{Mutant, active};
use crate::progress::{Progress, Waits};
use crate::sleeper::Sleeper;

/// No limit is known yet.
const UNLIMITED: u64 = u64::MAX;

/// What a worker does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Read this part of this item.
    Read { source: usize, item: u64 },
    /// Process this item.
    Process { item: u64 },
    /// Write these items, in order.
    Write { sink: usize, from: u64, to: u64 },
    /// The run is over.
    Leave,
}

/// What came of a worker's last step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// There was none.
    Nothing,
    /// A part of an item was read.
    Read { source: usize },
    /// The source has no more.
    End { source: usize },
    /// The source failed.
    ReadFailed { source: usize },
    /// The results of this item are in its slot.
    Processed { item: u64 },
    /// This item failed.
    ProcessFailed { item: u64 },
    /// All up to `to` were written, of those from `from`; if it `failed`, it did at `to`.
    Wrote {
        sink: usize,
        from: u64,
        to: u64,
        failed: bool,
    },
}

/// The size of a pipeline.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub sources: usize,
    pub sinks: usize,
    pub workers: usize,
    pub capacity: usize,
    pub ordered: bool,
}

#[derive(Debug)]
struct Source {
    /// The item of which it reads its part next.
    next: u64,
    busy: bool,
    ended: bool,
}

#[derive(Debug)]
struct Sink {
    /// The item that it writes next, if items are written in order.
    next: u64,
    /// What it can write, if they are not.
    ready: VecDeque<u64>,
    busy: bool,
}

#[derive(Clone, Debug)]
struct Slot {
    done: bool,
    /// How many sinks have not written it.
    unwritten: usize,
}

#[derive(Debug)]
struct State {
    size: Size,
    sources: Box<[Source]>,
    sinks: Box<[Sink]>,
    slots: Box<[Slot]>,
    base: u64,
    claimed: u64,
    processed: u64,
    limit: u64,
    /// The limit is a failure's, not the end of the input.
    failed: bool,
    /// Item and source, if a source ended before another.
    uneven: Option<(u64, usize)>,
    stopped: bool,
    sleepers: Vec<usize>,
    on_its_way: bool,
}

/// See the head of this file.
#[derive(Debug)]
pub struct Scheduler {
    state: Lock<State>,
    sleepers: Box<[CachePadded<Sleeper>]>,
    cancelled: Arc<AtomicBool>,
}

impl Scheduler {
    pub fn new(size: Size, cancelled: Arc<AtomicBool>) -> Self {
        Self {
            state: Lock::new(State::new(size)),
            sleepers: (0..size.workers).map(|_| CachePadded::default()).collect(),
            cancelled,
        }
    }

    /// Publishes what worker `me` has done, and chooses what it does next.
    pub fn next(&self, me: usize, outcome: Outcome) -> Step {
        let mut state = self.state.lock();
        if active(Mutant::ResultsWaitForRoom) {
            state = self.wait_for_room(me, state, outcome);
        }
        state.publish(outcome);
        loop {
            if self.cancelled.load(Relaxed) {
                state.stopped = true;
            }
            match state.choose() {
                Some(Step::Leave) => {
                    self.release(state);
                    return Step::Leave;
                }
                Some(step) => {
                    self.wake_for_the_rest(state);
                    return step;
                }
                None => state = self.sleep(me, state),
            }
        }
    }

    /// Stops the run at once: a closure has panicked.
    pub fn stop(&self) {
        let mut state = self.state.lock();
        state.stopped = true;
        self.release(state);
    }

    /// The item that every sink will write next.
    pub fn written(&self) -> u64 {
        self.state.lock().base
    }

    /// Whether the run ended before its time.
    pub fn was_stopped(&self) -> bool {
        let state = self.state.lock();
        state.stopped && !state.is_over()
    }

    /// The item at which a source ended before another, and which one it was.
    pub fn uneven(&self) -> Option<(u64, usize)> {
        self.state.lock().uneven
    }

    pub fn progress(&self) -> Progress {
        self.state.lock().progress()
    }

    /// Wakes another worker, if there is more to do than this one takes.
    #[inline]
    fn wake_for_the_rest(&self, mut state: LockGuard<'_, State>) {
        if state.sleepers.is_empty() || state.on_its_way || state.possible().is_none() {
            return;
        }
        if active(Mutant::KeepsWorkToItself) {
            panic!("a worker sleeps beside a possible step");
        }
        let sleeper = state.sleepers.pop();
        state.on_its_way = true;
        drop(state);
        if let Some(sleeper) = sleeper {
            self.sleepers[sleeper].wake();
        }
    }

    /// The run is over: wakes everybody.
    #[cold]
    fn release(&self, mut state: LockGuard<'_, State>) {
        if active(Mutant::EndIsNoEvent) {
            return;
        }
        let sleepers = std::mem::take(&mut state.sleepers);
        drop(state);
        for sleeper in sleepers {
            self.sleepers[sleeper].wake();
        }
    }

    #[cold]
    fn sleep<'a>(&'a self, me: usize, state: LockGuard<'a, State>) -> LockGuard<'a, State> {
        let mut state = state;
        if active(Mutant::LooksBeforeItIsListed) {
            drop(state);
            state = self.state.lock();
        }
        state.sleepers.push(me);
        let spin = state.size.workers <= blitz_sync::internals::processors();
        drop(state);
        self.sleepers[me].sleep(spin);
        let mut state = self.state.lock();
        state.on_its_way = false;
        state
    }

    /// A mistake that some pipelines make: see `docs/pipelines.md`.
    #[cold]
    fn wait_for_room<'a>(
        &'a self,
        me: usize,
        state: LockGuard<'a, State>,
        outcome: Outcome,
    ) -> LockGuard<'a, State> {
        let mut state = state;
        if matches!(outcome, Outcome::Processed { .. }) {
            while !state.stopped && state.slots.iter().any(|slot| slot.done) {
                state = self.sleep(me, state);
            }
        }
        state
    }
}

impl State {
    fn new(size: Size) -> Self {
        let source = |_| Source {
            next: 0,
            busy: false,
            ended: false,
        };
        let sink = |_| Sink {
            next: 0,
            ready: VecDeque::new(),
            busy: false,
        };
        let slot = Slot {
            done: false,
            unwritten: 0,
        };
        Self {
            size,
            sources: (0..size.sources).map(source).collect(),
            sinks: (0..size.sinks).map(sink).collect(),
            slots: vec![slot; size.capacity].into_boxed_slice(),
            base: 0,
            claimed: 0,
            processed: 0,
            limit: UNLIMITED,
            failed: false,
            uneven: None,
            stopped: false,
            sleepers: Vec::with_capacity(size.workers),
            on_its_way: false,
        }
    }

    #[inline]
    fn slot(&mut self, item: u64) -> &mut Slot {
        let slots = self.slots.len() as u64;
        &mut self.slots[(item % slots) as usize]
    }

    /// How many items were read by every source.
    #[inline]
    fn assembled(&self) -> u64 {
        self.sources
            .iter()
            .map(|source| source.next)
            .min()
            .unwrap_or(0)
    }

    #[inline]
    fn publish(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Nothing => {}
            Outcome::Read { source } => self.has_read(source),
            Outcome::End { source } => self.has_ended(source),
            Outcome::ReadFailed { source } => {
                let item = self.sources[source].next;
                self.sources[source].busy = false;
                self.fail(item);
            }
            Outcome::Processed { item } => self.is_done(item),
            Outcome::ProcessFailed { item } => self.fail(item),
            Outcome::Wrote {
                sink,
                from,
                to,
                failed,
            } => {
                self.has_written(sink, from, to);
                if failed {
                    self.fail(to);
                }
            }
        }
    }

    #[inline]
    fn has_read(&mut self, source: usize) {
        let item = self.sources[source].next;
        self.sources[source].busy = false;
        self.sources[source].next = item + 1;
        if item >= self.limit && !self.failed {
            let ended = self.sources.iter().position(|source| source.ended);
            self.is_uneven(item, ended.unwrap_or(source));
        }
    }

    #[cold]
    fn has_ended(&mut self, source: usize) {
        let item = self.sources[source].next;
        self.sources[source].busy = false;
        self.sources[source].ended = true;
        if self.limit > item {
            self.limit = item;
            self.failed = false;
        }
        let other = self
            .sources
            .iter()
            .position(|other| other.ended && other.next != item);
        if let Some(other) = other {
            let first = if self.sources[other].next < item {
                other
            } else {
                source
            };
            self.is_uneven(self.sources[first].next, first);
        } else if self.sources.iter().any(|other| other.next > item) {
            self.is_uneven(item, source);
        }
    }

    fn is_uneven(&mut self, item: u64, source: usize) {
        if item <= self.limit {
            self.uneven = Some((item, source));
            self.fail(item);
        }
    }

    #[inline]
    fn is_done(&mut self, item: u64) {
        let sinks = self.size.sinks;
        self.processed += 1;
        let slot = self.slot(item);
        slot.done = true;
        slot.unwritten = sinks;
        if !self.size.ordered && item < self.limit {
            for sink in &mut self.sinks {
                sink.ready.push_back(item);
            }
        }
    }

    #[inline]
    fn has_written(&mut self, sink: usize, from: u64, to: u64) {
        self.sinks[sink].busy = false;
        self.sinks[sink].next = to;
        for item in from..to {
            self.slot(item).unwritten -= 1;
        }
        loop {
            let base = self.base;
            let slot = self.slot(base);
            if !slot.done || slot.unwritten != 0 {
                return;
            }
            slot.done = false;
            self.base = base + 1;
        }
    }

    /// Something failed at this item: what comes before is still written.
    #[cold]
    fn fail(&mut self, item: u64) {
        if item <= self.limit {
            self.limit = item;
            self.failed = true;
        }
        let limit = self.limit;
        for sink in &mut self.sinks {
            sink.ready.retain(|&item| item < limit);
        }
    }

    /// Chooses a step and claims what it needs; `None` if none is possible.
    #[inline]
    fn choose(&mut self) -> Option<Step> {
        let step = self.possible()?;
        match step {
            Step::Read { source, .. } => self.sources[source].busy = true,
            Step::Process { .. } => self.claimed += 1,
            Step::Write { sink, .. } => {
                self.sinks[sink].busy = true;
                self.sinks[sink].ready.pop_front();
            }
            Step::Leave => {}
        }
        Some(step)
    }

    /// The most urgent step that is possible: what is done goes out first, and the workers
    /// shall always find something to process.
    #[inline]
    fn possible(&self) -> Option<Step> {
        if self.stopped {
            return Some(Step::Leave);
        }
        let write = (0..self.sinks.len()).find_map(|sink| self.can_write(sink));
        if write.is_some() {
            return write;
        }
        let read = || (0..self.sources.len()).find_map(|source| self.can_read(source));
        let item = self.claimed;
        let waiting = self.assembled().saturating_sub(item);
        if waiting < self.size.workers as u64 {
            let read = read();
            if read.is_some() {
                return read;
            }
        }
        if waiting > 0 && item < self.limit {
            return Some(Step::Process { item });
        }
        read().or_else(|| self.is_over().then_some(Step::Leave))
    }

    #[inline]
    fn can_write(&self, index: usize) -> Option<Step> {
        let sink = &self.sinks[index];
        if sink.busy {
            return None;
        }
        let slots = self.slots.len() as u64;
        let (from, mut to) = if self.size.ordered {
            let until = self.claimed.min(self.limit);
            let done = |&item: &u64| self.slots[(item % slots) as usize].done;
            let to = (sink.next..until).take_while(done).last()?;
            (sink.next, to)
        } else {
            let &item = sink.ready.front()?;
            (item, item)
        };
        to += 1;
        (from < self.limit).then_some(Step::Write {
            sink: index,
            from,
            to,
        })
    }

    #[inline]
    fn can_read(&self, index: usize) -> Option<Step> {
        let source = &self.sources[index];
        let item = source.next;
        // A source that has more than another must be asked once beyond that one's end.
        let limited = item > self.limit || (item == self.limit && self.failed);
        let has_token = item < self.base + self.size.capacity as u64;
        (has_token && !source.busy && !source.ended && !limited).then_some(Step::Read {
            source: index,
            item,
        })
    }

    #[inline]
    fn is_over(&self) -> bool {
        self.base >= self.limit && (self.failed || self.sources.iter().all(|source| source.ended))
    }

    fn progress(&self) -> Progress {
        let over = self.stopped || self.is_over();
        let has_token = self.assembled() < self.base + self.size.capacity as u64;
        let source = match () {
            () if self.sources.iter().any(|source| source.busy) => Waits::Working,
            () if over || self.limit != UNLIMITED => Waits::Ended,
            () if !has_token => Waits::ForRoom,
            () => Waits::ForWorker,
        };
        let stages = match () {
            () if over => Waits::Ended,
            () if self.claimed > self.processed => Waits::Working,
            () if self.claimed < self.assembled().min(self.limit) => Waits::ForWorker,
            () => Waits::ForInput,
        };
        let sink = match () {
            () if over => Waits::Ended,
            () if self.sinks.iter().any(|sink| sink.busy) => Waits::Working,
            () if (0..self.sinks.len()).any(|sink| self.can_write(sink).is_some()) => {
                Waits::ForWorker
            }
            () if self.base < self.assembled() => Waits::ForItem(self.base),
            () => Waits::ForInput,
        };
        Progress {
            read: self.assembled(),
            processed: self.processed,
            written: self.base,
            bytes: 0,
            source,
            stages,
            sink,
        }
    }
}
