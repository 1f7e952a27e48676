//! Models of the slot that says what a thread polls: its owner, and a reader.
#![cfg(loom)]

use std::ptr;
use std::sync::Arc;

use blitz_io_core::inspect::{Poll, PollSlot};
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use crate::model::model_in_order;

struct Shared {
    slot: PollSlot,
    /// Whether task 1 has a record.
    record: AtomicU32,
}

impl Shared {
    /// The number of a task is also the time of its polls.
    fn begin(&self, task: u64) -> Option<Poll> {
        self.slot.begin(task, ptr::null(), task)
    }

    fn make_record(&self) {
        self.record.store(1, Ordering::Relaxed);
    }
}

/// Thread 1 polls task 1 and goes on with `owner`, while `reader` gets the poll that it finds.
///
/// The owner is the thread that loom runs first. Loom would try no other order for a reader that has
/// come first: it compares a store with the last access only, which is the owner's own load.
fn model(owner: fn(&Shared, Option<&Poll>), reader: fn(&Shared, Option<Poll>)) {
    model_in_order(2, move || {
        let shared = Arc::new(Shared {
            slot: PollSlot::new(),
            record: AtomicU32::new(0),
        });
        shared.slot.set_thread(1);
        let before = shared.begin(1);
        let thread = {
            let shared = shared.clone();
            thread::spawn(move || reader(&shared, shared.slot.read()))
        };
        owner(&shared, before.as_ref());
        thread.join().unwrap();
    });
}

/// The reader may find the same task before and after another one.
#[test]
fn a_poll_within_a_poll_is_not_mixed_with_it() {
    model(
        |shared, _| {
            let outer = shared.begin(2);
            shared.slot.restore(outer.as_ref());
        },
        |_, poll| {
            if let Some(poll) = poll {
                assert_eq!(poll.since, poll.task, "another poll's time");
            }
        },
    );
}

/// Thread 1 ends, and the slot is that of thread 2.
#[test]
fn a_poll_is_that_of_its_thread() {
    model(
        |shared, before| {
            shared.slot.restore(before);
            shared.slot.set_thread(2);
            shared.begin(2);
        },
        |_, poll| {
            if let Some(poll) = poll {
                assert_eq!(poll.since, poll.task, "another poll's time");
                assert_eq!(poll.thread, poll.task, "another thread");
            }
        },
    );
}

/// The reader finds either the poll of task 1 or its record.
fn finds_task_1(shared: &Shared, poll: Option<Poll>) {
    if poll.is_none_or(|poll| poll.task != 1) {
        assert_eq!(shared.record.load(Ordering::Relaxed), 1, "no record");
    }
}

#[test]
fn a_task_whose_poll_has_ended_has_its_record() {
    model(
        |shared, before| {
            shared.make_record();
            shared.slot.restore(before);
        },
        finds_task_1,
    );
}

#[test]
fn a_task_after_which_another_is_polled_has_its_record() {
    model(
        |shared, _| {
            shared.make_record();
            shared.begin(2);
        },
        finds_task_1,
    );
}
