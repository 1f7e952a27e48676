//! A set of 1,000 tasks that are awaited in the order in which they end.

use super::{WORKERS, for_each, on_task, sum_below};
use crate::runtimes::{Blitz, Joins, Tokio};
use crate::scenario::{Context, Measured, OURS, Sample, Scenario, verify};

const TASKS: u64 = 1_000;

pub(super) fn scenarios() -> Vec<Scenario> {
    for_each(
        &WORKERS,
        ("join_set", "JoinSet of 1,000", 20_000),
        &[(OURS, joined::<Blitz>), ("tokio", joined::<Tokio>)],
    )
}

pub(super) fn joined<R: Joins>(cx: &Context, workers: usize) -> Measured {
    let runtime = R::with_workers(workers);
    let rounds = (cx.ops / TASKS).max(1);
    let (span, (count, sum)) = on_task(runtime, async move {
        let (mut count, mut sum) = (0u64, 0u64);
        for round in 0..rounds {
            let mut set = R::new_set();
            for number in round * TASKS..(round + 1) * TASKS {
                R::spawn_on(&mut set, async move { number });
            }
            while let Some(number) = R::join_next(&mut set).await {
                count += 1;
                sum += number;
            }
        }
        (count, sum)
    });
    let ops = rounds * TASKS;
    verify("tasks that were joined", ops, count)?;
    verify("the sum of what they returned", sum_below(ops), sum)?;
    Ok(Sample::new(span, ops))
}
