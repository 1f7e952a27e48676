//! A worker's loop, the threads that run it, and its end.
//!
//! # The end
//!
//! Each worker that sees that the runtime is closed cancels all tasks: those that wait
//! are cancelled at once, those that run or are queued are told so. Then it runs what is
//! in its own queues, which cancels that, and what it can take from others, which may be
//! blocked. The last one takes what is left, and stays until there is no task: one may
//! still be polled by a thread that has given its core away, or its token may be on its
//! way in a thread that has just woken it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use blitz_futex::atomic::Ordering;
use blitz_sync::internals::coop::{self, Budget};

use super::core::Core;
use super::search;
use super::shared::Shared;
use super::worker::Worker;
use crate::common::Common;
use crate::core::{Notified, Ran};
use crate::enter;
use crate::metrics::Stopwatch;
use crate::pool::Spawner;
use crate::scheduler::Handle;

/// How often in a row the LIFO slot goes before the ring.
const MOST_FROM_LIFO_SLOT: u32 = 3;

/// How often the last worker looks whether the last task has ended.
const LOOK: Duration = Duration::from_millis(1);

/// What comes of a checkpoint between two tasks.
enum Checkpoint {
    GoOn,
    /// This task goes first.
    Injected(Notified),
    Closed,
}

/// Makes a scheduler, and starts its workers on threads of the pool.
pub(crate) fn launch(common: Common, pool: Spawner) -> Arc<Shared> {
    let shared = Arc::new(Shared::new(common, pool));
    Shared::register(&shared);
    for index in 0..shared.workers() {
        assert!(start(&shared, index), "OS can't spawn worker thread");
    }
    shared
}

/// Has a thread of the pool run the worker at `index`. `false` if there is none.
pub(super) fn start(shared: &Arc<Shared>, index: usize) -> bool {
    let handle = Handle::MultiThread(shared.clone());
    let own = shared.clone();
    // Mandatory, as it is the workers that end the tasks when the runtime ends.
    let started = shared
        .pool()
        .spawn_mandatory(&handle, move || run(own, index));
    started.is_some()
}

/// The same when the pool is closed: the end of the runtime needs all workers.
#[cold]
pub(super) fn start_late(shared: &Arc<Shared>, index: usize) {
    let handle = Handle::MultiThread(shared.clone());
    let own = shared.clone();
    shared.pool().start_late(&handle, move || run(own, index));
}

/// What a worker's thread does.
fn run(shared: Arc<Shared>, index: usize) {
    if enter::is_entered() {
        // The pool was closed before a thread took this job, and the closing thread does
        // it; but this one drives tasks itself.
        return start_late(&shared, index);
    }
    let _abort = AbortOnPanic;
    if !shared.cores[index].try_acquire() {
        return;
    }
    let handle = Handle::MultiThread(shared.clone());
    let worker = Worker::new(shared.clone(), index);
    enter::enter_runtime(&handle, true, |_| {
        let _here = worker.enter();
        let _timers = (shared.common().time.as_ref()).map(|wheels| wheels.attach(index));
        Loop::new(&worker).run();
    });
}

/// A worker that panics leaves tasks behind that no thread will run. Tasks' panics are
/// caught; this is for hooks, and for mistakes of ours.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if cfg!(debug_assertions) && std::thread::panicking() {
            eprintln!("worker thread panicking; aborting process");
            std::process::abort();
        }
    }
}

struct Loop<'a> {
    worker: &'a Worker,
    /// The user wants to know of each poll.
    observes_polls: bool,
}

impl<'a> Loop<'a> {
    fn new(worker: &'a Worker) -> Self {
        let counters = &worker.core().counters;
        counters.is_run_by(std::thread::current().id());
        Self {
            worker,
            observes_polls: worker.shared.common().hooks.polls() || counters.watches_polls(),
        }
    }

    fn run(&self) {
        let worker = self.worker;
        worker.local().busy.set(Stopwatch::start());
        loop {
            let task = match self.next() {
                Some(task) => task,
                None => {
                    // What is not a task's poll may do as much as it likes.
                    coop::set(Budget::UNCONSTRAINED);
                    if worker.shared.is_closed() {
                        shut_down(worker);
                        break;
                    }
                    match search::find_task(worker) {
                        Some(task) => task,
                        None => continue,
                    }
                }
            };
            self.run_task(task);
            if !worker.has_core.get() {
                break;
            }
        }
        coop::set(Budget::UNCONSTRAINED);
    }

    /// The next task of those that need no search. `None` also when the runtime is about
    /// to end.
    #[inline]
    fn next(&self) -> Option<Notified> {
        let worker = self.worker;
        let core = worker.core();
        if core.local.tuning.is_checkpoint() {
            match self.checkpoint(core) {
                Checkpoint::GoOn => {}
                Checkpoint::Injected(task) => return Some(task),
                Checkpoint::Closed => return None,
            }
        }
        if let Some(task) = core.local.yielded.take() {
            // SAFETY: it was put there as a token, and is taken out once.
            let task = unsafe { Notified::from_raw(task) };
            // What comes from other threads was ready before it.
            let Some(first) = worker.next_share(core) else {
                core.local.tuning.begins(1);
                return Some(task);
            };
            worker.push_back(core, task);
            return Some(first);
        }
        worker.next_local(core).or_else(|| worker.next_share(core))
    }

    /// It is time for maintenance, or for the inject queue, or both.
    #[cold]
    fn checkpoint(&self, core: &Core) -> Checkpoint {
        let worker = self.worker;
        coop::set(Budget::UNCONSTRAINED);
        let due = core.local.tuning.count_down();
        if due.maintenance {
            self.maintain(core);
        }
        if due.busy {
            worker.count_busy();
        }
        if worker.shared.is_closed() {
            return Checkpoint::Closed;
        }
        if !due.inject {
            return Checkpoint::GoOn;
        }
        // It may block the thread, and others have to see what waits.
        worker.queue_yielded();
        match worker.next_share(core) {
            None => Checkpoint::GoOn,
            Some(task) => Checkpoint::Injected(task),
        }
    }

    /// What has to be done now and then.
    fn maintain(&self, core: &Core) {
        let worker = self.worker;
        worker.poll_driver();
        worker.free_tasks();
        worker.count_forced_yields();
        if !core.ring.is_empty() {
            // Whatever a push has overlooked.
            worker.notify_ring(core);
        }
    }

    /// Runs a task, and what comes right after it.
    #[inline]
    fn run_task(&self, mut task: Notified) {
        let worker = self.worker;
        let core = worker.core();
        if core.local.searching.get() {
            search::stop_searching(worker);
        }
        if self.observes_polls {
            coop::set(Budget::FULL);
            return self.end_poll(core, self.run_observed(task));
        }
        loop {
            coop::set(Budget::FULL);
            let ran = task.run();
            if worker.pending.get() {
                return self.end_poll(core, ran);
            }
            core.counters.polled();
            match self.follows(core, ran) {
                Some(next) => task = next,
                None => return,
            }
        }
    }

    /// What comes after a poll that has made something ready, or is observed.
    fn end_poll(&self, core: &Core, ran: Ran) {
        let worker = self.worker;
        if !worker.has_core.get() {
            return worker.reschedule_without_core(ran);
        }
        core.counters.polled();
        if let Ran::Again(task) | Ran::Yielded(task) = ran {
            worker.reschedule(core, task);
        }
        self.run_lifo(core);
        worker.pending.set(false);
    }

    /// What runs right after a task that was polled: the next claimed one, or the same one
    /// if it asks for that and no other is ready. `None` if something else is to be looked
    /// at first.
    #[inline]
    fn follows(&self, core: &Core, ran: Ran) -> Option<Notified> {
        let worker = self.worker;
        let (Ran::Again(task) | Ran::Yielded(task)) = ran else {
            return worker.next_claimed(core);
        };
        if let Some(next) = worker.next_claimed(core) {
            worker.push_back(core, task);
            worker.notify_pushed(true);
            return Some(next);
        }
        if self.is_alone(core) {
            core.local.tuning.begins(1);
            return Some(task);
        }
        worker.reschedule(core, task);
        None
    }

    /// Whether a task that asks for the end of the queue may begin at once.
    fn is_alone(&self, core: &Core) -> bool {
        !core.local.tuning.is_checkpoint()
            && core.ring.is_empty()
            && self.worker.shared.inject.is_empty()
    }

    /// Runs what comes from the LIFO slot, as often as it may come before the ring, within
    /// the budget of the task before it.
    fn run_lifo(&self, core: &Core) {
        let worker = self.worker;
        let mut count = 0;
        while let Some(task) = worker.take_lifo(core) {
            if !coop::has_budget_remaining() {
                worker.push_back(core, task);
                break;
            }
            count += 1;
            if count == MOST_FROM_LIFO_SLOT {
                worker.uses_lifo.set(false);
            }
            let ran = match self.observes_polls {
                true => self.run_observed(task),
                false => task.run(),
            };
            if !worker.has_core.get() {
                return worker.reschedule_without_core(ran);
            }
            core.counters.polled();
            if let Ran::Again(task) | Ran::Yielded(task) = ran {
                worker.reschedule(core, task);
            }
        }
        if count >= MOST_FROM_LIFO_SLOT {
            worker.uses_lifo.set(worker.lifo_enabled);
        }
    }

    #[cold]
    fn run_observed(&self, task: Notified) -> Ran {
        let worker = self.worker;
        let id = task.id();
        let counters = &worker.core().counters;
        let began = counters.watches_polls().then(Instant::now);
        let hooks = &worker.shared.common().hooks;
        hooks.before_poll(id);
        let ran = task.run();
        hooks.after_poll(id);
        if let (Some(began), true) = (began, worker.has_core.get()) {
            counters.poll_took(began.elapsed());
        }
        ran
    }
}

/// Cancels the tasks. The thread does not come back to its core.
#[cold]
fn shut_down(worker: &Worker) {
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
