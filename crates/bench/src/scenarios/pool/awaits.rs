//! A task that awaits a loop.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::contenders::{ours, rayons};
use crate::scenario::{OURS, Sample, Scenario, verify};
use crate::threads::solo;

pub(super) fn awaits(threads: usize) -> Scenario {
    Scenario::new(
        7,
        format!("pool_await_{threads}"),
        "A task awaits an empty loop",
        2_000,
    )
    .threads(threads)
    .with(OURS, move |cx| {
        let runtime = blitz_io_runtime::runtime::Builder::new_current_thread().build();
        let (runtime, pool) = (runtime.expect("a runtime"), ours(threads));
        let (span, ran) = solo(|| {
            runtime.block_on(async {
                let mut ran = 0;
                for _ in 0..cx.ops {
                    ran += pool
                        .run(move || looped(|f| pool.for_each(0..threads, 1, |_| f())))
                        .await;
                }
                ran
            })
        });
        verify("items", cx.ops * threads as u64, ran)?;
        Ok(Sample::new(span, cx.ops))
    })
    .with("tokio and rayon", move |cx| {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let (runtime, pool) = (runtime.expect("a runtime"), rayons(threads));
        let (span, ran) = solo(|| {
            runtime.block_on(async {
                let mut ran = 0;
                for _ in 0..cx.ops {
                    let work = move || looped(|f| drop(pool.broadcast(|_| f())));
                    ran += tokio::task::spawn_blocking(work)
                        .await
                        .expect("it does not panic");
                }
                ran
            })
        });
        verify("items", cx.ops * threads as u64, ran)?;
        Ok(Sample::new(span, cx.ops))
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
