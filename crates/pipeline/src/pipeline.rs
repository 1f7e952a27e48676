//! `Pipeline`: a complete pipeline, and its run on threads.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use blitz_io_observe::{Caller, Kind, Wait, WaitKind};

use crate::closures::{MakeWork, Sink, Source, Work};
use crate::control::Control;
use crate::error::{Error, Place};
use crate::progress::Progress;
use crate::run::Run;
use crate::scheduler::Scheduler;
use crate::state::Size;
use crate::worker::{Read, Steps, work};

/// Tokens for each worker, unless [`Pipeline::capacity`] is set. One is for the item in work,
/// and one for the item that waits for the worker. Two are for items that have to wait for a
/// slow older item.
const TOKENS_PER_WORKER: usize = 4;

/// The largest capacity. Each item in memory has its place from the beginning of the run.
const MAX_CAPACITY: usize = 1 << 24;

/// A complete pipeline: sources of `P`, stages, and sinks of `T`.
///
/// Made by [`Stages::sink`](crate::Stages::sink) and related methods. Nothing happens until
/// [`run`](Self::run).
#[must_use = "a pipeline does nothing until it runs"]
pub struct Pipeline<'a, P, T, E, S = Source<'a, P, E>, K = Sink<'a, T, E>> {
    pub(crate) sources: Vec<S>,
    pub(crate) work: MakeWork<'a, P, T, E>,
    pub(crate) sinks: Vec<K>,
    workers: usize,
    in_stages: Option<usize>,
    capacity: Option<usize>,
    ordered: bool,
    pub(crate) control: Control,
}

impl<'a, P, T, E, S, K> Pipeline<'a, P, T, E, S, K> {
    pub(crate) fn new(sources: Vec<S>, work: MakeWork<'a, P, T, E>, sinks: Vec<K>) -> Self {
        Self {
            sources,
            work,
            sinks,
            workers: blitz_io_core::processors(),
            in_stages: None,
            capacity: None,
            ordered: true,
            control: Control::new(),
        }
    }

    /// Sets how many threads work in all: the calling one, and others that are started for
    /// the run, one after the other until the run ends. One is enough. The default is one for each
    /// processor. (A run on tasks has this many tasks, and one more for each source and sink.)
    ///
    /// The run has memory for all of them from the beginning, so use a number near that of the processors.
    ///
    /// # Panics
    ///
    /// Panics if `workers` is 0.
    #[track_caller]
    pub fn workers(mut self, workers: usize) -> Self {
        assert!(workers > 0, "a pipeline has at least one worker");
        self.workers = workers;
        self
    }

    /// Sets how many of the workers may be in the stages at the same time. The others only read
    /// and write. The default is all.
    ///
    /// So a program can have `n` threads that compute, and a few that keep sources and sinks
    /// going: `workers(n + 2).in_stages(n)`.
    ///
    /// # Panics
    ///
    /// Panics if `workers` is 0.
    #[track_caller]
    pub fn in_stages(mut self, workers: usize) -> Self {
        assert!(
            workers > 0,
            "a pipeline has at least one worker in its stages"
        );
        self.in_stages = Some(workers);
        self
    }

    /// Sets how many items are in memory at most, from their reading to the end of their
    /// writing. Any number is enough. The default is 4 for each worker. Each item has its place from
    /// the beginning of the run, so a large capacity needs memory also if there are few items.
    ///
    /// # Panics
    ///
    /// Panics if `items` is 0 or more than 2<sup>24</sup>.
    #[track_caller]
    pub fn capacity(mut self, items: usize) -> Self {
        assert!(items > 0, "a pipeline has room for at least one item");
        assert!(
            items <= MAX_CAPACITY,
            "a pipeline has room for at most 2^24 items: each has its place from the beginning"
        );
        self.capacity = Some(items);
        self
    }

    /// Lets the sinks take results as soon as they are ready. (One slow item still keeps
    /// the source from reading more than `capacity` items beyond it.)
    pub fn unordered(mut self) -> Self {
        self.ordered = false;
        self
    }

    /// Sets the control that observes this run, and can cancel it.
    pub fn control(mut self, control: &Control) -> Self {
        self.control = control.clone();
        self
    }

    pub(crate) fn size(&self) -> Size {
        Size {
            sources: self.sources.len(),
            sinks: self.sinks.len(),
            workers: self.workers,
            in_stages: self.in_stages.unwrap_or(usize::MAX),
            capacity: self.capacity.unwrap_or_else(|| {
                let tokens = self.workers.saturating_mul(TOKENS_PER_WORKER);
                tokens.min(MAX_CAPACITY)
            }),
            ordered: self.ordered,
        }
    }
}

impl<P, T, E> Pipeline<'_, P, T, E>
where
    P: Send,
    T: Send,
    E: Send,
{
    /// Runs the pipeline to its end, and returns how far it came.
    ///
    /// If a thread cannot be started, the others do its work.
    ///
    /// # Errors
    ///
    /// Returns an error if a closure fails, sources are uneven, or the run was cancelled:
    /// see [`Error`]. A failure stops the pipeline in order: everything before the first
    /// item that failed is still read, processed and written.
    ///
    /// # Panics
    ///
    /// Panics if a closure panics, with the same panic, after all threads have ended. Steps
    /// in progress run to their end then; no other step begins.
    #[track_caller]
    pub fn run(self) -> Result<Progress, Error<E>> {
        let made_at = Caller::here();
        let size = self.size();
        let scheduler = Arc::new(Scheduler::new(size, self.control.flag()));
        self.control.watch(&scheduler);
        let threads = Threads {
            scheduler: &scheduler,
            run: Run::new(size, self.sources, self.sinks),
        };
        threads.start(size.workers, &self.work, made_at);
        threads.run.end(&scheduler)?;
        Ok(self
            .control
            .progress()
            .unwrap_or_else(|| scheduler.progress()))
    }
}

/// A run on threads.
struct Threads<'r, 'a, P, T, E> {
    scheduler: &'r Scheduler,
    run: Run<P, T, E, Source<'a, P, E>, Sink<'a, T, E>>,
}

impl<'a, P, T, E> Threads<'_, 'a, P, T, E>
where
    P: Send,
    T: Send,
    E: Send,
{
    /// Runs all workers to their end. With more than one, the calling thread only waits: a
    /// system often starts a thread on the processor of its parent, and leaves it there as
    /// long as the parent is busy.
    fn start(&self, workers: usize, make: &MakeWork<'a, P, T, E>, made_at: Caller) {
        if workers == 1 {
            return self.worker(0, make);
        }
        let mut record = Wait::new(made_at);
        thread::scope(|scope| {
            for me in 0..workers {
                // The first ones may have done all the work, or the run is cancelled.
                if me > 0 && self.scheduler.has_ended() {
                    break;
                }
                let thread = thread::Builder::new().name(format!("pipeline-{me}"));
                let started = thread.spawn_scoped(scope, move || self.worker(me, make));
                if started.is_err() {
                    if me == 0 {
                        self.worker(0, make);
                    }
                    break;
                }
            }
            // The end of the scope waits for the workers.
            record.begin_blocking(WaitKind::new(Kind::Pipeline), &self.scheduler.object, false);
        });
    }

    fn worker(&self, me: usize, make: &MakeWork<'a, P, T, E>) {
        self.scheduler.object.acquired_shared();
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let mut worker = Worker {
                run: &self.run,
                work: make(),
            };
            work(self.scheduler, me, &mut worker);
        }));
        if let Err(payload) = ended {
            self.run.panicked(payload);
            self.scheduler.stop();
        }
        self.scheduler.object.released_shared();
    }
}

struct Worker<'s, 'a, P, T, E> {
    run: &'s Run<P, T, E, Source<'a, P, E>, Sink<'a, T, E>>,
    work: Work<'a, P, T, E>,
}

impl<P: Send, T: Send, E: Send> Steps for Worker<'_, '_, P, T, E> {
    fn read(&mut self, source: usize, item: u64) -> Read {
        // SAFETY: the step is this worker's, and the source and the part belong to it.
        let (next, part) = unsafe {
            (
                self.run.sources.get(source as u64),
                self.run.parts[source].get(item),
            )
        };
        match next() {
            Ok(Some(value)) => {
                *part = Some(value);
                Read::Part
            }
            Ok(None) => Read::End,
            Err(error) => {
                self.run.failed(item, Place::Source(source), error);
                Read::Failed
            }
        }
    }

    fn process(&mut self, item: u64) -> bool {
        // SAFETY: the step is this worker's.
        unsafe { self.run.process(&mut self.work, item) }
    }

    fn write(&mut self, sink: usize, from: u64, to: u64) -> u64 {
        for item in from..to {
            // SAFETY: the step is this worker's, and the sink and its results belong to it.
            let (write, results) = unsafe {
                (
                    self.run.sinks.get(sink as u64),
                    self.run.results[sink].get(item),
                )
            };
            for value in results.drain() {
                if let Err(error) = write(value) {
                    self.run.failed(item, Place::Sink(sink), error);
                    return item;
                }
            }
        }
        to
    }
}

impl<P, T, E, S, K> fmt::Debug for Pipeline<'_, P, T, E, S, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline")
            .field("sources", &self.sources.len())
            .field("sinks", &self.sinks.len())
            .field("workers", &self.workers)
            .field("capacity", &self.capacity)
            .field("ordered", &self.ordered)
            .finish_non_exhaustive()
    }
}
