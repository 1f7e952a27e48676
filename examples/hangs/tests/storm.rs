//! Tasks and threads that take many locks, and never for ever: nothing certain is said of them,
//! however close together the two snapshots are.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use blitz_io::inspect::{Certainty, Snapshot, findings, snapshot};
use blitz_io::runtime::Builder;
use blitz_io::sync::{Mutex, RwLock, Semaphore, mpsc};
use blitz_io::{select, task, thread, time};

const LOCKS: usize = 4;
const SNAPSHOTS: usize = 3_000;

#[derive(Default)]
struct Shared {
    ended: AtomicBool,
    mutexes: [Mutex<u64>; LOCKS],
    tables: [RwLock<u64>; LOCKS],
    thread_mutexes: [thread::Mutex<u64>; LOCKS],
}

/// A sequence that differs between its users.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % limit
    }
}

/// Takes two mutexes in the order of their numbers.
async fn two_mutexes(shared: &Shared, at: usize) {
    let mut first = shared.mutexes[at].lock().await;
    task::yield_now().await;
    *first += 1;
    if at + 1 < LOCKS {
        *shared.mutexes[at + 1].lock().await += 1;
    }
}

/// Gives up one of two futures that wait for the same mutex.
async fn either(shared: &Shared, at: usize) {
    select! {
        mut one = shared.mutexes[at].lock() => *one += 1,
        mut two = shared.mutexes[at].lock() => *two += 1,
        () = task::yield_now() => {}
    }
}

/// Reads one table and writes another one, which comes later.
async fn tables(shared: &Shared, at: usize) {
    let seen = *shared.tables[at].read().await;
    let _guard = shared.tables[at].read().await;
    task::yield_now().await;
    if at + 1 < LOCKS {
        *shared.tables[at + 1].write().await += seen;
    }
}

/// Awaits a task that takes locks.
async fn child(shared: &Arc<Shared>, at: usize) {
    let (guard, other) = (shared.mutexes[0].lock().await, shared.clone());
    let child = task::spawn(async move {
        if at != 0 {
            two_mutexes(&other, at).await;
        }
    });
    child.await.expect("it does not panic");
    drop(guard);
}

async fn run(shared: Arc<Shared>, limit: Arc<Semaphore>, sender: mpsc::Sender<u64>, seed: u64) {
    let mut numbers = Numbers(seed);
    while !shared.ended.load(Ordering::Relaxed) {
        let at = numbers.below(LOCKS);
        match numbers.below(7) {
            0 => two_mutexes(&shared, at).await,
            1 => either(&shared, at).await,
            2 => tables(&shared, at).await,
            3 => child(&shared, at).await,
            4 => _ = time::timeout(Duration::from_micros(50), two_mutexes(&shared, at)).await,
            5 => drop(limit.acquire().await),
            _ => _ = sender.send(seed).await,
        }
        *shared.thread_mutexes[at].lock() += 1;
        task::yield_now().await;
    }
}

fn run_thread(shared: &Shared, seed: u64) {
    let mut numbers = Numbers(seed);
    while !shared.ended.load(Ordering::Relaxed) {
        let at = numbers.below(LOCKS);
        let mut first = shared.thread_mutexes[at].lock();
        *first += 1;
        if at + 1 < LOCKS {
            *shared.thread_mutexes[at + 1].lock() += 1;
        }
        drop(first);
        *shared.mutexes[at].blocking_lock() += 1;
    }
}

/// A certain finding, with what it was found in.
fn certain(earlier: &Snapshot, later: &Snapshot) -> Option<String> {
    let mut found = findings(earlier, later).into_iter();
    let finding = found.find(|finding| finding.certainty == Certainty::Certain)?;
    Some(format!("{finding:#?}\n{earlier:#?}\n{later:#?}"))
}

#[test]
fn nothing_is_certain_in_a_storm() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(3)
        .enable_all()
        .build()
        .unwrap();
    let shared = Arc::new(Shared::default());
    let limit = Arc::new(Semaphore::new(2));
    let (sender, mut receiver) = mpsc::channel(2);
    let tasks: Vec<_> = (1..=12)
        .map(|seed| runtime.spawn(run(shared.clone(), limit.clone(), sender.clone(), seed)))
        .collect();
    drop(sender);
    let receiver = runtime.spawn(async move { while receiver.recv().await.is_some() {} });
    std::thread::scope(|scope| {
        for seed in 20..22 {
            let shared = &shared;
            scope.spawn(move || run_thread(shared, seed));
        }
        let mut earlier = snapshot();
        let found = (0..SNAPSHOTS).find_map(|_| {
            let later = snapshot();
            certain(&std::mem::replace(&mut earlier, later.clone()), &later)
        });
        shared.ended.store(true, Ordering::Relaxed);
        assert_eq!(found, None);
    });
    runtime.block_on(async {
        for task in tasks {
            task.await.expect("it does not panic");
        }
        receiver.await.expect("it does not panic");
    });
}
