//! Exports figures to a recorder that keeps them.

use std::collections::BTreeMap;

use blitz_io::metrics::Exporter;
use blitz_io::pool::ThreadPoolBuilder;
use blitz_io::runtime::{Builder, Runtime};
use metrics_util::MetricKind;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};

/// The values by name and labels, such as `blitz_runtime_workers{runtime="main"}`.
type Values = BTreeMap<String, (MetricKind, f64)>;

fn values(snapshotter: &Snapshotter) -> Values {
    let all = snapshotter.snapshot().into_vec();
    let value = |(key, _, _, value): (metrics_util::CompositeKey, _, _, _)| {
        let labels: Vec<String> = key
            .key()
            .labels()
            .map(|label| format!("{}=\"{}\"", label.key(), label.value()))
            .collect();
        let value = match value {
            DebugValue::Counter(count) => count as f64,
            DebugValue::Gauge(value) => value.0,
            DebugValue::Histogram(_) => panic!("no histogram is exported"),
        };
        let name = format!("{}{{{}}}", key.key().name(), labels.join(","));
        (name, (key.kind(), value))
    };
    all.into_iter().map(value).collect()
}

/// Records, and returns what that has added to each counter, and the gauges.
fn record(exporter: &mut Exporter, recorder: &DebuggingRecorder) -> Values {
    metrics::with_local_recorder(recorder, || exporter.record());
    values(&recorder.snapshotter())
}

fn runtime() -> Runtime {
    let builder = &mut Builder::new_multi_thread();
    builder.worker_threads(2).enable_all();
    builder.enable_metrics_poll_time_histogram();
    #[cfg(feature = "schedule-latency")]
    builder.enable_metrics_schedule_latency_histogram();
    builder.build().unwrap()
}

#[test]
fn figures_of_a_runtime_and_a_pool_are_exported() {
    let runtime = runtime();
    let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let mut exporter = Exporter::new()
        .runtime("main", runtime.handle())
        .pool("merge", &pool);
    for _ in 0..5 {
        runtime.block_on(runtime.spawn(async {})).unwrap();
    }
    let recorder = DebuggingRecorder::new();
    let values = record(&mut exporter, &recorder);
    let value = |name: &str| {
        values
            .get(name)
            .unwrap_or_else(|| panic!("{name}: {values:#?}"))
            .1
    };
    assert_eq!(value("blitz_runtime_workers{runtime=\"main\"}"), 2.0);
    assert_eq!(
        value("blitz_runtime_spawned_tasks_total{runtime=\"main\"}"),
        5.0
    );
    assert_eq!(value("blitz_pool_threads{pool=\"merge\"}"), 3.0);
    let polls = "blitz_runtime_poll_duration_microseconds";
    let infinite = format!("{polls}_bucket{{runtime=\"main\",le=\"+Inf\"}}");
    assert_eq!(
        value(&infinite),
        value(&format!("{polls}_count{{runtime=\"main\"}}"))
    );
    // No task was spawned since.
    let again = record(&mut exporter, &recorder);
    let spawned = "blitz_runtime_spawned_tasks_total{runtime=\"main\"}";
    assert_eq!(again[spawned].1, 0.0, "{again:#?}");
}

/// The table in the module's documentation has all names, with the types that they have.
#[test]
fn each_name_is_documented() {
    let documentation = include_str!("../src/metrics.rs");
    let runtime = runtime();
    let _route = blitz_io::ipc::Route::sender(&format!("metrics-{}", std::process::id()));
    runtime.block_on(runtime.spawn_blocking(|| ())).unwrap();
    let mut exporter = Exporter::new().runtime("main", runtime.handle());
    blitz_io::pool::join(|| (), || ());
    let values = record(&mut exporter, &DebuggingRecorder::new());
    for (name, (kind, _)) in values {
        let (name, _) = name.split_once('{').unwrap();
        let kind = match kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        let row = format!("//! | `{name}` | {kind} |");
        assert!(documentation.contains(&row), "{row}");
    }
}

#[test]
fn a_task_records_once_an_interval() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let exporter = Exporter::new().runtime("main", runtime.handle());
    metrics::with_local_recorder(&recorder, || {
        runtime.block_on(async {
            let task = exporter.spawn(std::time::Duration::from_millis(1));
            while values(&snapshotter).is_empty() {
                blitz_io::task::yield_now().await;
            }
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
        });
    });
}

#[cfg(feature = "inspect")]
mod waits {
    use super::*;

    #[test]
    fn waits_are_exported_by_kind_and_by_name() {
        use blitz_io::inspect::Named;
        use blitz_io::sync::Mutex;

        let mut exporter = Exporter::new();
        let recorder = DebuggingRecorder::new();
        record(&mut exporter, &recorder);
        let lock = Mutex::new(()).named("exported");
        let waits = "blitz_object_waits_total{kind=\"Mutex\",object=\"exported\"}";
        for _ in 0..2 {
            pollster::block_on(async {
                let guard = lock.lock().await;
                let release = async {
                    futures_util::future::ready(()).await;
                    drop(guard);
                };
                let wait = async {
                    let _guard = lock.lock().await;
                };
                // The first one is polled first, and waits.
                futures_util::join!(wait, release);
            });
            let values = record(&mut exporter, &recorder);
            assert_eq!(values[waits].1, 1.0, "{values:#?}");
            let all =
                values["blitz_wait_duration_microseconds_bucket{kind=\"Mutex\",le=\"+Inf\"}"].1;
            assert!(all >= 1.0, "{values:#?}");
        }
    }

    #[test]
    fn a_kind_without_waits_is_0_again() {
        use std::future::Future;
        use std::pin::pin;
        use std::task::{Context, Waker};

        use blitz_io::sync::CancellationToken;

        let mut exporter = Exporter::new();
        let recorder = DebuggingRecorder::new();
        let waiting = "blitz_waiting{kind=\"CancellationToken\"}";
        let token = CancellationToken::new();
        {
            let mut wait = pin!(token.cancelled());
            let polled = wait.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
            let values = record(&mut exporter, &recorder);
            assert_eq!(values[waiting].1, 1.0, "{values:#?}");
        }
        let values = record(&mut exporter, &recorder);
        assert_eq!(values[waiting].1, 0.0, "{values:#?}");
    }
}
