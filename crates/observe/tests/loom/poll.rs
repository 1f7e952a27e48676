//! Models of the slot with a thread's current poll: its owner, and a reader.

use std::panic::Location;
use std::ptr;
use std::sync::Arc;

use blitz_io_observe::{Poll, PollSlot};
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use crate::model::model_in_order;

/// Words of threads, and of tasks.
const THREAD_1: u64 = 2;
const THREAD_2: u64 = 4;
const TASK_1: u64 = 3;
const TASK_2: u64 = 5;

struct Shared {
    slot: PollSlot,
    /// `true` if task 1 has a record.
    record: AtomicU32,
}

/// A location that tells tasks apart. It is not read.
fn location(task: u64) -> *const Location<'static> {
    ptr::without_provenance(task as usize)
}

impl Shared {
    /// The number of a task is also the time of its polls.
    fn begin(&self, task: u64) {
        self.slot.begin(task, task);
    }

    fn begin_first(&self, task: u64) {
        self.slot.begin_first(task, location(task), task);
    }

    fn make_record(&self) {
        self.record.store(1, Ordering::Relaxed);
    }
}

/// Thread 1 polls task 1 for the first time and continues with `owner`, while `reader` gets the poll that
/// it finds.
///
/// The owner is the thread that loom runs first. Loom would try no other order for a reader that has
/// come first: it compares a store with the last access only, which is the owner's own load.
fn model(owner: fn(&Shared), reader: fn(&Shared, Option<Poll>)) {
    model_in_order(2, move || {
        let shared = Arc::new(Shared {
            slot: PollSlot::new(),
            record: AtomicU32::new(0),
        });
        shared.slot.set_thread(THREAD_1);
        shared.begin_first(TASK_1);
        let thread = {
            let shared = shared.clone();
            thread::spawn(move || reader(&shared, shared.slot.read()))
        };
        owner(&shared);
        thread.join().unwrap();
    });
}

fn is_whole(_: &Shared, poll: Option<Poll>) {
    if let Some(poll) = poll {
        assert_eq!(poll.since, poll.task, "another poll's time");
        let is_own = poll.location.is_null() || poll.location == location(poll.task);
        assert!(is_own, "another task's location");
    }
}

/// The reader may find the same task before and after another one.
#[test]
fn a_poll_is_not_mixed_with_that_of_another_task() {
    model(
        |shared| {
            shared.slot.end();
            shared.begin_first(TASK_2);
            shared.slot.end();
            shared.begin(TASK_1);
        },
        is_whole,
    );
}

/// Thread 1 ends, and the slot is that of thread 2, which polls the same task.
#[test]
fn a_poll_is_that_of_its_thread() {
    model(
        |shared| {
            shared.slot.end();
            shared.slot.set_thread(THREAD_2);
            shared.slot.begin(TASK_1, 0);
        },
        |_, poll| {
            if let Some(poll) = poll {
                let thread = if poll.since == 0 { THREAD_2 } else { THREAD_1 };
                assert_eq!(poll.thread, thread, "another thread");
            }
        },
    );
}

/// The reader finds either the poll of task 1 or its record.
fn finds_task_1(shared: &Shared, poll: Option<Poll>) {
    if poll.is_none_or(|poll| poll.task != TASK_1) {
        assert_eq!(shared.record.load(Ordering::Relaxed), 1, "no record");
    }
}

#[test]
fn a_task_whose_poll_has_ended_has_its_record() {
    model(
        |shared| {
            shared.make_record();
            shared.slot.end();
            shared.slot.set_thread(THREAD_2);
        },
        finds_task_1,
    );
}

#[test]
fn a_task_after_which_another_is_polled_has_its_record() {
    model(
        |shared| {
            shared.make_record();
            shared.slot.end();
            shared.begin_first(TASK_2);
        },
        finds_task_1,
    );
}
