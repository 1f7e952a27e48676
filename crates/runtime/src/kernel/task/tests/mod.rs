//! Tasks without a runtime: the order of their events, and that every future and every
//! output is dropped once.

#![allow(clippy::waker_clone_wake, reason = "waking by value is what is tested")]

mod costs;
mod ends;
mod life;
mod panics;

use std::collections::VecDeque;
use std::future::{Future, poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use blitz_io_testing::{Counted, Drops, Wakings, poll_once, reentrant_waker, shouting_waker};

use crate::kernel::context;
use crate::kernel::task::changes;
use crate::kernel::task::{
    Header, Id, JoinHandle, ListId, Notified, OwnedTasks, Ran, Schedule, task_of, unowned,
};

/// A scheduler that runs tokens when the test calls it.
#[derive(Clone)]
struct Line(Arc<Shared>);

struct Shared {
    owned: OwnedTasks,
    /// The thread of the test owns the first shard.
    owns: bool,
    queue: Mutex<VecDeque<Notified>>,
    /// Number of tokens that a wake-up or an abort has queued.
    scheduled: AtomicUsize,
    panics: AtomicUsize,
    terminated: Mutex<Vec<Id>>,
}

impl Schedule for Line {
    fn schedule(&self, task: Notified) {
        self.0.scheduled.fetch_add(1, Ordering::SeqCst);
        self.0.queue.lock().unwrap().push_back(task);
    }

    fn release(&self, task: &Header) {
        if self.0.owns {
            // SAFETY: the test has one thread.
            unsafe { self.0.owned.remove_by_owner(task, 0) }
        } else {
            self.0.owned.remove(task);
        }
    }

    fn outlives_call(&self) -> bool {
        // The test holds the line, which is not used by other threads.
        true
    }

    fn unhandled_panic(&self) {
        self.0.panics.fetch_add(1, Ordering::SeqCst);
    }

    fn terminated(&self, id: Id) {
        self.0.terminated.lock().unwrap().push(id);
    }
}

impl Line {
    fn new() -> Self {
        Self::with(false)
    }

    fn owning() -> Self {
        Self::with(true)
    }

    fn with(owns: bool) -> Self {
        Self(Arc::new(Shared {
            owned: OwnedTasks::new(2),
            owns,
            queue: Mutex::default(),
            scheduled: AtomicUsize::new(0),
            panics: AtomicUsize::new(0),
            terminated: Mutex::default(),
        }))
    }

    fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let id = Id::next();
        let owned = &self.0.owned;
        let list = if self.0.owns {
            ListId::own(0)
        } else {
            owned.any_list(id.as_u64() as usize)
        };
        // SAFETY: the test has one thread.
        let (join, token) = unsafe { owned.bind(list, future, self.clone(), id) };
        self.0.queue.lock().unwrap().extend(token);
        join
    }

    /// Runs the first token, if there is one.
    fn turn(&self) -> Option<&'static str> {
        let token = self.0.queue.lock().unwrap().pop_front()?;
        Some(match token.run() {
            Ran::Done => "done",
            Ran::Idle => "idle",
            Ran::Again(token) => {
                self.0.queue.lock().unwrap().push_back(token);
                "again"
            }
            Ran::Yielded(token) | Ran::Here(token) => {
                self.0.queue.lock().unwrap().push_back(token);
                "yielded"
            }
        })
    }

    fn run(&self) {
        while self.turn().is_some() {}
    }

    fn begin_close(&self) {
        if self.0.owns {
            // SAFETY: the test has one thread.
            unsafe { self.0.owned.close_own(0) }
        }
        self.0.owned.close_and_cancel_all();
    }

    fn close(&self) {
        self.begin_close();
        self.run();
        assert!(self.0.owned.is_empty());
    }

    fn scheduled(&self) -> usize {
        self.0.scheduled.load(Ordering::SeqCst)
    }

    fn panics(&self) -> usize {
        self.0.panics.load(Ordering::SeqCst)
    }
}

impl Drop for Line {
    /// Each test ends with all tasks freed: only the tests' own line is left.
    fn drop(&mut self) {
        if Arc::strong_count(&self.0) == 1 && !std::thread::panicking() {
            assert!(self.0.owned.is_empty());
            assert!(self.0.queue.lock().unwrap().is_empty());
        }
    }
}

fn poll<T>(join: &mut JoinHandle<T>) -> Poll<Result<T, crate::kernel::task::JoinError>> {
    poll_once(Pin::new(join), Waker::noop())
}

/// A future that never is ready, and the waker of its last poll.
fn stuck(keep: Counted) -> (impl Future<Output = ()> + Send, Arc<Mutex<Option<Waker>>>) {
    let place = Arc::new(Mutex::new(None));
    let waker = place.clone();
    let future = poll_fn(move |context| {
        let _keep = &keep;
        *place.lock().unwrap() = Some(context.waker().clone());
        Poll::Pending
    });
    (future, waker)
}

/// Asks for the end of the queue once.
async fn yield_once() {
    let mut yielded = false;
    poll_fn(|context: &mut Context<'_>| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        assert!(task_of(context.waker()).is_some_and(context::step_back));
        Poll::Pending
    })
    .await;
}

/// Panics when it is dropped.
struct Bomb(&'static str);

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("{}", self.0);
    }
}
