//! Child processes.

use super::measured;
use super::server::UnixServer;
use crate::scenarios::prelude::*;

pub(super) fn scenarios() -> Vec<Scenario> {
    let scenario = Scenario::new(6, "process_spawn", "Run `true` and wait for it", 400);
    vec![scenario.threads(2).with_each(2, bodies!(spawn))]
}

fn spawn<S: UnixServer>(cx: &Context, workers: usize) -> Measured {
    let runtime = S::with_workers(workers);
    let ops = cx.ops;
    let one_by_one = |_| async move {
        let mut succeeded = 0;
        for _ in 0..ops {
            succeeded += u64::from(S::process().await?);
        }
        Ok(succeeded)
    };
    measured("processes", ops, || S::run(runtime, 1, one_by_one))
}
