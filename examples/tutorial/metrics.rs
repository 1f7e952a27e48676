//! Chapter 9: figures of a running service, of the program and of the runtime.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use blitz_io::runtime::Handle;
use blitz_io::task::JoinSet;

// ANCHOR: metrics
/// What the program counts itself.
static REQUESTS: AtomicU64 = AtomicU64::new(0);

/// Returns a report in the text format that Prometheus reads.
fn report(runtime: &Handle) -> String {
    let metrics = runtime.metrics();
    let workers = metrics.num_workers();
    let busy: Duration = (0..workers)
        .map(|worker| metrics.worker_total_busy_duration(worker))
        .sum();
    [
        ("requests_total", REQUESTS.load(Ordering::Relaxed) as f64),
        ("tasks_alive", metrics.num_alive_tasks() as f64),
        (
            "tasks_waiting_for_a_worker",
            metrics.global_queue_depth() as f64,
        ),
        (
            "blocking_calls_waiting_for_a_thread",
            metrics.blocking_queue_depth() as f64,
        ),
        ("workers", workers as f64),
        ("workers_busy_seconds_total", busy.as_secs_f64()),
    ]
    .map(|(name, value)| format!("{name} {value}\n"))
    .concat()
}
// ANCHOR_END: metrics

#[blitz_io::main]
async fn main() {
    let mut requests = JoinSet::new();
    for _ in 0..100 {
        requests.spawn(async {
            blitz_io::task::yield_now().await; // the work
            REQUESTS.fetch_add(1, Ordering::Relaxed);
        });
    }
    requests.join_all().await;
    let report = report(&Handle::current());
    print!("{report}");
    assert!(report.contains("requests_total 100\n"));
}
