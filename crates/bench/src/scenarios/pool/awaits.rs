//! A task that awaits a loop.

use super::contenders::{ours, rayons};
use crate::scenarios::prelude::*;

pub(super) fn awaits(threads: usize) -> Scenario {
    let id = format!("pool_await_{threads}");
    Scenario::new(7, id, "A task awaits an empty loop", 2_000)
        .threads(threads)
        .with(OURS, move |cx| {
            let runtime = blitz_io_runtime::runtime::Builder::new_current_thread().build();
            let (runtime, pool) = (runtime.expect("a runtime"), ours(threads));
            let run = async || {
                let work = move || looped(|f| pool.for_each(0..threads, 1, |_| f()));
                pool.run(work).await
            };
            measured(cx, threads, |ops| runtime.block_on(sum_of(ops, run)))
        })
        .with("tokio and rayon", move |cx| {
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            let (runtime, pool) = (runtime.expect("a runtime"), rayons(threads));
            let run = async || {
                let work = move || looped(|f| drop(pool.broadcast(|_| f())));
                let work = tokio::task::spawn_blocking(work);
                work.await.expect("it does not panic")
            };
            measured(cx, threads, |ops| runtime.block_on(sum_of(ops, run)))
        })
}

/// Returns how many items a loop has run.
fn looped(run: impl FnOnce(&(dyn Fn() + Sync))) -> u64 {
    let ran = AtomicU64::new(0);
    run(&|| {
        ran.fetch_add(1, Relaxed);
    });
    ran.into_inner()
}

/// Awaits `ops` loops one after the other, and returns how many items they have run.
async fn sum_of(ops: u64, run: impl AsyncFn() -> u64) -> u64 {
    let mut ran = 0;
    for _ in 0..ops {
        ran += run().await;
    }
    ran
}

fn measured(cx: &Context, threads: usize, run: impl FnOnce(u64) -> u64) -> Measured {
    let (span, ran) = solo(|| run(cx.ops));
    verify("items", cx.ops * threads as u64, ran)?;
    Ok(Sample::new(span, cx.ops))
}
