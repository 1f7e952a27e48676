//! Models of how tasks come to the thread that they are pinned to.
//!
//! The workers only sleep and empty the inbox, with the code that ships.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use blitz_io_runtime::kernel::driver::Driver;
use blitz_io_runtime::kernel::idle::{Calls, Idle, Place, Sleeper};
use blitz_io_runtime::kernel::inbox::{Inbox, Sleeps};
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::sync::{Condvar, Mutex};
use loom::thread;

use crate::model::{Number, Numbered, model_with_long_runs as model};

/// The owner is worker 0.
struct World {
    idle: Idle,
    inbox: Inbox<Numbered>,
    words: [Driver; 2],
    /// The driver in which the owner sleeps when it is no worker.
    apart: Driver,
    /// The driver has a wake-up, which one of those that wait takes.
    woken: Mutex<bool>,
    change: Condvar,
    closed: AtomicBool,
    done: AtomicUsize,
}

impl World {
    /// Up to `most_waiting` of the `workers` wait in the driver.
    fn new(workers: usize, most_waiting: usize) -> Arc<ManuallyDrop<Self>> {
        let idle = Idle::new(workers, workers, 1, most_waiting);
        if most_waiting > 0 {
            idle.use_drivers(1, |calls| panic!("{calls:?}: all are awake"));
        }
        Arc::new(ManuallyDrop::new(Self {
            idle,
            inbox: Inbox::new(),
            words: [Driver::new(), Driver::new()],
            apart: Driver::new(),
            woken: Mutex::new(false),
            change: Condvar::new(),
            closed: AtomicBool::new(false),
            done: AtomicUsize::new(0),
        }))
    }

    fn wake(&self, place: Place) {
        match place {
            Place::Parked(index) => self.words[index].unpark(),
            Place::Driver(_) => {
                *self.woken.lock().unwrap() = true;
                self.change.notify_one();
            }
        }
    }

    /// Another thread makes a task ready.
    fn push(&self, task: Number) {
        match self.inbox.push(Numbered(task)) {
            Some(Sleeps::At(place)) => self.wake(place),
            Some(Sleeps::Apart) => self.apart.unpark(),
            None => {}
        }
    }

    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.idle.wake_all(|place| self.wake(place));
    }

    /// Runs the tasks of the inbox. Returns `true` if the tasks of `all` have run.
    fn run_ready(&self, all: Number) -> bool {
        // SAFETY: the callers are the owner.
        while let Some(task) = unsafe { self.inbox.take(|| false) } {
            self.done.fetch_add(task.0, Ordering::Relaxed);
        }
        self.done.load(Ordering::Relaxed) == all
    }
}

struct Worker<'a> {
    world: &'a World,
    index: usize,
}

impl Worker<'_> {
    fn is_owner(&self) -> bool {
        self.index == 0
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
        false
    }

    fn sees_any(&self) -> bool {
        false
    }

    fn has_tasks(&self) -> bool {
        // SAFETY: `is_owner` is `true` for the owner only.
        self.is_owner() && unsafe { self.world.inbox.is_ready() }
    }

    fn has_plenty(&self) -> bool {
        false
    }

    fn is_closed(&self) -> bool {
        self.world.closed.load(Ordering::Acquire)
    }

    fn sleep(&self, place: Place) -> bool {
        let world = self.world;
        let is_monitor = world.idle.is_monitor(place, false);
        match place {
            Place::Parked(index) => {
                let deadline = is_monitor.then(std::time::Instant::now);
                if !world.words[index].park(deadline) {
                    thread::yield_now();
                }
                false
            }
            Place::Driver(_) => {
                let mut woken = world.woken.lock().unwrap();
                while !*woken {
                    if is_monitor {
                        drop(woken);
                        thread::yield_now();
                        return false;
                    }
                    woken = world.change.wait(woken).unwrap();
                }
                std::mem::take(&mut *woken)
            }
        }
    }

    fn sees_stalled(&self, _: Place) -> bool {
        false
    }

    fn call(&self, calls: Calls) {
        let places = calls.to_work.into_iter().chain(calls.to_monitor);
        places.for_each(|place| self.world.wake(place));
    }

    fn has_pinned(&self) -> bool {
        self.is_owner()
    }

    fn tell_place(&self, place: Option<Place>) -> bool {
        self.is_owner() && self.world.inbox.tell_place(place.map(Sleeps::At))
    }
}

/// The owner runs tasks until it has run `all`, as a worker. Then all leave.
fn own(world: &World, all: Number) {
    let worker = Worker { world, index: 0 };
    while !world.run_ready(all) {
        world.idle.sleep(&worker, false);
    }
    world.close();
}

/// Two threads push, and the owner parks.
fn parked_owner_gets_all() {
    model(3, || {
        let world = World::new(1, 0);
        let pushers = [1, 2].map(|task| {
            let world = world.clone();
            thread::spawn(move || world.push(task))
        });
        own(&world, 3);
        for pusher in pushers {
            pusher.join().unwrap();
        }
        drop(ManuallyDrop::into_inner(Arc::into_inner(world).unwrap()));
    });
}

/// A push wakes the owner in the driver, and not the other worker, which may wait there, too.
fn owner_in_a_driver_is_woken_by_name() {
    model(2, || {
        let world = World::new(2, 2);
        let other = {
            let world = world.clone();
            thread::spawn(move || {
                let worker = Worker {
                    world: &world,
                    index: 1,
                };
                while !worker.is_closed() {
                    world.idle.sleep(&worker, false);
                }
            })
        };
        let pusher = {
            let world = world.clone();
            thread::spawn(move || world.push(1))
        };
        own(&world, 1);
        pusher.join().unwrap();
        other.join().unwrap();
        drop(ManuallyDrop::into_inner(Arc::into_inner(world).unwrap()));
    });
}

/// Pushes wake an owner that is no worker any more.
fn owner_without_a_core_gets_all() {
    model(3, || {
        let world = World::new(1, 0);
        let pushers = [1, 2].map(|task| {
            let world = world.clone();
            thread::spawn(move || world.push(task))
        });
        // As `Worker::serve_pinned`.
        while !world.run_ready(3) {
            if !world.inbox.tell_place(Some(Sleeps::Apart)) {
                world.apart.park(None);
            }
            world.inbox.tell_place(None);
        }
        for pusher in pushers {
            pusher.join().unwrap();
        }
        drop(ManuallyDrop::into_inner(Arc::into_inner(world).unwrap()));
    });
}

models! {
    parked_owner_gets_all
    owner_in_a_driver_is_woken_by_name
    owner_without_a_core_gets_all
}
