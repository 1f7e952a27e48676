//! The state that the workers of a run share, and which step is possible: the
//! scheduler's tables, without its lock. `scheduler.rs` has the proof.

use std::collections::VecDeque;
use std::task::Waker;

use crate::progress::{Progress, Waits};

/// No limit is known yet.
const UNLIMITED: u64 = u64::MAX;

/// The next step of a worker.
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

/// The outcome of a worker's last step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// There was no step.
    Nothing,
    /// The worker was woken, or polled.
    Woken,
    /// A part of an item was read.
    Read { source: usize },
    /// The source has no more items.
    End { source: usize },
    /// The source failed.
    ReadFailed { source: usize },
    /// The results of this item are in its slot.
    Processed { item: u64 },
    /// This item failed.
    ProcessFailed { item: u64 },
    /// Items from `from` up to `to` were written; if it `failed`, it failed at `to`.
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
    /// Number of workers that may process items at the same time.
    pub in_stages: usize,
    pub capacity: usize,
    pub ordered: bool,
}

impl Size {
    /// Returns the number of slots: a power of two, so that an item finds its own without
    /// a division.
    pub fn slots(&self) -> usize {
        let slots = self.capacity.checked_next_power_of_two();
        slots.unwrap_or(usize::MAX)
    }
}

#[derive(Debug)]
pub struct Source {
    /// The item whose part it reads next.
    next: u64,
    busy: bool,
    ended: bool,
}

#[derive(Debug)]
pub struct Sink {
    /// The item that it writes next, if items are written in order.
    next: u64,
    /// The items that it can write, if they are not written in order.
    ready: VecDeque<u64>,
    busy: bool,
}

#[derive(Clone, Debug)]
pub struct Slot {
    pub done: bool,
    /// Number of sinks that have not written it.
    unwritten: usize,
}

#[derive(Debug)]
pub struct State {
    pub size: Size,
    sources: Box<[Source]>,
    sinks: Box<[Sink]>,
    pub slots: Box<[Slot]>,
    pub base: u64,
    claimed: u64,
    processed: u64,
    limit: u64,
    /// `true` if the limit is that of a failure, and not the end of the input.
    failed: bool,
    /// Item and source, if a source ended before another.
    pub uneven: Option<(u64, usize)>,
    pub stopped: bool,
    pub sleepers: Vec<Listed>,
    pub on_its_way: bool,
    /// For each worker that is a task, the waker of a step that waits for I/O.
    pub pending: Box<[Option<Waker>]>,
    /// Number of workers that are tasks and have not left.
    pub remaining: usize,
    /// Wakes the task that waits until no worker remains.
    pub runner: Option<Waker>,
}

/// A worker that sleeps.
#[derive(Debug)]
pub struct Listed {
    pub worker: usize,
    /// Its waker, if it is a task.
    pub waker: Option<Waker>,
}

impl State {
    pub fn new(size: Size) -> Self {
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
            slots: vec![slot; size.slots()].into_boxed_slice(),
            base: 0,
            claimed: 0,
            processed: 0,
            limit: UNLIMITED,
            failed: false,
            uneven: None,
            stopped: false,
            sleepers: Vec::with_capacity(size.workers),
            on_its_way: false,
            pending: (0..size.workers).map(|_| None).collect(),
            remaining: size.workers,
            runner: None,
        }
    }

    #[inline]
    fn slot_of(&self, item: u64) -> usize {
        item as usize & (self.slots.len() - 1)
    }

    #[inline]
    fn slot(&mut self, item: u64) -> &mut Slot {
        let slot = self.slot_of(item);
        &mut self.slots[slot]
    }

    /// Returns how many items were read from every source.
    #[inline]
    fn assembled(&self) -> u64 {
        self.sources
            .iter()
            .map(|source| source.next)
            .min()
            .unwrap_or(0)
    }

    #[inline(always)]
    pub fn publish(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Nothing | Outcome::Woken => {}
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

    /// Records a failure at this item: everything before it is still written.
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

    /// Chooses a step and claims what it needs. Returns `None` if no step is possible.
    #[inline(always)]
    pub fn choose(&mut self) -> Option<Step> {
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

    /// Returns the most urgent step that is possible: results go out first, and there
    /// should always be an item to process.
    ///
    /// But a step costs one use of the lock, and a step that writes many items costs no
    /// more than one that writes a single item. So results wait, until there are two for
    /// each worker, as long as there is an item to process and another worker is processing
    /// one, which looks again when it has finished.
    ///
    /// If only some workers may be in the stages, these stay there as long as there are items: what
    /// they use is in their caches, and the others read and write.
    // Inlined, so that a step goes through registers.
    #[inline(always)]
    fn possible(&self) -> Option<Step> {
        if self.stopped {
            return Some(Step::Leave);
        }
        let item = self.claimed;
        let waiting = self.assembled().saturating_sub(item);
        // An item that failed stays in work, but no later one is processed anyway.
        let in_work = item - self.processed;
        let can_process = waiting > 0 && item < self.limit && in_work < self.size.in_stages as u64;
        let is_short = waiting < self.size.workers as u64;
        let done = self.processed.saturating_sub(self.base);
        let can_wait = in_work > 0 && done < 2 * self.size.workers as u64;

        if can_process && self.size.in_stages < self.size.workers {
            return Some(Step::Process { item });
        }
        if !(can_wait && can_process) {
            let write = (0..self.sinks.len()).find_map(|sink| self.can_write(sink));
            if write.is_some() {
                return write;
            }
        }
        if is_short || !can_process {
            let read = (0..self.sources.len()).find_map(|source| self.can_read(source));
            if read.is_some() {
                return read;
            }
        }
        if can_process {
            return Some(Step::Process { item });
        }
        self.is_over().then_some(Step::Leave)
    }

    /// Returns `true` if another worker would find a step after this one has chosen its own. The end
    /// of the run does not count: a worker that leaves wakes all others.
    pub fn can_choose_twice(&mut self) -> bool {
        let Some(step) = self.choose() else {
            return false;
        };
        let twice = step != Step::Leave && self.can_choose();
        self.unchoose(step);
        twice
    }

    /// Undoes a choice.
    fn unchoose(&mut self, step: Step) {
        match step {
            Step::Read { source, .. } => self.sources[source].busy = false,
            Step::Process { .. } => self.claimed -= 1,
            Step::Write { sink, from, .. } => {
                self.sinks[sink].busy = false;
                if !self.size.ordered {
                    self.sinks[sink].ready.push_front(from);
                }
            }
            Step::Leave => {}
        }
    }

    /// Returns `true` if `choose` would find a step.
    #[cold]
    pub fn can_choose(&self) -> bool {
        self.possible().is_some()
    }

    #[inline]
    fn can_write(&self, index: usize) -> Option<Step> {
        let sink = &self.sinks[index];
        if sink.busy {
            return None;
        }
        let (from, mut to) = if self.size.ordered {
            let until = self.claimed.min(self.limit);
            let done = |&item: &u64| self.slots[self.slot_of(item)].done;
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
        // A source that has more items than another is read once beyond the other's end.
        let limited = item > self.limit || (item == self.limit && self.failed);
        let has_token = item < self.base + self.size.capacity as u64;
        (has_token && !source.busy && !source.ended && !limited).then_some(Step::Read {
            source: index,
            item,
        })
    }

    #[inline]
    pub fn is_over(&self) -> bool {
        self.base >= self.limit && (self.failed || self.sources.iter().all(|source| source.ended))
    }

    pub fn progress(&self) -> Progress {
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
