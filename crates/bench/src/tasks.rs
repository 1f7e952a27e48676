//! Tasks that start together on a runtime, and the clock around them.
//!
//! [`start_all`] runs them on Tokio for every contender, with as many workers as the
//! settings say: it compares primitives, not schedulers. Rows whose title says so use
//! the contender's own runtime. Runtimes are started once and kept, so no iteration
//! pays for starting their threads.
//!
//! The tasks are spawned before the clock starts. The first of them meet at a gate, one for
//! each worker. On a contender's own runtime it is at most one for each processor, because
//! the runtime decides how many further workers it wakes. These tasks hold their workers
//! until all have arrived and two of them run on two processors at the same moment.
//!
//! 1. Without the first condition a single worker may take all tasks and run them one after
//!    the other.
//! 2. Without the second the system may keep all workers on one processor for the whole
//!    measurement.
//!
//! In both cases a contender that never waits would have met no contention. Time runs from
//! the first task that passes the gate to the end of the last task: neither spawning nor
//! joining is measured.
//!
//! Both waits are bounded. A runtime need not have a worker for each task that blocks
//! its own: Tokio has been observed to leave one asleep while another one's queue was
//! full.

use std::marker::PhantomData;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use crate::runtimes::{Runtime, Spawn, Tokio};
use crate::threads::{Mark, Span, together};

/// Runs `tasks` tasks that start together on Tokio with `workers` threads.
/// `member(i)` creates the body of task `i`, before the clock starts.
///
/// Returns the values of all tasks, in the order of `i`.
///
/// # Panics
///
/// Panics with the panic of a task if one panics.
///
/// ```
/// let (_span, values) = blitz_io_bench::tasks::start_all(2, 3, |i| async move { i * 10 });
/// assert_eq!(values, [0, 10, 20]);
/// ```
pub fn start_all<B: Spawn>(
    workers: usize,
    tasks: usize,
    member: impl Fn(usize) -> B,
) -> (Span, Vec<B::Output>) {
    SharedRuntime::start_all(workers, tasks, member)
}

/// A runtime that the tasks run on.
pub(crate) trait Host {
    type Runtime: Runtime;

    /// Returns how many tasks meet before the clock starts, on a runtime with `workers` workers.
    fn awaited(workers: usize) -> usize;

    /// Runs `tasks` tasks that start together on `workers` threads, as
    /// [`start_all()`] does.
    fn start_all<B: Spawn>(
        workers: usize,
        tasks: usize,
        member: impl Fn(usize) -> B,
    ) -> (Span, Vec<B::Output>) {
        let runtime = Self::Runtime::with_workers(workers);
        start_on(runtime, Self::awaited(workers), tasks, member)
    }
}

/// The runtime that all contenders share, so that only the primitives differ.
pub(crate) struct SharedRuntime;

impl Host for SharedRuntime {
    type Runtime = Tokio;

    fn awaited(workers: usize) -> usize {
        workers
    }
}

/// The contender's own runtime.
pub(crate) struct OwnRuntime<R>(PhantomData<R>);

impl<R: Runtime> Host for OwnRuntime<R> {
    type Runtime = R;

    fn awaited(workers: usize) -> usize {
        workers.min(available_parallelism().map_or(1, NonZero::get))
    }
}

/// Runs the tasks; the first `awaited` of them start together.
fn start_on<R: Runtime, B: Spawn>(
    runtime: R,
    awaited: usize,
    tasks: usize,
    member: impl Fn(usize) -> B,
) -> (Span, Vec<B::Output>) {
    // Two groups on one runtime would each hold the workers that the other waits for.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let gate = Arc::new(Gate::new(tasks.min(awaited)));
    let members: Vec<_> = (0..tasks)
        .map(|i| {
            let (gate, body) = (gate.clone(), member(i));
            runtime.spawn_from_outside(async move {
                gate.pass();
                let start = Mark::now();
                let value = body.await;
                (start, Mark::now(), value)
            })
        })
        .collect();
    let ended: Vec<_> = runtime.block_on(async {
        let mut ended = Vec::with_capacity(tasks);
        for member in members {
            ended.push(member.await);
        }
        ended
    });
    together(ended.into_iter())
}

/// The gate at which the workers meet before the clock starts.
struct Gate {
    awaited: AtomicUsize,
    /// Incremented by every worker that waits after the last arrival.
    pulse: AtomicUsize,
    open: AtomicBool,
}

/// The time for which a gate waits for two processors. Systems move a thread to an idle
/// processor within a few milliseconds; where there is none, waiting longer is useless.
const FOR_PROCESSORS: Duration = Duration::from_millis(30);

/// The time for which a gate waits for workers that have not arrived.
const FOR_WORKERS: Duration = Duration::from_millis(500);

impl Gate {
    fn new(workers: usize) -> Gate {
        Gate {
            awaited: AtomicUsize::new(workers),
            pulse: AtomicUsize::new(0),
            open: AtomicBool::new(workers < 2),
        }
    }

    /// Waits for the others, and keeps this worker from running anything else.
    /// Tasks that arrive later find the gate open.
    fn pass(&self) {
        let one_less = |awaited: usize| awaited.checked_sub(1);
        let _ = self
            .awaited
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less);
        let since = Instant::now();
        while self.awaited.load(Ordering::Acquire) > 0 {
            if since.elapsed() > FOR_WORKERS {
                self.awaited.store(0, Ordering::Release);
            }
            std::thread::yield_now();
        }
        let since = Instant::now();
        while !self.open.load(Ordering::Acquire) {
            if self.beats_with_another() || since.elapsed() > FOR_PROCESSORS {
                self.open.store(true, Ordering::Release);
            }
        }
    }

    /// Returns whether another thread is running. Another thread must count beside this one
    /// in most of a series of short moments. A single moment proves nothing: the count also
    /// changes when the system lets the other thread run instead of this one.
    fn beats_with_another(&self) -> bool {
        const MOMENTS: usize = 20;
        let shared = (0..MOMENTS).filter(|_| {
            let before = self.pulse.fetch_add(1, Ordering::Relaxed);
            for _ in 0..10 {
                std::hint::spin_loop();
            }
            self.pulse.load(Ordering::Relaxed) != before + 1
        });
        shared.count() > MOMENTS / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_opens_without_another_worker() {
        let began = Instant::now();
        Gate::new(2).pass();
        assert!(began.elapsed() >= FOR_WORKERS);
    }
}
