//! Runs whose numbers prove that they are of one gateway.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use blitz_io_gateway::runs::{Chain, begin, follows};

#[test]
fn a_later_run_follows_and_no_other_does() {
    let mut chain = Chain::new().unwrap();
    let runs: Vec<u128> = (0..70).map(|_| chain.next_run().unwrap()).collect();
    for later in 1..=64 {
        assert!(follows(runs[0], runs[later]), "{later}");
        assert!(!follows(runs[later], runs[0]), "{later}");
    }
    assert!(!follows(runs[0], runs[0]));
    // A peer calculates no more hashes than that.
    assert!(!follows(runs[0], runs[65]));
    let other = Chain::new().unwrap().next_run().unwrap();
    assert!(!follows(runs[0], other) && !follows(other, runs[0]));
}

#[test]
fn a_gateway_that_begins_again_proves_it() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let first = begin(&path).unwrap();
    let second = begin(&path).unwrap();
    assert!(follows(first, second));
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    // A file that is not whole, or none, begins a new chain.
    let mut bytes = fs::read(&path).unwrap();
    bytes[3] ^= 1;
    fs::write(&path, bytes).unwrap();
    let other = begin(&path).unwrap();
    assert!(!follows(second, other) && follows(other, begin(&path).unwrap()));
    fs::remove_file(&path).unwrap();
    assert!(!follows(other, begin(&path).unwrap()));
    // If the file cannot be written, each number is new and follows none.
    let nowhere = place.path().join("nowhere/run");
    let (one, two) = (begin(&nowhere).unwrap(), begin(&nowhere).unwrap());
    assert!(one != two && !follows(one, two));
}
