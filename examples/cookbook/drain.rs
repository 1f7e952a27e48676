//! Ends a worker without losing a job: close the queue, handle what is in it, then leave.

use blitz_io::sync::{CancellationToken, mpsc};

async fn worker(mut jobs: mpsc::Receiver<u32>, stop: CancellationToken) -> Vec<u32> {
    let mut done = Vec::new();
    loop {
        blitz_io::select! {
            job = jobs.recv() => match job {
                Some(job) => done.push(job),
                None => return done, // closed and empty
            },
            // New sends fail from now on. `recv` still returns the jobs that are in the channel.
            () = stop.cancelled(), if !jobs.is_closed() => jobs.close(),
        }
    }
}

#[blitz_io::main]
async fn main() {
    let (sender, jobs) = mpsc::channel(100);
    let stop = CancellationToken::new();
    for job in 0..50 {
        sender.send(job).await.unwrap();
    }
    stop.cancel();
    let worker = blitz_io::spawn(worker(jobs, stop));
    let done = worker.await.unwrap();
    println!("{} jobs were done before the end", done.len());
    assert_eq!(done, (0..50).collect::<Vec<_>>());
    assert!(sender.send(50).await.is_err());
}
