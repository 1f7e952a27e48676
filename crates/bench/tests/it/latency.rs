//! Histograms of waits.

use std::time::Duration;

use blitz_io_bench::{Latency, Waits};

#[test]
fn merging_keeps_every_wait() {
    let mut ours = Waits::new();
    let mut theirs = Waits::new();
    for ns in 1..=500 {
        ours.record(Duration::from_nanos(ns));
        theirs.record(Duration::from_nanos(500 + ns));
    }
    ours.merge(&theirs);
    assert_eq!(ours.count(), 1000);
    assert_eq!(ours.latency().p50_ns, 500.0);
}

#[test]
fn percentiles_of_older_documents_are_read() {
    let old = r#"{"p50_ns": 1.0, "p99_ns": 3.0, "p99_9_ns": 4.0, "max_ns": 5.0}"#;
    let read: Latency = serde_json::from_str(old).unwrap();
    assert_eq!((read.p50_ns, read.p90_ns, read.p99_ns), (1.0, 0.0, 3.0));
}

#[test]
fn absurd_waits_are_kept_at_the_limit() {
    let mut waits = Waits::new();
    waits.record(Duration::from_secs(3600));
    waits.record(Duration::ZERO);
    assert!(waits.latency().max_ns >= 6.0e10);
    assert_eq!(waits.latency().p50_ns, 1.0);
}
