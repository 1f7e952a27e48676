//! Tasks that start together on a runtime, and the clock around them.
//!
//! Of a [`crew`], the runtime is Tokio's, with as many workers as the settings
//! say, for everybody: who is measured is the primitive, not the scheduler. Rows
//! that say so have their crew on the contender's own. Runtimes are started once and kept,
//! so no iteration pays for their threads.
//!
//! The tasks of a crew are spawned before the clock starts. The first of them,
//! one for each worker (on a contender's own runtime no more than there are
//! processors: how many of its workers it wakes beyond that is its affair), meet at a
//! gate and hold their workers until all have come and two of them run on two
//! processors at the same moment. Without the first, a single worker may take all tasks
//! and run them one after the other; without the second, the system may keep all
//! workers on one processor for as long as the whole work takes. Either way, whoever
//! never waits would have met no contention. Time runs from the first task behind the
//! gate to the last task at its end: neither spawning nor joining is measured.
//!
//! Neither is waited for without end. A runtime need not have a worker for each task
//! that blocks its own: Tokio has been seen to leave one asleep while another one's
//! queue was full.

use std::marker::PhantomData;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use crate::runtimes::{Runtime, Tokio};
use crate::team::{Mark, Span, together};

/// Runs `tasks` tasks that start together on Tokio with `workers` threads.
/// `member(i)` makes the body of task `i`, before the clock starts.
///
/// Returns the values of all tasks, in the order of `i`.
///
/// # Panics
///
/// When a task panics, with its panic.
///
/// ```
/// let (_span, values) = blitz_bench::crew::crew(2, 3, |i| async move { i * 10 });
/// assert_eq!(values, [0, 10, 20]);
/// ```
pub fn crew<T, B>(workers: usize, tasks: usize, member: impl Fn(usize) -> B) -> (Span, Vec<T>)
where
    T: Send + 'static,
    B: Future<Output = T> + Send + 'static,
{
    muster(Tokio::with_workers(workers), workers, tasks, member)
}

/// Where a crew works.
pub(crate) trait Ground {
    /// Runs `tasks` tasks that start together with `workers` threads below
    /// them, as [`crew`] does.
    fn crew<T, B>(workers: usize, tasks: usize, member: impl Fn(usize) -> B) -> (Span, Vec<T>)
    where
        T: Send + 'static,
        B: Future<Output = T> + Send + 'static;
}

/// On the runtime that everybody shares, so that the primitive alone makes the
/// difference.
pub(crate) struct Shared;

impl Ground for Shared {
    fn crew<T, B>(workers: usize, tasks: usize, member: impl Fn(usize) -> B) -> (Span, Vec<T>)
    where
        T: Send + 'static,
        B: Future<Output = T> + Send + 'static,
    {
        crew(workers, tasks, member)
    }
}

/// On a runtime of the contender's own.
pub(crate) struct Own<R>(PhantomData<R>);

impl<R: Runtime> Ground for Own<R> {
    fn crew<T, B>(workers: usize, tasks: usize, member: impl Fn(usize) -> B) -> (Span, Vec<T>)
    where
        T: Send + 'static,
        B: Future<Output = T> + Send + 'static,
    {
        let processors = available_parallelism().map_or(1, NonZero::get);
        let awaited = workers.min(processors);
        muster(R::with_workers(workers), awaited, tasks, member)
    }
}

/// Runs the tasks, the first `awaited` of which start together.
fn muster<R, T, B>(
    runtime: R,
    awaited: usize,
    tasks: usize,
    member: impl Fn(usize) -> B,
) -> (Span, Vec<T>)
where
    R: Runtime,
    T: Send + 'static,
    B: Future<Output = T> + Send + 'static,
{
    // Two crews on one runtime would hold the workers that each other waits for.
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

/// Where the workers meet before the clock starts.
struct Gate {
    awaited: AtomicUsize,
    /// Counted up by everybody who waits behind the last arrival.
    pulse: AtomicUsize,
    open: AtomicBool,
}

/// How long a gate waits for two processors. Systems move a thread to an idle
/// one within a few milliseconds; where there is none, nothing is gained by
/// waiting on.
const PATIENCE: Duration = Duration::from_millis(30);

/// How long it waits for workers that have not come.
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
    /// Those who come later find the gate open.
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
            if self.beats_with_another() || since.elapsed() > PATIENCE {
                self.open.store(true, Ordering::Release);
            }
        }
    }

    /// Whether another thread runs right now: whether in most of a series of
    /// short moments it counted, beside this one. (In a single moment it also
    /// seems to run when the system lets it run instead of this one.)
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
    fn making_the_tasks_is_not_measured() {
        let slow = Duration::from_millis(200);
        let (span, _) = crew(2, 2, |_| {
            std::thread::sleep(slow / 2);
            async {}
        });
        assert!(span.elapsed < slow, "{:?}", span.elapsed);
    }

    #[test]
    fn a_gate_opens_though_nobody_else_comes() {
        let began = Instant::now();
        Gate::new(2).pass();
        assert!(began.elapsed() >= FOR_WORKERS);
    }

    #[test]
    fn the_slowest_task_ends_the_span() {
        let slow = Duration::from_millis(30);
        let (span, _) = crew(2, 3, |i| async move {
            if i == 1 {
                std::thread::sleep(slow);
            }
        });
        assert!(span.elapsed >= slow, "{:?}", span.elapsed);
    }

    #[test]
    #[should_panic(expected = "from the second task")]
    fn a_panic_reaches_the_caller() {
        crew(2, 2, |i| async move {
            assert_ne!(i, 1, "from the second task");
        });
    }
}
