//! Fibers: the costs of a stack of its own, on one worker. The peers are tasks, ours among them
//! (`blitz-io tasks`), which have no stacks, and the fibers of `may`.

use blitz_io_channel::mpsc;
use blitz_io_fiber as fiber;

use super::{Body, on_task, ping_pong, quiesce, spawn, sum_below, yields};
use crate::runtimes::{Blitz, Runtime, Tokio};
use crate::scenario::{Context, Measured, OURS, Sample, Scenario, verify};
use crate::threads::{Mark, Span};

const TASKS: &str = "blitz-io tasks";
const WORKERS: usize = 1;

pub(super) fn scenarios() -> Vec<Scenario> {
    let (spawn, spawn_tokio) = (spawn::awaited::<Blitz>, spawn::awaited::<Tokio>);
    let play = ping_pong::over_channels::<Blitz>;
    let play_tokio = ping_pong::over_channels::<Tokio>;
    let (yields, yields_tokio) = (yields::yields::<Blitz, 1>, yields::yields::<Tokio, 1>);
    let what = ("fiber_spawn", "Spawn a fiber and wait for it", 20_000);
    let spawning = one(what, [spawned, spawn, spawn_tokio, spawned_by_may]);
    let title = "Ping-pong of two fibers over mpsc";
    let what = ("fiber_ping_pong", title, 10_000);
    let playing = one(what, [played, play, play_tokio, played_by_may]);
    let what = ("fiber_yield", "yield_now of a fiber", 200_000);
    let yielding = one(what, [yielded, yields, yields_tokio, yielded_by_may]);
    #[allow(unused_mut, reason = "the memory is measured on Linux only")]
    let mut scenarios = vec![spawning, playing, yielding];
    #[cfg(target_os = "linux")]
    scenarios.push(memory::scenario());
    scenarios
}

/// The scenario for one worker, with the bodies of our fibers, our tasks, Tokio and may.
fn one((id, title, ops): (&str, &str, u64), [ours, tasks, tokio, may]: [Body; 4]) -> Scenario {
    let bodies = [(OURS, ours), (TASKS, tasks), ("tokio", tokio), ("may", may)];
    let body = |(name, body): (_, Body)| (name, move |cx: &Context| body(cx, WORKERS));
    Scenario::new(5, id, title, ops)
        .threads(WORKERS)
        .with_all(bodies.map(body))
}

/// Runs `work` as a fiber of our runtime, and measures it from inside.
fn on_fiber<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> (Span, T) {
    let runtime = Blitz::with_workers(WORKERS);
    let (_, measured) = on_task(runtime, async {
        let fiber = fiber::spawn(|| {
            let start = Mark::now();
            let value = work();
            (Mark::now().since(start), value)
        });
        fiber.await.expect("the fiber does not panic")
    });
    measured
}

fn spawned(cx: &Context, _workers: usize) -> Measured {
    let ops = cx.ops;
    let (span, sum) = on_fiber(move || {
        let spawn = |number| fiber::block_on(fiber::spawn(move || number));
        (0..ops).filter_map(|number| spawn(number).ok()).sum()
    });
    verify("the sum of what the fibers returned", sum_below(ops), sum)?;
    Ok(Sample::new(span, ops))
}

fn yielded(cx: &Context, _workers: usize) -> Measured {
    let ops = cx.ops;
    let (span, yields) = on_fiber(move || {
        let mut yields = 0u64;
        for _ in 0..ops {
            fiber::yield_now();
            yields += 1;
        }
        yields
    });
    verify("yields that returned", ops, yields)?;
    Ok(Sample::new(span, ops))
}

fn played(cx: &Context, _workers: usize) -> Measured {
    let rounds = cx.ops;
    let (to, mut arrives) = mpsc::channel::<u64>(1);
    let (back, mut from) = mpsc::channel::<u64>(1);
    let played = on_fiber(move || {
        let returns = fiber::spawn(move || {
            let mut messages = 0u64;
            while let Some(message) = fiber::block_on(arrives.recv()) {
                messages += 1;
                _ = fiber::block_on(back.send(message + 1));
            }
            messages
        });
        let mut message = 0u64;
        for _ in 0..rounds {
            _ = fiber::block_on(to.send(message));
            let Some(answer) = fiber::block_on(from.recv()) else {
                break;
            };
            message = answer + 1;
        }
        drop(to);
        vec![message, fiber::block_on(returns).unwrap_or(0)]
    });
    ping_pong::judge(cx, played)
}

/// Runs `work` as a coroutine of may, on one worker, and measures it from inside.
fn on_may<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> (Span, T) {
    may::config().set_workers(WORKERS);
    quiesce();
    let measured = spawn_may(|| {
        let start = Mark::now();
        let value = work();
        (Mark::now().since(start), value)
    });
    measured.join().expect("the coroutine does not panic")
}

fn spawn_may<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> may::coroutine::JoinHandle<T> {
    // SAFETY: the work uses no thread-local variable, and little stack.
    unsafe { may::coroutine::spawn(work) }
}

fn spawned_by_may(cx: &Context, _workers: usize) -> Measured {
    let ops = cx.ops;
    let (span, sum) = on_may(move || {
        let spawn = |number| spawn_may(move || number).join();
        (0..ops).filter_map(|number| spawn(number).ok()).sum()
    });
    verify("the sum of what the fibers returned", sum_below(ops), sum)?;
    Ok(Sample::new(span, ops))
}

fn yielded_by_may(cx: &Context, _workers: usize) -> Measured {
    let ops = cx.ops;
    let (span, yields) = on_may(move || {
        let mut yields = 0u64;
        for _ in 0..ops {
            may::coroutine::yield_now();
            yields += 1;
        }
        yields
    });
    verify("yields that returned", ops, yields)?;
    Ok(Sample::new(span, ops))
}

/// Its channels are unbounded.
fn played_by_may(cx: &Context, _workers: usize) -> Measured {
    let rounds = cx.ops;
    let (to, arrives) = may::sync::mpsc::channel::<u64>();
    let (back, from) = may::sync::mpsc::channel::<u64>();
    let played = on_may(move || {
        let returns = spawn_may(move || {
            let mut messages = 0u64;
            while let Ok(message) = arrives.recv() {
                messages += 1;
                _ = back.send(message + 1);
            }
            messages
        });
        let mut message = 0u64;
        for _ in 0..rounds {
            _ = to.send(message);
            let Ok(answer) = from.recv() else { break };
            message = answer + 1;
        }
        drop(to);
        vec![message, returns.join().unwrap_or(0)]
    });
    ping_pong::judge(cx, played)
}

#[cfg(target_os = "linux")]
mod memory {
    //! The resident memory of a fiber, or a task, that only waits.
    //!
    //! Stacks do not come from the allocator, so this reads the system's figure. Returned
    //! memory that the system has not taken yet does not count. Tasks may fit into memory that
    //! the allocator has kept; then the requested bytes count.

    use std::fs::read_to_string;
    use std::future::pending;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::*;
    use crate::alloc::Memory;
    use crate::scenario::{Compares, Failure};

    const OPS: u64 = 20_000;

    pub(super) fn scenario() -> Scenario {
        Scenario::new(5, "fiber_memory", "Resident memory of an idle fiber", OPS)
            .threads(WORKERS)
            .decided_by(Compares::BytesPerOp)
            .with(OURS, |cx| {
                idle(cx, Blitz::with_workers(WORKERS), begin_fiber)
            })
            .with(TASKS, |cx| {
                idle(cx, Blitz::with_workers(WORKERS), begin::<Blitz>)
            })
            .with("tokio", |cx| {
                idle(cx, Tokio::with_workers(WORKERS), begin::<Tokio>)
            })
    }

    /// How many wait, in all iterations so far.
    static WAITING: AtomicU64 = AtomicU64::new(0);

    type End = Box<dyn FnOnce() -> std::pin::Pin<Box<dyn Future<Output = bool> + Send>> + Send>;

    fn begin<R: Runtime>(runtime: R) -> End {
        let task = runtime.spawn(async {
            WAITING.fetch_add(1, Relaxed);
            pending::<()>().await;
        });
        Box::new(|| Box::pin(R::cancel(task)))
    }

    fn begin_fiber(_: Blitz) -> End {
        let fiber = fiber::spawn(|| {
            WAITING.fetch_add(1, Relaxed);
            fiber::block_on(pending::<()>());
        });
        Box::new(|| {
            Box::pin(async {
                fiber.abort();
                fiber.await.is_err()
            })
        })
    }

    fn idle<R: Runtime>(cx: &Context, runtime: R, begin: fn(R) -> End) -> Measured {
        let (ops, before) = (cx.ops, WAITING.load(Relaxed));
        let mut tasks = Vec::with_capacity(ops as usize);
        let resident = resident()?;
        Memory::count(true);
        let (span, tasks) = on_task(runtime, async move {
            tasks.extend((0..ops).map(|_| begin(runtime)));
            while WAITING.load(Relaxed) - before < ops {
                R::yield_now().await;
            }
            tasks
        });
        let used = self::resident()?.saturating_sub(resident);
        let (_, cancelled) = on_task(runtime, async move {
            let mut cancelled = 0u64;
            for end in tasks {
                cancelled += u64::from(end().await);
            }
            cancelled
        });
        verify(
            "fibers that waited until they were cancelled",
            ops,
            cancelled,
        )?;
        let memory = Memory {
            bytes: used.max(span.memory.kept()),
            allocations: span.memory.allocations,
            freed: 0,
        };
        Ok(Sample::new(Span { memory, ..span }, ops))
    }

    /// The memory of the process in bytes.
    fn resident() -> Result<u64, Failure> {
        let path = "/proc/self/smaps_rollup";
        let sums = read_to_string(path).map_err(|error| Failure(format!("{path}: {error}")))?;
        let kibibytes = |name| {
            let line = sums.lines().find_map(|line: &str| line.strip_prefix(name));
            line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok())
        };
        let (resident, free) = (kibibytes("Rss:"), kibibytes("LazyFree:"));
        match (resident, free) {
            (Some(resident), Some(free)) => Ok((resident - free) * 1024),
            _ => Err(Failure(format!("{path} has no resident memory"))),
        }
    }
}
