//! Models of how pinned tasks that have not begun come to another worker.
//!
//! The workers take deferred tasks only, and sleep, with the code that ships.
#![cfg(loom)]

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;

use blitz_io_runtime::model::scheduler::Driver;
use blitz_io_runtime::model::scheduler::deferred::Deferred;
use blitz_io_runtime::model::scheduler::idle::{Calls, Idle, Place, Sleeper};
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::thread;

fn model(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    let bound = builder.preemption_bound.unwrap_or(preemptions);
    builder.preemption_bound = Some(bound.min(preemptions));
    builder.max_branches = 10_000;
    builder.check(test);
}

/// A task is a bit, in the place of a pointer.
type Task = usize;

fn pointer(task: Task) -> NonNull<Task> {
    NonNull::new(std::ptr::without_provenance_mut(task)).unwrap()
}

struct World {
    idle: Idle,
    deferred: Deferred<Task>,
    words: Vec<Driver>,
    closed: AtomicBool,
    /// The sum of the tasks that have run.
    done: AtomicUsize,
    /// The sum of the tasks after which the workers leave.
    all: Task,
}

impl World {
    fn new(workers: usize, all: Task) -> Arc<ManuallyDrop<Self>> {
        Arc::new(ManuallyDrop::new(Self {
            idle: Idle::new(workers, workers, 1, 0),
            deferred: Deferred::new(),
            words: (0..workers).map(|_| Driver::new()).collect(),
            closed: AtomicBool::new(false),
            done: AtomicUsize::new(0),
            all,
        }))
    }

    fn wake(&self, place: Place) {
        match place {
            Place::Parked(index) => self.words[index].unpark(),
            Place::Driver(_) => unreachable!("no worker waits in drivers"),
        }
    }

    fn call(&self, calls: Calls) {
        let places = calls.to_work.into_iter().chain(calls.to_monitor);
        places.for_each(|place| self.wake(place));
    }

    fn defer(&self, task: Task) {
        self.call(self.deferred.defer(pointer(task), &self.idle));
    }

    /// Notes that a task has run. After the last one, all leave.
    fn finish(&self, task: Task) {
        let before = self.done.fetch_add(task, Ordering::AcqRel);
        if before + task == self.all {
            self.closed.store(true, Ordering::SeqCst);
            self.idle.wake_all(|place| self.wake(place));
        }
    }
}

/// A worker that is ahead.
struct Worker<'a> {
    world: &'a World,
    index: usize,
    asleep: Cell<bool>,
}

impl Worker<'_> {
    /// Runs tasks until the world is closed.
    fn run(&self) {
        let idle = &self.world.idle;
        let mut searching = false;
        while !self.is_closed() {
            if let Some(task) = self.next() {
                if std::mem::take(&mut searching) {
                    idle.found_work(self);
                }
                self.world.finish(task);
                continue;
            }
            // As `search::find_task` and `search::sleep` do.
            searching = searching || idle.start_searching();
            if !self.sees_injected() {
                self.asleep.set(true);
                searching = idle.sleep(self, searching);
                self.asleep.set(false);
            }
        }
    }

    fn next(&self) -> Option<Task> {
        let task = self.sees_injected().then(|| self.world.deferred.pop())?;
        Some(task?.addr().get())
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
        let World { idle, deferred, .. } = self.world;
        deferred.is_for(idle, !self.asleep.get(), || true)
    }

    fn sees_any(&self) -> bool {
        self.sees_injected()
    }

    fn has_tasks(&self) -> bool {
        false
    }

    fn has_plenty(&self) -> bool {
        false
    }

    fn is_closed(&self) -> bool {
        self.world.closed.load(Ordering::Acquire)
    }

    fn sleep(&self, place: Place) -> bool {
        let is_monitor = self.world.idle.is_monitor(place, false);
        // The clock of the model has run out if it ever does.
        let deadline = is_monitor.then(std::time::Instant::now);
        if !self.world.words[self.index].park(deadline) {
            thread::yield_now();
        }
        true
    }

    fn sees_stalled(&self, _: Place) -> bool {
        false
    }

    fn call(&self, calls: Calls) {
        self.world.call(calls);
    }
}

/// Starts a worker that is awake, and defers `tasks` first.
fn start(
    world: &Arc<ManuallyDrop<World>>,
    index: usize,
    tasks: &'static [Task],
) -> thread::JoinHandle<()> {
    let world = world.clone();
    thread::spawn(move || {
        tasks.iter().for_each(|&task| world.defer(task));
        let worker = Worker {
            world: &world,
            index,
            asleep: Cell::new(false),
        };
        worker.run();
    })
}

/// Waits for the workers, and drops the world.
fn all_end<const N: usize>(workers: [thread::JoinHandle<()>; N], world: Arc<ManuallyDrop<World>>) {
    for worker in workers {
        worker.join().unwrap();
    }
    assert_eq!(world.done.load(Ordering::Acquire), world.all);
    drop(ManuallyDrop::into_inner(Arc::into_inner(world).unwrap()));
}

/// A worker defers two tasks. Each of the two passes over while the other is awake.
fn one_takes_what_both_pass_over() {
    model(3, || {
        let world = World::new(2, 3);
        let workers = [start(&world, 0, &[1, 2]), start(&world, 1, &[])];
        all_end(workers, world);
    });
}

/// Two workers defer a task each, and a third looks for some.
fn one_of_three_takes_them() {
    model(1, || {
        let world = World::new(3, 3);
        let workers = [
            start(&world, 0, &[1]),
            start(&world, 1, &[2]),
            start(&world, 2, &[]),
        ];
        all_end(workers, world);
    });
}

models! {
    one_takes_what_both_pass_over
    one_of_three_takes_them
}
