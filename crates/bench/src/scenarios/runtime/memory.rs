//! The memory of a task that only exists.

use std::future::pending;

use super::on_task;
use crate::runtimes::{Blitz, Runtime, Smol, Tokio};
use crate::scenarios::of_memory;
use crate::scenarios::prelude::*;
use crate::tasks::{Host, OwnRuntime};

const TASKS: u64 = 1_000_000;
/// The number of workers makes no difference here.
const WORKERS: usize = 2;
/// After this number of tasks, the spawned tasks get to run.
const BATCH: u64 = 1_000;

pub(super) fn scenarios() -> Vec<Scenario> {
    let scenario = Scenario::new(5, "idle_task_bytes", "Memory of an idle task", TASKS)
        .threads(WORKERS)
        .decided_by(Compares::BytesPerOp)
        .with(OURS, idle::<Blitz>)
        .with("tokio", idle::<Tokio>)
        .with("smol", idle::<Smol>);
    vec![scenario]
}

/// Gives every worker time until memory is neither allocated nor freed: the remains of
/// the previous iteration must not be counted here.
fn free_what_is_left<R: Runtime>() {
    const ROUNDS: usize = 50;
    for _ in 0..ROUNDS {
        let before = Memory::counted();
        OwnRuntime::<R>::start_all(WORKERS, WORKERS, |_| async {
            for _ in 0..BATCH {
                R::yield_now().await;
            }
        });
        let round = Memory::counted() - before;
        // Starting the tasks allocates and frees a few blocks.
        if round.freed < round.bytes + BATCH {
            break;
        }
    }
}

/// Spawns tasks that wait for ever, and counts the bytes that are allocated when all of
/// them have been polled once.
///
/// The tasks hold nothing themselves. The handles, with which they are cancelled at the
/// end, are in memory that was allocated before.
pub(super) fn idle<R: Runtime>(cx: &Context) -> Measured {
    /// Tasks that wait, in all iterations so far. Tests count at the same time.
    static WAITING: AtomicU64 = AtomicU64::new(0);

    let runtime = R::with_workers(WORKERS);
    let ops = cx.ops;
    let mut tasks = Vec::with_capacity(ops as usize);
    Memory::count(true);
    free_what_is_left::<R>();
    let before = WAITING.load(Relaxed);
    let (span, tasks) = on_task(runtime, async move {
        for number in 0..ops {
            tasks.push(runtime.spawn(async {
                WAITING.fetch_add(1, Relaxed);
                pending::<()>().await;
            }));
            if number % BATCH == BATCH - 1 {
                R::yield_now().await;
            }
        }
        while WAITING.load(Relaxed) - before < ops {
            R::yield_now().await;
        }
        tasks
    });
    let (_, cancelled) = on_task(runtime, async move {
        let mut cancelled = 0u64;
        for task in tasks {
            cancelled += u64::from(R::cancel(task).await);
        }
        cancelled
    });
    let what = "tasks that waited until they were cancelled";
    verify(what, ops, cancelled)?;
    of_memory(span, ops)
}
