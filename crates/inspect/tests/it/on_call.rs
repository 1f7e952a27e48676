//! Parts of a report that help to find the cause: each wait once, the fiber that has a lock, and the waits behind a task.

use blitz_io_inspect::{
    Certainty, Fill, Kind, Object, Resource, Snapshot, TaskState, Wait, Waiter, findings, report,
    report_in_full,
};

use Waiter::Task as T;

use crate::judgement::{task, wait_of};

fn wait(id: u64, waiter: Waiter, kind: Kind, object: Option<Object>) -> Wait {
    Wait {
        object,
        ..wait_of(id, waiter, kind)
    }
}

fn held(id: u64, holder: Waiter) -> Option<Object> {
    Some(Object {
        id,
        holder: Some(holder),
        taken_at: "main.rs:9".into(),
        ..Object::default()
    })
}

/// Two tasks wait for each other's lock, a third one for a lock of the first.
fn crossed() -> Snapshot {
    Snapshot {
        tasks: (1..=3).map(|id| task(id, 1)).collect(),
        waits: vec![
            wait(1, T(1), Kind::Mutex, held(10, T(2))),
            wait(2, T(2), Kind::Mutex, held(20, T(1))),
            wait(3, T(3), Kind::Mutex, held(20, T(1))),
        ],
        ..Snapshot::default()
    }
}

#[test]
fn a_wait_of_a_finding_is_not_in_the_list() {
    let snapshot = crossed();
    let found = findings(&snapshot, &snapshot);
    let text = report(&snapshot, &found);
    for (task, times) in [("t1", 1), ("t2", 1), ("t3", 1)] {
        let line = format!("\"{task}\" waits");
        assert_eq!(text.matches(&line).count(), times, "{text}");
    }
    let head = "\n\n3 tasks, 3 waits; those not shown above:\n  task 3 \"t3\" waits";
    assert!(text.contains(head), "{text}");
    assert_eq!(text.matches("spawned at main.rs:1").count(), 3, "{text}");
    let whole = report_in_full(&snapshot, &found, usize::MAX);
    assert_eq!(whole.matches("\"t1\" waits").count(), 2, "{whole}");
    assert!(whole.contains("\n\n3 tasks, 3 waits\n"), "{whole}");
    // A second finding with the same waits refers to the first one.
    let mut twice = found.clone();
    twice.extend(found.clone());
    let text = report(&snapshot, &twice);
    assert!(
        text.contains("\n  task 1 \"t1\", task 2 \"t2\": see above\n"),
        "{text}"
    );
    let mut alone = snapshot;
    alone.tasks.pop();
    alone.waits.pop();
    let text = report(&alone, &found);
    assert!(
        text.ends_with("\n\n2 tasks, 2 waits, all shown above\n"),
        "{text}"
    );
}

/// Task 2 blocks thread 1 for a lock that a fiber of this thread has, which sleeps.
fn fiber() -> Snapshot {
    let mut fiber = task(1, 1);
    fiber.is_pinned = true;
    let mut blocks = task(2, 0);
    blocks.state = TaskState::Running;
    Snapshot {
        tasks: vec![fiber, blocks],
        waits: vec![
            wait(1, T(1), Kind::Sleep, None),
            Wait {
                blocks_thread: true,
                is_direct: false,
                ..wait(2, T(2), Kind::ThreadMutex, held(10, T(1)))
            },
        ],
        ..Snapshot::default()
    }
}

#[test]
fn a_thread_that_waits_for_its_own_fiber_is_certain() {
    let snapshot = fiber();
    let found = findings(&snapshot, &snapshot);
    let [finding] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(finding.certainty, Certainty::Certain);
    assert_eq!(finding.kind, "deadlock");
    assert_eq!(finding.waiters, [T(2), T(1)]);
    let says = "task 2 \"t2\" waits for thread::Mutex, which task 1 \"t1\" has since main.rs:9. That is a fiber of thread 1, ";
    assert!(finding.summary.starts_with(says), "{finding:?}");
    let not = |change: fn(&mut Snapshot)| {
        let mut other = snapshot.clone();
        change(&mut other);
        for (earlier, later) in [(&snapshot, &other), (&other, &snapshot)] {
            assert_eq!(findings(earlier, later), []);
        }
    };
    not(|other| other.tasks[0].is_pinned = false);
    not(|other| other.tasks[0].polls += 1);
    not(|other| other.waits[1].is_timed = true);
    not(|other| {
        other.tasks[0].thread = 2;
        other.waits[0].thread = 2;
    });
    not(|other| other.waits[1].object.as_mut().unwrap().is_movable = true);
}

/// A poll that lasts has no finding of its own if a certain one says why.
#[test]
fn a_long_poll_that_is_explained_is_no_finding() {
    let mut snapshot = fiber();
    snapshot.tasks[1].poll_ms = Some(5_000);
    let kinds = |snapshot: &Snapshot| -> Vec<String> {
        let found = findings(snapshot, snapshot).into_iter();
        found.map(|finding| finding.kind).collect()
    };
    assert_eq!(kinds(&snapshot), ["deadlock"]);
    snapshot.tasks[0].is_pinned = false;
    assert_eq!(kinds(&snapshot), ["long-poll"]);
}

fn channel(id: u64, sender: Waiter, receiver: Option<Waiter>) -> Object {
    Object {
        id,
        created_at: "main.rs:4".into(),
        sender: Some(sender),
        receiver,
        ..Object::default()
    }
}

#[test]
fn a_full_channel_from_which_nothing_was_received_has_a_note() {
    let full = channel(10, T(1), None);
    let mut snapshot = Snapshot {
        tasks: vec![task(1, 1), task(2, 1)],
        waits: [1, 2]
            .map(|id| wait(id, T(id), Kind::MpscSend, Some(full.clone())))
            .into(),
        objects: Some(vec![Resource {
            object: full,
            fill: Some(Fill {
                used: 16,
                capacity: Some(16),
                ..Fill::default()
            }),
            ..Resource::default()
        }]),
        ..Snapshot::default()
    };
    let note = "note: 2 senders wait (longest 2.0 s) for room in mpsc channel created at main.rs:4: it is full (16 of 16 values), \
                and nothing has been received from it yet\n";
    let text = report(&snapshot, &[]);
    assert!(text.contains(note), "{text}");
    let is_noted = |snapshot: &Snapshot| report(snapshot, &[]).contains("note: ");
    let mut short = snapshot.clone();
    short
        .waits
        .iter_mut()
        .for_each(|wait| wait.waiting_ms = 900);
    assert!(!is_noted(&short));
    let mut received = snapshot.clone();
    for wait in &mut received.waits {
        wait.object.as_mut().unwrap().receiver = Some(T(9));
    }
    assert!(!is_noted(&received));
    // A channel of this kind does not record who receives.
    let mut many = snapshot.clone();
    many.waits = [1, 2]
        .map(|id| wait(id, T(id), Kind::MpmcSend, snapshot.waits[0].object.clone()))
        .into();
    assert!(!is_noted(&many));
    let fill = |snapshot: &mut Snapshot| {
        let objects = snapshot.objects.as_mut().unwrap();
        objects[0].fill.as_mut().unwrap().used = 15;
    };
    fill(&mut snapshot);
    assert!(!is_noted(&snapshot));
}

/// Tasks 1 to 3 wait for answers of task 7. The last one has sent the last request.
fn requests(of_actor: Wait) -> Snapshot {
    let answers = (1..=3).map(|id| wait(id, T(id), Kind::OneshotReceive, None));
    let mut tasks: Vec<_> = (1..=3).map(|id| task(id, 1)).collect();
    tasks.push(task(7, 1));
    Snapshot {
        tasks,
        waits: answers.chain([of_actor]).collect(),
        objects: Some(vec![Resource {
            object: channel(10, T(3), Some(T(7))),
            fill: Some(Fill::default()),
            ..Resource::default()
        }]),
        ..Snapshot::default()
    }
}

#[test]
fn waits_for_answers_count_behind_the_task_that_answers() {
    let peer = Wait {
        kind: blitz_io_observe::SOCKET.into(),
        source: Some("read from 192.0.2.7:80".into()),
        ..wait(4, T(7), Kind::Readable, None)
    };
    let mut snapshot = requests(peer);
    let note = "note: 3 tasks wait (longest 2.0 s) probably behind task 7 \"t7\", which waits for socket (read from 192.0.2.7:80)";
    let text = report(&snapshot, &[]);
    assert!(text.contains(note), "{text}");
    // Those at another line are not known.
    snapshot.waits[0].location = "main.rs:50".into();
    let text = report(&snapshot, &[]);
    assert!(text.contains("note: 2 tasks wait"), "{text}");
    // Requests of one line go to two actors.
    let mut two = requests(wait(4, T(7), Kind::Sleep, None));
    assert!(report(&two, &[]).contains("note: 3 tasks wait"));
    let objects = two.objects.as_mut().unwrap();
    objects.push(Resource {
        object: channel(11, T(2), Some(T(8))),
        ..Resource::default()
    });
    assert!(!report(&two, &[]).contains("note: "));
    // An actor that waits for the next request has answered.
    let idle = requests(wait(4, T(7), Kind::MpscReceive, None));
    assert!(!report(&idle, &[]).contains("note: "));
}

/// A `JoinSet` with many members does not name them.
#[test]
fn tasks_behind_one_that_waits_for_many_members_have_a_note() {
    let members = Object {
        id: 20,
        unnamed: 500,
        ..Object::default()
    };
    let mut snapshot = Snapshot {
        tasks: (1..=3).map(|id| task(id, 1)).collect(),
        waits: vec![
            wait(1, T(1), Kind::Mutex, held(10, T(3))),
            wait(2, T(2), Kind::Mutex, held(10, T(3))),
            wait(3, T(3), Kind::JoinSet, Some(members)),
        ],
        ..Snapshot::default()
    };
    let note = "note: 2 tasks wait (longest 2.0 s) behind task 3 \"t3\", which waits for JoinSet at main.rs:2\n";
    let text = report(&snapshot, &[]);
    assert!(text.contains(note), "{text}");
    assert!(text.contains("\n    500 members\n    spawned at"), "{text}");
    snapshot.waits[2].is_timed = true;
    assert!(!report(&snapshot, &[]).contains("note: "));
}
