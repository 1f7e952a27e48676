//! The thread that looks for polls that take too long.
//!
//! Each worker notes which task it polls and since when (`polling.rs`). A thread of its own reads
//! that, because all workers may be stalled at once. It ends soon after the runtime.

use std::collections::HashMap;
use std::panic::Location;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_sync::thread::Mutex;

use blitz_io_core::debug_fields;
use blitz_io_observe::decisions;

use crate::api::trace::SpawnMeta;
use crate::kernel::polling::Polling;
use crate::kernel::task::Id;

/// Called for a poll that takes too long.
pub(crate) type StallCallback = Arc<dyn Fn(&StalledWorker<'_>) + Send + Sync>;

/// The shortest and the longest pause between two looks.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(250)];

/// A worker that polls one task for a long time.
///
/// See [`Builder::on_worker_stalled`](crate::runtime::Builder::on_worker_stalled).
pub struct StalledWorker<'a> {
    worker: usize,
    task: Id,
    spawned: Option<&'a Spawned>,
    elapsed: Duration,
}

impl StalledWorker<'_> {
    /// Returns the worker's number, as in [`RuntimeMetrics`](crate::runtime::RuntimeMetrics).
    #[must_use]
    pub fn worker(&self) -> usize {
        self.worker
    }

    /// Returns the task that the worker polls.
    #[must_use]
    pub fn task_id(&self) -> Id {
        self.task
    }

    /// Returns the name of the task, if it was spawned with one.
    #[must_use]
    pub fn task_name(&self) -> Option<&str> {
        self.spawned?.name.as_deref()
    }

    /// Returns where the task was spawned; `None` if it has ended by now.
    #[must_use]
    pub fn spawned_at(&self) -> Option<&'static Location<'static>> {
        Some(self.spawned?.at)
    }

    /// Returns how long the poll has taken so far.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }
}

debug_fields! {
    impl StalledWorker<'_>, |this| {
        worker: this.worker,
        task_id: this.task,
        task_name: this.task_name(),
        spawned_at: this.spawned_at(),
        elapsed: this.elapsed,
    }
}

/// The name and place that a task got when it was spawned.
#[derive(Clone)]
struct Spawned {
    name: Option<Box<str>>,
    at: &'static Location<'static>,
}

/// The state of the thread that looks for stalls; see the module documentation.
pub(crate) struct Stalls {
    after: Duration,
    hook: StallCallback,
    begin: Instant,
    /// The polls of the workers, whose times are nanoseconds after `begin`.
    workers: Box<[Polling]>,
    tasks: Mutex<HashMap<Id, Spawned>>,
}

impl Stalls {
    /// Starts the thread.
    pub(crate) fn start(
        after: Duration,
        hook: StallCallback,
        workers: usize,
    ) -> std::io::Result<Arc<Self>> {
        let stalls = Arc::new(Self {
            after,
            hook,
            begin: Instant::now(),
            workers: (0..workers).map(|_| Polling::new()).collect(),
            tasks: Mutex::default(),
        });
        let weak = Arc::downgrade(&stalls);
        let thread = thread::Builder::new().name("blitz-stalls".into());
        // It is none of a test's.
        decisions::with_system(|| thread.spawn(move || watch(&weak)))?;
        Ok(stalls)
    }

    /// Keeps the record of a task until it ends.
    pub(crate) fn spawned(&self, task: Id, meta: SpawnMeta<'_>) {
        let spawned = Spawned {
            name: meta.name.map(Into::into),
            at: meta.spawned_at,
        };
        self.tasks.lock().insert(task, spawned);
    }

    pub(crate) fn ended(&self, task: Id) {
        self.tasks.lock().remove(&task);
    }

    /// A worker begins to poll a task.
    pub(crate) fn poll_begins(&self, worker: usize, task: Id) {
        self.workers[worker].begin(task.as_u64(), self.now());
    }

    /// A worker polls no task any more.
    pub(crate) fn poll_ends(&self, worker: usize) {
        self.workers[worker].end();
    }

    /// Returns for how long a worker has been polling a task.
    pub(crate) fn current_poll(&self, worker: usize) -> Option<Duration> {
        self.poll(worker).map(|(_, since)| self.elapsed(since))
    }

    /// Returns the task that a worker polls, and since when.
    fn poll(&self, worker: usize) -> Option<(Id, u64)> {
        let (task, since) = self.workers[worker].get()?;
        Some((Id::from_u64(task)?, since))
    }

    fn now(&self) -> u64 {
        (self.begin.elapsed().as_nanos() as u64).max(1)
    }

    fn elapsed(&self, since: u64) -> Duration {
        Duration::from_nanos(self.now().saturating_sub(since))
    }

    /// Calls the hook for polls that were not `told`.
    fn look(&self, told: &mut [u64]) {
        for (worker, told) in told.iter_mut().enumerate() {
            let Some((task, since)) = self.poll(worker) else {
                continue;
            };
            let elapsed = self.elapsed(since);
            if elapsed < self.after || since == *told {
                continue;
            }
            *told = since;
            let spawned = self.tasks.lock().get(&task).cloned();
            (self.hook)(&StalledWorker {
                worker,
                task,
                spawned: spawned.as_ref(),
                elapsed,
            });
        }
    }
}

/// The main function of the thread.
fn watch(stalls: &Weak<Stalls>) {
    // It sees the end of its runtime only after a sleep. A test that leaves the runtime has left its workers.
    blitz_io_observe::serves_process();
    let mut told = vec![];
    while let Some(stalls) = stalls.upgrade() {
        told.resize(stalls.workers.len(), 0);
        stalls.look(&mut told);
        let pause = (stalls.after / 8).clamp(PAUSES[0], PAUSES[1]);
        drop(stalls);
        thread::sleep(pause);
    }
}
