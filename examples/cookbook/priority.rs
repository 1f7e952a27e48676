//! A queue with priorities: the most urgent job first, and in one priority the oldest.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use blitz_io::sync::Semaphore;
use blitz_io::thread::Mutex;

/// Ordered by priority, then by the number of the job, the lowest first.
type Heap<T> = BinaryHeap<(u8, Reverse<u64>, T)>;

struct PriorityQueue<T> {
    /// The number of the next job, and the jobs.
    jobs: Mutex<(u64, Heap<T>)>,
    /// One permit for each job.
    ready: Semaphore,
}

impl<T: Ord> PriorityQueue<T> {
    fn new() -> Self {
        Self {
            jobs: Mutex::new((0, BinaryHeap::new())),
            ready: Semaphore::new(0),
        }
    }

    fn push(&self, priority: u8, job: T) {
        let mut jobs = self.jobs.lock();
        let number = jobs.0;
        jobs.0 += 1;
        jobs.1.push((priority, Reverse(number), job));
        drop(jobs);
        self.ready.add_permits(1);
    }

    /// Waits for a job. Cancel safe: the permit and the job are taken without a wait between.
    async fn pop(&self) -> T {
        self.ready.acquire().await.expect("never closed").forget();
        self.jobs.lock().1.pop().expect("a permit is a job").2
    }
}

#[blitz_io::main]
async fn main() {
    let queue = Arc::new(PriorityQueue::new());
    let waiting = blitz_io::spawn({
        let queue = queue.clone();
        async move { queue.pop().await }
    });
    queue.push(1, "first");
    assert_eq!(waiting.await.unwrap(), "first");
    for (priority, job) in [(1, "mail"), (9, "alarm"), (1, "backup"), (5, "request")] {
        queue.push(priority, job);
    }
    for expected in ["alarm", "request", "mail", "backup"] {
        let job = queue.pop().await;
        println!("{job}");
        assert_eq!(job, expected);
    }
}
