//! Fibers: the costs of a stack of its own, on one worker. The peers are tasks, ours among them
//! (`blitz-io tasks`), which have no stacks, and the fibers of `may`.

use blitz_io_channel::mpsc;
use blitz_io_fiber as fiber;

use super::{Body, on_task, ping_pong, quiesce, spawn, sum_below, yields};
use crate::runtimes::{Blitz, Job, Runtime, Tokio};
use crate::scenarios::prelude::*;

const TASKS: &str = "blitz-io tasks";
const WORKERS: usize = 1;

pub(super) fn scenarios() -> Vec<Scenario> {
    let (spawn, spawn_tokio) = (spawn::awaited::<Blitz>, spawn::awaited::<Tokio>);
    let play = ping_pong::over_channels::<Blitz>;
    let play_tokio = ping_pong::over_channels::<Tokio>;
    let (yields, yields_tokio) = (yields::yields::<Blitz, 1>, yields::yields::<Tokio, 1>);
    let what = ("fiber_spawn", "Spawn a fiber and wait for it", 20_000);
    let spawning = one(what, [spawned::<Ours>, spawn, spawn_tokio, spawned::<May>]);
    let title = "Ping-pong of two fibers over mpsc";
    let what = ("fiber_ping_pong", title, 10_000);
    let playing = one(what, [played::<Ours>, play, play_tokio, played::<May>]);
    let what = ("fiber_yield", "yield_now of a fiber", 200_000);
    let yielding = one(
        what,
        [yielded::<Ours>, yields, yields_tokio, yielded::<May>],
    );
    #[allow(unused_mut, reason = "the memory is measured on Linux only")]
    let mut scenarios = vec![spawning, playing, yielding];
    #[cfg(target_os = "linux")]
    scenarios.push(memory::scenario());
    scenarios
}

/// Returns the scenario for one worker, with the bodies of our fibers, our tasks, Tokio and may.
fn one((id, title, ops): (&str, &str, u64), [ours, tasks, tokio, may]: [Body; 4]) -> Scenario {
    let bodies = [(OURS, ours), (TASKS, tasks), ("tokio", tokio), ("may", may)];
    let scenario = Scenario::new(5, id, title, ops).threads(WORKERS);
    scenario.with_each(WORKERS, bodies)
}

/// A library of fibers. What is measured in a loop is inlined there, as in a program that calls the library.
trait Fibers {
    /// Runs `work` as a fiber on one worker.
    fn run<T: Send + 'static>(work: impl Job<T>) -> T;
    /// Spawns a fiber, and returns the function with which another fiber joins it.
    fn spawn<T: Send + 'static>(work: impl Job<T>) -> impl FnOnce() -> Option<T>;
    fn yield_now();
    /// Creates a channel, and returns the functions that send and receive.
    fn channel() -> (
        impl Fn(u64) + Send + 'static,
        impl FnMut() -> Option<u64> + Send + 'static,
    );
}

/// Our fibers, and channels with room for one message.
struct Ours;

impl Fibers for Ours {
    fn run<T: Send + 'static>(work: impl Job<T>) -> T {
        let on_fiber = async { fiber::spawn(work).await.expect("the fiber does not panic") };
        on_task(Blitz::with_workers(WORKERS), on_fiber).1
    }

    fn spawn<T: Send + 'static>(work: impl Job<T>) -> impl FnOnce() -> Option<T> {
        let fiber = fiber::spawn(work);
        || fiber::block_on(fiber).ok()
    }

    #[inline(always)]
    fn yield_now() {
        fiber::yield_now();
    }

    fn channel() -> (
        impl Fn(u64) + Send + 'static,
        impl FnMut() -> Option<u64> + Send + 'static,
    ) {
        let (sender, mut receiver) = mpsc::channel(1);
        let send = move |message| _ = fiber::block_on(sender.send(message));
        (send, move || fiber::block_on(receiver.recv()))
    }
}

/// The coroutines of may, whose channels are unbounded.
struct May;

impl Fibers for May {
    fn run<T: Send + 'static>(work: impl Job<T>) -> T {
        may::config().set_workers(WORKERS);
        quiesce();
        May::spawn(work)().expect("the coroutine does not panic")
    }

    fn spawn<T: Send + 'static>(work: impl Job<T>) -> impl FnOnce() -> Option<T> {
        // SAFETY: the work uses no thread-local variable, and little stack.
        let coroutine = unsafe { may::coroutine::spawn(work) };
        || coroutine.join().ok()
    }

    #[inline(always)]
    fn yield_now() {
        may::coroutine::yield_now();
    }

    fn channel() -> (
        impl Fn(u64) + Send + 'static,
        impl FnMut() -> Option<u64> + Send + 'static,
    ) {
        let (sender, receiver) = may::sync::mpsc::channel();
        let send = move |message| _ = sender.send(message);
        (send, move || receiver.recv().ok())
    }
}

/// Runs `work` as a fiber on one worker, and measures it from inside.
fn on_fiber<F: Fibers, T: Send + 'static>(work: impl Job<T>) -> (Span, T) {
    F::run(|| {
        let start = Mark::now();
        let value = work();
        (Mark::now().since(start), value)
    })
}

fn spawned<F: Fibers>(cx: &Context, _workers: usize) -> Measured {
    let ops = cx.ops;
    let join = |number| F::spawn(move || number)();
    let (span, sum) = on_fiber::<F, u64>(move || (0..ops).filter_map(join).sum());
    verify("the sum of what the fibers returned", sum_below(ops), sum)?;
    Ok(Sample::new(span, ops))
}

fn yielded<F: Fibers>(cx: &Context, _workers: usize) -> Measured {
    let ops = cx.ops;
    let (span, yields) = on_fiber::<F, _>(move || {
        let mut yields = 0u64;
        for _ in 0..ops {
            F::yield_now();
            yields += 1;
        }
        yields
    });
    verify("yields that returned", ops, yields)?;
    Ok(Sample::new(span, ops))
}

fn played<F: Fibers>(cx: &Context, _workers: usize) -> Measured {
    let rounds = cx.ops;
    let (to, mut arrives) = F::channel();
    let (back, mut from) = F::channel();
    let played = on_fiber::<F, _>(move || {
        let returns = F::spawn(move || {
            let mut messages = 0u64;
            while let Some(message) = arrives() {
                messages += 1;
                back(message + 1);
            }
            messages
        });
        let mut message = 0u64;
        for _ in 0..rounds {
            to(message);
            let Some(answer) = from() else { break };
            message = answer + 1;
        }
        drop(to);
        vec![message, returns().unwrap_or(0)]
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
            .with(OURS, |cx| idle(cx, begin_fiber))
            .with(TASKS, |cx| idle(cx, begin::<Blitz>))
            .with("tokio", |cx| idle(cx, begin::<Tokio>))
    }

    /// The number of fibers and tasks that wait, in all iterations so far.
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

    fn idle<R: Runtime>(cx: &Context, begin: fn(R) -> End) -> Measured {
        let runtime = R::with_workers(WORKERS);
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
        let what = "fibers that waited until they were cancelled";
        verify(what, ops, cancelled)?;
        let memory = Memory {
            bytes: used.max(span.memory.kept()),
            allocations: span.memory.allocations,
            freed: 0,
        };
        Ok(Sample::new(Span { memory, ..span }, ops))
    }

    /// Returns the memory of the process in bytes.
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
