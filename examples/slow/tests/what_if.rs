//! Whether `blitz trace report --what-if` is right: what it predicts for each service, and what happens when the service
//! is really changed. It depends on real time, so `.ci/slow` observes it and gates nothing.
#![cfg(unix)]

mod common;

use blitz_io_inspect::trace::{Estimate, Recording, judge, predict, predictions};

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

/// The prediction for a service with `before` is near its figures with `after`.
#[track_caller]
fn is_right(name: &str, program: &str, [before, after]: [u32; 2], change: &str) {
    let recording = record(name, program, Some(before));
    let change = [change.parse().expect("it is one")];
    let found = predict(&recording, &change).unwrap_or_else(|error| panic!("{error}"));
    let really = figures(&record(name, program, Some(after)));
    let one = &found[0];
    let text = format!("{}\nreally: {really:.0?}\n{one:#?}", predictions(&found));
    println!("{name}: {text}");
    let estimates = [one.p50, one.p99, one.per_second];
    for (Estimate { value, low, high }, really) in estimates.into_iter().zip(really) {
        // A percentile between two groups of requests jumps from the one to the other, and its interval says so.
        let is_near = (value / really - 1.0).abs() <= OFF || (low..=high).contains(&really);
        assert!(
            is_near,
            "{value} and {really}: {text}{}",
            judge(&recording, 1).text()
        );
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
