//! Tasks that start together on a runtime, and what can be seen of their waits.
//!
//! The runtime is Tokio's for everybody: who is measured is the primitive. There
//! is one for each number of workers, and it is kept, so that no iteration's
//! counts hold the making of its threads.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;

/// Runs `tasks` tasks on `workers` threads. The time from the first start to the
/// last end, and what they return.
///
/// # Panics
///
/// When a task does.
pub fn crew<T, B>(workers: usize, tasks: usize, member: impl Fn(usize) -> B) -> (Duration, Vec<T>)
where
    T: Send + 'static,
    B: Future<Output = T> + Send + 'static,
{
    let runtime = runtime(workers);
    let awaited = Arc::new(AtomicUsize::new(tasks));
    let members: Vec<_> = (0..tasks)
        .map(|i| {
            let (awaited, body) = (awaited.clone(), member(i));
            runtime.spawn(async move {
                awaited.fetch_sub(1, Ordering::AcqRel);
                while awaited.load(Ordering::Acquire) > 0 {
                    yield_now().await;
                }
                let start = Instant::now();
                let value = body.await;
                (start, Instant::now(), value)
            })
        })
        .collect();
    let (mut first, mut last) = (None, None);
    let values = members
        .into_iter()
        .map(|member| {
            let (start, end, value) = runtime.block_on(member).expect("no task panics");
            first = Some(first.map_or(start, |first: Instant| first.min(start)));
            last = last.max(Some(end));
            value
        })
        .collect();
    let elapsed = last.zip(first).map(|(last, first)| last - first);
    (elapsed.unwrap_or_default(), values)
}

fn runtime(workers: usize) -> Arc<Runtime> {
    static KEPT: Mutex<Option<HashMap<usize, Arc<Runtime>>>> = Mutex::new(None);
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let make = || {
        Builder::new_multi_thread()
            .worker_threads(workers)
            .build()
            .map(Arc::new)
            .expect("the system has threads for a runtime")
    };
    kept.get_or_insert_default()
        .entry(workers)
        .or_insert_with(make)
        .clone()
}

/// Runs `future` to its end. Whether it had to wait is added to `waited`.
pub async fn watch<F: Future>(future: F, waited: &mut u64) -> F::Output {
    let mut future = pin!(future);
    let mut polls = 0_u64;
    let output = poll_fn(|cx| {
        polls += 1;
        future.as_mut().poll(cx)
    })
    .await;
    *waited += u64::from(polls > 1);
    output
}
