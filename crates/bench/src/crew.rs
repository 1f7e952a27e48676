//! Tasks that start together on a runtime, and the clock around them.
//!
//! The runtime is Tokio's, with as many workers as the settings say, for
//! everybody: who is measured is the primitive, not the scheduler. It is
//! started once and kept, so no iteration pays for its threads.
//!
//! The tasks of a crew are spawned before the clock starts. The first of them,
//! one for each worker, meet at a gate and hold their workers until all have
//! come and two of them run on two processors at the same moment. Without the
//! first, a single worker may take all tasks and run them one after the other;
//! without the second, the system may keep all workers on one processor for as
//! long as the whole work takes. Either way, whoever never waits would have met
//! no contention. Time runs from the first task behind the gate to the last
//! task at its end: neither spawning nor joining is measured.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

use crate::team::{Mark, Span, together};

/// Runs `tasks` tasks that start together on a runtime of `workers` threads.
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
    // Two crews on one runtime would hold the workers that each other waits for.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = runtime(workers);
    let gate = Arc::new(Gate::new(tasks.min(workers)));
    let members: Vec<_> = (0..tasks)
        .map(|i| {
            let (gate, body) = (gate.clone(), member(i));
            runtime.spawn(async move {
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
    let ended = ended
        .into_iter()
        .map(|end| end.unwrap_or_else(|error| resume_unwind(error.into_panic())));
    together(ended)
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
        while self.awaited.load(Ordering::Acquire) > 0 {
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

/// The runtime with so many workers: the one of last time, if it had as many.
fn runtime(workers: usize) -> Arc<Runtime> {
    static KEPT: Mutex<Option<(usize, Arc<Runtime>)>> = Mutex::new(None);
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    match &*kept {
        Some((size, runtime)) if *size == workers => runtime.clone(),
        _ => {
            let runtime = Builder::new_multi_thread()
                .worker_threads(workers)
                .build()
                .map(Arc::new)
                .expect("the system has threads for a runtime");
            *kept = Some((workers, runtime.clone()));
            runtime
        }
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
    fn the_runtime_is_kept() {
        // Other tests may ask for another size in between, so ask often.
        let kept = (0..100).any(|_| Arc::ptr_eq(&runtime(4), &runtime(4)));
        assert!(kept);
    }

    #[test]
    #[should_panic(expected = "from the second task")]
    fn a_panic_reaches_the_caller() {
        crew(2, 2, |i| async move {
            assert_ne!(i, 1, "from the second task");
        });
    }
}
