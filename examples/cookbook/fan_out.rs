//! Fan-out to several workers, fan-in of their results, and an end that nothing outlives.

use blitz_io::sync::{mpmc, mpsc};
use blitz_io::task::JoinSet;

#[blitz_io::main]
async fn main() {
    let (jobs, queue) = mpmc::bounded(16); // each job goes to one worker
    let (results, mut all) = mpsc::channel(16);
    let mut workers = JoinSet::new();
    for _ in 0..4 {
        let (queue, results) = (queue.clone(), results.clone());
        workers.spawn(async move {
            while let Ok(job) = queue.recv().await {
                results.send((job, job * job)).await.unwrap();
            }
        });
    }
    // The ends that are left here would keep the channels open.
    drop((queue, results));

    workers.spawn(async move {
        for job in 0..100_u64 {
            jobs.send(job).await.unwrap();
        }
    });
    let mut sum = 0;
    while let Some((job, square)) = all.recv().await {
        assert_eq!(square, job * job);
        sum += square;
    }
    println!("the sum of 100 squares is {sum}");
    assert_eq!(sum, 328_350);
    assert_eq!(workers.join_all().await.len(), 5);
}
