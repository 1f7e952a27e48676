//! A work queue over processes. A worker is killed, and its job goes to another.

use std::process::{Child, Command};

use blitz_io::ipc::{self, Queue};

type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

fn worker(name: &str) -> Result {
    let mut jobs = Queue::receiver(name)?;
    let mut results = Queue::sender(&format!("{name}-results"))?;
    loop {
        let job = jobs.recv()?;
        if job.is_empty() {
            return Ok(());
        }
        let number = u64::from_le_bytes((*job).try_into()?);
        results.send(&(number * number).to_le_bytes())?;
        // The job is done when its message is dropped. A worker that is killed before has not
        // done it, and another worker gets the message.
    }
}

fn main() -> Result {
    if !ipc::is_supported() {
        println!("this system has no shared memory of that kind");
        return Ok(());
    }
    if let [_, role, name] = &std::env::args().collect::<Vec<_>>()[..] {
        assert_eq!(role, "worker");
        return worker(name);
    }
    let name = format!("cookbook-{}", std::process::id());
    let mut jobs = Queue::sender(&name)?;
    let mut results = Queue::receiver(&format!("{name}-results"))?;
    // The queues stay connected also while no worker is there: the first may be killed before the
    // others have come.
    let _other_ends = (
        Queue::receiver(&name)?,
        Queue::sender(&format!("{name}-results"))?,
    );
    let start = || {
        Command::new(std::env::current_exe()?)
            .args(["worker", &name])
            .spawn()
    };
    let mut workers = (0..3)
        .map(|_| start())
        .collect::<std::io::Result<Vec<Child>>>()?;

    workers[0].kill()?; // at whatever it does
    for number in 0..100_u64 {
        jobs.send(&number.to_le_bytes())?;
    }
    let mut squares = std::collections::HashSet::new();
    while squares.len() < 100 {
        // A job may be done twice, if its worker was killed between the result and the drop.
        squares.insert(u64::from_le_bytes((*results.recv()?).try_into()?));
    }
    println!("{} results, though a worker was killed", squares.len());
    assert_eq!(squares.iter().sum::<u64>(), 328_350);
    for _ in &workers[1..] {
        jobs.send(b"")?;
    }
    for worker in &mut workers {
        worker.wait()?;
    }
    Ok(())
}
