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
