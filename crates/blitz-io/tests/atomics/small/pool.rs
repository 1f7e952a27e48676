//! Workers of the fork-join pool that sleep beside jobs that come. They do not spin: a search of all orders
//! would try each of their looks.

use std::sync::mpsc;

use blitz_io::pool::{self, Spin, ThreadPool, ThreadPoolBuilder};

fn threads(count: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(count);
    builder.spin(Spin::Never).build().unwrap()
}

#[test]
fn one_job_is_injected() {
    assert_eq!(threads(1).install(|| 7), 7);
}

#[test]
fn a_fork_is_joined() {
    assert_eq!(threads(2).install(|| pool::join(|| 1, || 2)), (1, 2));
}

#[test]
fn jobs_of_a_scope() {
    let mut done = [false; 2];
    threads(2).scope(|scope| {
        for job in &mut done {
            scope.spawn(|_| *job = true);
        }
    });
    assert_eq!(done, [true; 2]);
}

/// The job that spawns waits for the spawned one, so another worker has to take it.
#[test]
fn a_spawned_job_wakes_a_worker() {
    let sum = threads(2).install(|| {
        let (sender, receiver) = mpsc::channel();
        pool::spawn(move || sender.send(7).unwrap());
        receiver.recv().unwrap()
    });
    assert_eq!(sum, 7);
}
