//! A model of the note of which task a worker polls: no reader finds the task of one poll with the
//! time of another.

use std::sync::Arc;

use blitz_io_runtime::kernel::polling::Polling;
use loom::thread;

use crate::model::model_in_order;

/// A worker polls two tasks, while a thread reads twice.
fn a_reader_finds_a_task_with_its_time() {
    model_in_order(3, || {
        let polling = Arc::new(Polling::new());
        let reader = {
            let polling = polling.clone();
            thread::spawn(move || [polling.get(), polling.get()])
        };
        let polls = [(1, 10), (2, 20)];
        for (task, since) in polls {
            polling.begin(task, since);
            polling.end();
        }
        let found = reader.join().unwrap();
        for found in found.into_iter().flatten() {
            assert!(polls.contains(&found), "no poll is {found:?}");
        }
        assert_eq!(polling.get(), None, "the last poll has ended");
    });
}

/// Another thread becomes the worker during a poll.
fn a_worker_changes_its_thread() {
    model_in_order(3, || {
        let polling = Arc::new(Polling::new());
        polling.begin(1, 10);
        let successor = {
            let polling = polling.clone();
            thread::spawn(move || {
                polling.end();
                polling.begin(2, 20);
            })
        };
        let found = polling.get();
        let polls = [None, Some((1, 10)), Some((2, 20))];
        assert!(polls.contains(&found), "no poll is {found:?}");
        successor.join().unwrap();
        assert_eq!(polling.get(), Some((2, 20)));
    });
}

models! {
    a_reader_finds_a_task_with_its_time
    a_worker_changes_its_thread
}
