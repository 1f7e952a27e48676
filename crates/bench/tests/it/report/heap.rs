//! The heap that the fast paths take.

use blitz_io_bench::report::heap::HeapBytes;
use blitz_io_bench::scenario::OURS;
use blitz_io_bench::{Document, Scenario};

use super::{run, samples};

/// Creates a run of one row of this tier, in which each side took the given bytes
/// for each of 1000 operations.
fn document(tier: u8, ours: u64, theirs: u64) -> Document {
    let scenario = Scenario::new(tier, "row", "Row", 1000);
    let with = |name, bytes| {
        let mut samples = samples(name, &[10, 10, 10], None);
        samples.memory.bytes = bytes * 1000;
        samples
    };
    run(&scenario, vec![with(OURS, ours), with("tokio", theirs)])
}

#[test]
fn the_ratio_is_that_of_the_means() {
    let heap = HeapBytes::of(&[(8.0, 40.0), (0.0, 40.0)]).unwrap();
    assert_eq!((heap.rows, heap.ours, heap.tokio), (2, 4.0, 40.0));
    assert_eq!(heap.ratio, Some(10.0));
    assert!(heap.sentence().contains("mean of 2 rows"));
    assert!(heap.sentence().contains("tokio takes 10.0× as much"));
}

#[test]
fn nothing_is_not_divided_by() {
    let heap = document(2, 0, 40).heap_bytes_per_op.unwrap();
    assert_eq!((heap.ours, heap.ratio), (0.0, None));
    assert!(heap.sentence().ends_with("(blitz-io takes none)."));
    let heap = document(2, 0, 0).heap_bytes_per_op.unwrap();
    assert!(heap.sentence().ends_with("(neither takes any)."));
}

#[test]
fn other_tiers_and_rows_without_tokio_do_not_count() {
    assert_eq!(document(4, 8, 40).heap_bytes_per_op, None);
    let scenario = Scenario::new(1, "row", "Row", 1000);
    let contenders = vec![
        samples(OURS, &[10, 10, 10], None),
        samples("std", &[10, 10, 10], None),
    ];
    let document = run(&scenario, contenders);
    assert_eq!(document.heap_bytes_per_op, None);
}
