//! Runs a call for each of many items, at most so many at once, and keeps the order of the results.

use std::sync::atomic::{AtomicUsize, Ordering};

use blitz_io::task::JoinSet;

/// Calls `f` for each item. Tasks that run are aborted when this future is dropped.
async fn map<T, R, F>(items: Vec<T>, most: usize, f: fn(T) -> F) -> Vec<R>
where
    T: Send + 'static,
    R: Send + 'static,
    F: Future<Output = R> + Send + 'static,
{
    let mut results: Vec<Option<R>> = items.iter().map(|_| None).collect();
    let mut tasks = JoinSet::new();
    let mut items = items.into_iter().enumerate();
    loop {
        while tasks.len() < most {
            let Some((index, item)) = items.next() else {
                break;
            };
            let call = f(item);
            tasks.spawn(async move { (index, call.await) });
        }
        match tasks.join_next().await {
            Some(Ok((index, result))) => results[index] = Some(result),
            Some(Err(panic)) => std::panic::resume_unwind(panic.into_panic()),
            None => return results.into_iter().flatten().collect(),
        }
    }
}

static RUNNING: AtomicUsize = AtomicUsize::new(0);

async fn fetch(number: u64) -> u64 {
    assert!(RUNNING.fetch_add(1, Ordering::Relaxed) < 8);
    blitz_io::time::sleep(std::time::Duration::from_millis(number % 3)).await;
    RUNNING.fetch_sub(1, Ordering::Relaxed);
    number * 2
}

#[blitz_io::main]
async fn main() {
    let doubled = map((0..100).collect(), 8, fetch).await;
    println!("{} results, the last is {}", doubled.len(), doubled[99]);
    assert_eq!(
        doubled,
        (0..100).map(|number| number * 2).collect::<Vec<_>>()
    );
}
