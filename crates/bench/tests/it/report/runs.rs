//! Several runs as one.

use blitz_io_bench::report::runs::{Runs, Unfit};
use blitz_io_bench::{Document, Load};

use super::of_three;

#[test]
fn figures_are_medians_and_the_range_is_that_of_the_runs() {
    let runs = [
        of_three(10, 30, 90),
        of_three(12, 18, 60),
        of_three(20, 30, 40),
    ];
    let runs = Runs::by_load(&runs).unwrap().remove(0);
    assert_eq!(runs.count, 3);
    let row = &runs.rows["lock"];
    assert_eq!((row.ours, row.title.as_str()), (12.0, "Lock, 8 threads"));
    let best = row.best.as_ref().unwrap();
    assert_eq!((best.name.as_str(), best.figure), ("one", 30.0));
    assert_eq!(best.ratio, 1.5);
    assert_eq!((best.range.low, best.range.high), (1.5, 3.0));
    assert_eq!(row.tokio.as_ref().unwrap().ratio, 5.0);
    assert_eq!(row.waits.len(), 3);
    assert_eq!(runs.score().won, 1);
}

#[test]
fn a_row_that_is_won_once_and_lost_once_is_a_tie() {
    let runs = [of_three(10, 9, 90), of_three(10, 11, 90)];
    assert_eq!(Runs::by_load(&runs).unwrap()[0].score().tied, 1);
}

#[test]
fn runs_under_another_load_stand_apart() {
    let mut loaded = of_three(30, 30, 30);
    loaded.metadata.load.hog = 1;
    let runs = Runs::by_load(&[loaded, of_three(10, 30, 90)]).unwrap();
    assert_eq!(runs[0].metadata.load, Load::NONE);
    assert_eq!(runs[1].rows["lock"].ours, 30.0);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let good = || of_three(1, 1, 1);
    let refused = |bad: Document| Runs::by_load(&[good(), bad]).unwrap_err();
    assert_eq!(Runs::by_load(&[]).unwrap_err(), Unfit::None);
    let mut bad = good();
    bad.interrupted = true;
    assert!(matches!(refused(bad), Unfit::Incomplete(_)));
    let mut bad = good();
    bad.metadata.machine.cpu = "another".to_owned();
    assert!(matches!(refused(bad), Unfit::Machines(..)));
    let mut bad = good();
    bad.metadata.iterations = 1;
    assert!(matches!(
        refused(bad),
        Unfit::Lengths(1, _) | Unfit::Lengths(_, 1)
    ));
}
