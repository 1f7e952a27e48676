//! Whether `blitz trace report --what-if` is right: what it predicts for each service, and what happens when the service
//! is really changed. It depends on real time, so `.ci/slow` observes it and gates nothing.
#![cfg(unix)]

mod common;

use blitz_io_inspect::trace::{Estimate, Recording, predict, predictions};

use common::record;

/// The greatest difference, as a part of what really happened.
const OFF: f64 = 0.1;

/// Returns the median and the slowest percentile in nanoseconds, and the requests in a second.
fn figures(recording: &Recording) -> [f64; 3] {
    // Any change that changes nothing.
    let none = ["workers 2".parse().expect("it is one")];
    let recorded = predict(recording, &none).expect("it has requests")[0].recorded;
    [
        recorded.p50 as f64,
        recorded.p99 as f64,
        recorded.per_second,
    ]
}

/// How often both are recorded: one run may have been beside another program.
const ROUNDS: usize = 3;

/// The prediction for a service with `before` is near its figures with `after`: median and rate in most rounds, the slowest
/// percentile in one.
#[track_caller]
fn is_right(name: &str, program: &str, [before, after]: [u32; 2], change: &str) {
    let change = [change.parse().expect("it is one")];
    let rounds: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let recording = record(name, program, Some(before));
            let found = predict(&recording, &change).unwrap_or_else(|error| panic!("{error}"));
            let really = figures(&record(name, program, Some(after)));
            println!("{name}: {}\nreally: {really:.0?}", predictions(&found));
            let estimates = [found[0].p50, found[0].p99, found[0].per_second];
            std::array::from_fn(|figure| distance(&estimates[figure], really[figure]))
        })
        .collect::<Vec<[f64; 3]>>();
    for (figure, words) in ["p50", "p99", "a second"].iter().enumerate() {
        let mut distances: Vec<f64> = rounds.iter().map(|round| round[figure]).collect();
        distances.sort_by(f64::total_cmp);
        // The slowest percentile of a recording is its third slowest request or so: the real one differs by more than
        // that from run to run. So one round has to agree.
        let needed = if *words == "p99" { 0 } else { ROUNDS / 2 };
        assert!(
            distances[needed] <= OFF,
            "{name}, {words}: off by {distances:.3?}"
        );
    }
}

/// Returns by which share the estimate is off. It is not, if its interval has the real value: a percentile between two
/// groups of requests jumps from the one to the other.
fn distance(&Estimate { value, low, high }: &Estimate, really: f64) -> f64 {
    if (low..=high).contains(&really) {
        0.0
    } else {
        (value / really - 1.0).abs()
    }
}

macro_rules! services {
    ($($name:ident $before:literal $after:literal $change:literal,)*) => {
        $(#[test]
        fn $name() {
            let program = env!(concat!("CARGO_BIN_EXE_", stringify!($name)));
            is_right(stringify!($name), program, [$before, $after], $change);
        })*
    };
}

services! {
    hot_mutex 16 8 "Mutex sessions / 2",
    two_permits 2 4 "permits connections 4",
    blocking_pool 2 4 "blocking threads 4",
    chatty_channel 8 4 "timer chatty_channel.rs / 2",
    slow_names 40 20 "socket slow_names.rs / 2",
    head_of_line 4 2 "socket head_of_line.rs / 2",
}
