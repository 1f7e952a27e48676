//! `blitz top` from outside, with a process that the test stands in for. `examples/hangs` asks a real
//! program.

use blitz_io_inspect::{Contention, Fill, Monitor, Object, Resource, Runtime, Scheduler, Worker};

use super::why::{process, run, stuck};

#[test]
fn without_a_terminal_it_prints_one_page() {
    let mut answer = stuck();
    answer.snapshot.objects = Some(vec![Resource {
        object: Object::default(),
        contention: vec![Contention {
            kind: "mpsc::Sender".into(),
            waited_ns: 2_000_000,
            buckets: vec![0, 0, 0, 5],
            location: "src/queue.rs:9".into(),
        }],
        fill: Some(Fill {
            used: 4,
            capacity: Some(4),
            ..Fill::default()
        }),
    }]);
    let home = process(&answer);
    for arguments in [&["top"][..], &["top", "server", "--once"]] {
        let ran = run(0, home.path(), arguments);
        assert!(
            ran.out.starts_with("server (4242)\ncertain: self-wait: "),
            "{ran:?}"
        );
        assert!(ran.out.contains("4 of 4 ██████████"), "{ran:?}");
        assert!(ran.out.contains("mpsc::Sender  src/queue.rs:9"), "{ran:?}");
        // Nothing is cut, but for the title of the histogram.
        assert!(ran.out.contains("\", which only it can end\n"), "{ran:?}");
        assert_eq!(ran.out.matches('…').count(), 1, "{ran:?}");
        assert!(!ran.out.contains('\x1b'), "{ran:?}");
    }
}

#[test]
fn the_schedulers_are_a_page_of_their_own() {
    let mut answer = stuck();
    answer.snapshot.runtimes = Some(vec![Runtime {
        id: 3,
        workers: vec![Worker::default(), Worker::default()],
        global_queue: 5,
        scheduler: Some(Scheduler {
            searching: 1,
            parked: vec![1],
            monitor: Some(Monitor::Driver(0)),
            ..Scheduler::default()
        }),
        ..Runtime::default()
    }]);
    let home = process(&answer);
    let ran = run(0, home.path(), &["top", "--scheduler"]);
    let head = "server (4242)\nruntime 3: 0 of 2 workers awake, 1 searching; monitor: driver 0\n";
    assert!(ran.out.starts_with(head), "{ran:?}");
    assert!(ran.out.contains("\n  1       parked       0"), "{ran:?}");
    let view = run(0, home.path(), &["top", "--scheduler", "--json"]).json();
    let runtime = &view["runtimes"][0];
    assert_eq!(runtime["inject_queue"], 5, "{view}");
    assert_eq!(runtime["idle"]["parked"][0], 1, "{view}");
    assert_eq!(runtime["workers"][1]["state"], "parked", "{view}");
}

/// The answer of an older version lacks the fields that were added since.
#[test]
fn an_older_version_is_shown_as_far_as_it_goes() {
    let home = process(&stuck());
    let view = run(0, home.path(), &["top", "4242", "--json"]).json();
    assert_eq!(view["tasks"]["idle"], 1);
    assert!(
        view["contention"].is_null() && view["runtimes"].is_null(),
        "{view}"
    );
    let chain = view["waits"][0]["chain"].as_array().unwrap();
    assert_eq!(chain.len(), 2, "{view}");
}

#[test]
fn a_process_that_is_not_there_is_an_error() {
    let home = process(&stuck());
    let ran = run(1, home.path(), &["top", "other"]);
    assert!(ran.err.contains("no process with the name"), "{ran:?}");
    let ran = run(64, home.path(), &["top", "--every=-1"]);
    assert!(ran.err.contains("--every"), "{ran:?}");
}

#[cfg(all(target_os = "linux", feature = "bench"))]
#[test]
fn keys_and_the_end_of_the_process_end_it_on_a_terminal() {
    use std::fs;

    use super::terminal::Session;

    for key in ["q", "\x1b", "\x03"] {
        let home = process(&stuck());
        let mut session = Session::start_in(&["top", "--every=0.1"], home.path());
        session.read_until("LONGEST");
        session.type_keys(key);
        assert_eq!(session.code(), Some(0), "{key:?}");
    }
    let home = process(&stuck());
    let mut session = Session::start_in(&["top", "--every=0.01"], home.path());
    session.read_until("LONGEST");
    fs::remove_file(home.path().join("blitz-io/4242-server.sock")).unwrap();
    session.read_until("process 4242 has ended");
    assert_eq!(session.code(), Some(0));
}
