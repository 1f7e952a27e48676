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
        &Cause::Always {
            name: "it is even".into(),
            why: None
        }
    );
}

#[test]
fn the_error_of_a_predicate_is_in_the_text() {
    let failure = Builder::new().check(|| async {
        let value = Rc::new(Cell::new(0));
        let seen = value.clone();
        sim::always("it is even", move || match seen.get() {
            even if even % 2 == 0 => Ok(()),
            odd => Err(format!("it is {odd}")),
        });
        value.set(7);
    });
    let failure = failure.unwrap_err().to_string();
    let line = "the simulation has failed: `it is even` does not always hold: it is 7\n";
    assert!(failure.starts_with(line), "{failure}");
}

#[test]
fn a_property_that_is_broken_has_the_step_and_its_task() {
    let failure = Builder::new().check(|| async {
        let value = Rc::new(Cell::new(0));
        let seen = value.clone();
        sim::always("not negative", move || seen.get() >= 0);
        let other = task::Builder::new().name("writer").spawn_local(async move {
            time::sleep(Duration::from_secs(1)).await;
            sim::note("writes");
            value.set(-1);
            std::future::pending::<()>().await;
        });
        other.unwrap().await.unwrap();
    });
    let failure = failure.unwrap_err().to_string();
    let line = failure
        .lines()
        .find(|line| line.starts_with("  after step "));
    let line = line.unwrap_or_else(|| panic!("{failure}"));
    assert!(line.contains(" of task 2 \"writer\", at "), "{failure}");
    assert!(line.contains("properties.rs:"), "{failure}");
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
        &Cause::Eventually {
            name: "done".into(),
            within,
            ended: None,
            why: None
        }
    );
}

#[test]
fn a_property_is_judged_at_its_deadline_and_not_at_the_next_step() {
    let failure = Builder::new().check(|| async {
        let within = Duration::from_secs(3);
        sim::eventually("a node is ready", within, || Err::<(), _>("0 of 3"));
        time::sleep(Duration::from_secs(20)).await;
        panic!("later");
    });
    let text = failure.unwrap_err().cause().to_string();
    assert_eq!(text, "`a node is ready` does not hold within 3s: 0 of 3");
}

#[test]
fn a_step_at_the_deadline_is_in_time() {
    let report = Builder::new().seeds(20).run(|| done_after(5, 5));
    assert_eq!(report.runs(), 20);
}

#[test]
fn a_deadline_has_passed_if_the_clock_moves_past_it_early() {
    let failure = Builder::new()
        .seeds(1_000)
        .early_timers(true)
        .check(|| async {
            sim::eventually("done", Duration::from_secs(3), || false);
            let sleeps = task::spawn(time::sleep(Duration::from_secs(20)));
            for _ in 0..200 {
                task::yield_now().await;
            }
            sleeps.await.unwrap();
            panic!("later");
        });
    let text = failure.unwrap_err().cause().to_string();
    assert_eq!(text, "`done` does not hold within 3s");
}

#[test]
fn eventually_must_hold_before_the_end() {
    let failure = Builder::new().check(|| async {
        time::sleep(Duration::from_secs(1)).await;
        sim::eventually("never", Duration::from_secs(5), || false);
        time::sleep(Duration::from_secs(2)).await;
    });
    let failure = failure.unwrap_err();
    assert_eq!(
        failure.cause(),
        &Cause::Eventually {
            name: "never".into(),
            within: None,
            ended: Some((Duration::from_secs(3), Duration::from_secs(6))),
            why: None
        }
    );
    let text = "`never` has not held by the end of the test (3s; its deadline is 6s)";
    assert_eq!(failure.cause().to_string(), text);
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
