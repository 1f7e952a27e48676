//! `TaskWorker`: the loop of a worker that is a task.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use blitz_io_observe::{Caller, Kind, Wait, WaitKind};

use crate::scheduler::Scheduler;
use crate::state::{Outcome, Step};
use crate::worker::Read;

/// The steps of a pipeline whose reading and writing may have to wait.
pub trait PollSteps {
    /// Reads the part of `source` of this item into its slot.
    fn poll_read(&mut self, source: usize, item: u64, cx: &mut Context<'_>) -> Poll<Read>;
    /// Processes the item in its slot. Returns whether that succeeded.
    fn process(&mut self, item: u64) -> bool;
    /// Writes items in order, from `at`, which advances. Returns the item before which it
    /// stopped.
    fn poll_write(&mut self, sink: usize, at: &mut u64, to: u64, cx: &mut Context<'_>)
    -> Poll<u64>;
}

#[derive(Debug)]
enum Doing {
    /// The worker asks the scheduler, and reports the outcome of the last step.
    Choosing(Outcome),
    Reading {
        source: usize,
        item: u64,
    },
    Processing {
        item: u64,
    },
    Writing {
        sink: usize,
        from: u64,
        at: u64,
        to: u64,
    },
}

/// Does steps until the run is over. If it is dropped before that, it stops the run.
#[derive(Debug)]
pub struct TaskWorker<S> {
    scheduler: Arc<Scheduler>,
    me: usize,
    doing: Doing,
    /// `None` after the worker has left.
    steps: Option<S>,
    /// `true` once the worker has been polled.
    has_begun: bool,
    record: Wait,
}

impl<S> Unpin for TaskWorker<S> {}

impl<S> TaskWorker<S> {
    pub fn new(scheduler: Arc<Scheduler>, me: usize, steps: S) -> Self {
        Self {
            scheduler,
            me,
            doing: Doing::Choosing(Outcome::Nothing),
            steps: Some(steps),
            has_begun: false,
            record: Wait::new(Caller::UNKNOWN),
        }
    }

    /// Returns the steps, unless it has left.
    pub fn steps(&self) -> Option<&S> {
        self.steps.as_ref()
    }

    fn leave(&mut self) {
        // The steps share the run, which belongs to its future after all workers have left.
        if self.steps.take().is_some() {
            if self.has_begun {
                self.scheduler.object.released_shared();
            }
            self.scheduler.left();
        }
    }
}

impl<S: PollSteps> Future for TaskWorker<S> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let worker = self.get_mut();
        if !worker.has_begun {
            worker.has_begun = true;
            worker.scheduler.object.acquired_shared_by_task();
        }
        let ended = worker.poll_steps(cx);
        if ended.is_ready() {
            worker.leave();
        }
        let kind = WaitKind::new(Kind::PipelineWorker);
        let object = &worker.scheduler.object;
        worker.record.note(kind, object, cx.waker(), ended)
    }
}

impl<S: PollSteps> TaskWorker<S> {
    /// Returns `Ready` if the run is over.
    fn poll_steps(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(steps) = &mut self.steps else {
            return Poll::Ready(());
        };
        // A stage may take long, so other tasks of the executor get a turn between two
        // items.
        let mut processed = false;
        loop {
            let outcome = match &mut self.doing {
                Doing::Choosing(outcome) => {
                    let step = ready!(self.scheduler.poll_next(self.me, outcome, cx));
                    self.doing = match step {
                        Step::Read { source, item } => Doing::Reading { source, item },
                        Step::Process { item } => Doing::Processing { item },
                        Step::Write { sink, from, to } => Doing::Writing {
                            sink,
                            from,
                            at: from,
                            to,
                        },
                        Step::Leave => return Poll::Ready(()),
                    };
                    continue;
                }
                &mut Doing::Reading { source, item } => match steps.poll_read(source, item, cx) {
                    Poll::Pending => return self.scheduler.poll_given_up(self.me, cx),
                    Poll::Ready(Read::Part) => Outcome::Read { source },
                    Poll::Ready(Read::End) => Outcome::End { source },
                    Poll::Ready(Read::Failed) => Outcome::ReadFailed { source },
                },
                Doing::Processing { .. } if processed => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                &mut Doing::Processing { item } => {
                    processed = true;
                    if steps.process(item) {
                        Outcome::Processed { item }
                    } else {
                        Outcome::ProcessFailed { item }
                    }
                }
                Doing::Writing { sink, from, at, to } => {
                    let (sink, from, to) = (*sink, *from, *to);
                    match steps.poll_write(sink, at, to, cx) {
                        Poll::Pending => return self.scheduler.poll_given_up(self.me, cx),
                        Poll::Ready(stopped) => Outcome::Wrote {
                            sink,
                            from,
                            to: stopped,
                            failed: stopped < to,
                        },
                    }
                }
            };
            self.doing = Doing::Choosing(outcome);
        }
    }
}

impl<S> Drop for TaskWorker<S> {
    fn drop(&mut self) {
        // A model that has failed cannot go on.
        let failed = cfg!(loom) && std::thread::panicking();
        if self.steps.is_some() && !failed {
            self.scheduler.stop();
            self.leave();
        }
    }
}
