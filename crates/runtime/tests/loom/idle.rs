//! Models of how workers sleep and are woken.
//!
//! The workers here are the smallest that there can be; how they go to sleep, get up and
//! call each other is the code that ships.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use blitz_io_futex::model::expire;
use blitz_io_runtime::kernel::idle::{Calls, Idle, Place, Sleeper};
use blitz_io_runtime::kernel::run_queue::RunQueue;
use blitz_io_runtime::kernel::{driver::Driver, inject::Inject};
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::sync::{Condvar, Mutex};
use loom::thread;

use crate::model::{Number, Numbered, model_with_long_runs as model};

/// The driver in which workers wait: no two polls take the same event.
#[derive(Default)]
struct Poll {
    found: Mutex<Found>,
    change: Condvar,
}

#[derive(Default)]
struct Found {
    woken: bool,
    /// The sum of the tasks whose events have happened.
    events: Number,
}

impl Poll {
    fn change(&self, change: impl FnOnce(&mut Found)) {
        change(&mut self.found.lock().unwrap());
        self.change.notify_one();
    }

    fn look(&self) -> Found {
        std::mem::take(&mut self.found.lock().unwrap())
    }

    /// The clock of the model has run out if it ever does.
    fn wait(&self, has_deadline: bool) -> Found {
        let mut found = self.found.lock().unwrap();
        while !found.woken && found.events == 0 {
            if has_deadline {
                drop(found);
                thread::yield_now();
                return Found::default();
            }
            found = self.change.wait(found).unwrap();
        }
        std::mem::take(&mut found)
    }
}

struct World {
    idle: Idle,
    inject: Inject<Numbered>,
    queues: Vec<RunQueue<Numbered, 4>>,
    words: Vec<Driver>,
    poll: Poll,
    uses_driver: bool,
    closed: AtomicBool,
    /// The sum of the tasks that have run.
    done: AtomicUsize,
    /// The threads that wait for a task, by the task.
    waiting: Vec<Driver>,
    /// Number of calls to work.
    calls: AtomicUsize,
    /// The sum of the tasks after which the workers leave.
    all: Number,
}

impl World {
    /// loom can not drop it after it has found a mistake, so only a model that ends well
    /// does.
    fn new(workers: usize, processors: usize, all: Number) -> Arc<ManuallyDrop<Self>> {
        Self::with_driver(workers, processors, all, 0)
    }

    /// Creates a world in which up to `most_waiting` workers wait in the driver.
    fn with_driver(
        workers: usize,
        processors: usize,
        all: Number,
        most_waiting: usize,
    ) -> Arc<ManuallyDrop<Self>> {
        let idle = Idle::new(workers, processors, 1, most_waiting);
        if most_waiting > 0 {
            idle.use_drivers(1, |place| panic!("{place:?}: all are awake"));
        }
        Arc::new(ManuallyDrop::new(Self {
            idle,
            inject: Inject::new(),
            queues: (0..workers).map(|_| RunQueue::new()).collect(),
            words: (0..workers).map(|_| Driver::new()).collect(),
            poll: Poll::default(),
            uses_driver: most_waiting > 0,
            closed: AtomicBool::new(false),
            done: AtomicUsize::new(0),
            waiting: (0..=all).map(|_| Driver::new()).collect(),
            calls: AtomicUsize::new(0),
            all,
        }))
    }

    fn call(&self, calls: Calls) {
        if calls.to_work.is_some() {
            self.calls.fetch_add(1, Ordering::Relaxed);
        }
        let places = calls.to_work.into_iter().chain(calls.to_monitor);
        places.for_each(|place| self.wake(place));
    }

    fn wake(&self, place: Place) {
        match place {
            Place::Parked(index) => self.words[index].unpark(),
            Place::Driver(_) => self.poll.change(|found| found.woken = true),
        }
    }

    /// A task comes from outside.
    fn inject(&self, task: Number) {
        self.inject.push(Numbered(task));
        self.call(self.idle.injected());
    }

    /// An event for a task happens.
    fn happen(&self, task: Number) {
        self.poll.change(|found| found.events += task);
    }

    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.idle.wake_all(|place| self.wake(place));
    }

    /// Notes that a task has run. After the last one, all leave.
    fn finish(&self, task: Number) {
        let before = self.done.fetch_add(task, Ordering::AcqRel);
        self.waiting[task].unpark();
        if before + task == self.all {
            self.close();
        }
    }

    /// Blocks the thread until a task has run.
    fn wait_for(&self, task: Number) {
        self.waiting[task].park(None);
        assert!(self.done.load(Ordering::Acquire) & task != 0);
    }
}

struct Worker<'a> {
    world: &'a World,
    index: usize,
}

impl Worker<'_> {
    /// Runs tasks until the world is closed.
    fn run(&self, mut searching: bool, run: impl Fn(&Self, Number)) {
        let world = self.world;
        loop {
            if let Some(task) = self.next() {
                if std::mem::replace(&mut searching, false) {
                    world.idle.found_work(self);
                }
                run(self, task);
                continue;
            }
            if self.is_closed() {
                return;
            }
            searching = searching || world.idle.start_searching();
            if searching {
                if let Some(task) = self.steal() {
                    searching = false;
                    world.idle.found_work(self);
                    run(self, task);
                    continue;
                }
            }
            searching = world.idle.sleep(self, searching);
            if world.uses_driver {
                // As `search::sleep` does.
                world.call(world.idle.pushed(false));
            }
        }
    }

    fn next(&self) -> Option<Number> {
        let queue = &self.world.queues[self.index];
        // SAFETY: the queue with this number is this worker's.
        let task = unsafe { queue.pop_and_claim(1) }.or_else(|| self.world.inject.pop())?;
        Some(task.0)
    }

    fn steal(&self) -> Option<Number> {
        let own = &self.world.queues[self.index];
        let others = self.world.queues.iter().enumerate();
        others
            .filter(|&(index, _)| index != self.index)
            // SAFETY: the queue with this number is this worker's, and empty.
            .find_map(|(_, queue)| unsafe { queue.steal_into(own) })
            .map(|(task, _)| task.0)
    }

    /// Makes a task ready on this worker.
    fn deliver(&self, task: Number) {
        if task != 0 {
            // SAFETY: the queue with this number is this worker's.
            let pushed = unsafe { self.world.queues[self.index].push(Numbered(task)) };
            assert!(pushed.is_ok());
        }
    }

    /// Polls without waiting.
    fn poll(&self) {
        let found = self.world.poll.look();
        if found.woken && self.world.idle.passes_on(0) {
            self.world.wake(Place::Driver(0));
        }
        self.deliver(found.events);
    }

    /// Makes a task, which others may steal.
    fn push(&self, task: Number) {
        let world = self.world;
        // SAFETY: the queue with this number is this worker's.
        assert!(unsafe { world.queues[self.index].push(Numbered(task)) }.is_ok());
        world.call(world.idle.pushed(true));
    }
}

impl Sleeper for Worker<'_> {
    fn index(&self) -> usize {
        self.index
    }

    fn driver(&self) -> usize {
        0
    }

    fn sees_injected(&self) -> bool {
        !self.world.inject.is_empty()
    }

    fn sees_any(&self) -> bool {
        self.sees_injected() || self.world.queues.iter().any(RunQueue::has_stealable)
    }

    fn has_tasks(&self) -> bool {
        self.world.queues[self.index].has_stealable()
    }

    fn has_plenty(&self) -> bool {
        self.has_tasks()
    }

    fn is_closed(&self) -> bool {
        self.world.closed.load(Ordering::Acquire)
    }

    fn sleep(&self, place: Place) -> bool {
        let is_monitor = self.world.idle.is_monitor(place, false);
        match place {
            Place::Parked(index) => {
                // The clock of the model has run out if it ever does.
                let deadline = is_monitor.then(std::time::Instant::now);
                if !self.world.words[index].park(deadline) {
                    thread::yield_now();
                }
                true
            }
            Place::Driver(_) => {
                let found = self.world.poll.wait(is_monitor);
                self.deliver(found.events);
                found.woken
            }
        }
    }

    /// A worker that has a task that waits is stalled in these models.
    fn sees_stalled(&self, place: Place) -> bool {
        if !self.world.idle.is_monitor(place, false) {
            return false;
        }
        if !self.world.idle.is_attended(0) {
            self.poll();
        }
        self.sees_any()
    }

    fn call(&self, calls: Calls) {
        self.world.call(calls);
    }
}

/// Starts a worker that is awake.
fn start(
    world: &Arc<ManuallyDrop<World>>,
    index: usize,
    run: impl Fn(&Worker<'_>, Number) + 'static,
) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || {
        let worker = Worker {
            world: &world,
            index,
        };
        worker.run(false, run);
    })
}

fn finish(worker: &Worker<'_>, task: Number) {
    worker.world.finish(task);
}

/// Drops the world.
fn end(world: Arc<ManuallyDrop<World>>) {
    assert_eq!(world.done.load(Ordering::Acquire), world.all);
    if let Ok(world) = Arc::try_unwrap(world) {
        drop(ManuallyDrop::into_inner(world));
    }
}

/// Waits for the workers, and drops the world.
fn all_end<const N: usize>(workers: [thread::JoinHandle<()>; N], world: Arc<ManuallyDrop<World>>) {
    workers
        .into_iter()
        .for_each(|worker| worker.join().unwrap());
    end(world);
}

/// Tasks come from outside while the only worker goes to sleep.
fn from_outside() {
    model(3, || {
        let world = World::new(1, 2, 3);
        let worker = start(&world, 0, finish);
        world.inject(1);
        world.inject(2);
        worker.join().unwrap();
        end(world);
    });
}

/// Tasks come from outside while two workers go to sleep.
fn from_outside_for_two() {
    model(2, || {
        let world = World::new(2, 2, 3);
        let workers = [0, 1].map(|index| start(&world, index, finish));
        world.inject(1);
        world.inject(2);
        all_end(workers, world);
    });
}

/// Two pushers at once, while two workers sleep: one is called.
fn burst() {
    model(3, || {
        let world = World::new(2, 2, 0);
        let _ = world.idle.go_to_sleep(0, 0, false, false);
        let _ = world.idle.go_to_sleep(1, 0, false, false);
        let other = {
            let world = world.clone();
            thread::spawn(move || world.inject(1))
        };
        world.inject(2);
        other.join().unwrap();
        assert_eq!(world.calls.load(Ordering::Relaxed), 1);
        assert_eq!(world.idle.count().searching(), 1);
        assert_eq!(world.idle.count().awake(), 1);
        end(world);
    });
}

/// The first task waits, with its thread, until the second has run: so the worker that
/// was called for both has to call another one.
fn chain() {
    model(2, || {
        let world = World::new(2, 2, 3);
        let wait_for_other = |worker: &Worker<'_>, task: Number| {
            worker.world.finish(task);
            if task == 1 {
                worker.world.wait_for(2);
            }
        };
        let workers = [0, 1].map(|index| start(&world, index, wait_for_other));
        world.inject(1);
        world.inject(2);
        all_end(workers, world);
    });
}

/// A task makes another one and waits for it with its thread. There is one processor, so
/// that no worker is called to work for it; but there is a monitor.
fn blocked() {
    model(2, || {
        let world = World::new(2, 1, 3);
        expire();
        let run = |worker: &Worker<'_>, task: Number| {
            if task == 1 {
                worker.push(2);
                worker.world.wait_for(2);
            }
            worker.world.finish(task);
        };
        world.inject.push(Numbered(1));
        let workers = [0, 1].map(|index| start(&world, index, run));
        all_end(workers, world);
    });
}

/// The worker that waits in the driver gets up to a task that blocks its thread until an
/// event's task has run. The other worker is parked, and no worker waits in the driver.
fn blocked_before_an_event() {
    model(2, || {
        let world = World::with_driver(2, 1, 3, 1);
        expire();
        let run = |worker: &Worker<'_>, task: Number| {
            if task == 1 {
                worker.world.happen(2);
                worker.world.wait_for(2);
            }
            worker.world.finish(task);
        };
        let workers = [0, 1].map(|index| start(&world, index, run));
        world.happen(1);
        all_end(workers, world);
    });
}

/// Events happen while workers go to sleep in the driver.
fn sleeps_beside_an_event(workers: usize) {
    model(2, move || {
        let world = World::with_driver(workers, 2, 3, workers);
        let workers: Vec<_> = (0..workers)
            .map(|index| start(&world, index, finish))
            .collect();
        world.happen(1);
        world.happen(2);
        workers
            .into_iter()
            .for_each(|worker| worker.join().unwrap());
        end(world);
    });
}

/// A task comes from outside, and the worker that waits in the driver is called for it. The
/// other worker polls the driver, and then blocks until that task has run.
fn polled_by_a_busy_worker() {
    model(2, || {
        let world = World::with_driver(2, 2, 3, 2);
        let run = |worker: &Worker<'_>, task: Number| {
            if task == 2 {
                worker.poll();
                worker.world.wait_for(1);
            }
            worker.world.finish(task);
        };
        world.inject.push(Numbered(2));
        let workers = [0, 1].map(|index| start(&world, index, run));
        world.inject(1);
        all_end(workers, world);
    });
}

/// The first source is registered while workers are parked: one of them waits in the driver
/// from then on, and sees its event.
fn a_source_while_parked() {
    model(2, || {
        let world = World::with_driver(1, 2, 1, 0);
        let worker = start(&world, 0, finish);
        world.idle.use_drivers(1, |place| world.wake(place));
        world.happen(1);
        worker.join().unwrap();
        end(world);
    });
}

/// There are two drivers, and the workers that sleep are parked when the first source is
/// registered. When all sleep again, a worker waits in each driver.
fn two_drivers() {
    model(2, || {
        let idle = Idle::new(3, 3, 2, 2);
        for index in 0..3 {
            let (place, _) = idle.go_to_sleep(index, index % 2, false, false);
            assert_eq!(place, Place::Parked(index));
        }
        let mut called = Vec::new();
        idle.use_drivers(2, |place| called.push(place));
        for place in called {
            let Place::Parked(index) = place else {
                panic!("{place:?} was called")
            };
            // They have the same driver.
            let _ = idle.go_to_sleep(index, 0, true, false);
        }
        assert_eq!(idle.count().awake(), 0);
        assert!(
            idle.is_attended(0) && idle.is_attended(1),
            "a driver is left alone"
        );
    });
}

/// The end comes while workers go to sleep in the driver.
fn closes_while_waiting() {
    model(2, || {
        let world = World::with_driver(2, 2, 0, 2);
        let workers = [0, 1].map(|index| start(&world, index, finish));
        world.close();
        all_end(workers, world);
    });
}

/// A task makes two and waits for both, and the first of them waits for the second. So
/// the monitor blocks in the task that it takes, and another worker has to become the
/// monitor.
fn blocked_twice() {
    // Three workers and a clock that has run out: more preemptions do not end.
    model(0, || {
        let world = World::new(3, 1, 7);
        expire();
        let run = |worker: &Worker<'_>, task: Number| {
            match task {
                1 => {
                    worker.push(2);
                    worker.push(4);
                    worker.world.wait_for(2);
                }
                2 => worker.world.wait_for(4),
                _ => {}
            }
            worker.world.finish(task);
        };
        world.inject.push(Numbered(1));
        let workers = [0, 1, 2].map(|index| start(&world, index, run));
        all_end(workers, world);
    });
}

/// Two tasks come from outside, and the first blocks its thread until the second has run.
/// There is one processor, so no worker is called to work for the second; and when all were
/// asleep there was no monitor.
fn blocked_by_injected() {
    model(2, || {
        let world = World::new(2, 1, 3);
        expire();
        let run = |worker: &Worker<'_>, task: Number| {
            if task == 1 {
                worker.world.wait_for(2);
            }
            worker.world.finish(task);
        };
        let workers = [0, 1].map(|index| start(&world, index, run));
        world.inject(1);
        world.inject(2);
        all_end(workers, world);
    });
}

/// A monitor that dozes is called by the next push, and by no other.
fn dozing() {
    model(2, || {
        for most_waiting in [0, 1] {
            let idle = Idle::new(2, 1, 1, most_waiting);
            idle.use_drivers(1, |place| panic!("{place:?}: all are awake"));
            let (place, _) = idle.go_to_sleep(0, 0, false, false);
            assert!(idle.is_monitor(place, false) && idle.doze(place) && idle.count().is_dozing());
            let calls = idle.pushed(false);
            assert_eq!(calls.to_monitor, Some(place), "the monitor was not called");
            assert!(idle.is_monitor(place, false) && !idle.count().is_dozing());
            assert_eq!(idle.pushed(false), Calls::default());
            // The role ends with all that belongs to it.
            assert!(idle.doze(place));
            assert_eq!(idle.get_up(place, false), (Calls::default(), false));
            assert!(!idle.is_monitor(place, false) && !idle.count().is_dozing());
            assert_eq!((idle.count().awake(), idle.count().searching()), (2, 0));
        }
    });
}

/// The end comes while workers go to sleep.
fn closes() {
    model(2, || {
        let world = World::new(2, 2, 0);
        let workers = [0, 1].map(|index| start(&world, index, finish));
        world.close();
        all_end(workers, world);
    });
}

#[test]
fn no_task_waits_while_the_only_worker_sleeps() {
    from_outside();
}

#[test]
fn no_task_waits_while_all_workers_sleep() {
    from_outside_for_two();
}

#[test]
fn a_burst_calls_one() {
    burst();
}

#[test]
fn a_worker_that_finds_work_calls_the_next() {
    chain();
}

#[test]
fn the_monitor_takes_what_a_blocked_worker_has() {
    blocked();
}

#[test]
fn the_monitor_polls_a_driver_in_which_no_worker_waits() {
    blocked_before_an_event();
}

#[test]
fn an_event_wakes_a_worker_that_waits() {
    sleeps_beside_an_event(1);
    sleeps_beside_an_event(2);
}

#[test]
fn a_call_reaches_a_worker_that_waits() {
    polled_by_a_busy_worker();
}

#[test]
fn the_first_source_brings_a_worker_into_each_driver() {
    a_source_while_parked();
    two_drivers();
}

#[test]
fn the_role_of_the_monitor_is_passed_on() {
    blocked_twice();
}

#[test]
fn an_injected_task_makes_a_worker_the_monitor() {
    blocked_by_injected();
}

#[test]
fn a_push_calls_a_dozing_monitor() {
    dozing();
}

#[test]
fn the_end_wakes_all() {
    closes();
    closes_while_waiting();
}
