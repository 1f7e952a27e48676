//! A run against an older one.

use blitz_io_bench::report::Style;
use blitz_io_bench::report::compare::{Comparison, Judgement};
use blitz_io_bench::scenario::OURS;
use blitz_io_bench::{Document, Scenario};

use super::{run, samples};

fn document(id: &str, ours: &[u64], peer: &[u64]) -> Document {
    let scenario = Scenario::new(4, id, "Lock", 1000);
    run(
        &scenario,
        vec![samples(OURS, ours, None), samples("peer", peer, None)],
    )
}

#[test]
fn a_change_is_judged_by_its_interval() {
    let then = document("lock", &[20, 21, 20, 22, 21], &[30, 30, 30, 30, 30]);
    let faster = document("lock", &[10, 11, 10, 10, 11], &[30, 30, 30, 30, 30]);
    let noisy = document("lock", &[18, 25, 20, 24, 19], &[60, 60, 60, 60, 60]);

    let change = Comparison::new(&then, &faster).changes.remove(0);
    assert_eq!(change.judgement(), Judgement::Faster);
    assert_eq!((change.then, change.now), (21.0, 10.0));
    assert!((change.peers.unwrap() - 1.0).abs() < 1e-9);

    let change = Comparison::new(&faster, &then).changes.remove(0);
    assert_eq!(change.judgement(), Judgement::Slower);

    let change = Comparison::new(&then, &noisy).changes.remove(0);
    assert_eq!(change.judgement(), Judgement::Same);
    assert!((change.peers.unwrap() - 2.0).abs() < 1e-9);
}

#[test]
fn without_samples_there_is_no_judgement() {
    let mut then = document("lock", &[20, 21], &[30, 30]);
    then.benchmarks["lock"].ours.samples.clear();
    let now = document("lock", &[10, 11], &[30, 30]);
    let comparison = Comparison::new(&then, &now);
    assert_eq!(comparison.changes[0].judgement(), Judgement::Unknown);
    let text = comparison.render(Style::default());
    assert!(text.contains("no samples to judge by"), "{text}");
}

#[test]
fn rows_of_one_side_are_named() {
    let mut then = document("gone", &[1], &[1]);
    then.metadata.machine.cpu = "another".into();
    let text = Comparison::new(&then, &document("new", &[1], &[1])).render(Style::default());
    assert!(text.contains("Only in this run: new."), "{text}");
    assert!(text.contains("Only in the older run: gone."), "{text}");
    assert!(text.contains("another machine"), "{text}");
}
