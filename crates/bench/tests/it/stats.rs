//! Medians, and intervals of ratios.

use blitz_io_bench::stats::{Interval, Verdict, median, paired_ratio, unpaired_ratio};

#[test]
fn medians_of_odd_even_and_single() {
    assert_eq!(median(&[5.0]), 5.0);
    assert_eq!(median(&[9.0, 1.0, 5.0]), 5.0);
    assert_eq!(median(&[9.0, 1.0, 5.0, 7.0]), 6.0);
}

#[test]
fn an_exact_ratio_has_an_interval_without_width() {
    let under = [1.0, 1.0, 1.0, 1.0];
    let over = [3.0, 3.0, 3.0, 3.0];
    let interval = paired_ratio(&over, &under);
    assert_eq!((interval.low, interval.high), (3.0, 3.0));
    assert_eq!(interval.verdict(), Verdict::Above);
}

#[test]
fn pairs_cancel_what_both_sides_saw() {
    // The machine slows down tenfold during the run. Taken pair by pair the ratio
    // is still exactly 2; taken separately it is not defined.
    let under: Vec<f64> = (0..9).map(|i| 1.0 + f64::from(i)).collect();
    let over: Vec<f64> = under.iter().map(|x| 2.0 * x).collect();
    let paired = paired_ratio(&over, &under);
    assert_eq!((paired.low, paired.high), (2.0, 2.0));
    let unpaired = unpaired_ratio(&over, &under);
    assert!(unpaired.low < 1.5 && unpaired.high > 2.5, "{unpaired:?}");
}

#[test]
fn noise_around_one_is_a_tie() {
    let a = [10.0, 11.0, 9.0, 10.5, 9.5, 10.2, 9.8, 10.1];
    let b = [10.1, 10.4, 9.6, 10.0, 10.0, 9.9, 10.3, 9.7];
    assert_eq!(paired_ratio(&a, &b).verdict(), Verdict::Tie);
}

#[test]
fn a_clear_loss_is_below() {
    let a = [1.0, 1.1, 0.9, 1.0, 1.05];
    let b = [2.0, 2.1, 1.9, 2.2, 2.05];
    assert_eq!(paired_ratio(&a, &b).verdict(), Verdict::Below);
}

#[test]
fn touching_one_is_a_tie() {
    let touching = |low, high| Interval { low, high }.verdict();
    assert_eq!(touching(1.0, 2.0), Verdict::Tie);
    assert_eq!(touching(0.5, 1.0), Verdict::Tie);
    assert_eq!(touching(1.000_1, 2.0), Verdict::Above);
    assert_eq!(touching(0.5, 0.999_9), Verdict::Below);
}

#[test]
fn the_bootstrap_is_deterministic() {
    let a = [1.0, 5.0, 2.0, 4.0, 3.0, 8.0];
    let b = [2.0, 2.5, 1.0, 3.0, 2.2, 2.1];
    assert_eq!(paired_ratio(&a, &b), paired_ratio(&a, &b));
    assert_eq!(unpaired_ratio(&a, &b), unpaired_ratio(&a, &b));
}

#[test]
fn the_interval_holds_the_ratio_of_medians() {
    let a = [10.0, 12.0, 11.0, 14.0, 13.0, 10.5, 11.5];
    let b = [5.0, 6.5, 5.5, 6.0, 7.0, 5.2, 6.1];
    let interval = paired_ratio(&a, &b);
    let ratio = median(&a) / median(&b);
    assert!(interval.low <= ratio && ratio <= interval.high);
}
