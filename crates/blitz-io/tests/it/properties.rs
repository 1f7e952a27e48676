//! What must hold always, within a time, or in some runs.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use blitz_io::sim::{self, Builder, Cause};
use blitz_io::{task, time};

#[test]
fn always_is_checked_after_each_step() {
    let failure = Builder::new().check(|| async {
        let value = Rc::new(Cell::new(0));
        let seen = value.clone();
        sim::always("it is even", move || seen.get() % 2 == 0);
        task::spawn_local(async move {
            value.set(1);
            task::yield_now().await;
            value.set(2);
        });
    });
    assert_eq!(
        failure.unwrap_err().cause(),
        &Cause::Always("it is even".into())
    );
}

#[test]
fn a_change_within_a_step_is_not_seen() {
    Builder::new().seeds(50).run(|| async {
        let value = Rc::new(Cell::new(0));
        let seen = value.clone();
        sim::always("it is even", move || seen.get() % 2 == 0);
        task::spawn_local(async move {
            value.set(1);
            value.set(2);
            task::yield_now().await;
        });
    });
}

async fn done_after(seconds: u64, within: u64) {
    let done = Rc::new(Cell::new(false));
    let seen = done.clone();
    sim::eventually("done", Duration::from_secs(within), move || seen.get());
    time::sleep(Duration::from_secs(seconds)).await;
    done.set(true);
}

#[test]
fn eventually_has_a_deadline_in_simulated_time() {
    Builder::new().seeds(20).run(|| done_after(4, 5));
    let failure = Builder::new().check(|| async {
        let slow = done_after(6, 5);
        let clock = async {
            for _ in 0..10 {
                time::sleep(Duration::from_secs(1)).await;
            }
        };
        blitz_io::join!(slow, clock);
    });
    let within = Some(Duration::from_secs(5));
    assert_eq!(
        failure.unwrap_err().cause(),
        &Cause::Eventually("done".into(), within)
    );
}

#[test]
fn eventually_must_hold_before_the_end() {
    let failure = Builder::new().check(|| async {
        sim::eventually("never", Duration::from_secs(5), || false);
    });
    assert_eq!(
        failure.unwrap_err().cause(),
        &Cause::Eventually("never".into(), None)
    );
}

#[test]
fn sometimes_is_counted_over_all_runs() {
    let report = Builder::new().seeds(100).run(|| async {
        let task = task::spawn(async {});
        task::yield_now().await;
        sim::sometimes("ended", task.is_finished());
        sim::sometimes("waits", !task.is_finished());
        sim::sometimes("impossible", false);
    });
    assert_eq!(report.happened("ended") + report.happened("waits"), 100);
    assert_eq!(report.never(), ["impossible"]);
}

#[test]
#[should_panic(expected = "this is no simulation")]
fn a_property_outside_of_a_simulation_panics() {
    sim::always("nothing", || true);
}

#[test]
fn a_predicate_that_panics_fails_the_run() {
    let failure = Builder::new().shrink(false).check(|| async {
        sim::always("it panics", || panic!("on purpose"));
        task::yield_now().await;
    });
    let failure = failure.unwrap_err();
    assert!(matches!(failure.cause(), Cause::Panic(text) if text.starts_with("on purpose")));
}
