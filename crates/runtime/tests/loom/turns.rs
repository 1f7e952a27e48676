//! Models of the cell where a current-thread scheduler's core is while no thread has it.

use std::sync::Arc;

use blitz_io_runtime::kernel::core_cell::CoreCell;
use loom::cell::UnsafeCell;
use loom::future::block_on;
use loom::thread;

use crate::model::model_in_order as model;

type Core = UnsafeCell<u32>;

/// Takes the core, waiting if need be, counts, and puts it back.
fn one_turn(cell: &CoreCell<Core>) {
    let core = cell.take().unwrap_or_else(|| {
        let waiting = cell.announce();
        loop {
            match cell.take() {
                Some(core) => break core,
                None => block_on(waiting.turn()),
            }
        }
    });
    // SAFETY: the thread that has taken the core has it alone; the model watches that.
    unsafe { core.as_ref().with_mut(|count| *count += 1) };
    cell.put_back(core);
}

fn threads_take_turns(threads: usize) {
    let cell = Arc::new(CoreCell::new(Box::new(UnsafeCell::new(0))));
    let others: Vec<_> = (1..threads)
        .map(|_| {
            let cell = cell.clone();
            thread::spawn(move || one_turn(&cell))
        })
        .collect();
    one_turn(&cell);
    others.into_iter().for_each(|other| other.join().unwrap());
    let core = cell.take().expect("all have put it back");
    // SAFETY: all threads have ended, so this one has the core.
    let count = unsafe { core.as_ref().with(|count| *count) };
    assert_eq!(count, threads as u32);
    cell.put_back(core);
}

#[test]
fn two_threads_take_turns() {
    model(3, || threads_take_turns(2));
}

#[test]
fn three_threads_take_turns() {
    model(2, || threads_take_turns(3));
}

/// A thread waits, and the core comes back: the waiter gets it, though another one takes
/// and puts back in between.
#[test]
fn a_waiter_is_called() {
    model(2, || {
        let cell = Arc::new(CoreCell::new(Box::new(UnsafeCell::new(0))));
        let core = cell.take().unwrap();
        let waits = cell.clone();
        let waiter = thread::spawn(move || one_turn(&waits));
        cell.put_back(core);
        one_turn(&cell);
        waiter.join().unwrap();
    });
}
