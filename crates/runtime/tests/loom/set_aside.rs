//! A model of a task that is pinned to a thread which runs no tasks.

use std::collections::VecDeque;
use std::task::Waker;

use blitz_io_runtime::kernel::task::model::{Header, Id, Notified, Ran, Schedule, id, unowned};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

use crate::model::model;

/// A queue of tokens for threads other than that of the task.
#[derive(Clone, Default)]
struct Line(Arc<Shared>);

#[derive(Default)]
struct Shared {
    queue: Mutex<VecDeque<Notified>>,
    pushed: Condvar,
    set_aside: Mutex<Option<Waker>>,
}

impl Schedule for Line {
    const PINS: bool = true;

    fn schedule(&self, task: Notified) {
        self.0.queue.lock().unwrap().push_back(task);
        self.0.pushed.notify_one();
    }

    fn release(&self, _: &Header) {}

    fn pin(&self) -> bool {
        false
    }

    fn set_aside(&self, _: Id, waker: &Waker) {
        let mut set_aside = self.0.set_aside.lock().unwrap();
        set_aside.get_or_insert_with(|| waker.clone());
    }
}

impl Line {
    /// Returns the next token, for which it waits.
    fn take(&self) -> Notified {
        let mut queue = self.0.queue.lock().unwrap();
        loop {
            match queue.pop_front() {
                Some(token) => return token,
                None => queue = self.0.pushed.wait(queue).unwrap(),
            }
        }
    }

    /// Runs tokens until the task has ended.
    fn run_to_end(&self) {
        loop {
            match self.take().run() {
                Ran::Done => return,
                Ran::Idle => {}
                Ran::Again(token) | Ran::Yielded(token) | Ran::Here(token) => self.schedule(token),
            }
        }
    }
}

/// A thread cancels the task while another one runs its token.
fn a_cancelled_task_ends_without_its_thread() {
    model(3, || {
        let line = Line::default();
        let (join, token) = unowned(std::future::pending::<()>(), line.clone(), id());
        line.schedule(token);
        let abort = join.abort_handle();
        let aborts = thread::spawn(move || abort.abort());
        drop(join);
        line.run_to_end();
        aborts.join().unwrap();
        // It has a reference to the task.
        let set_aside = line.0.set_aside.lock().unwrap().take();
        drop(set_aside);
    });
}

models! {
    a_cancelled_task_ends_without_its_thread
}
