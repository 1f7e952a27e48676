//! Spawning: one task after the other, many at once, each from the one before, and from a
//! thread outside the runtime.

use std::sync::atomic::AtomicBool;
use std::thread;

use super::{on_runtimes, on_task, quiesce, sum_below};
use crate::runtimes::Runtime;
use crate::scenarios::prelude::*;
use crate::signal::Signal;

/// Tasks that are spawned before the first is awaited.
const MANY: u64 = 10_000;
/// The number of tasks in a chain of spawns.
const DEPTH: u64 = 1_000;
/// After this time without work, every worker sleeps.
const IDLE: Duration = Duration::from_micros(500);

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = on_runtimes!(("spawn_await", "Spawn and await", 20_000), awaited);
    let what = ("spawn_many", "Spawn 10,000, then join", 50_000);
    scenarios.extend(on_runtimes!(what, many));
    let what = ("spawn_chain", "Chained spawn, depth 1,000", 50_000);
    scenarios.extend(on_runtimes!(what, chained));
    let title = "Spawn from outside and await, runtime idle";
    let idle = on_runtimes!(("spawn_outside_idle", title, 200), outside_idle);
    scenarios.extend(idle.into_iter().map(|row| row.decided_by(Compares::P50Ns)));
    let title = "Spawn from outside until it has run, runtime busy";
    let what = ("spawn_outside_busy", title, 8_000);
    scenarios.extend(on_runtimes!(what, outside_busy));
    let what = (
        "task_alloc",
        "Task allocated, and cancelled before it runs",
        20_000,
    );
    scenarios.extend(on_runtimes!(what, allocated));
    scenarios
}

/// A task spawns others, and cancels each at once: what remains is the memory of a task, and its way in and
/// out of the runtime's lists. With several workers, some may be polled first.
pub(super) fn allocated<R: Runtime>(cx: &Context, workers: usize) -> Measured {
    let runtime = R::with_workers(workers);
    let ops = cx.ops;
    let (span, cancelled) = on_task(runtime, async move {
        let mut cancelled = 0u64;
        for _ in 0..ops {
            let task = runtime.spawn(std::future::pending::<()>());
            cancelled += u64::from(R::cancel(task).await);
        }
        cancelled
    });
    verify("tasks that were cancelled", ops, cancelled)?;
    Ok(Sample::new(span, ops))
}

/// A task spawns another and awaits it, repeatedly.
pub(super) fn awaited<R: Runtime>(cx: &Context, workers: usize) -> Measured {
    let runtime = R::with_workers(workers);
    let ops = cx.ops;
    let (span, sum) = on_task(runtime, async move {
        let mut sum = 0u64;
        for number in 0..ops {
            sum += runtime.spawn(async move { number }).await;
        }
        sum
    });
    verify("the sum of what the tasks returned", sum_below(ops), sum)?;
    Ok(Sample::new(span, ops))
}

/// A task spawns many others and then awaits all of them.
fn many<R: Runtime>(cx: &Context, workers: usize) -> Measured {
    let runtime = R::with_workers(workers);
    let rounds = (cx.ops / MANY).max(1);
    let mut tasks = Vec::with_capacity(MANY as usize);
    let (span, sum) = on_task(runtime, async move {
        let mut sum = 0u64;
        for round in 0..rounds {
            let numbers = round * MANY..(round + 1) * MANY;
            tasks.extend(numbers.map(|number| runtime.spawn(async move { number })));
            for task in tasks.drain(..) {
                sum += task.await;
            }
        }
        sum
    });
    let ops = rounds * MANY;
    verify("the sum of what the tasks returned", sum_below(ops), sum)?;
    Ok(Sample::new(span, ops))
}

/// A task spawns a task that spawns a task, and the last one reports that it ran.
fn chained<R: Runtime>(cx: &Context, workers: usize) -> Measured {
    let runtime = R::with_workers(workers);
    let rounds = (cx.ops / DEPTH).max(1);
    let chain = Arc::new(Chain {
        links: AtomicU64::new(0),
        end: Signal::new(),
    });
    let forged = chain.clone();
    let (span, ()) = on_task(runtime, async move {
        for round in 0..rounds {
            forge(runtime, forged.clone(), DEPTH);
            forged.end.reached(round + 1).await;
        }
    });
    let ops = rounds * DEPTH;
    let links = chain.links.load(Ordering::Relaxed);
    verify("tasks that ran", ops, links)?;
    Ok(Sample::new(span, ops))
}

struct Chain {
    links: AtomicU64,
    end: Signal,
}

/// Spawns the next task of the chain.
fn forge<R: Runtime>(runtime: R, chain: Arc<Chain>, left: u64) {
    runtime.spawn_detached(async move {
        // The tasks of a chain run one after the other, and spawning orders them.
        let links = chain.links.load(Ordering::Relaxed);
        chain.links.store(links + 1, Ordering::Relaxed);
        match left {
            1 => chain.end.raise(),
            left => forge(runtime, chain, left - 1),
        }
    });
}

/// A thread outside the runtime spawns a task and waits for it, while all workers sleep.
fn outside_idle<R: Runtime>(cx: &Context, workers: usize) -> Measured {
    let runtime = R::with_workers(workers);
    let mut waits = Waits::new();
    let mut sum = 0u64;
    let mut elapsed = Duration::ZERO;
    let before = Mark::now();
    for number in 0..cx.ops {
        thread::sleep(IDLE);
        let start = Instant::now();
        sum += runtime.block_on(runtime.spawn_from_outside(async move { number }));
        let took = start.elapsed();
        waits.record(took);
        elapsed += took;
    }
    let memory = Mark::now().since(before).memory;
    verify("the sum of what the tasks returned", sum_below(cx.ops), sum)?;
    Ok(Sample::new(Span { elapsed, memory }, cx.ops).with_waits(waits))
}

/// A thread outside the runtime spawns many tasks, while as many tasks as there are
/// workers alternately work and yield. The clock runs until the last spawned task has run;
/// the time until the system wakes the outside thread is not measured.
fn outside_busy<R: Runtime>(cx: &Context, workers: usize) -> Measured {
    let runtime = R::with_workers(workers);
    quiesce();
    let traffic = Arc::new(Traffic::default());
    let busy = start_traffic(runtime, cx, workers, &traffic);
    let ops = cx.ops;
    let mut tasks = Vec::with_capacity(ops as usize);
    let start = Mark::now();
    tasks.extend((0..ops).map(|number| {
        let traffic = traffic.clone();
        runtime.spawn_from_outside(async move {
            let place = traffic.arrived.fetch_add(1, Ordering::Relaxed) + 1;
            (number, (place == ops).then(Mark::now))
        })
    }));
    let (sum, end) = runtime.block_on(async {
        let (mut sum, mut end) = (0u64, None);
        for task in tasks.drain(..) {
            let (number, last) = task.await;
            sum += number;
            end = end.or(last);
        }
        (sum, end)
    });
    traffic.ends.store(true, Ordering::Relaxed);
    for task in busy {
        let turns = runtime.block_on(task);
        verify("that everybody else had a turn", true, turns > 0)?;
    }
    verify("the sum of what the tasks returned", sum_below(ops), sum)?;
    let end = end.expect("one of them was the last");
    Ok(Sample::new(end.since(start), ops))
}

/// Starts the tasks that keep the workers busy, and waits until each has run once.
fn start_traffic<R: Runtime>(
    runtime: R,
    cx: &Context,
    workers: usize,
    traffic: &Arc<Traffic>,
) -> Vec<R::Task<u64>> {
    let work = cx.microsecond;
    let busy = (0..workers).map(|_| {
        let traffic = traffic.clone();
        runtime.spawn_from_outside(async move {
            let mut turns = 0u64;
            while !traffic.ends.load(Ordering::Relaxed) {
                work.run();
                R::yield_now().await;
                turns += 1;
                if turns == 1 {
                    traffic.flowing.fetch_add(1, Ordering::Relaxed);
                }
            }
            turns
        })
    });
    let busy = busy.collect();
    while traffic.flowing.load(Ordering::Relaxed) < workers as u64 {
        thread::sleep(Duration::from_micros(50));
    }
    busy
}

/// The state of the tasks that keep the workers busy.
#[derive(Default)]
struct Traffic {
    /// Tasks that have run once.
    flowing: AtomicU64,
    /// Tasks from outside that have run.
    arrived: AtomicU64,
    ends: AtomicBool,
}
