//! Clocks and random numbers of hosts.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use blitz_io::sim;
use blitz_io::time::{Instant, interval, sleep};

use super::builder;

#[test]
fn a_clock_that_drifts_runs_at_its_own_rate() {
    builder().run(|| async {
        let seen = Rc::new(RefCell::new(Vec::new()));
        let of_host = seen.clone();
        let host = sim::host("fast", move |_| {
            let seen = of_host.clone();
            async move {
                let start = Instant::now();
                let mut ticks = interval(Duration::from_secs(1));
                for _ in 0..5 {
                    ticks.tick().await;
                    seen.borrow_mut()
                        .push(start.elapsed().as_secs_f64().round());
                }
            }
        });
        host.set_clock_drift(250_000);
        let start = Instant::now();
        sleep(Duration::from_secs(4)).await;
        assert_eq!(start.elapsed(), Duration::from_secs(4));
        // Five seconds of the host, less the start.
        assert_eq!(*seen.borrow(), [0.0, 1.0, 2.0, 3.0, 4.0]);
    });
}

#[test]
fn a_timer_of_a_host_whose_clock_is_slow_is_no_finding() {
    let failure = builder().check(|| async {
        let host = sim::host("slow", |_| async { sleep(Duration::from_secs(10)).await });
        host.set_clock_drift(-500_000);
        sleep(Duration::from_secs(15)).await;
        panic!("later");
    });
    let failure = failure.unwrap_err();
    assert!(failure.findings().is_empty(), "{failure}");
}

#[test]
fn the_deadline_of_a_property_is_one_of_the_simulation() {
    let failure = builder().check(|| async {
        let host = sim::host("fast", |_| async {
            // Ten seconds of the simulation.
            sleep(Duration::from_secs(40)).await;
            sim::eventually("never", Duration::from_secs(5), || false);
        });
        host.set_clock_drift(3_000_000);
        sleep(Duration::from_secs(16)).await;
        panic!("later");
    });
    let text = failure.unwrap_err().cause().to_string();
    assert_eq!(text, "`never` does not hold within 5s");
}

#[test]
fn a_timer_never_fires_early_by_the_clock_of_its_host() {
    for drift in [-500_000, -77, 77, 3_000_000] {
        builder().seeds(10).run(move || async move {
            let host = sim::host("host", |_| async {
                for millis in 0..50 {
                    let start = Instant::now();
                    sleep(Duration::from_millis(millis)).await;
                    assert!(start.elapsed() >= Duration::from_millis(millis));
                }
            });
            host.set_clock_drift(drift);
            sleep(Duration::from_secs(10)).await;
        });
    }
}

#[test]
fn a_time_of_day_is_that_of_the_host() {
    builder().run(|| async {
        let seen = Rc::new(RefCell::new(Vec::new()));
        for (name, skew) in [("right", 0), ("late", -90_000), ("early", 90_000)] {
            let seen = seen.clone();
            let host = sim::host(name, move |_| {
                let seen = seen.clone();
                async move {
                    sleep(Duration::from_secs(9)).await;
                    seen.borrow_mut()
                        .push((sim::Host::current(), sim::system_time()));
                }
            });
            host.set_clock_skew(skew);
        }
        let start = sim::system_time();
        assert!(start > SystemTime::UNIX_EPOCH);
        sleep(Duration::from_secs(10)).await;
        seen.borrow_mut().sort();
        let shown: Vec<_> = seen.take().into_iter().map(|(_, shown)| shown).collect();
        let right = start + Duration::from_secs(9);
        let minute = Duration::from_secs(90);
        assert_eq!(shown, [right, right - minute, right + minute]);
    });
}

#[test]
fn random_numbers_of_a_host_do_not_depend_on_others() {
    let draw = |others: usize| {
        let drawn = Rc::new(RefCell::new(Vec::new()));
        let seen = drawn.clone();
        let builder = builder().seeds(1).schedule(sim::Schedule::RoundRobin);
        builder.run(move || {
            let seen = seen.clone();
            async move {
                sim::host("drawing", move |_| {
                    let seen = seen.clone();
                    async move {
                        for _ in 0..3 {
                            seen.borrow_mut().push(sim::random());
                            sleep(Duration::from_millis(1)).await;
                        }
                    }
                });
                sim::hosts(others, |_| async {
                    loop {
                        _ = sim::random();
                        sleep(Duration::from_millis(1)).await;
                    }
                });
                sleep(Duration::from_secs(1)).await;
            }
        });
        drawn.take()
    };
    let alone = draw(0);
    assert_eq!(alone.len(), 3);
    assert_eq!(alone, draw(2));
}

#[test]
fn clocks_are_faults_at_random() {
    let seconds = Duration::from_secs;
    let report = builder().seeds(60).run(move || async move {
        sim::host("wrong", move |_| async move {
            let (start, begin) = (Instant::now(), sim::system_time());
            loop {
                sleep(seconds(1)).await;
                let day = sim::system_time().duration_since(begin);
                // The time of day follows the rate of the clock, too.
                let difference =
                    day.map(|day| day.as_millis().abs_diff(start.elapsed().as_millis()));
                sim::sometimes("a skew", difference.is_ok_and(|millis| millis >= 10));
            }
        });
        let other = sim::host("also wrong", move |_| async move {
            // A timer that has begun follows no change.
            for _ in 0..40 {
                sleep(seconds(1)).await;
            }
        });
        let faults = sim::Faults::new().clock_skews().clock_drifts();
        sim::inject(faults.until(seconds(30)));
        let start = Instant::now();
        other.wait().await;
        sim::sometimes("a fast clock", start.elapsed() < seconds(40));
        sim::sometimes("a slow clock", start.elapsed() > seconds(40));
        sim::sometimes("a right clock", start.elapsed() == seconds(40));
    });
    assert!(report.never().is_empty(), "{:?}", report.never());
}

#[test]
fn a_report_has_the_faults_of_clocks_and_their_ends() {
    let test = || async {
        let host = sim::host("server", |_| std::future::pending::<()>());
        let faults = sim::Faults::new().clock_skews();
        sim::inject(faults.until(Duration::from_secs(9)));
        let right = sim::system_time();
        for _ in 0..20 {
            sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(sim::system_time(), right + Duration::from_secs(20));
        drop(host);
        panic!("on purpose");
    };
    let failures = (0..20).map(|seed| {
        let builder = sim::Builder::new().seed(seed).shrink(false);
        builder.check(test).unwrap_err().to_string()
    });
    let mut with_skew = failures.filter(|text| text.contains("injected: clock skews"));
    let text = with_skew
        .find(|text| text.contains("gets a skew of "))
        .unwrap();
    assert!(text.contains(" ms, by inject"), "{text}");
    assert!(text.contains("gets a skew of 0 ms, by inject"), "{text}");
    // An end is no fault.
    let begins = text.matches(" ms, by inject").count() / 2;
    let counted = if begins == 1 {
        "1 change of a clock".into()
    } else {
        format!("{begins} changes of clocks")
    };
    assert!(text.contains(&counted), "{text}");
}
