//! Child processes.

use super::server::Server;
use super::{failure, with_bodies};
use crate::cpu;
use crate::scenario::{Context, Measured, Sample, Scenario, verify};
use crate::threads::solo;

pub(super) fn scenarios() -> Vec<Scenario> {
    let scenario = Scenario::new(6, "process_spawn", "Run `true` and wait for it", 400);
    vec![with_bodies(scenario, 2, bodies!(spawn))]
}

fn spawn<S: Server>(cx: &Context, workers: usize) -> Measured {
    let runtime = S::with_workers(workers);
    let ops = cx.ops;
    let one_by_one = |_| async move {
        let mut succeeded = 0;
        for _ in 0..ops {
            succeeded += u64::from(S::process().await?);
        }
        Ok(succeeded)
    };
    let ((span, done), cpu) = cpu::of_others(|| solo(|| S::run(runtime, 1, one_by_one)));
    verify("processes", ops, done.map_err(failure)?.iter().sum())?;
    Ok(Sample::new(span, ops).with_cpu(cpu))
}
