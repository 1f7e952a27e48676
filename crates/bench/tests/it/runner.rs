//! Runs: the order of the contenders, failures and interruptions.

use std::sync::atomic::{AtomicBool, Ordering};

use blitz_io_bench::runner::{Observer, run};
use blitz_io_bench::scenario::{Failure, Measured};
use blitz_io_bench::threads::solo;
use blitz_io_bench::{Context, Load, Sample, Scenario, Settings};

const TINY: Settings = Settings {
    warmup: 1,
    iterations: 3,
    workers: 1,
    divisor: 1,
    load: Load::NONE,
};

fn honest(cx: &Context) -> Measured {
    Ok(Sample::new(solo(|| ()).0, cx.ops))
}

/// Records which contenders run, in order.
struct Recorder(String);

impl Observer for Recorder {
    fn sample(&mut self, _: &Scenario, contender: &str) {
        self.0.push_str(contender);
    }
}

/// Returns the order of the contenders in each of twelve iterations.
fn turns(names: &[&'static str]) -> Vec<String> {
    let scenario = Scenario::new(4, "turns", "Turns", 1);
    let table = names.iter().map(|name| (*name, honest));
    let settings = Settings {
        iterations: 12,
        warmup: 0,
        ..TINY
    };
    let mut recorder = Recorder(String::new());
    let scenarios = [scenario.with_all(table)];
    let stop = AtomicBool::new(false);
    run(&scenarios, &settings, &stop, &mut recorder);
    let iterations = recorder.0.as_bytes().chunks(names.len());
    iterations
        .map(|names| String::from_utf8(names.to_vec()).unwrap())
        .collect()
}

#[test]
fn turns_are_fair() {
    let of_three = turns(&["a", "b", "c"]);
    assert_eq!(of_three[..3], ["abc", "cba", "bca"]);
    let first = |who| of_three.iter().filter(|turn| turn.starts_with(who)).count();
    assert_eq!([first('a'), first('b'), first('c')], [4, 4, 4]);
    let of_two = turns(&["a", "b"]);
    let before = of_two.iter().filter(|turn| *turn == "ab").count();
    assert_eq!(before, 6);
}

#[test]
fn a_failed_verification_ends_the_run_and_is_named() {
    let scenarios = [
        Scenario::new(4, "fine", "Fine", 1).with("blitz-io", honest),
        Scenario::new(4, "planted", "Planted", 1)
            .with("blitz-io", honest)
            .with("liar", |_| Err(Failure("expected 10, found 9".into()))),
        Scenario::new(4, "never", "Never run", 1)
            .with("blitz-io", |_| panic!("ran after a failure")),
    ];
    let outcome = run(&scenarios, &TINY, &AtomicBool::new(false), &mut ());
    let failed = outcome.failed.expect("the planted failure");
    assert_eq!(failed.scenario, "planted");
    assert_eq!(failed.contender, "liar");
    assert_eq!(
        failed.to_string(),
        "planted: liar failed its verification: expected 10, found 9"
    );
    assert!(!outcome.interrupted);
    assert_eq!(outcome.measurements.len(), 1);
}

#[test]
fn a_panic_is_a_failure() {
    let scenarios =
        [Scenario::new(4, "boom", "Boom", 1).with("blitz-io", |_| panic!("lost {}", 3))];
    let outcome = run(&scenarios, &TINY, &AtomicBool::new(false), &mut ());
    assert_eq!(outcome.failed.unwrap().reason, "panicked: lost 3");
}

#[test]
fn stopping_keeps_complete_iterations_only() {
    struct StopAfter<'a>(usize, &'a AtomicBool);
    impl Observer for StopAfter<'_> {
        fn sample(&mut self, _: &Scenario, _: &str) {
            self.0 -= 1;
            if self.0 == 0 {
                self.1.store(true, Ordering::Relaxed);
            }
        }
    }
    let scenarios = [Scenario::new(4, "two", "Two", 1)
        .with("blitz-io", honest)
        .with("peer", honest)];
    // Two warm-up samples, one full iteration, half of the next.
    let stop = AtomicBool::new(false);
    let outcome = run(&scenarios, &TINY, &stop, &mut StopAfter(5, &stop));
    assert!(outcome.interrupted);
    let kept: Vec<usize> = outcome.measurements[0]
        .contenders
        .iter()
        .map(|c| c.samples.len())
        .collect();
    assert_eq!(kept, [1, 1]);
}
