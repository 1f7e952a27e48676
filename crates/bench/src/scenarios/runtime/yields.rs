//! Yielding: one task alone, and among 200 tasks.

use super::{on_runtimes, on_task};
use crate::runtimes::Runtime;
use crate::scenario::{Context, Measured, Sample, Scenario, verify};

/// Yields of an iteration, of all tasks together. After the pause before an iteration, the
/// processor needs a few tenths of a millisecond to reach full speed. So an iteration must
/// take much longer than that.
const ALONE_OPS: u64 = 200_000;
const MANY_OPS: u64 = 2_000_000;

pub(super) fn scenarios() -> Vec<Scenario> {
    let what = ("yield_now", "yield_now, 1 task", ALONE_OPS);
    let mut scenarios = on_runtimes!(what, yields, 1);
    let what = ("yield_now_200", "yield_now, 200 tasks", MANY_OPS);
    scenarios.extend(on_runtimes!(what, yields, 200));
    scenarios
}

pub(super) fn yields<R: Runtime, const TASKS: usize>(cx: &Context, workers: usize) -> Measured {
    let runtime = R::with_workers(workers);
    let share = cx.share(TASKS);
    let mut tasks = Vec::with_capacity(TASKS);
    let (span, yields) = on_task(runtime, async move {
        if TASKS == 1 {
            return yield_often::<R>(share).await;
        }
        tasks.extend((0..TASKS).map(|_| runtime.spawn(yield_often::<R>(share))));
        let mut yields = 0u64;
        for task in tasks {
            yields += task.await;
        }
        yields
    });
    let total = share * TASKS as u64;
    verify("yields that returned", total, yields)?;
    Ok(Sample::new(span, total))
}

async fn yield_often<R: Runtime>(times: u64) -> u64 {
    let mut yields = 0u64;
    for _ in 0..times {
        R::yield_now().await;
        yields += 1;
    }
    yields
}
