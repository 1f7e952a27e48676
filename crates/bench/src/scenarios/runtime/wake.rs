//! The time from a wake by a thread outside the runtime until the woken task runs, while
//! all workers sleep.

use std::thread;

use super::on_runtimes;
use crate::runtimes::Runtime;
use crate::scenarios::prelude::*;
use crate::signal::Signal;

/// After this time without work, every worker sleeps.
const IDLE: Duration = Duration::from_micros(500);

pub(super) fn scenarios() -> Vec<Scenario> {
    let title = "Wake a task from outside, runtime idle";
    let rows = on_runtimes!(("wake_idle", title, 200), woken).into_iter();
    rows.map(|row| row.decided_by(Compares::P50Ns)).collect()
}

/// The state that the thread and the task share.
struct Bell {
    signal: Signal,
    /// The time of the last wake-up, in nanoseconds after `since`.
    rung_at: AtomicU64,
    /// The number of wake-ups that the task has received.
    heard: AtomicU64,
    since: Instant,
}

fn woken<R: Runtime>(cx: &Context, workers: usize) -> Measured {
    let runtime = R::with_workers(workers);
    let bell = Arc::new(Bell {
        signal: Signal::new(),
        rung_at: AtomicU64::new(0),
        heard: AtomicU64::new(0),
        since: Instant::now(),
    });
    let before = Mark::now();
    let task = runtime.spawn_from_outside(listen(bell.clone(), cx.ops, Waits::new()));
    for ring in 0..cx.ops {
        while bell.heard.load(Ordering::Acquire) < ring {
            thread::sleep(IDLE / 10);
        }
        thread::sleep(IDLE);
        let now = bell.since.elapsed().as_nanos() as u64;
        bell.rung_at.store(now, Ordering::Relaxed);
        bell.signal.raise();
    }
    let (waits, nanos) = runtime.block_on(task);
    let memory = Mark::now().since(before).memory;
    verify("rings that were heard", cx.ops, waits.count())?;
    let elapsed = Duration::from_nanos(nanos);
    Ok(Sample::new(Span { elapsed, memory }, cx.ops).with_waits(waits))
}

/// Records the delay of each wake-up. Returns the waits and their sum.
async fn listen(bell: Arc<Bell>, rings: u64, mut waits: Waits) -> (Waits, u64) {
    let mut sum = 0u64;
    for ring in 0..rings {
        bell.signal.reached(ring + 1).await;
        let now = bell.since.elapsed().as_nanos() as u64;
        let wait = now.saturating_sub(bell.rung_at.load(Ordering::Relaxed));
        waits.record(Duration::from_nanos(wait));
        sum += wait;
        bell.heard.store(ring + 1, Ordering::Release);
    }
    (waits, sum)
}
