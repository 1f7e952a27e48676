//! The runtime follows the settings of its builder.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use blitz_io_runtime::runtime::{
    Builder, Handle, HistogramConfiguration, InvalidHistogramConfiguration, LogHistogram, RngSeed,
    Runtime, RuntimeFlavor, UnhandledPanic,
};
use blitz_io_runtime::task;

fn flavors() -> [Builder; 2] {
    [Builder::new_current_thread(), Builder::new_multi_thread()]
}

fn thread_name() -> Option<String> {
    thread::current().name().map(str::to_owned)
}

fn until<T>(what: impl Fn() -> Option<T>) -> T {
    loop {
        if let Some(value) = what() {
            return value;
        }
        thread::yield_now();
    }
}

#[test]
fn numbers_of_workers() {
    for workers in [1, 2, 5] {
        let runtime = Builder::new_multi_thread()
            .worker_threads(workers)
            .build()
            .unwrap();
        assert_eq!(runtime.metrics().num_workers(), workers);
        let seen = || {
            (0..workers)
                .map(|n| runtime.metrics().worker_thread_id(n))
                .collect()
        };
        let threads: HashSet<_> = until(|| {
            let all: Option<HashSet<_>> = seen();
            all
        });
        assert_eq!(threads.len(), workers);
    }
    let runtime = Builder::new_current_thread()
        .worker_threads(5)
        .build()
        .unwrap();
    assert_eq!(runtime.metrics().num_workers(), 1);
}

#[test]
#[should_panic(expected = "a runtime has at most")]
fn a_number_of_workers_that_no_machine_can_have_is_refused_at_once() {
    Builder::new_multi_thread().worker_threads(1_000_000);
}

#[test]
fn names_of_threads() {
    for mut builder in flavors() {
        let is_current = format!("{:?}", builder.build().unwrap()).contains("current");
        let names = || {
            let runtime = Builder::new_multi_thread()
                .worker_threads(1)
                .build()
                .unwrap();
            runtime.block_on(async { task::spawn(async { thread_name() }).await.unwrap() })
        };
        let expected = if cfg!(feature = "_tokio_names") {
            "tokio-rt-worker"
        } else {
            "blitz-worker"
        };
        assert_eq!(names().as_deref(), Some(expected));
        let runtime = builder
            .worker_threads(1)
            .thread_name("mine")
            .build()
            .unwrap();
        let blocking = runtime.spawn_blocking(thread_name);
        assert_eq!(runtime.block_on(blocking).unwrap().as_deref(), Some("mine"));
        if !is_current {
            let task = runtime.spawn(async { thread_name() });
            assert_eq!(runtime.block_on(task).unwrap().as_deref(), Some("mine"));
        }
        let count = AtomicUsize::new(0);
        let runtime = builder
            .thread_name_fn(move || format!("mine-{}", count.fetch_add(1, SeqCst)))
            .build()
            .unwrap();
        let blocking = runtime.spawn_blocking(thread_name);
        let name = runtime.block_on(blocking).unwrap().unwrap();
        assert!(name.starts_with("mine-"), "{name}");
    }
}

#[test]
fn stacks_of_threads() {
    #[inline(never)]
    fn deep(n: usize) -> usize {
        let on_stack = std::hint::black_box([n as u8; 4096]);
        match n {
            0 => usize::from(on_stack[0]),
            _ => deep(n - 1) + usize::from(on_stack[1] == n as u8),
        }
    }

    // 2,000 frames of 4 KiB do not fit into a thread's default stack.
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .thread_stack_size(32 << 20)
        .build()
        .unwrap();
    runtime.block_on(async {
        assert_eq!(task::spawn(async { deep(2000) }).await.unwrap(), 2000);
        assert_eq!(task::spawn_blocking(|| deep(2000)).await.unwrap(), 2000);
    });
}

#[test]
fn hooks_of_threads() {
    let (starts, stops) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (count_starts, count_stops) = (starts.clone(), stops.clone());
    let runtime = Builder::new_multi_thread()
        .worker_threads(3)
        .on_thread_start(move || {
            // It is in the runtime already.
            assert_eq!(
                Handle::current().runtime_flavor(),
                RuntimeFlavor::MultiThread
            );
            count_starts.fetch_add(1, SeqCst);
        })
        .on_thread_stop(move || {
            count_stops.fetch_add(1, SeqCst);
        })
        .build()
        .unwrap();
    runtime.block_on(runtime.spawn_blocking(|| {})).unwrap();
    until(|| (starts.load(SeqCst) == 4).then_some(()));
    assert_eq!(stops.load(SeqCst), 0);
    drop(runtime);
    assert_eq!(stops.load(SeqCst), 4);
}

#[test]
fn hooks_of_tasks() {
    for mut builder in flavors() {
        let events: Arc<Mutex<Vec<(&str, task::Id)>>> = Arc::default();
        let note = |event: &'static str| {
            let events = events.clone();
            move |meta: &blitz_io_runtime::runtime::TaskMeta<'_>| {
                events.lock().unwrap().push((event, meta.id()));
            }
        };
        let runtime = builder
            .worker_threads(1)
            .on_task_spawn(note("spawn"))
            .on_before_task_poll(note("before"))
            .on_after_task_poll(note("after"))
            .on_task_terminate(note("end"))
            .build()
            .unwrap();
        let of = |id: task::Id| -> Vec<&str> {
            let events = events.lock().unwrap();
            events
                .iter()
                .filter(|event| event.1 == id)
                .map(|event| event.0)
                .collect()
        };
        let task = runtime.spawn(async {
            task::yield_now().await;
            task::id()
        });
        let id = runtime.block_on(task).unwrap();
        let wanted = ["spawn", "before", "after", "before", "end", "after"];
        until(|| (of(id).len() == wanted.len()).then_some(()));
        let mut seen = of(id);
        // The task ends within its poll.
        seen.sort_unstable();
        let mut sorted = wanted;
        sorted.sort_unstable();
        assert_eq!(seen, sorted);
        let waits = runtime.spawn(std::future::pending::<()>());
        let id = waits.id();
        drop(runtime);
        let seen = of(id);
        assert_eq!((seen.first(), seen.last()), (Some(&"spawn"), Some(&"end")));
    }
}

#[test]
fn threads_for_blocking_work() {
    for mut builder in flavors() {
        let runtime = builder
            .worker_threads(1)
            .max_blocking_threads(2)
            .thread_keep_alive(Duration::from_millis(20))
            .build()
            .unwrap();
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let (now, most) = (now.clone(), most.clone());
                runtime.spawn_blocking(move || {
                    most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                    // The second thread may start late.
                    until(|| (most.load(SeqCst) > 1).then_some(()));
                    thread::sleep(Duration::from_millis(3));
                    now.fetch_sub(1, SeqCst);
                })
            })
            .collect();
        for task in tasks {
            runtime.block_on(task).unwrap();
        }
        assert_eq!(most.load(SeqCst), 2);
        let metrics = runtime.metrics();
        until(|| (metrics.num_blocking_threads() == 0).then_some(()));
        assert_eq!(metrics.blocking_queue_depth(), 0);
    }
}

#[test]
fn without_timers_they_panic() {
    for mut builder in flavors() {
        let runtime = builder.worker_threads(1).build().unwrap();
        let task = runtime.spawn(async {
            blitz_io_runtime::time::sleep(Duration::from_millis(1)).await;
        });
        let error = runtime.block_on(task).unwrap_err();
        let text = *error.into_panic().downcast::<String>().unwrap();
        assert!(text.contains("timers are disabled"), "{text}");
    }
}

#[test]
#[should_panic = "UnhandledPanic::ShutdownRuntime is only supported in current thread runtime"]
fn workers_do_not_end_for_a_panic() {
    Builder::new_multi_thread().unhandled_panic(UnhandledPanic::ShutdownRuntime);
}

#[test]
fn intervals_and_slots_of_all_kinds() {
    for mut builder in flavors() {
        for (event, global) in [(1, 1), (1, 100), (100, 1), (7, 13)] {
            let runtime = builder
                .worker_threads(2)
                .event_interval(event)
                .global_queue_interval(global)
                .disable_lifo_slot()
                .build()
                .unwrap();
            let sum = runtime.block_on(async {
                let tasks: Vec<_> = (0..500_u64)
                    .map(|n| {
                        task::spawn(async move {
                            task::yield_now().await;
                            task::spawn(async move { n }).await.unwrap()
                        })
                    })
                    .collect();
                let mut sum = 0;
                for task in tasks {
                    sum += task.await.unwrap();
                }
                sum
            });
            assert_eq!(sum, (0..500).sum::<u64>());
        }
    }
}

#[test]
fn seeds_do_not_disturb() {
    let seeded = || {
        Builder::new_current_thread()
            .rng_seed(RngSeed::from_bytes(b"seed"))
            .build()
            .unwrap()
    };
    let (one, two) = (seeded(), seeded());
    assert!(one.block_on(async { two.handle().id() != one.handle().id() }));
    assert_eq!(two.block_on(async { 1 }), 1);
}

#[test]
fn ids_differ() {
    let runtimes: Vec<Runtime> = (0..3)
        .map(|_| Builder::new_current_thread().build().unwrap())
        .collect();
    let ids: HashSet<_> = runtimes
        .iter()
        .map(|runtime| runtime.handle().id())
        .collect();
    assert_eq!(ids.len(), 3);
    let inside = runtimes[1].block_on(async { Handle::current().id() });
    assert_eq!(inside, runtimes[1].handle().id());
    assert!(inside.to_string().parse::<u64>().is_ok());
}

#[test]
fn histograms() {
    for mut builder in flavors() {
        let plain = builder.worker_threads(1).build().unwrap().metrics();
        assert!(!plain.poll_time_histogram_enabled());
        assert_eq!(plain.poll_time_histogram_num_buckets(), 0);
        assert_eq!(
            plain.poll_time_histogram_bucket_range(3),
            Duration::ZERO..Duration::ZERO
        );
        assert_eq!(plain.poll_time_histogram_bucket_count(0, 3), 0);
        assert_eq!(plain.worker_mean_poll_time(0), Duration::ZERO);

        let runtime = builder
            .enable_metrics_poll_time_histogram()
            .metrics_poll_time_histogram_configuration(HistogramConfiguration::linear(
                Duration::from_millis(5),
                3,
            ))
            .build()
            .unwrap();
        let metrics = runtime.metrics();
        assert!(metrics.poll_time_histogram_enabled());
        assert_eq!(metrics.poll_time_histogram_num_buckets(), 3);
        let ms = Duration::from_millis;
        assert_eq!(metrics.poll_time_histogram_bucket_range(1), ms(5)..ms(10));
        assert_eq!(metrics.poll_time_histogram_bucket_range(2).start, ms(10));
        runtime.block_on(async {
            task::spawn(async { thread::sleep(Duration::from_millis(6)) })
                .await
                .unwrap();
            task::spawn(async { thread::sleep(Duration::from_millis(30)) })
                .await
                .unwrap();
            task::spawn(async {}).await.unwrap();
        });
        let count = || -> Vec<u64> {
            (0..3)
                .map(|bucket| metrics.poll_time_histogram_bucket_count(0, bucket))
                .collect()
        };
        until(|| (count().iter().sum::<u64>() == 3).then_some(()));
        assert!(count()[2] >= 1);
        assert!(metrics.worker_mean_poll_time(0) > Duration::ZERO);
    }
}

#[test]
fn logarithmic_histograms() {
    let builder = LogHistogram::builder()
        .max_error(0.25)
        .min_value(Duration::from_micros(1))
        .max_value(Duration::from_secs(1));
    let few = builder.clone().max_buckets(5).unwrap_err();
    let InvalidHistogramConfiguration::TooManyBuckets {
        required_bucket_count,
    } = few;
    let ranges = builder.clone().max_buckets(required_bucket_count).unwrap();
    assert!(ranges.max_value() >= 1_000_000_000);
    let runtime = Builder::new_current_thread()
        .enable_metrics_poll_time_histogram()
        .metrics_poll_time_histogram_configuration(HistogramConfiguration::log(builder))
        .build()
        .unwrap();
    let metrics = runtime.metrics();
    assert_eq!(
        metrics.poll_time_histogram_num_buckets(),
        required_bucket_count
    );
    let mut end = Duration::ZERO;
    for bucket in 0..required_bucket_count {
        let range = metrics.poll_time_histogram_bucket_range(bucket);
        assert_eq!(range.start, end);
        assert!(range.end > range.start);
        end = range.end;
    }
    assert_eq!(end, Duration::from_nanos(u64::MAX));
}

/// Schedule latencies of tasks that a spawn, a wake-up and a poll have made ready. The test keeps the
/// thread from polling them for some time.
#[cfg(feature = "schedule-latency")]
#[test]
fn latencies() {
    const KEPT: Duration = Duration::from_millis(6);
    let begun = Arc::new(Mutex::new(None));
    let before = begun.clone();
    let runtime = Builder::new_current_thread()
        .metrics_schedule_latency_histogram_configuration(HistogramConfiguration::linear(KEPT, 2))
        .enable_metrics_schedule_latency_histogram()
        .on_task_spawn(|task| assert!(task.schedule_latency().is_none()))
        .on_task_terminate(|task| assert!(task.schedule_latency().is_none()))
        .on_before_task_poll(move |task| *before.lock().unwrap() = task.schedule_latency())
        .on_after_task_poll(move |task| {
            assert!(task.schedule_latency().is_some());
            assert_eq!(*begun.lock().unwrap(), task.schedule_latency());
        })
        .build()
        .unwrap();
    let metrics = runtime.metrics();
    assert!(metrics.schedule_latency_histogram_enabled());
    assert_eq!(metrics.schedule_latency_histogram_num_buckets(), 2);
    let range = metrics.schedule_latency_histogram_bucket_range(0);
    assert_eq!(range, Duration::ZERO..KEPT);
    let counts = || [0, 1].map(|bucket| metrics.schedule_latency_histogram_bucket_count(0, bucket));
    let polls = || counts().iter().sum::<u64>();

    let spawned = runtime.spawn(async {});
    thread::sleep(KEPT);
    runtime.block_on(spawned).unwrap();
    assert_eq!(counts(), [0, 1]);

    let (sender, receiver) = blitz_io_channel::oneshot::channel();
    runtime.block_on(async {
        let woken = task::spawn(receiver);
        while polls() < 2 {
            task::yield_now().await;
        }
        sender.send(()).unwrap();
        thread::sleep(KEPT);
        woken.await.unwrap().unwrap();
    });
    assert!(counts()[1] >= 2);

    let before = counts()[1];
    let yields = runtime.spawn(task::yield_now());
    let blocks = runtime.spawn(async { thread::sleep(KEPT) });
    runtime.block_on(async {
        yields.await.unwrap();
        blocks.await.unwrap();
    });
    assert!(counts()[1] > before);
    assert_eq!(polls(), 6);
}

/// Without being asked, a runtime measures nothing.
#[cfg(feature = "schedule-latency")]
#[test]
fn no_latencies() {
    for mut builder in flavors() {
        let hook = |task: &blitz_io_runtime::runtime::TaskMeta<'_>| {
            assert!(task.schedule_latency().is_none());
        };
        let runtime = builder.on_before_task_poll(hook).build().unwrap();
        runtime.block_on(runtime.spawn(async {})).unwrap();
        let metrics = runtime.metrics();
        assert!(!metrics.schedule_latency_histogram_enabled());
        assert_eq!(metrics.schedule_latency_histogram_num_buckets(), 0);
        assert!(
            metrics
                .schedule_latency_histogram_bucket_range(1)
                .is_empty()
        );
        assert_eq!(metrics.schedule_latency_histogram_bucket_count(0, 1), 0);
    }
}
