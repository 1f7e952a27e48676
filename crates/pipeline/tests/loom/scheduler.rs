//! Models of a source, two workers and a sink: every run ends, in order, and no worker
//! sleeps while there is something to do.

use std::sync::Arc;

use blitz_io_futex::atomic::{AtomicBool, Ordering};
use blitz_io_pipeline::model::{Read, Scheduler, Size, Steps, work};
use loom::cell::UnsafeCell;
use loom::thread;

use crate::model;

/// A failure, and its item.
#[derive(Clone, Copy, PartialEq)]
enum Trouble {
    None,
    Source(u64),
    Stage(u64),
    Sink(u64),
    /// A worker cancels while it processes the item.
    Cancel(u64),
}

struct Shared {
    scheduler: Scheduler,
    cancelled: Arc<AtomicBool>,
    items: u64,
    trouble: Trouble,
    /// Loom notices if two workers use one of these at the same time, or do not see each
    /// other's stores.
    slots: Vec<UnsafeCell<u64>>,
    source: UnsafeCell<u64>,
    /// Used by the stage, if one worker may be in it.
    stage: Option<UnsafeCell<()>>,
    sink: UnsafeCell<u64>,
}

// SAFETY: loom fails the model if two threads use a cell at the same time.
unsafe impl Sync for Shared {}

struct Worker<'a>(&'a Shared);

impl Shared {
    fn slot(&self, item: u64) -> &UnsafeCell<u64> {
        &self.slots[item as usize % self.slots.len()]
    }
}

impl Steps for Worker<'_> {
    fn read(&mut self, _: usize, item: u64) -> Read {
        self.0.scheduler.assert_no_lost_wake_up();
        if self.0.trouble == Trouble::Source(item) {
            return Read::Failed;
        }
        // SAFETY: the scheduler has given the source and the slot to this worker; loom
        // checks it.
        self.0.source.with_mut(|next| unsafe {
            assert_eq!(*next, item);
            *next += 1;
        });
        if item == self.0.items {
            return Read::End;
        }
        // SAFETY: the step belongs to this worker; loom checks it.
        self.0.slot(item).with_mut(|slot| unsafe { *slot = item });
        Read::Part
    }

    fn process(&mut self, item: u64) -> bool {
        self.0.scheduler.assert_no_lost_wake_up();
        if self.0.trouble == Trouble::Cancel(item) {
            self.0.cancelled.store(true, Ordering::Relaxed);
        }
        let add = || {
            // SAFETY: the step belongs to this worker; loom checks it.
            self.0.slot(item).with_mut(|slot| unsafe { *slot += 100 });
        };
        match &self.0.stage {
            Some(alone) => alone.with_mut(|_| {
                thread::yield_now();
                add();
            }),
            None => add(),
        }
        self.0.trouble != Trouble::Stage(item)
    }

    fn write(&mut self, _: usize, from: u64, to: u64) -> u64 {
        for item in from..to {
            if self.0.trouble == Trouble::Sink(item) {
                return item;
            }
            // SAFETY: the step belongs to this worker; loom checks it.
            self.0.sink.with_mut(|next| unsafe {
                assert_eq!(*next, item);
                *next += 1;
            });
            // SAFETY: the step belongs to this worker; loom checks it.
            self.0
                .slot(item)
                .with(|slot| unsafe { assert_eq!(*slot, item + 100) });
        }
        to
    }
}

/// A run with two workers.
fn run(items: u64, capacity: usize, trouble: Trouble) -> impl Fn() + Send + Sync + 'static {
    run_with(2, items, capacity, trouble)
}

/// A run with two workers, of which so many may be in the stage.
fn run_with(
    in_stages: usize,
    items: u64,
    capacity: usize,
    trouble: Trouble,
) -> impl Fn() + Send + Sync + 'static {
    move || {
        let size = Size {
            sources: 1,
            sinks: 1,
            workers: 2,
            in_stages,
            capacity,
            ordered: true,
        };
        let cancelled = Arc::new(AtomicBool::new(false));
        let shared = Arc::new(Shared {
            scheduler: Scheduler::new(size, cancelled.clone()),
            cancelled,
            items,
            trouble,
            slots: (0..capacity).map(|_| UnsafeCell::new(0)).collect(),
            source: UnsafeCell::new(0),
            stage: (in_stages == 1).then(|| UnsafeCell::new(())),
            sink: UnsafeCell::new(0),
        });
        let other = {
            let shared = shared.clone();
            thread::spawn(move || work(&shared.scheduler, 1, &mut Worker(&shared)))
        };
        work(&shared.scheduler, 0, &mut Worker(&shared));
        other.join().unwrap();
        let written = shared.scheduler.written();
        match trouble {
            Trouble::None => assert_eq!(written, items),
            Trouble::Source(item) | Trouble::Stage(item) | Trouble::Sink(item) => {
                assert_eq!(written, item);
            }
            Trouble::Cancel(_) => assert!(written <= items),
        }
    }
}

#[test]
fn a_run_ends_with_one_token() {
    model(run(2, 1, Trouble::None));
}

#[test]
fn a_run_ends_with_two_tokens() {
    model(run(3, 2, Trouble::None));
}

#[test]
fn one_of_two_workers_is_in_the_stage() {
    for trouble in [Trouble::None, Trouble::Stage(0), Trouble::Stage(1)] {
        model(run_with(1, 2, 2, trouble));
    }
}

#[test]
fn a_run_without_items_ends() {
    model(run(0, 1, Trouble::None));
}

#[test]
fn a_source_that_fails_ends_the_run() {
    for item in 0..2 {
        model(run(2, 2, Trouble::Source(item)));
    }
}

#[test]
fn a_stage_that_fails_ends_the_run() {
    for item in 0..2 {
        model(run(2, 2, Trouble::Stage(item)));
    }
}

#[test]
fn a_sink_that_fails_ends_the_run() {
    for item in 0..2 {
        model(run(2, 2, Trouble::Sink(item)));
    }
}

#[test]
fn cancelling_ends_the_run() {
    for item in 0..2 {
        model(run(2, 2, Trouble::Cancel(item)));
    }
}
