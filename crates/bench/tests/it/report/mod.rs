//! The reports, from runs whose figures the tests choose.

mod chart;
mod compare;
mod document;
mod heap;
mod html;
mod markdown;
mod runs;
mod table;

use std::time::Duration;

use blitz_io_bench::report::wrapped;
use blitz_io_bench::runner::{Measurement, Samples};
use blitz_io_bench::scenario::{Compares, OURS};
use blitz_io_bench::threads::Span;
use blitz_io_bench::{Document, Memory, Outcome, Sample, Scenario, Settings, Waits};

/// Creates one contender's samples: each takes the given nanoseconds for each of 1000
/// operations, and every operation waited `wait` nanoseconds.
fn samples(name: &'static str, ns: &[u64], wait: Option<u64>) -> Samples {
    let sample = |ns: &u64| {
        let elapsed = Duration::from_nanos(ns * 1000);
        let span = Span {
            elapsed,
            memory: Memory::default(),
        };
        let waits = wait.map(|wait| {
            let mut waits = Waits::new();
            waits.record(Duration::from_nanos(wait));
            waits
        });
        Sample {
            span,
            ops: 1000,
            waits,
            cpu: None,
        }
    };
    Samples {
        name,
        samples: ns.iter().map(sample).collect(),
        memory: Memory {
            bytes: 64_000,
            allocations: 500,
            freed: 0,
        },
        memory_ops: 1000,
    }
}

/// Creates a run of one scenario with these samples.
fn run(scenario: &Scenario, contenders: Vec<Samples>) -> Document {
    let outcome = Outcome {
        measurements: vec![Measurement {
            scenario,
            contenders,
        }],
        interrupted: false,
        failed: None,
    };
    Document::new(&outcome, &Settings::FULL)
}

/// Creates a run of one row, in which we took `ours` nanoseconds and two peers theirs.
fn of_three(ours: u64, one: u64, other: u64) -> Document {
    let scenario = Scenario::new(4, "lock", "Lock", 1000).threads(8);
    let contenders = vec![
        samples(OURS, &[ours; 5], Some(ours)),
        samples("one", &[one; 5], Some(one)),
        samples("tokio", &[other; 5], Some(other)),
    ];
    run(&scenario, contenders)
}

#[test]
fn lines_are_broken_between_words() {
    let text = "alpha beta gamma\n  delta épsilon\n";
    let broken = "alpha beta\ngamma\n  delta\n    épsilon\n";
    assert_eq!(wrapped(text, Some(10)), broken);
    assert_eq!(wrapped("unbreakable", Some(4)), "unbreakable");
}

#[test]
fn times_get_a_fitting_unit() {
    let duration = |ns| Compares::NsPerOp.text(ns);
    assert_eq!(duration(2.604), "2.60 ns");
    assert_eq!(duration(84_600.0), "84.6 µs");
    assert_eq!(duration(110_493_695.0), "110 ms");
    assert_eq!(duration(1.5e9), "1.50 s");
}
