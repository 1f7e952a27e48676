//! The judgement of what services add: connections that wait for their own locks, ends of runtimes, and snapshots with a
//! part of the waits.

use blitz_io_inspect::{
    Certainty, Fill, Group, Job, Kind, LeftOut, Object, Resource, Snapshot, Spawned, Task, Thread,
    Timer, Wait, Waiter, findings, report,
};

use Waiter::{Task as T, Thread as H};

use crate::judgement::{task, wait_of};

fn wait(id: u64, waiter: Waiter, kind: Kind) -> Wait {
    Wait {
        waiting_ms: 5_000,
        ..wait_of(id, waiter, kind)
    }
}

fn socket(id: u64, waiter: Waiter) -> Wait {
    Wait {
        kind: blitz_io_observe::SOCKET.into(),
        source: Some("read from 192.0.2.7:80".into()),
        ..wait(id, waiter, Kind::Readable)
    }
}

fn lock_of(holder: Waiter) -> Option<Object> {
    Some(Object {
        id: 10,
        holder: Some(holder),
        taken_at: "main.rs:1".into(),
        ..Object::default()
    })
}

/// Task 1 waits for its own lock, and for so many sockets.
fn own_lock(sockets: u64) -> Snapshot {
    let own = Wait {
        object: lock_of(T(1)),
        ..wait(1, T(1), Kind::Mutex)
    };
    let mut waits = vec![own];
    waits.extend((0..sockets).map(|n| socket(2 + n, T(1))));
    Snapshot {
        tasks: vec![task(1, waits.len())],
        waits,
        ..Snapshot::default()
    }
}

#[test]
fn a_connection_that_waits_for_its_own_lock_has_a_note_and_no_finding() {
    let mut stops = own_lock(1);
    stops.waits.push(wait(9, T(1), Kind::WatchClosed));
    stops.tasks[0].wakers += 1;
    for snapshot in [own_lock(1), own_lock(2), stops] {
        // Another future of the task may have the lock, and wait for the socket.
        assert_eq!(findings(&snapshot, &snapshot), []);
        let text = report(&snapshot, &[]);
        assert!(text.contains("note: task 1 "), "{text}");
        let text = text.replace("\n ", "");
        let says = "which it took itself at main.rs:1. This ends";
        assert!(text.contains(says), "{text}");
    }
}

/// axum has spawned the task and reads from the client, and has not taken the program's lock. So a handler has locked twice.
#[test]
fn a_handler_that_waits_for_its_own_lock_is_a_probable_finding() {
    let place =
        "/u/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/axum-0.8.9/src/serve/mod.rs:7";
    let mut snapshot = own_lock(1);
    snapshot.tasks[0].location = place.into();
    snapshot.waits[1].location.clear();
    let found = findings(&snapshot, &snapshot);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].certainty, &*found[0].kind, &*found[0].waiters),
        (Certainty::Probable, "self-wait", &[T(1)][..])
    );
    let says = ", which it took itself at main.rs:1, and can go on only if a client goes away";
    assert!(found[0].summary.contains(says), "{}", found[0].summary);
    let changed = |change: fn(&mut Snapshot, &str)| {
        let mut changed = snapshot.clone();
        change(&mut changed, place);
        findings(&changed, &changed)
    };
    // The program reads under its lock.
    assert_eq!(changed(|s, _| s.waits[1].location = "main.rs:2".into()), []);
    // The lock is that of a package, such as a pool of connections.
    let of_package = |s: &mut Snapshot, place: &str| {
        s.waits[0].object.as_mut().expect("it has one").taken_at = place.into();
    };
    assert_eq!(changed(of_package), []);
    // It has not lasted.
    assert_eq!(changed(|s, _| s.waits[0].waiting_ms = 1), []);
}

/// The timer is the limit of the request. Or another future of the task has the lock, and waits for the timer.
#[test]
fn a_task_that_waits_for_its_own_lock_with_a_time_limit_has_a_note_and_no_finding() {
    let place = "/u/.cargo/registry/src/index.crates.io-1/axum-0.8.9/src/serve/mod.rs:7";
    let mut sleeps = own_lock(1);
    sleeps.tasks[0].location = place.into();
    sleeps.waits[1].location.clear();
    sleeps.waits.push(wait(9, T(1), Kind::Sleep));
    sleeps.tasks[0].wakers += 1;
    assert_eq!(findings(&sleeps, &sleeps), []);
    let text = report(&sleeps, &[]).replace("\n ", "");
    assert!(text.contains(", or a time limit ends it"), "{text}");
}

/// Another future of the task may have the lock, and wait for something without a record.
#[test]
fn a_task_that_waits_for_its_own_lock_and_more_has_no_note() {
    let mut foreign = own_lock(1);
    foreign.tasks[0].wakers += 1;
    let mut short = own_lock(1);
    short.waits[0].waiting_ms = 500;
    for snapshot in [foreign, short] {
        assert_eq!(findings(&snapshot, &snapshot), []);
        assert!(!report(&snapshot, &[]).contains("note: "));
    }
}

#[test]
fn a_report_counts_the_notes_that_it_leaves_out() {
    let mut many = Snapshot::default();
    for id in 1..=10 {
        let mut one = own_lock(1);
        one.tasks[0].id = id;
        for wait in &mut one.waits {
            wait.id += 100 * id;
            wait.waiter = T(id);
            if let Some(object) = &mut wait.object {
                (object.id, object.holder) = (id, Some(T(id)));
            }
        }
        many.tasks.append(&mut one.tasks);
        many.waits.append(&mut one.waits);
    }
    let text = report(&many, &[]);
    assert_eq!(text.matches("note: task ").count(), 8, "{text}");
    assert!(text.contains("\nand 2 more notes like this\n"), "{text}");
}

/// The task may have given the guard to another one.
#[test]
fn a_task_that_waits_for_a_lock_whose_guard_may_have_moved_has_a_note() {
    let mut moved = own_lock(0);
    let object = moved.waits[0].object.as_mut().unwrap();
    object.is_movable = true;
    assert_eq!(findings(&moved, &moved), []);
    let text = report(&moved, &[]);
    assert!(
        text.contains("only if another task or thread has it by now\n"),
        "{text}"
    );
}

/// Task 1 waits for an answer, and its own channel has a value.
fn own_request() -> Snapshot {
    let answer = Wait {
        object: Some(Object {
            id: 10,
            ..Object::default()
        }),
        ..wait(1, T(1), Kind::OneshotReceive)
    };
    let channel = Resource {
        object: Object {
            id: 11,
            created_at: "main.rs:7".into(),
            sender: Some(T(1)),
            receiver: Some(T(1)),
            ..Object::default()
        },
        fill: Some(Fill {
            used: 1,
            ..Fill::default()
        }),
        ..Resource::default()
    };
    Snapshot {
        tasks: vec![task(1, 1)],
        waits: vec![answer],
        objects: Some(vec![channel]),
        ..Snapshot::default()
    }
}

/// An actor that has put off a message, and waits for the answer of another task, looks the same.
#[test]
fn an_actor_that_may_wait_for_its_own_answer_has_a_note_and_no_finding() {
    let own = own_request();
    assert_eq!(findings(&own, &own), []);
    let text = report(&own, &[]);
    let says = "note: task 1 \"t1\" waits for oneshot::Receiver, and receives nothing meanwhile from its own channel \
                created at main.rs:7, which has 1 value and to which it has sent last. ";
    assert!(text.contains(says), "{text}");

    let channel = |change: fn(&mut Resource)| {
        let mut other = own_request();
        other.objects.iter_mut().flatten().for_each(change);
        other
    };
    let mut short = own_request();
    short.waits[0].waiting_ms = 500;
    let mut timed = own_request();
    timed.waits[0].is_timed = true;
    let mut foreign = own_request();
    foreign.tasks[0].wakers += 1;
    let mut serves = own_request();
    serves.waits.push(socket(2, T(1)));
    serves.tasks[0].wakers += 1;
    for other in [
        channel(|channel| channel.fill = Some(Fill::default())),
        channel(|channel| channel.object.sender = Some(T(2))),
        channel(|channel| channel.object.receiver = Some(T(2))),
        short,
        timed,
        foreign,
        serves,
    ] {
        let text = report(&other, &[]);
        assert!(!text.contains("note: "), "{text}");
    }
}

/// A wait that ends a cycle alone is certain.
#[test]
fn a_task_that_waits_for_its_own_lock_alone_is_a_certain_self_wait() {
    let alone = own_lock(0);
    let found = findings(&alone, &alone);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(
        (found[0].certainty, &*found[0].kind),
        (Certainty::Certain, "self-wait")
    );
    assert!(!report(&alone, &found).contains("note: "));
}

/// Thread 1 waits for the end of runtime 3, of which thread 2 runs job 7.
fn shutdown(waits: Vec<Wait>) -> Snapshot {
    let ends = Wait {
        runtime: Some(3),
        ..wait(1, H(1), Kind::Shutdown)
    };
    let job = |id, runtime, name: &str| Job {
        id,
        name: name.into(),
        thread: Some(id),
        runtime,
        ..Job::default()
    };
    Snapshot {
        jobs: vec![job(7, 3, "read stdin"), job(8, 4, "")],
        waits: std::iter::once(ends).chain(waits).collect(),
        ..Snapshot::default()
    }
}

#[test]
fn a_runtime_that_does_not_end_names_the_closure() {
    let snapshot = shutdown(Vec::new());
    let found = findings(&snapshot, &snapshot);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].kind, "long-wait");
    let says = "for the end of a runtime, which waits for job 7 \"read stdin\"; it may still end";
    assert!(found[0].summary.ends_with(says), "{found:#?}");
    let mut short = snapshot.clone();
    short.waits[0].waiting_ms = 1_500;
    assert_eq!(findings(&short, &short), []);
    let mut timed = snapshot;
    timed.waits[0].is_timed = true;
    assert_eq!(findings(&timed, &timed), []);
}

#[test]
fn a_closure_that_waits_for_the_thread_which_ends_its_runtime_is_a_deadlock() {
    let wants = |id| Wait {
        object: lock_of(H(1)),
        blocks_thread: true,
        ..wait(2, T(id), Kind::ThreadMutex)
    };
    let stuck = shutdown(vec![wants(7)]);
    let found = findings(&stuck, &stuck);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(
        (found[0].certainty, &*found[0].kind),
        (Certainty::Certain, "deadlock")
    );
    assert!(report(&stuck, &found).contains("since main.rs:1"));
    // The closure of another runtime.
    let other = shutdown(vec![wants(8)]);
    let found = findings(&other, &other);
    assert!(
        found.iter().all(|f| f.certainty == Certainty::Probable),
        "{found:#?}"
    );
}

fn part(mut snapshot: Snapshot) -> Snapshot {
    let group = |kind: &str, count| Group {
        kind: kind.into(),
        location: "main.rs:9".into(),
        count,
    };
    snapshot.left_out = Some(LeftOut {
        groups: vec![group("task", 1_000), group("Mutex", 900)],
        others: 3,
        alive: Vec::new(),
    });
    snapshot
}

/// A waiter that is left out may have got the lock that has no holder.
#[test]
fn a_lock_without_a_holder_is_no_finding_if_waits_are_left_out() {
    let object = Some(Object {
        id: 10,
        ..Object::default()
    });
    let of = |id| Wait {
        object: object.clone(),
        ..wait(id, T(id), Kind::Mutex)
    };
    let tasks: Vec<Task> = vec![task(1, 1), task(2, 1)];
    let whole = Snapshot {
        tasks,
        waits: vec![of(1), of(2)],
        ..Snapshot::default()
    };
    assert_ne!(findings(&whole, &whole), []);
    let part = part(whole);
    assert_eq!(findings(&part, &part), []);
}

/// A task that is left out has not ended.
#[test]
fn a_holder_that_is_left_out_is_not_lost() {
    let wants = Wait {
        object: lock_of(T(5)),
        ..wait(1, T(1), Kind::Mutex)
    };
    let mut snapshot = part(Snapshot {
        tasks: vec![task(1, 1)],
        waits: vec![wants],
        ..Snapshot::default()
    });
    assert_eq!(findings(&snapshot, &snapshot)[0].kind, "lost-holder");
    snapshot.left_out.as_mut().unwrap().alive.push(5);
    assert_eq!(findings(&snapshot, &snapshot), []);
}

/// A handler that answers before its job has ended gives the job its permit.
#[test]
fn a_permit_that_a_living_task_may_have_got_is_not_lost() {
    let limit = Object {
        is_movable: true,
        ..lock_of(T(5)).unwrap()
    };
    let wants = Wait {
        object: Some(limit),
        ..wait(1, T(1), Kind::Semaphore)
    };
    let lost = Snapshot {
        tasks: vec![task(1, 1)],
        waits: vec![wants],
        ..Snapshot::default()
    };
    assert_eq!(findings(&lost, &lost)[0].kind, "lost-holder");
    let mut given = lost.clone();
    given.spawned.push(Spawned {
        task: 6,
        by: Some(T(5)),
        number: 9,
    });
    assert_eq!(findings(&given, &given), []);
    given.spawned[0].by = Some(T(1));
    assert_eq!(findings(&given, &given)[0].kind, "lost-holder");
    // The task that has got it may be left out.
    let part = part(lost);
    assert_eq!(findings(&part, &part), []);
}

/// Thread 1 has forgotten a guard and ended.
#[test]
fn a_lock_of_a_thread_that_has_ended_is_lost() {
    let leaker = Thread {
        id: 1,
        name: "leaker".into(),
        system: None,
        has_ended: true,
    };
    let wants = Wait {
        object: lock_of(H(1)),
        ..wait(1, H(2), Kind::ThreadMutex)
    };
    let lost = Snapshot {
        threads: vec![leaker],
        waits: vec![wants],
        ..Snapshot::default()
    };
    let found = findings(&lost, &lost);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(
        (&*found[0].kind, found[0].certainty),
        ("lost-holder", Certainty::Probable)
    );
    let text = report(&lost, &found);
    let says = "held by thread 1 \"leaker\", which has ended, since main.rs:1";
    assert!(text.contains(says), "{text}");
    // One that starts during the question to the system looks as if it had ended.
    let mut lives = lost.clone();
    lives.threads[0].has_ended = false;
    assert_eq!(findings(&lives, &lost), []);
    assert_eq!(findings(&lives, &lives), []);
    assert!(!report(&lives, &[]).contains("has ended"));
    // Another thread may have got the guard.
    let mut moved = lost;
    moved.waits[0].object.as_mut().unwrap().is_movable = true;
    assert_eq!(findings(&moved, &moved), []);
}

#[test]
fn a_report_counts_what_is_left_out() {
    let snapshot = part(own_lock(1));
    let text = report(&snapshot, &findings(&snapshot, &snapshot));
    for line in [
        "1001 tasks, 902 waits; 1 tasks and 2 waits are examined in detail, the others counted below\n",
        "  1000 more tasks\n    spawned at main.rs:9\n",
        "  900 more waits for Mutex\n    at main.rs:9\n",
        "  3 others\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let json = serde_json::to_string(&snapshot).unwrap();
    assert_eq!(serde_json::from_str::<Snapshot>(&json).unwrap(), snapshot);
}

/// Tasks 1 to 3 wait for a lock. Task 7 has it, and waits for this.
fn behind(waits: Vec<Wait>) -> Snapshot {
    let waiting = (1..=3).map(|id| Wait {
        object: lock_of(T(7)),
        waiting_ms: 4_000 * id,
        ..wait(id, T(id), Kind::Mutex)
    });
    let mut tasks: Vec<Task> = (1..=3).map(|id| task(id, 1)).collect();
    tasks.push(Task {
        name: "quote".into(),
        ..task(7, waits.len())
    });
    Snapshot {
        tasks,
        waits: waiting.chain(waits).collect(),
        ..Snapshot::default()
    }
}

/// A wait of the program for a peer that does not answer.
fn silent_peer() -> Wait {
    Wait {
        location: "main.rs:30".into(),
        ..socket(4, T(7))
    }
}

/// The connection's own client, and the channel that ends the service.
fn of_connection() -> [Wait; 2] {
    let client = Wait {
        source: Some("read from 127.0.0.1:51052".into()),
        location: String::new(),
        ..socket(5, T(7))
    };
    [client, wait(6, T(7), Kind::WatchClosed)]
}

#[test]
fn waits_behind_a_task_that_waits_for_a_peer_have_a_note_and_no_finding() {
    let handler = of_connection().into_iter().chain([silent_peer()]);
    for waits in [vec![silent_peer()], handler.collect()] {
        let snapshot = behind(waits);
        assert_eq!(findings(&snapshot, &snapshot), []);
        let text = report(&snapshot, &[]);
        let note = "nothing certain\nnote: 3 tasks wait (longest 12.0 s) behind task 7 \"quote\", which waits for socket (read \
                    from 192.0.2.7:80) at main.rs:30\n";
        assert!(text.starts_with(note), "{text}");
    }
}

/// A task that awaits a lock behind the three counts, and the lock's owner is no root.
#[test]
fn a_note_names_the_last_of_a_chain() {
    let mut snapshot = behind(vec![silent_peer()]);
    snapshot.tasks.push(task(8, 1));
    let second = Object {
        id: 11,
        holder: Some(T(3)),
        is_movable: true,
        ..Object::default()
    };
    snapshot.waits.push(Wait {
        object: Some(second),
        ..wait(8, T(8), Kind::Mutex)
    });
    let text = report(&snapshot, &[]);
    let note = "note: 4 tasks wait (longest 12.0 s) probably behind task 7 \"quote\", ";
    assert!(text.contains(note), "{text}");
}

/// A library polls the sockets of a connection itself, so those have no line.
#[test]
fn a_root_without_a_line_has_a_note_if_all_its_waits_are_outside() {
    let snapshot = behind(of_connection().into());
    let text = report(&snapshot, &[]);
    let note = "which waits for socket (read from 127.0.0.1:51052)\n";
    assert!(text.contains(note), "{text}");
    let mut foreign = behind(of_connection().into());
    foreign.tasks[3].wakers += 1;
    let answer = of_connection().into_iter();
    let answer = answer.chain([wait(9, T(7), Kind::OneshotReceive)]);
    for snapshot in [foreign, behind(answer.collect())] {
        let text = report(&snapshot, &[]);
        assert!(!text.contains("note: "), "{text}");
    }
}

#[test]
fn waits_behind_a_timer_have_a_note_with_the_time_that_is_left() {
    let sleeps = || wait(4, T(7), Kind::Sleep);
    let with_left = |left_ms| Snapshot {
        timers: vec![Timer { wait: 4, left_ms }],
        ..behind(vec![sleeps()])
    };
    let text = report(&with_left(97_260), &[]);
    let note = "note: 3 tasks wait (longest 12.0 s) behind task 7 \"quote\", which waits for Sleep at main.rs:2, which ends \
                in 97.3 s\n";
    assert!(text.contains(note), "{text}");
    let text = report(&behind(vec![sleeps()]), &[]);
    let note = "which waits for Sleep at main.rs:2\n";
    assert!(text.contains(note), "{text}");
    // A limit of another wait, and a worker that waits a little for each value.
    let limit = behind(vec![sleeps(), wait(5, T(7), Kind::OneshotReceive)]);
    for snapshot in [limit, with_left(900)] {
        let text = report(&snapshot, &[]);
        assert!(!text.contains("note: "), "{text}");
    }
}

#[test]
fn a_task_that_waits_in_the_program_or_for_work_is_no_root() {
    let answer = wait(4, T(7), Kind::OneshotReceive);
    let accepts = Wait {
        source: Some("accept at 127.0.0.1:80".into()),
        ..silent_peer()
    };
    let mut short = behind(vec![silent_peer()]);
    short
        .waits
        .iter_mut()
        .for_each(|wait| wait.waiting_ms = 900);
    for snapshot in [behind(vec![answer]), behind(vec![accepts]), short] {
        let text = report(&snapshot, &[]);
        assert!(!text.contains("note: "), "{text}");
    }
}
