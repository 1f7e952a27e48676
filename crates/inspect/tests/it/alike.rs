//! Reports and pictures of many waits, most of which are alike.

use blitz_io_inspect::{
    Object, Serves, Snapshot, Task, TaskState, Wait, Waiter, dot, dot_of_findings, findings, report,
};
use blitz_io_observe::Kind;

use crate::judgement::wait_of;

const REGISTRY: &str = "/srv/a/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/";

fn task(id: u64, name: &str) -> Task {
    Task {
        id,
        name: name.into(),
        location: format!("{REGISTRY}axum-0.8.9/src/serve/mod.rs:275"),
        is_root: false,
        state: TaskState::Idle,
        thread: 1,
        poll_ms: None,
        wakers: 1,
        polls: 3,
        child_of: None,
        is_pinned: false,
    }
}

fn wait(task: u64, kind: Kind) -> Wait {
    Wait {
        location: format!("{REGISTRY}axum-0.8.9/src/lib.rs:7"),
        waiting_ms: 500,
        ..wait_of(task, Waiter::Task(task), kind)
    }
}

/// Two tasks that wait for each other, and many connections, some of them without a recorded wait.
fn service() -> Snapshot {
    let mut snapshot = Snapshot::default();
    for id in 1..=30_000 {
        snapshot.tasks.push(task(id, "connection"));
        if id % 3 != 0 {
            let mut wait = wait(id, Kind::Readable);
            wait.source = Some(format!("read from 192.0.2.7:{id}"));
            snapshot.waits.push(wait);
        }
    }
    for (id, other) in [(30_001, 30_002), (30_002, 30_001)] {
        snapshot.tasks.push(task(id, "handler"));
        snapshot.waits.push(Wait {
            object: Some(Object {
                id,
                holder: Some(Waiter::Task(other)),
                ..Object::default()
            }),
            ..wait(id, Kind::Mutex)
        });
    }
    snapshot
}

#[test]
fn a_report_of_many_tasks_has_few_lines() {
    let snapshot = service();
    let text = report(&snapshot, &findings(&snapshot, &snapshot));
    assert!(text.lines().count() < 40, "{text}");
    for part in [
        "and 19999 more like this",
        "and 9999 more like this",
        "waits for something without a record\n",
        "at axum-0.8.9/src/lib.rs:7",
        "spawned at axum-0.8.9/src/serve/mod.rs:275",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("registry"), "{text}");
}

#[test]
fn a_picture_has_the_findings_and_their_neighbours() {
    let mut snapshot = service();
    let nodes = |text: &str| text.matches("shape=box").count();
    let text = dot_of_findings(&snapshot, &findings(&snapshot, &snapshot));
    assert_eq!(nodes(&text), 4, "two handlers and two mutexes: {text}");
    // Without a finding, all that is alike is one node.
    snapshot.waits.truncate(20_000);
    let text = dot_of_findings(&snapshot, &[]);
    assert_eq!(nodes(&text), 2, "a connection and its socket: {text}");
    assert!(text.contains("and 19999 more like this"), "{text}");
    snapshot.waits.truncate(10);
    assert_eq!(nodes(&dot(&snapshot, &[])), 20, "the whole graph");
}

#[test]
fn tasks_with_other_requests_are_not_alike() {
    let mut snapshot = service();
    snapshot.requests = [1, 2, 4, 5]
        .map(|task| Serves {
            task,
            name: if task < 3 { "GET /a" } else { "GET /b" }.into(),
        })
        .to_vec();
    let text = report(&snapshot, &[]);
    for part in [
        "task 1 \"connection\" (GET /a) waits",
        "task 4 \"connection\" (GET /b) waits",
    ] {
        let (_, rest) = text.split_once(part).expect(&text);
        let (block, _) = rest.split_once("\n  task").unwrap_or((rest, ""));
        assert!(block.ends_with("and 1 more like this"), "{text}");
    }
}

/// Eight connections with a handler each. Their own waits have begun in one order or the other.
#[test]
fn the_own_waits_of_connections_are_counted() {
    let mut snapshot = Snapshot::default();
    for id in 1..=8 {
        let of_connection = [
            Wait {
                kind: blitz_io_observe::SOCKET.into(),
                source: Some(format!("read from 192.0.2.7:{id}")),
                location: String::new(),
                ..wait(id, Kind::Readable)
            },
            wait(id, Kind::WatchClosed),
        ];
        let handler = Wait {
            location: "src/lib.rs:65".into(),
            ..wait(id, Kind::Mutex)
        };
        snapshot.tasks.push(task(id, ""));
        snapshot.waits.push(handler);
        snapshot.waits.extend(of_connection);
        if id % 2 == 0 {
            let last = snapshot.waits.len() - 1;
            snapshot.waits.swap(last - 1, last);
        }
    }
    let text = report(&snapshot, &[]);
    let list = "8 tasks, 24 waits\n  task 1 waits 0.5 s for Mutex\n    at src/lib.rs:65\n    \
                spawned at axum-0.8.9/src/serve/mod.rs:275\n    and 7 more like this\n  \
                and 16 more waits of these tasks for their clients, or for the end of the service\n";
    assert!(text.ends_with(list), "{text}");
    // Without a handler they are all that there is to say.
    snapshot
        .waits
        .retain(|wait| wait.kind != Kind::Mutex.name());
    let text = report(&snapshot, &[]);
    assert!(
        text.contains("for socket (read from 192.0.2.7:1)"),
        "{text}"
    );
    assert!(text.ends_with("and 7 more like this\n"), "{text}");
}
