//! Tasks that start together on a runtime, and observations of their waits.
//!
//! The runtime is Tokio's for all contenders, so that only the primitives differ. The
//! gate yields as a task and not as a thread, unlike that of [`crate::tasks`], because the
//! system calls and the switches of an iteration are counted here.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::runtimes::{Runtime, Tokio};
use crate::threads::{Mark, together};

/// Runs `tasks` tasks on `workers` threads. Returns the time from the first start to
/// the last end, and the values of the tasks.
///
/// # Panics
///
/// Panics if a task does.
pub fn start_all<T, B>(
    workers: usize,
    tasks: usize,
    member: impl Fn(usize) -> B,
) -> (Duration, Vec<T>)
where
    T: Send + 'static,
    B: Future<Output = T> + Send + 'static,
{
    let runtime = Tokio::with_workers(workers);
    let awaited = Arc::new(AtomicUsize::new(tasks));
    let members: Vec<_> = (0..tasks)
        .map(|i| {
            let (awaited, body) = (awaited.clone(), member(i));
            runtime.spawn_from_outside(async move {
                awaited.fetch_sub(1, Ordering::AcqRel);
                while awaited.load(Ordering::Acquire) > 0 {
                    Tokio::yield_now().await;
                }
                let start = Mark::now();
                let value = body.await;
                (start, Mark::now(), value)
            })
        })
        .collect();
    let ended = members.into_iter().map(|member| runtime.block_on(member));
    let (span, values) = together(ended);
    (span.elapsed, values)
}

/// Runs `future` to its end. Adds one to `waited` if it had to wait.
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
