//! The run of a pipeline on tasks.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use blitz_io_observe::{Caller, Kind, Wait, WaitKind};

use crate::async_ends::{AsyncSink, AsyncSource};
use crate::closures::Work;
use crate::error::{Error, Place};
use crate::pipeline::Pipeline;
use crate::progress::Progress;
use crate::run::Run;
use crate::scheduler::Scheduler;
use crate::task_worker::{PollSteps, TaskWorker};
use crate::worker::Read;

/// A task that [`Pipeline::run_tasks`] asks to spawn.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A pipeline that runs on tasks.
pub type TaskPipeline<P, T, E> =
    Pipeline<'static, P, T, E, AsyncSource<'static, P, E>, AsyncSink<'static, T, E>>;

type Shared<P, T, E> = Run<P, T, E, AsyncSource<'static, P, E>, AsyncSink<'static, T, E>>;

impl<P, T, E> TaskPipeline<P, T, E>
where
    P: Send + 'static,
    T: Send + 'static,
    E: Send + 'static,
{
    /// Runs the pipeline on tasks, which `spawn` passes to any executor, and returns how
    /// far it came.
    ///
    /// There is one task for each of [`workers`](Self::workers) and one for each source and
    /// sink; all of them do all kinds of steps. Stages run on the executor's threads, and
    /// let other tasks run after each item. The executor decides how many run at the same
    /// time.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Pipeline::run). Also `Cancelled` if the executor drops one of the
    /// tasks. If a source or a sink is not ready when everything before the first item that
    /// failed has been written, it is dropped as it is.
    ///
    /// # Panics
    ///
    /// Panics if a closure or a future panics, with the same panic, after all tasks have
    /// ended.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future cancels the run: each task ends as soon as its executor polls
    /// it, and the last one drops sources and sinks. Up to [`capacity`](Self::capacity)
    /// items that were read are then lost.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use blitz_io::pipeline::{self, AsyncSink, AsyncSource};
    ///
    /// # let runtime = blitz_io::runtime::Runtime::new().unwrap();
    /// # runtime.block_on(async {
    /// let (sender, mut receiver) = blitz_io::sync::mpsc::channel(4);
    /// let source = AsyncSource::unfold(0..4_u64, |mut numbers| async move {
    ///     Ok::<_, Infallible>(numbers.next().map(|n| (n, numbers)))
    /// });
    /// let sink = AsyncSink::fold(sender, |sender, square| async move {
    ///     sender.send(square).await.unwrap();
    ///     Ok(sender)
    /// });
    /// pipeline::async_source(source)
    ///     .map(|n| n * n)
    ///     .async_sink(sink)
    ///     .run_tasks(|task| drop(blitz_io::spawn(task)))
    ///     .await
    ///     .unwrap();
    /// let mut squares = Vec::new();
    /// while let Some(square) = receiver.recv().await {
    ///     squares.push(square);
    /// }
    /// assert_eq!(squares, [0, 1, 4, 9]);
    /// # });
    /// ```
    #[track_caller]
    pub fn run_tasks(
        self,
        spawn: impl FnMut(Task),
    ) -> impl Future<Output = Result<Progress, Error<E>>> {
        self.run_from(spawn, Wait::new(Caller::here()))
    }

    async fn run_from(
        self,
        mut spawn: impl FnMut(Task),
        mut record: Wait,
    ) -> Result<Progress, Error<E>> {
        let mut size = self.size();
        size.workers += size.sources + size.sinks;
        let scheduler = Arc::new(Scheduler::new(size, self.control.flag()));
        self.control.watch(&scheduler);
        let run = Arc::new(Run::new(size, self.sources, self.sinks));
        {
            let stop = StopOnDrop(&scheduler);
            for me in 0..size.workers {
                let steps = Steps {
                    run: run.clone(),
                    work: (self.work)(),
                };
                spawn(Box::pin(Guarded {
                    worker: Some(TaskWorker::new(scheduler.clone(), me, steps)),
                }));
            }
            poll_fn(|cx| {
                let left = scheduler.poll_left(cx);
                let kind = WaitKind::new(Kind::Pipeline);
                record.note(kind, &scheduler.object, cx.waker(), left)
            })
            .await;
            std::mem::forget(stop);
        }
        run.end(&scheduler)?;
        let written = scheduler.written();
        for sink in 0..size.sinks {
            // SAFETY: all workers have left, and this future alone still uses the run.
            let ended = poll_fn(|cx| unsafe { run.sinks.get(sink as u64) }.poll_end(cx)).await;
            ended.map_err(|error| Error::Failed {
                item: written,
                place: Place::Sink(sink),
                error,
            })?;
        }
        Ok(self
            .control
            .progress()
            .unwrap_or_else(|| scheduler.progress()))
    }
}

/// Cancels the run if the future that waits for it is dropped.
struct StopOnDrop<'a>(&'a Scheduler);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.forget_runner();
        self.0.stop();
    }
}

/// A worker whose panic stops the run, and is resumed in the future that waits for it.
struct Guarded<P, T, E> {
    worker: Option<TaskWorker<Steps<P, T, E>>>,
}

impl<P, T, E> Future for Guarded<P, T, E>
where
    P: Send + 'static,
    T: Send + 'static,
    E: Send + 'static,
{
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let Some(worker) = &mut this.worker else {
            return Poll::Ready(());
        };
        let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut *worker).poll(cx)));
        match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(())) => {}
            Err(payload) => {
                if let Some(steps) = worker.steps() {
                    steps.run.panicked(payload);
                }
            }
        }
        this.worker = None;
        Poll::Ready(())
    }
}

struct Steps<P, T, E> {
    run: Arc<Shared<P, T, E>>,
    work: Work<'static, P, T, E>,
}

impl<P, T, E> PollSteps for Steps<P, T, E>
where
    P: Send + 'static,
    T: Send + 'static,
    E: Send + 'static,
{
    fn poll_read(&mut self, source: usize, item: u64, cx: &mut Context<'_>) -> Poll<Read> {
        // SAFETY: the step is this worker's, and the source and the part belong to it.
        let (next, part) = unsafe {
            (
                self.run.sources.get(source as u64),
                self.run.parts[source].get(item),
            )
        };
        next.poll_next(cx).map(|next| match next {
            Ok(Some(value)) => {
                *part = Some(value);
                Read::Part
            }
            Ok(None) => Read::End,
            Err(error) => {
                self.run.failed(item, Place::Source(source), error);
                Read::Failed
            }
        })
    }

    fn process(&mut self, item: u64) -> bool {
        // SAFETY: the step is this worker's.
        unsafe { self.run.process(&mut self.work, item) }
    }

    fn poll_write(
        &mut self,
        index: usize,
        at: &mut u64,
        to: u64,
        cx: &mut Context<'_>,
    ) -> Poll<u64> {
        // SAFETY: the step is this worker's, and the sink belongs to it.
        let sink = unsafe { self.run.sinks.get(index as u64) };
        loop {
            if let Err(error) = std::task::ready!(sink.poll_written(cx)) {
                self.run.failed(*at, Place::Sink(index), error);
                return Poll::Ready(*at);
            }
            let value = loop {
                if *at == to {
                    return Poll::Ready(to);
                }
                // SAFETY: the step is this worker's, and the item's results belong to it.
                match unsafe { self.run.results[index].get(*at) }.pop() {
                    Some(value) => break value,
                    None => *at += 1,
                }
            };
            sink.write(value);
        }
    }
}
