//! A work queue whose workers are killed at random, and started again.
//!
//! ```sh
//! cargo run --release --example work_queue -- --jobs 1000 --workers 4 --kills 20
//! ```
//!
//! It shows what a queue between processes guarantees: a worker keeps the message of its
//! job until the job is done, and if it is killed before that, another worker gets the job.
//! So each job is done at least once. It starts the workers itself, as separate processes,
//! and kills them with `SIGKILL`.
//!
//! The exit code is 0 if every job was done.

use std::collections::HashMap;
use std::error::Error;
use std::process::{Child, Command, ExitCode};
use std::thread;
use std::time::Duration;

use blitz_io::ipc::{Queue, RecvError, SendError};
use clap::Parser;

/// Does jobs in worker processes, some of which are killed.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// How many jobs there are
    #[arg(long, default_value_t = 1000, value_name = "N")]
    jobs: u64,
    /// How many workers there are at a time
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=60))]
    workers: u16,
    /// How many of them to kill
    #[arg(long, default_value_t = 20, value_name = "N")]
    kills: u64,
    /// Be a worker for this queue
    #[arg(long, hide = true, value_name = "NAME")]
    work: Option<String>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let result = match &options.work {
        Some(name) => work(name),
        None => direct(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("work_queue: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Takes jobs until it is told to stop, and sends back their results.
fn work(name: &str) -> Result<(), Box<dyn Error>> {
    let mut jobs = Queue::receiver(name)?;
    let mut results = Queue::sender(&format!("{name}-results"))?;
    loop {
        let job = jobs.recv()?;
        if job.is_empty() {
            return Ok(());
        }
        let number = u64::from_le_bytes((*job).try_into()?);
        thread::sleep(Duration::from_micros(200)); // the work
        results.send_value(&[number, number * number])?;
        // The message is dropped here, and from now on the job counts as done.
    }
}

fn direct(options: &Options) -> Result<(), Box<dyn Error>> {
    let name = format!("work-queue-{}", std::process::id());
    let mut jobs = Queue::builder().capacity(64).sender(&name)?;
    let mut results = Queue::receiver(&format!("{name}-results"))?;
    let start = || {
        Command::new(std::env::current_exe()?)
            .args(["--work", &name])
            .spawn()
    };
    let mut workers: Vec<Child> = (0..options.workers)
        .map(|_| start())
        .collect::<Result<_, _>>()?;
    let (mut sent, mut killed) = (0, 0);
    let mut done: HashMap<u64, u64> = HashMap::new();
    while (done.len() as u64) < options.jobs {
        while sent < options.jobs {
            match jobs.try_send(&sent.to_le_bytes()) {
                Ok(()) => sent += 1,
                Err(SendError::Full) => break,
                Err(error) => return Err(error.into()),
            }
        }
        match results.recv_timeout(Duration::from_millis(10)) {
            Ok(message) => {
                let (number, result) = message.split_at(8);
                let number = u64::from_le_bytes(number.try_into()?);
                if u64::from_le_bytes(result.try_into()?) != number * number {
                    return Err(format!("job {number} has a wrong result").into());
                }
                *done.entry(number).or_default() += 1;
            }
            // Every worker was killed, and the next ones have not started yet.
            Err(RecvError::TimedOut | RecvError::Disconnected) => {}
            Err(error) => return Err(error.into()),
        }
        // Workers are killed at regular intervals of jobs.
        if killed < options.kills && done.len() as u64 * options.kills >= killed * options.jobs {
            let victim = &mut workers[killed as usize % options.workers as usize];
            victim.kill()?;
            victim.wait()?;
            *victim = start()?;
            killed += 1;
        }
    }
    // One message without a job for each worker. The sender stays until they have ended: a
    // worker that starts only now would wait for another one.
    for _ in &workers {
        jobs.send(&[])?;
    }
    for mut worker in workers {
        worker.wait()?;
    }
    let twice = done.values().filter(|&&times| times > 1).count();
    let jobs = done.len();
    println!("{jobs} jobs done, {killed} workers killed, {twice} jobs done more than once");
    Ok(())
}
