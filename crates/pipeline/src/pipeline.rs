//! `Pipeline`: a complete pipeline, and its run on threads.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::cells::Cells;
use crate::emit::{Emit, Results};
use crate::error::{Error, Place};
use crate::progress::{Control, Progress};
use crate::scheduler::{Scheduler, Size};
use crate::stages::{MakeWork, Sink, Source, Work};
use crate::worker::{Read, Steps, work};

/// Tokens for each worker, if [`Pipeline::capacity`] does not say: one in work, one that
/// waits for it, and two between here and an older item that takes long.
const TOKENS_PER_WORKER: usize = 4;

/// A complete pipeline: sources of `P`, stages, and sinks of `T`.
///
/// Made by [`Stages::sink`](crate::Stages::sink) and its kin. Nothing happens until
/// [`run`](Self::run).
#[must_use = "a pipeline does nothing until it runs"]
pub struct Pipeline<'a, P, T, E> {
    sources: Vec<Source<'a, P, E>>,
    work: MakeWork<'a, P, T, E>,
    sinks: Vec<Sink<'a, T, E>>,
    workers: usize,
    capacity: Option<usize>,
    ordered: bool,
    control: Control,
}

impl<'a, P, T, E> Pipeline<'a, P, T, E>
where
    P: Send,
    T: Send,
    E: Send,
{
    pub(crate) fn new(
        sources: Vec<Source<'a, P, E>>,
        work: MakeWork<'a, P, T, E>,
        sinks: Vec<Sink<'a, T, E>>,
    ) -> Self {
        Self {
            sources,
            work,
            sinks,
            workers: blitz_sync::internals::processors(),
            capacity: None,
            ordered: true,
            control: Control::new(),
        }
    }

    /// Sets how many threads work, in all: the calling one, and others that are started for
    /// the run. One is enough. The default is one for each processor.
    ///
    /// # Panics
    ///
    /// If it is 0.
    pub fn workers(mut self, workers: usize) -> Self {
        assert!(workers > 0, "a pipeline has at least one worker");
        self.workers = workers;
        self
    }

    /// Sets how many items are in memory at most, from their reading to the end of their
    /// writing. Any number is enough. The default is 4 for each worker.
    ///
    /// # Panics
    ///
    /// If it is 0.
    pub fn capacity(mut self, items: usize) -> Self {
        assert!(items > 0, "a pipeline has room for at least one item");
        self.capacity = Some(items);
        self
    }

    /// Lets the sinks take results as soon as they are there. (One slow item still keeps
    /// the source from reading more than `capacity` items beyond it.)
    pub fn unordered(mut self) -> Self {
        self.ordered = false;
        self
    }

    /// Lets `control` look at this run, and cancel it.
    pub fn control(mut self, control: &Control) -> Self {
        self.control = control.clone();
        self
    }

    /// Runs the pipeline to its end, and returns how far it came.
    ///
    /// If a thread cannot be started, the others do its work.
    ///
    /// # Errors
    ///
    /// If a closure fails, sources are uneven, or the run was cancelled: see [`Error`]. A
    /// failure stops the pipeline in order: everything before the first item that failed is
    /// still read, processed and written.
    ///
    /// # Panics
    ///
    /// If a closure panics, with the same panic, after all threads have ended. What is in
    /// progress then goes on to its end; nothing else is begun.
    pub fn run(self) -> Result<Progress, Error<E>> {
        let size = Size {
            sources: self.sources.len(),
            sinks: self.sinks.len(),
            workers: self.workers,
            capacity: self.capacity.unwrap_or(self.workers * TOKENS_PER_WORKER),
            ordered: self.ordered,
        };
        let scheduler = Arc::new(Scheduler::new(size, self.control.flag()));
        self.control.watch(&scheduler);
        let run = Run::new(&scheduler, size, self.sources, self.sinks);
        run.on_threads(size.workers, &self.work);
        run.end()?;
        Ok(self
            .control
            .progress()
            .unwrap_or_else(|| scheduler.progress()))
    }
}

/// The first failure.
struct Failure<E> {
    item: u64,
    place: Place,
    error: E,
}

/// What the workers of a run share.
struct Run<'r, 'a, P, T, E> {
    scheduler: &'r Scheduler,
    sources: Cells<Source<'a, P, E>>,
    sinks: Cells<Sink<'a, T, E>>,
    /// For each source, its part of each slot.
    parts: Vec<Cells<Option<P>>>,
    /// For each sink, its results of each slot.
    results: Vec<Cells<Results<T>>>,
    failure: Mutex<Option<Failure<E>>>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl<'r, 'a, P, T, E> Run<'r, 'a, P, T, E>
where
    P: Send,
    T: Send,
    E: Send,
{
    fn new(
        scheduler: &'r Scheduler,
        size: Size,
        sources: Vec<Source<'a, P, E>>,
        sinks: Vec<Sink<'a, T, E>>,
    ) -> Self {
        let parts = |_| Cells::new((0..size.capacity).map(|_| None));
        let results = |_| Cells::new((0..size.capacity).map(|_| Results::new()));
        Self {
            scheduler,
            sources: Cells::new(sources),
            sinks: Cells::new(sinks),
            parts: (0..size.sources).map(parts).collect(),
            results: (0..size.sinks).map(results).collect(),
            failure: Mutex::new(None),
            panic: Mutex::new(None),
        }
    }

    fn on_threads(&self, workers: usize, make: &MakeWork<'a, P, T, E>) {
        thread::scope(|scope| {
            for me in 1..workers {
                let thread = thread::Builder::new().name(format!("pipeline-{me}"));
                if thread
                    .spawn_scoped(scope, move || self.worker(me, make))
                    .is_err()
                {
                    break;
                }
            }
            self.worker(0, make);
        });
    }

    fn worker(&self, me: usize, make: &MakeWork<'a, P, T, E>) {
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let mut worker = Worker {
                run: self,
                work: make(),
            };
            work(self.scheduler, me, &mut worker);
        }));
        if let Err(payload) = ended {
            lock(&self.panic).get_or_insert(payload);
            self.scheduler.stop();
        }
    }

    #[cold]
    fn failed(&self, item: u64, place: Place, error: E) {
        let mut first = lock(&self.failure);
        if first.as_ref().is_none_or(|first| item < first.item) {
            *first = Some(Failure { item, place, error });
        }
    }

    /// All workers have left: says why.
    fn end(self) -> Result<(), Error<E>> {
        if let Some(payload) = into_inner(self.panic) {
            resume_unwind(payload);
        }
        if self.scheduler.was_stopped() {
            let written = self.scheduler.written();
            return Err(Error::Cancelled { written });
        }
        let failure = into_inner(self.failure);
        let uneven = self.scheduler.uneven();
        match (failure, uneven) {
            (Some(Failure { item, place, error }), uneven)
                if uneven.is_none_or(|(uneven, _)| item <= uneven) =>
            {
                Err(Error::Failed { item, place, error })
            }
            (_, Some((item, source))) => Err(Error::Uneven { item, source }),
            _ => Ok(()),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

struct Worker<'s, 'r, 'a, P, T, E> {
    run: &'s Run<'r, 'a, P, T, E>,
    work: Work<'a, P, T, E>,
}

impl<P: Send, T: Send, E: Send> Steps for Worker<'_, '_, '_, P, T, E> {
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
        let run = self.run;
        let mut take = |source: usize| {
            // SAFETY: the step is this worker's, and all parts of the item belong to it.
            let part = unsafe { run.parts[source].get(item) };
            part.take().expect("all parts of a claimed item were read")
        };
        let mut push = |sink: usize, value| {
            assert!(sink < run.results.len(), "there is no sink {sink}");
            // SAFETY: the step is this worker's, and all results of the item belong to it.
            unsafe { run.results[sink].get(item) }.push(value);
        };
        match (self.work)(&mut take, &mut Emit::new(&mut push)) {
            Ok(()) => true,
            Err(error) => {
                run.failed(item, Place::Stage, error);
                false
            }
        }
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

impl<P, T, E> fmt::Debug for Pipeline<'_, P, T, E> {
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
