//! The threads that are workers, and the end.
//!
//! # The end
//!
//! * Each worker that sees that the runtime is closed cancels all tasks. Waiting tasks
//!   end at once. Running and queued tasks get a request.
//! * Then it runs the tasks in its own queues, which cancels them, and the tasks that it
//!   can take from other workers, which may be blocked.
//! * It leaves when the tasks that are pinned to its thread have ended (`pinned.rs`).
//! * The last worker takes the tasks that are left, and stays until there is no task. A
//!   thread that has given its core away may still poll one, or a thread that has just
//!   woken a task may still hold its token.

use std::sync::Arc;
use std::time::{Duration, Instant};

use blitz_io_core::OnDrop;
use blitz_io_core::coop::{self, Budget};
use blitz_io_futex::atomic::Ordering;
use blitz_io_observe::{self as observe, About};

use super::search;
use super::shared::Shared;
use super::worker::Worker;
use super::worker_core::Core;
use crate::api::common::Common;
use crate::api::enter;
use crate::api::metrics::Stopwatch;
use crate::api::pool::Spawner;
use crate::api::scheduler::Handle;
use crate::kernel::task::{Notified, Ran};

/// The interval in which the last worker checks whether the last task has ended.
const LOOK: Duration = Duration::from_millis(1);

/// Makes a scheduler, and starts its workers on threads of the pool.
pub(crate) fn launch(common: Common, pool: Spawner) -> Arc<Shared> {
    let shared = Arc::new(Shared::new(common, pool));
    Shared::register(&shared);
    for index in 0..shared.cores.len() {
        assert!(start(&shared, index), "OS can't spawn worker thread");
    }
    shared
}

/// Has a thread of the pool run the worker at `index`. `false` if there is none.
pub(super) fn start(shared: &Arc<Shared>, index: usize) -> bool {
    let (handle, job) = job(shared, index);
    // Mandatory, as it is the workers that end the tasks when the runtime ends.
    let started = shared.base.pool.spawn_mandatory(&handle, job, About::NONE);
    started.is_some()
}

/// Starts a worker when the pool is closed: the end of the runtime needs all workers.
#[cold]
pub(super) fn start_late(shared: &Arc<Shared>, index: usize) {
    let (handle, job) = job(shared, index);
    shared.base.pool.start_late(&handle, job);
}

fn job(shared: &Arc<Shared>, index: usize) -> (Handle, impl FnOnce() + Send + use<>) {
    let own = shared.clone();
    (Handle::MultiThread(shared.clone()), move || run(own, index))
}

/// The main function of a worker's thread.
fn run(shared: Arc<Shared>, index: usize) {
    if enter::is_entered() {
        // The pool was closed before a thread took this job, and the closing thread does
        // it; but this one drives tasks itself.
        return start_late(&shared, index);
    }
    // A worker that panics leaves tasks behind that no thread will run. Tasks' panics are
    // caught; this is for hooks, and for mistakes of ours.
    let _abort = OnDrop(|| {
        if cfg!(debug_assertions) && std::thread::panicking() {
            eprintln!("worker thread panicking; aborting process");
            std::process::abort();
        }
    });
    if !shared.cores[index].try_acquire() {
        return;
    }
    let handle = Handle::MultiThread(shared.clone());
    let worker = Worker::new(shared.clone(), index);
    enter::enter_runtime(&handle, true, |_| {
        let _here = worker.enter();
        let _timers = (shared.base.common.time.as_ref()).map(|wheels| wheels.attach(index));
        run_tasks(&worker);
        worker.serve_pinned(|| {});
    });
}

/// Runs tasks until the runtime ends, or a task has given the core away.
fn run_tasks(worker: &Worker) {
    let core = worker.core();
    core.counters.is_run_by(std::thread::current().id());
    if let Some(stalls) = &worker.shared.base.common.stalls {
        // The worker's previous thread may have given the core away during a poll.
        stalls.poll_ends(worker.index);
    }
    core.local.busy.set(Stopwatch::start());
    observe::cache_time_after_sleep();
    while worker.has_core.get() {
        let task = worker.next().or_else(|| {
            // Code outside of a task's poll has no limit.
            coop::set(Budget::UNCONSTRAINED);
            if worker.shared.is_closed() {
                shut_down(worker);
                None
            } else {
                search::find_task(worker)
            }
        });
        if let Some(task) = task {
            worker.run(task);
        }
    }
    coop::set(Budget::UNCONSTRAINED);
}

/// Cancels the tasks. The thread does not come back to its core.
#[cold]
fn shut_down(worker: &Worker) {
    worker.shutting_down.set(true);
    let shared = &worker.shared;
    // SAFETY: this thread has the core, and with it the list.
    unsafe { shared.base.owned.close_own(worker.index) };
    shared.base.owned.close_and_cancel_all();
    empty(worker, worker.core());
    empty_others(worker);
    worker.serve_pinned(|| empty(worker, worker.core()));
    worker.count_forced_yields();
    worker.count_busy();
    let before = shared.shut_down.fetch_add(1, Ordering::AcqRel);
    if before + 1 == shared.cores.len() {
        shut_down_last(worker);
    }
    worker.has_core.set(false);
}

/// Runs all that is in the queues of a core that is this worker's.
fn empty(worker: &Worker, core: &Core) {
    worker.queue_yielded();
    while let Some(task) = worker.next_pinned().or_else(|| worker.next_local(core)) {
        cancel(worker, task);
    }
}

/// Runs the tasks in the inject queue, and in those of other workers: a task that waits
/// for the end of another one may block its worker for long.
fn empty_others(worker: &Worker) {
    worker.core().local.reclaims.set(true);
    while let Some(task) = worker
        .shared
        .next_injected()
        .or_else(|| search::steal(worker))
    {
        cancel(worker, task);
        empty(worker, worker.core());
    }
}

/// Runs a task that has been cancelled. Tasks that it wakes are queued here.
fn cancel(worker: &Worker, task: Notified) {
    match task.run() {
        Ran::Done | Ran::Idle => {}
        Ran::Again(task) | Ran::Yielded(task) | Ran::Here(task) => {
            worker.push_back(worker.core(), task);
        }
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
        if shared.base.owned.is_empty() {
            break;
        }
        worker.core().parker.park(Some(Instant::now() + LOOK));
    }
    if let Some(wheels) = &shared.base.common.time {
        wheels.shutdown();
    }
    shared.base.common.shut_down_io();
}
