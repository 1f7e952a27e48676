//! The JSON document: its figures, its keys, and older documents.

use blitz_io_bench::report::document::TIE;
use blitz_io_bench::scenario::{Compares, OURS};
use blitz_io_bench::{Document, Scenario};

use super::{run, samples};

fn throughput() -> Document {
    let scenario = Scenario::new(4, "lock", "Lock", 1000);
    let contenders = vec![
        samples("slow", &[40, 42, 41, 40], None),
        samples(OURS, &[10, 11, 10, 10], None),
        samples("fast", &[20, 22, 20, 20], None),
    ];
    run(&scenario, contenders)
}

#[test]
fn the_best_peer_is_the_fastest() {
    let document = throughput();
    let row = &document.benchmarks["lock"];
    assert_eq!(row.best_peer.as_deref(), Some("fast"));
    assert_eq!(row.ratio, Some(2.0));
    assert_eq!(row.winner.as_deref(), Some(OURS));
    assert_eq!(row.ours.ns_per_op, 10.0);
    assert_eq!(row.ours.median_ns, 10_000);
    assert_eq!(row.ours.ops_per_sec, 1e8);
    assert_eq!(row.ours.bytes_per_op, 64.0);
    assert_eq!(row.ours.allocs_per_op, 0.5);
    assert_eq!(row.peers["slow"].min_ns, 40_000);
}

#[test]
fn waits_are_compared_with_the_peer_of_best_throughput() {
    // `patient` waits less than `fast` but gets less done.
    let scenario = Scenario::new(4, "wait", "Wait", 1000).decided_by(Compares::P99Ns);
    let contenders = vec![
        samples(OURS, &[10, 10, 10], Some(500)),
        samples("fast", &[9, 9, 9], Some(1000)),
        samples("patient", &[90, 90, 90], Some(100)),
    ];
    let document = run(&scenario, contenders);
    let row = &document.benchmarks["wait"];
    assert_eq!(row.best_peer.as_deref(), Some("fast"));
    assert_eq!(row.ratio, Some(2.0));
    assert_eq!(row.winner.as_deref(), Some(OURS));
    assert_eq!(row.ours.latency.unwrap().max_ns, 500.0);
}

#[test]
fn bytes_are_compared_with_the_peer_that_takes_least() {
    let with = |name, ns, bytes: u64| {
        let mut samples = samples(name, &[ns, ns, ns], None);
        for sample in &mut samples.samples {
            sample.span.memory.bytes = 5000 + bytes * sample.ops;
            sample.span.memory.freed = 5000;
        }
        samples
    };
    let scenario = Scenario::new(5, "task", "Task", 1000).decided_by(Compares::BytesPerOp);
    let contenders = vec![
        with(OURS, 30, 100),
        with("fast", 10, 400),
        with("lean", 20, 150),
    ];
    let document = run(&scenario, contenders);
    let row = &document.benchmarks["task"];
    assert_eq!(row.best_peer.as_deref(), Some("lean"));
    assert_eq!(row.ratio, Some(1.5));
    assert_eq!(row.ours.kept_bytes_per_op, Some(100.0));
    assert_eq!(Document::parse(&document.to_json()).unwrap(), document);
}

#[test]
fn the_median_of_the_wait_can_decide() {
    let scenario = Scenario::new(5, "wake", "Wake", 1000).decided_by(Compares::P50Ns);
    let contenders = vec![
        samples(OURS, &[50, 50, 50], Some(100)),
        samples("peer", &[40, 40, 40], Some(300)),
    ];
    let document = run(&scenario, contenders);
    let row = &document.benchmarks["wake"];
    assert_eq!(row.ratio, Some(3.0));
    assert_eq!(row.ours.compared(row.compares), 100.0);
}

#[test]
fn within_the_noise_it_is_a_tie() {
    let scenario = Scenario::new(4, "lock", "Lock", 1000);
    let contenders = vec![
        samples(OURS, &[10, 12, 11, 10, 12], None),
        samples("peer", &[12, 10, 11, 12, 10], None),
    ];
    let document = run(&scenario, contenders);
    assert_eq!(
        document.benchmarks["lock"].winner.as_deref(),
        Some(TIE),
        "{document:?}"
    );
}

#[test]
fn json_makes_the_round_trip() {
    let document = throughput();
    let again = Document::parse(&document.to_json()).unwrap();
    assert_eq!(again, document);
}

#[test]
fn json_has_the_documented_keys() {
    let json: serde_json::Value = serde_json::from_str(&throughput().to_json()).unwrap();
    let keys = |value: &serde_json::Value| {
        let keys = value.as_object().unwrap().keys().cloned();
        keys.collect::<std::collections::BTreeSet<_>>()
    };
    let meta = keys(&json["metadata"]);
    for key in "runtime version sync_ops channel_ops async_ops iterations warmup workers cpu \
                cores os kernel"
        .split_whitespace()
    {
        assert!(meta.contains(key), "metadata.{key}");
    }
    let row = &json["benchmarks"]["lock"];
    let figures = "ns_per_op ops_per_sec median_ns min_ns ops_per_iter bytes_per_op \
                   allocs_per_op verified";
    let judged = "tier title peers best_peer ratio ratio_ci95 winner";
    for key in figures.split_whitespace() {
        assert!(keys(row).contains(key), "{key}");
        assert!(keys(&row["peers"]["fast"]).contains(key), "peers.{key}");
    }
    for key in judged.split_whitespace() {
        assert!(keys(row).contains(key), "{key}");
    }
}

#[test]
fn a_document_of_the_bare_schema_is_read() {
    // Without any key that was added after the first schema.
    let bare = r#"{"metadata": {"runtime": "blitz-io", "version": "0", "sync_ops": 1,
        "channel_ops": 1, "async_ops": 1, "iterations": 1, "warmup": 1, "workers": 1,
        "cpu": "c", "cores": 1, "os": "o", "kernel": "k"},
        "benchmarks": {"mutex": {"tier": 1, "title": "t", "ns_per_op": 1.0,
        "ops_per_sec": 1.0, "median_ns": 1, "min_ns": 1, "ops_per_iter": 1,
        "bytes_per_op": 0.0, "allocs_per_op": 0.0, "verified": true, "peers": {},
        "best_peer": null, "ratio": null, "ratio_ci95": null, "winner": null}}}"#;
    let document = Document::parse(bare).unwrap();
    assert_eq!(document.benchmarks["mutex"].threads, 1);
    assert!(!document.interrupted);
}
