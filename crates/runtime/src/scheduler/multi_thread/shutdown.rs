//! The end of a worker.
//!
//! Each worker that sees that the runtime is closed cancels all tasks: those that wait
//! are cancelled at once, those that run or are queued are told so. Then it runs what is
//! in its own queues, which cancels that, and what it can take from others, which may be
//! blocked. The last one takes what is left, and stays until there is no task: one may
//! still be polled by a thread that has given its core away, or its token may be on its
//! way in a thread that has just woken it.

use std::time::{Duration, Instant};

use blitz_futex::atomic::Ordering;

use super::core::Core;
use super::search;
use super::worker::Worker;
use crate::core::{Notified, Ran};

/// How often the last worker looks whether the last task has ended.
const LOOK: Duration = Duration::from_millis(1);

/// Cancels the tasks. The thread does not come back to its core.
#[cold]
pub(super) fn shut_down(worker: &Worker) {
    worker.shutting_down.set(true);
    let shared = &worker.shared;
    // SAFETY: this thread has the core, and with it the list.
    unsafe { shared.owned.close_own(worker.index) };
    shared.owned.close_and_cancel_all();
    empty(worker, worker.core());
    empty_others(worker);
    worker.count_forced_yields();
    worker.count_busy();
    let before = shared.shut_down.fetch_add(1, Ordering::AcqRel);
    if before + 1 == shared.workers() {
        shut_down_last(worker);
    }
    worker.has_core.set(false);
}

/// Runs all that is in the queues of a core that is this worker's.
fn empty(worker: &Worker, core: &Core) {
    worker.queue_yielded();
    while let Some(task) = worker.next_local(core) {
        cancel(worker, task);
    }
}

/// Runs what is in the inject queue, and what others have in theirs: one of them may
/// be blocked for long, by a task that waits for the end of another one.
fn empty_others(worker: &Worker) {
    worker.local().reclaims.set(true);
    while let Some(task) = worker
        .shared
        .next_injected()
        .or_else(|| search::steal(worker))
    {
        cancel(worker, task);
        empty(worker, worker.core());
    }
}

/// Runs a task that has been cancelled; what it wakes is queued here.
fn cancel(worker: &Worker, task: Notified) {
    match task.run() {
        Ran::Done | Ran::Idle => {}
        Ran::Again(task) | Ran::Yielded(task) => worker.push_back(worker.core(), task),
    }
}

fn shut_down_last(worker: &Worker) {
    let shared = &worker.shared;
    loop {
        // The others have ended, so that their cores are this worker's too.
        shared.cores.iter().for_each(|core| empty(worker, core));
        while let Some(task) = shared.next_injected() {
            cancel(worker, task);
        }
        if shared.owned.is_empty() {
            break;
        }
        worker.core().driver.park(Some(Instant::now() + LOOK));
    }
    if let Some(wheels) = &shared.common().time {
        wheels.shutdown();
    }
    shared.common().shut_down_io();
}
