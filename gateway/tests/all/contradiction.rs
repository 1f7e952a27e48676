//! Late frames are no forged ones.

use std::time::Duration;

use blitz_io_gateway::contradiction::Contradiction;

const TICK: Duration = Duration::from_millis(100);
const LIMIT: Duration = Duration::from_secs(3);

/// Passes a silence of the exporter, in which each interval up to `unfit` has a frame that does not fit.
fn silence(unfit: u32) -> Contradiction {
    let mut contradiction = Contradiction::default();
    for tick in 0..30 {
        if tick < unfit {
            contradiction.seen();
            contradiction.seen();
        }
        contradiction.lasts(TICK);
    }
    contradiction
}

/// One late frame before a partition made the importer forget what it had delivered.
#[test]
fn a_late_frame_before_a_partition_is_no_contradiction() {
    assert!(!silence(0).is_shown(LIMIT));
    assert!(!silence(1).is_shown(LIMIT));
    assert!(!silence(14).is_shown(LIMIT));
}

#[test]
fn an_exporter_of_which_no_frame_fits_contradicts_itself() {
    assert!(silence(15).is_shown(LIMIT));
    assert!(silence(30).is_shown(LIMIT));
}

#[test]
fn a_frame_that_fits_ends_a_contradiction() {
    let mut contradiction = silence(30);
    contradiction.over();
    contradiction.lasts(TICK);
    assert!(!contradiction.is_shown(LIMIT));
}
