//! A task hands a job to a thread that may block, and awaits the result.

use super::{on_runtimes, on_task, sum_below};
use crate::runtimes::Runtime;
use crate::scenario::{Context, Measured, Sample, Scenario, verify};

pub(super) fn scenarios() -> Vec<Scenario> {
    let what = ("spawn_blocking", "spawn_blocking, round trip", 2_000);
    on_runtimes!(what, round_trips)
}

fn round_trips<R: Runtime>(cx: &Context, workers: usize) -> Measured {
    let runtime = R::with_workers(workers);
    let ops = cx.ops;
    let (span, sum) = on_task(runtime, async move {
        let mut sum = 0u64;
        for number in 0..ops {
            sum += R::spawn_blocking(move || number).await;
        }
        sum
    });
    verify("the sum of what the jobs returned", sum_below(ops), sum)?;
    Ok(Sample::new(span, ops))
}
