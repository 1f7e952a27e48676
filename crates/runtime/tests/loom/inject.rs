//! A model of the inject queue of a current-thread scheduler: other threads push and unpark, and
//! the running thread takes all there is, and parks if there is nothing.

use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use blitz_io_runtime::kernel::{driver::Driver, inject::Inject};
use loom::thread;

use crate::model::{Number, Numbered, model_in_order};

struct World {
    inject: Inject<Numbered>,
    driver: Driver,
}

impl World {
    fn push(&self, task: Number) {
        self.inject.push(Numbered(task));
        self.driver.unpark();
    }

    /// Runs so many tasks, and returns them in their order.
    fn run(&self, count: usize) -> Vec<Number> {
        let (mut queue, mut ran) = (VecDeque::new(), Vec::new());
        while ran.len() < count {
            if !self.inject.is_empty() {
                self.inject.drain_into(&mut queue);
            }
            match queue.pop_front() {
                Some(Numbered(task)) => ran.push(task),
                None => _ = self.driver.park(None),
            }
        }
        ran
    }
}

/// One thread pushes tasks 1 and 2, another one 3.
fn two_push() {
    model_in_order(2, || {
        // loom can not drop it after it has found a mistake.
        let world = Arc::new(ManuallyDrop::new(World {
            inject: Inject::new(),
            driver: Driver::new(),
        }));
        let pushers = [&[1, 2][..], &[3]].map(|tasks| {
            let world = world.clone();
            thread::spawn(move || tasks.iter().for_each(|&task| world.push(task)))
        });
        let mut ran = world.run(3);
        for pusher in pushers {
            pusher.join().unwrap();
        }
        assert!(world.inject.is_empty());
        assert_eq!(world.inject.taken(), 3);
        ran.retain(|&task| task != 3);
        assert_eq!(ran, [1, 2]);
        drop(ManuallyDrop::into_inner(Arc::into_inner(world).unwrap()));
    });
}

#[test]
fn no_task_waits_while_the_thread_sleeps() {
    two_push();
}
