//! All scenarios: who takes part, and one iteration of each contender.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use blitz_io_bench::scenario::{Compares, OURS};
use blitz_io_bench::scenarios::registry;
use blitz_io_bench::{Context, Work};

#[test]
fn every_scenario_has_us_and_a_peer() {
    for scenario in registry() {
        assert!(scenario.contenders.iter().any(|c| c.name == OURS));
        assert!(scenario.peers().count() > 0, "{} has no peer", scenario.id);
    }
}

#[test]
fn every_contender_does_its_work() {
    // Few operations: hundreds of contenders run, most of them not optimised here.
    let context = Context {
        ops: 400,
        workers: 2,
        microsecond: Work::calibrate(Duration::from_micros(1)),
    };
    let scenarios = registry();
    let next = AtomicUsize::new(0);
    // The scenarios that count bytes switch the counting off for all.
    let counts_bytes = Mutex::new(());
    // Many contenders sleep most of the time, so several run at once.
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some(scenario) = scenarios.get(next.fetch_add(1, Relaxed)) {
                    let _alone = (scenario.compares == Compares::BytesPerOp)
                        .then(|| counts_bytes.lock().unwrap());
                    for contender in &scenario.contenders {
                        let sample = (contender.body)(&context)
                            .unwrap_or_else(|e| panic!("{} {}: {e}", scenario.id, contender.name));
                        assert!(sample.ops > 0);
                    }
                }
            });
        }
    });
}

#[test]
fn channels_between_threads_have_all_contenders_that_have_such_a_channel() {
    let scenarios = registry();
    let names = |id: &str| -> Vec<_> {
        let scenario = scenarios.iter().find(|s| s.id == id).expect(id);
        scenario.contenders.iter().map(|c| c.name).collect()
    };
    let shared = ["crossbeam", "kanal", "flume"];
    let waiting = [&shared[..], &["async-channel"]].concat();
    let all = [&[OURS, "std", "tokio", "crossfire"], &waiting[..]].concat();
    assert_eq!(names("channel_1_1_unbounded"), all);
    assert_eq!(names("channel_4_1_1"), all);
    assert_eq!(names("channel_4_1_1000"), all);
    let several = [&[OURS, "crossfire"], &waiting[..]].concat();
    assert_eq!(names("channel_4_4_100"), several);
    assert_eq!(
        names("channel_1_1_0"),
        [&[OURS, "std"], &shared[..]].concat()
    );
    assert_eq!(names("channel_4_4_0"), [&[OURS], &shared[..]].concat());
}

#[test]
fn one_message_at_a_time_is_measured_over_both_of_our_channels() {
    let scenarios = registry();
    for (id, ours) in [("channel_1_1_1", "mpmc"), ("channel_1_1_1_mpsc", "mpsc")] {
        let scenario = scenarios.iter().find(|s| s.id == id).expect(id);
        assert!(scenario.title.ends_with(&format!("(ours: {ours})")), "{id}");
    }
}
