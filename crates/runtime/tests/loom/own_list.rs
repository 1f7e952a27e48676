//! Models of a worker's own list of tasks, which others use now and then.

use crate::model;

use std::collections::VecDeque;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::sync::Arc as Witness;
use std::task::{Context, Poll};

use blitz_io_runtime::kernel::task::JoinHandle;
use blitz_io_runtime::kernel::task::model::{
    Header, ListId, Notified, OwnedTasks, Ran, Schedule, id,
};
use loom::sync::{Arc, Mutex};
use loom::thread::{self, ThreadId};

/// A scheduler of two workers: the thread of the test, and the other one.
#[derive(Clone)]
struct Line(Arc<Shared>);

struct Shared {
    owned: OwnedTasks,
    queue: Mutex<VecDeque<Notified>>,
    first: ThreadId,
}

impl Schedule for Line {
    fn schedule(&self, task: Notified) {
        self.0.queue.lock().unwrap().push_back(task);
    }

    fn release(&self, task: &Header) {
        // SAFETY: each thread owns the list with its number.
        unsafe { self.0.owned.remove_by_owner(task, self.number()) }
    }
}

impl Line {
    fn new() -> ManuallyDrop<Self> {
        ManuallyDrop::new(Self(Arc::new(Shared {
            owned: OwnedTasks::new(2),
            queue: Mutex::new(VecDeque::new()),
            first: thread::current().id(),
        })))
    }

    fn number(&self) -> usize {
        usize::from(thread::current().id() != self.0.first)
    }

    /// Starts a task, whose handle is dropped.
    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        let (join, token) = self.bind(future);
        drop(join);
        self.0.queue.lock().unwrap().extend(token);
    }

    fn bind(
        &self,
        future: impl Future<Output = ()> + Send + 'static,
    ) -> (JoinHandle<()>, Option<Notified>) {
        let owned = &self.0.owned;
        // SAFETY: each thread owns the list with its number, and the future may go to
        // other threads.
        unsafe { owned.bind(ListId::own(self.number()), future, self.clone(), id()) }
    }

    fn take(&self) -> Option<Notified> {
        self.0.queue.lock().unwrap().pop_front()
    }

    fn run_queued(&self) {
        while let Some(token) = self.take() {
            match token.run() {
                Ran::Done | Ran::Idle => {}
                Ran::Again(token) | Ran::Yielded(token) | Ran::Here(token) => self.schedule(token),
            }
        }
    }

    /// The work of a worker at shutdown.
    fn close(&self) {
        // SAFETY: each thread owns the list with its number.
        unsafe { self.0.owned.close_own(self.number()) };
        self.0.owned.close_and_cancel_all();
    }

    /// Asserts that all tasks have ended, and that their futures were dropped.
    fn end(self, value: &Witness<()>) {
        assert!(self.take().is_none(), "a token too many");
        assert!(self.0.owned.is_empty());
        assert_eq!(Witness::strong_count(value), 1);
        // SAFETY: the other thread has ended.
        unsafe {
            self.0.owned.drain(0);
            self.0.owned.drain(1);
        }
    }
}

/// A future that waits for ever.
struct Waits(#[allow(dead_code)] Witness<()>);

impl Future for Waits {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

/// Another worker shuts the runtime down while a worker starts a task. The other worker
/// drops the waiting task of this one.
fn closed_by_another() {
    model::model(3, || {
        let line = Line::new();
        let value = Witness::new(());
        line.spawn(Waits(value.clone()));
        line.run_queued();
        let other = line.clone();
        let thread = thread::spawn(move || ManuallyDrop::into_inner(other).close());
        line.spawn(Waits(value.clone()));
        line.run_queued();
        thread.join().unwrap();
        line.run_queued();
        ManuallyDrop::into_inner(line).end(&value);
    });
}

/// Tasks end with another worker, which frees them, while their owner starts one.
fn freed_by_another() {
    model::model(3, || {
        let line = Line::new();
        let value = Witness::new(());
        for _ in 0..2 {
            let gives = value.clone();
            line.spawn(async move { drop(gives) });
        }
        let other = line.clone();
        let thread = thread::spawn(move || {
            for _ in 0..2 {
                let token = other.take().unwrap();
                assert!(matches!(token.run(), Ran::Done));
            }
            drop(ManuallyDrop::into_inner(other));
        });
        let gives = value.clone();
        let (join, token) = line.bind(async move { drop(gives) });
        drop(join);
        assert!(matches!(token.unwrap().run(), Ran::Done));
        thread.join().unwrap();
        ManuallyDrop::into_inner(line).end(&value);
    });
}

#[test]
fn a_worker_closes_the_lists_of_others() {
    closed_by_another();
}

#[test]
fn a_worker_frees_what_was_others() {
    freed_by_another();
}
