//! The hosts into which faults are injected.

use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;
use std::time::Duration;

use blitz_io::sim::{self, Builder, Faults, HostEnd};
use blitz_io::time::sleep;

use super::builder;

const SECOND: Duration = Duration::from_secs(1);

/// Adds a host that never ends, and returns the number of its starts.
fn starts_of(name: &str) -> Rc<Cell<u32>> {
    let starts = Rc::new(Cell::new(0));
    let kept = starts.clone();
    sim::host(name, move |_me| {
        kept.set(kept.get() + 1);
        pending::<()>()
    });
    starts
}

/// Returns short faults of the kinds that stop hosts.
fn stops() -> Faults {
    Faults::new()
        .crashes()
        .kills()
        .blackouts()
        .interval(SECOND / 8, SECOND)
        .length(SECOND / 8, SECOND)
}

#[test]
fn a_host_that_is_added_later_has_no_faults() {
    let report = builder().run(|| async {
        let early = starts_of("early");
        sim::inject(stops());
        sleep(SECOND / 1_000).await;
        let late = starts_of("late");
        sleep(20 * SECOND).await;
        assert_eq!(late.get(), 1);
        sim::sometimes("a fault", early.get() > 1);
    });
    assert!(report.happened("a fault") > 0);
}

#[test]
fn faults_are_of_the_chosen_hosts() {
    let report = builder().run(|| async {
        let [one, other, third] = ["one", "other", "third"].map(starts_of);
        sim::inject(stops().on(["one", "other"]));
        sleep(20 * SECOND).await;
        assert_eq!(third.get(), 1);
        sim::sometimes("of one", one.get() > 1);
        sim::sometimes("of the other", other.get() > 1);
    });
    assert!(report.never().is_empty(), "{:?}", report.never());
}

#[test]
fn a_chosen_host_is_cut_off_from_the_others() {
    // A shrunk run would have no fault.
    let seeds = (0..60).map(|seed| {
        let one = Builder::new().seed(seed).seeds(1).shrink(false);
        let failure = one.check(|| async {
            let hosts = sim::hosts(3, |_me| pending::<()>());
            let faults = Faults::new().partitions().losses();
            sim::inject(faults.on([&hosts[1]]).until(3 * SECOND));
            sleep(3 * SECOND).await;
            panic!("on purpose");
        });
        failure.unwrap_err().events().to_owned()
    });
    let events: String = seeds.collect();
    let has = |what: &str| assert!(events.contains(what), "`{what}`: {events}");
    has("the path from host-1 to host-0 is cut, by inject");
    has("all links of host-1 have a latency of 1ms to 500ms");
    let other = events.contains("from host-0 to host-2");
    assert!(!other && !events.contains("all links have"), "{events}");
}

#[test]
fn a_host_with_nothing_left_is_not_stopped() {
    let report = builder().run(|| async {
        let starts = Rc::new(Cell::new(0));
        let kept = starts.clone();
        let client = sim::host("client", move |_me| {
            kept.set(kept.get() + 1);
            async {}
        });
        let tasks = Rc::new(Cell::new(0));
        let kept = tasks.clone();
        let server = sim::host("server", move |_me| {
            kept.set(kept.get() + 1);
            async {
                drop(blitz_io::spawn(pending::<()>()));
            }
        });
        assert_eq!(client.wait().await, HostEnd::Returned);
        assert_eq!(server.wait().await, HostEnd::Returned);
        sim::inject(stops());
        sleep(20 * SECOND).await;
        assert_eq!(starts.get(), 1);
        sim::sometimes("a task is left", tasks.get() > 1);
        client.restart();
        sleep(SECOND).await;
        assert_eq!(starts.get(), 2);
    });
    assert!(report.never().is_empty(), "{:?}", report.never());
}

#[test]
fn faults_need_a_host() {
    let failure = builder().check(|| async { sim::inject(Faults::all()) });
    let text = failure.unwrap_err().to_string();
    assert!(
        text.contains("there is no host to inject faults into"),
        "{text}"
    );
}
