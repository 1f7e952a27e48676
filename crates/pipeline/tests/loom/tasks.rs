//! Models of a pipeline whose workers are tasks: every run ends, whatever waits for I/O
//! when it ends, fails, or is dropped.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use blitz_io_futex::atomic::AtomicBool;
use blitz_io_pipeline::model::{PollSteps, Read, Scheduler, Size, TaskWorker};
use loom::cell::UnsafeCell;
use loom::future::block_on;
use loom::thread;

use crate::model;

/// The cause that keeps the input from reaching its end.
#[derive(Clone, Copy, PartialEq)]
enum Ends {
    /// Nothing.
    Well,
    /// The stage fails at this item; the source never has an item beyond it.
    StageFails(u64),
    /// The sink fails at this item; the source never has an item beyond it.
    SinkFails(u64),
    /// The source never has this item, and the run is dropped.
    Dropped(u64),
    /// The executor drops a task that waits for I/O.
    TaskDropped,
}

struct Shared {
    items: u64,
    ends: Ends,
    source: UnsafeCell<u64>,
    sink: UnsafeCell<u64>,
    slots: Vec<UnsafeCell<u64>>,
}

// SAFETY: loom fails the model if two threads use a cell at the same time.
unsafe impl Sync for Shared {}

struct Steps(Arc<Shared>);

impl Shared {
    fn slot(&self, item: u64) -> &UnsafeCell<u64> {
        &self.slots[item as usize % self.slots.len()]
    }

    fn never_comes(&self, item: u64) -> bool {
        match self.ends {
            Ends::Well => false,
            Ends::StageFails(at) | Ends::SinkFails(at) => item > at,
            Ends::Dropped(at) => item >= at,
            Ends::TaskDropped => true,
        }
    }
}

impl PollSteps for Steps {
    fn poll_read(&mut self, _: usize, item: u64, _: &mut Context<'_>) -> Poll<Read> {
        if self.0.never_comes(item) {
            return Poll::Pending;
        }
        // SAFETY: the scheduler has given the source and the slot to this worker; loom
        // checks it.
        self.0.source.with_mut(|next| unsafe {
            assert_eq!(*next, item);
            *next += 1;
        });
        if item == self.0.items {
            return Poll::Ready(Read::End);
        }
        // SAFETY: the step belongs to this worker; loom checks it.
        self.0.slot(item).with_mut(|slot| unsafe { *slot = item });
        Poll::Ready(Read::Part)
    }

    fn process(&mut self, item: u64) -> bool {
        // SAFETY: the step belongs to this worker; loom checks it.
        self.0.slot(item).with_mut(|slot| unsafe { *slot += 100 });
        self.0.ends != Ends::StageFails(item)
    }

    fn poll_write(&mut self, _: usize, at: &mut u64, to: u64, _: &mut Context<'_>) -> Poll<u64> {
        while *at < to {
            if self.0.ends == Ends::SinkFails(*at) {
                return Poll::Ready(*at);
            }
            // SAFETY: the step belongs to this worker; loom checks it.
            self.0.sink.with_mut(|next| unsafe {
                assert_eq!(*next, *at);
                *next += 1;
            });
            let slot = self.0.slot(*at);
            // SAFETY: the step belongs to this worker; loom checks it.
            slot.with(|slot| unsafe { assert_eq!(*slot, *at + 100) });
            *at += 1;
        }
        Poll::Ready(to)
    }
}

/// A run with two tasks, each on a thread of its own. With `twice`, each is first polled
/// once with another waker.
fn run(items: u64, ends: Ends, twice: bool) -> impl Fn() + Send + Sync + 'static {
    move || {
        let size = Size {
            sources: 1,
            sinks: 1,
            in_stages: usize::MAX,
            workers: 2,
            capacity: 2,
            ordered: true,
        };
        let scheduler = Arc::new(Scheduler::new(size, Arc::new(AtomicBool::new(false))));
        let shared = Arc::new(Shared {
            items,
            ends,
            source: UnsafeCell::new(0),
            sink: UnsafeCell::new(0),
            slots: (0..2).map(|_| UnsafeCell::new(0)).collect(),
        });
        let task = |me| TaskWorker::new(scheduler.clone(), me, Steps(shared.clone()));
        let one = on_thread(task(1), twice);
        let zero = task(0);
        match ends {
            Ends::TaskDropped => {
                let mut zero = zero;
                let mut cx = Context::from_waker(Waker::noop());
                let _ = Pin::new(&mut zero).poll(&mut cx);
                drop(zero);
            }
            Ends::Dropped(_) => {
                let other = on_thread(zero, twice);
                {
                    let mut left = pin!(poll_fn(|cx| scheduler.poll_left(cx)));
                    let mut cx = Context::from_waker(Waker::noop());
                    assert!(left.as_mut().poll(&mut cx).is_pending());
                }
                scheduler.forget_runner();
                scheduler.stop();
                other.join().unwrap();
            }
            _ => {
                let other = on_thread(zero, twice);
                block_on(poll_fn(|cx| scheduler.poll_left(cx)));
                other.join().unwrap();
            }
        }
        one.join().unwrap();
        assert_eq!(Arc::strong_count(&shared), 1);
        let written = scheduler.written();
        match ends {
            Ends::Well => assert_eq!(written, items),
            Ends::StageFails(item) | Ends::SinkFails(item) => assert_eq!(written, item),
            Ends::Dropped(item) => assert!(written <= item && scheduler.was_stopped()),
            Ends::TaskDropped => assert!(written == 0 && scheduler.was_stopped()),
        }
    }
}

fn on_thread(mut task: TaskWorker<Steps>, twice: bool) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        if twice {
            let mut cx = Context::from_waker(Waker::noop());
            if Pin::new(&mut task).poll(&mut cx).is_ready() {
                return;
            }
        }
        block_on(task);
    })
}

#[test]
fn a_run_of_tasks_ends() {
    for items in 0..3 {
        model(run(items, Ends::Well, false));
    }
}

#[test]
fn a_task_is_woken_by_the_waker_of_its_last_poll() {
    model(run(2, Ends::Well, true));
}

#[test]
fn a_failure_ends_tasks_that_wait_for_input() {
    for item in 0..2 {
        model(run(3, Ends::StageFails(item), false));
        model(run(3, Ends::SinkFails(item), false));
    }
}

#[test]
fn dropping_the_run_ends_its_tasks() {
    for item in 0..2 {
        model(run(3, Ends::Dropped(item), false));
    }
}

#[test]
fn a_task_that_is_dropped_ends_the_others() {
    model(run(3, Ends::TaskDropped, false));
}
