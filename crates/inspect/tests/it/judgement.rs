//! The judgement of snapshots that are made by hand: which findings are certain.

use blitz_io_inspect::{
    Certainty, Chains, Contention, EndedBy, Fill, Finding, Frame, Hands, Job, Kind, Mode, Object,
    Process, Resource, Semantics, Serves, Snapshot, Stack, Task, TaskState, Wait, Waiter, findings,
    join, report,
};

use Waiter::{Task as T, Thread as H};

/// An idle task with this many wakers.
pub fn task(id: u64, wakers: usize) -> Task {
    Task {
        id,
        name: format!("t{id}"),
        location: "main.rs:1".into(),
        is_root: false,
        state: TaskState::Idle,
        thread: 1,
        poll_ms: None,
        wakers,
        polls: 3,
        child_of: None,
        is_pinned: false,
    }
}

/// A lock with a holder.
fn lock(id: u64, holder: Option<Waiter>) -> Object {
    Object {
        id,
        holder,
        ..Object::default()
    }
}

/// A wait of this kind without an object, for two seconds.
pub fn wait_of(id: u64, waiter: Waiter, kind: Kind) -> Wait {
    Wait {
        id,
        waiter,
        thread: 1,
        kind: kind.name().into(),
        semantics: kind.semantics(),
        object: None,
        task: None,
        location: "main.rs:2".into(),
        since_ms: 0,
        waiting_ms: 2_000,
        is_timed: false,
        blocks_thread: matches!(waiter, H(_)),
        runtime: None,
        source: None,
        is_direct: matches!(waiter, T(_)),
        is_handed: false,
    }
}

fn wait(id: u64, waiter: Waiter, kind: Kind, object: Object) -> Wait {
    Wait {
        object: Some(object),
        waiting_ms: 500 - id,
        ..wait_of(id, waiter, kind)
    }
}

/// Returns the name and the semantics of a kind, as a wait has them.
fn of(kind: Kind) -> (String, Semantics) {
    (kind.name().into(), kind.semantics())
}

fn snapshot(tasks: Vec<Task>, waits: Vec<Wait>) -> Snapshot {
    Snapshot {
        tasks,
        waits,
        ..Snapshot::default()
    }
}

/// Two tasks that took two locks in two orders.
fn crossed() -> Snapshot {
    let waits = vec![
        wait(1, T(1), Kind::Mutex, lock(10, Some(T(2)))),
        wait(2, T(2), Kind::Mutex, lock(20, Some(T(1)))),
    ];
    snapshot(vec![task(1, 1), task(2, 1)], waits)
}

/// A task has one future that was handed a lock, and polls another one that waits for it.
fn futurelock(wakers: usize) -> Snapshot {
    let waits = vec![
        wait(1, T(1), Kind::Mutex, lock(10, None)),
        wait(2, T(1), Kind::Mutex, lock(10, None)),
        wait(3, T(2), Kind::Mutex, lock(10, None)),
    ];
    snapshot(vec![task(1, wakers), task(2, 1)], waits)
}

fn certain(earlier: &Snapshot, later: &Snapshot) -> Vec<Finding> {
    let mut found = findings(earlier, later);
    found.retain(|finding| finding.certainty == Certainty::Certain);
    found
}

/// Nothing certain is known if one of the two snapshots is changed, whichever it is.
fn prevents(snapshot: &Snapshot, change: impl Fn(&mut Snapshot)) {
    assert_eq!(certain(snapshot, snapshot).len(), 1);
    let mut changed = snapshot.clone();
    change(&mut changed);
    assert_eq!(certain(snapshot, &changed), []);
    assert_eq!(certain(&changed, snapshot), []);
}

#[test]
fn crossed_locks_are_a_deadlock() {
    let found = certain(&crossed(), &crossed());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kind, "deadlock");
    assert_eq!(found[0].waiters, [T(1), T(2)]);
    assert_eq!(found[0].waits, crossed().waits);
}

/// Two tasks that took two locks in two orders a while ago. Each also waits for a socket.
fn crossed_handlers() -> Snapshot {
    let mut snapshot = crossed();
    for id in [1, 2] {
        let mut socket = wait(id + 2, T(id), Kind::Readable, lock(0, None));
        // The name of a descriptor is the system's description.
        socket.kind = blitz_io_observe::SOCKET.into();
        socket.object = None;
        socket.source = Some("read from 192.0.2.7:80".into());
        snapshot.waits.push(socket);
        snapshot.tasks[id as usize - 1].wakers = 2;
    }
    for wait in &mut snapshot.waits {
        wait.waiting_ms += 1_000;
    }
    snapshot
}

#[test]
fn a_cycle_of_locks_whose_tasks_also_wait_for_sockets_is_a_probable_deadlock() {
    let found = findings(&crossed_handlers(), &crossed_handlers());
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(
        (found[0].certainty, &*found[0].kind),
        (Certainty::Probable, "deadlock")
    );
    assert_eq!(found[0].waiters, [T(1), T(2)]);
    assert_eq!((found[0].waits.len(), found[0].further.len()), (2, 2));
    let end = "and can go on only if a client goes away";
    assert!(found[0].summary.ends_with(end), "{found:#?}");
    let text = report(&crossed_handlers(), &found);
    let sockets = "\n  the waits that could end it:\
                   \n    task 1 \"t1\" for socket (read from 192.0.2.7:80), at main.rs:2\
                   \n    task 2 \"t2\" for socket (read from 192.0.2.7:80), at main.rs:2\n";
    assert!(text.contains(sockets), "{text}");
}

/// Nothing of a finished simulation can end it, however short its waits are; also if all threads sleep.
#[test]
fn a_cycle_of_locks_in_a_finished_simulation_is_certain_and_the_only_finding() {
    let mut snapshot = crossed_handlers();
    for wait in &mut snapshot.waits {
        wait.waiting_ms = 1;
    }
    snapshot.waits.push(Wait {
        blocks_thread: true,
        ..wait_of(9, H(3), Kind::BlockOn)
    });
    snapshot.all_asleep = Some(1);
    let live = findings(&snapshot, &snapshot);
    assert_eq!(live.len(), 1, "{live:#?}");
    assert_eq!(live[0].kind, "all-asleep");
    snapshot.is_finished = true;
    let [finding] = &*findings(&snapshot, &snapshot) else {
        panic!("one finding is expected");
    };
    let kind = (finding.certainty, &*finding.kind);
    assert_eq!(kind, (Certainty::Certain, "deadlock"));
    assert_eq!(finding.waiters, [T(1), T(2)]);
    assert_eq!(finding.further, []);
    assert!(
        finding.summary.ends_with(" wait for each other"),
        "{finding:#?}"
    );
}

/// The handlers of axum also wait for the end of the service. Another wait may be for anything.
#[test]
fn a_cycle_of_locks_says_what_would_end_it() {
    type Change = fn(&mut Snapshot);
    fn replace(snapshot: &mut Snapshot, id: u64, kind: Kind) {
        let wait = snapshot.waits.iter_mut().find(|wait| wait.id == id);
        let wait = wait.unwrap();
        (wait.kind, wait.semantics) = (kind.name().into(), kind.semantics());
    }
    let ends: [(&str, Change); 4] = [
        ("if a client goes away, or if a channel is closed", |both| {
            replace(both, 3, Kind::WatchClosed);
        }),
        ("if a client goes away, or if a message arrives", |both| {
            replace(both, 3, Kind::MpscReceive);
        }),
        ("if another of their waits ends", |both| {
            replace(both, 3, Kind::Notify);
        }),
        (
            "if a client goes away, or if something without a record ends",
            |both| both.tasks[0].wakers += 1,
        ),
    ];
    for (end, change) in ends {
        let mut snapshot = crossed_handlers();
        change(&mut snapshot);
        let found = findings(&snapshot, &snapshot);
        assert!(
            found[0].summary.ends_with(&format!("can go on only {end}")),
            "{end}: {found:#?}"
        );
    }
}

/// A connection of HTTP/2 works for several requests.
#[test]
fn a_task_is_named_with_its_requests() {
    let mut snapshot = crossed_handlers();
    let serves = |(task, name): (u64, &str)| Serves {
        task,
        name: name.into(),
    };
    snapshot.requests = [(1, "POST /a"), (2, "GET /b"), (2, "GET /c"), (2, "GET /d")]
        .map(serves)
        .to_vec();
    let found = findings(&snapshot, &snapshot);
    let start = "task 1 \"t1\" (POST /a), task 2 \"t2\" (GET /b, GET /c, and 1 more) wait";
    assert!(found[0].summary.starts_with(start), "{found:#?}");
    // Other processes have tasks with the same numbers.
    let other = snapshot.clone();
    let parts = [snapshot, other].map(|part| (Process::default(), Some(part)));
    let joined = join(parts);
    assert_eq!(joined.requests.len(), 8, "{joined:#?}");
    let of_second = joined.requests_of(joined.requests[4].task);
    assert_eq!(of_second, &joined.requests[4..5]);
}

#[test]
fn a_finding_lists_some_of_the_waits_that_could_end_it() {
    let mut snapshot = crossed_handlers();
    let socket = snapshot.waits[2].clone();
    for id in 10..20 {
        snapshot.waits.push(Wait {
            id,
            ..socket.clone()
        });
        snapshot.tasks[0].wakers += 1;
    }
    let found = findings(&snapshot, &snapshot);
    assert_eq!(found[0].further.len(), 12, "{found:#?}");
    let text = report(&snapshot, &found);
    let (listed, _) = text.split_once("\n    and 4 more\n").unwrap();
    assert_eq!(listed.matches(" for socket (").count(), 8, "{text}");
}

#[test]
fn a_cycle_of_locks_that_may_end_is_no_finding() {
    type Change = fn(&mut Snapshot);
    let changes: [(&str, Change); 6] = [
        ("a timer", |both| both.waits[2].kind = "Sleep".into()),
        ("a deadline", |both| both.waits[2].is_timed = true),
        ("it is new", |both| both.waits[0].waiting_ms = 900),
        ("a poll", |both| both.tasks[0].polls += 1),
        ("it runs", |both| both.tasks[1].state = TaskState::Running),
        ("another holder", |both| {
            both.waits[0].object.as_mut().unwrap().holder = Some(T(3));
        }),
    ];
    for (name, change) in changes {
        let (earlier, mut later) = (crossed_handlers(), crossed_handlers());
        change(&mut later);
        assert_eq!(findings(&earlier, &later), [], "{name}");
    }
}

#[test]
fn tasks_that_wait_for_messages_and_sockets_are_no_finding() {
    let mut idle = crossed_handlers();
    for (wait, other) in idle.waits.iter_mut().zip([T(2), T(1)]) {
        wait.kind = "mpsc::Receiver".into();
        wait.object = Some(Object {
            id: wait.id,
            sender: Some(other),
            ..Object::default()
        });
    }
    assert_eq!(findings(&idle, &idle), []);
}

/// The future of a `block_on` that blocks, unless it drives another future.
#[test]
fn a_root_that_blocks_is_a_long_poll() {
    let root = Task {
        is_root: true,
        state: TaskState::Running,
        poll_ms: Some(1_500),
        ..task(1, 1)
    };
    let mut blocks = snapshot(vec![root.clone()], Vec::new());
    let found = findings(&blocks, &blocks);
    assert_eq!(found.len(), 1);
    let summary =
        "block_on at main.rs:1 has kept thread 1 in one poll for 1500 ms, which may still end";
    assert_eq!(found[0].summary, summary);
    let own = Wait {
        object: None,
        task: Some(1),
        ..wait(3, H(1), Kind::BlockOn, lock(0, None))
    };
    blocks.waits.push(own.clone());
    assert_eq!(findings(&blocks, &blocks).len(), 1, "its own");
    let nested = Wait {
        waiter: T(1),
        task: Some(2),
        ..own
    };
    blocks.waits.push(nested);
    assert_eq!(findings(&blocks, &blocks), []);
    blocks.waits.clear();
    let inner = Task {
        id: 2,
        is_root: false,
        ..root
    };
    blocks.tasks.push(inner);
    let found = findings(&blocks, &blocks);
    assert_eq!(
        found.len(),
        1,
        "of the task in the set that the root drives"
    );
    assert_eq!(found[0].waiters, [T(2)]);
}

#[test]
fn a_foreign_future_may_wake_its_task() {
    prevents(&crossed(), |snapshot| snapshot.tasks[0].wakers = 2);
}

#[test]
fn a_foreign_future_is_not_taken_for_a_likely_deadlock() {
    let mut snapshot = crossed();
    snapshot.tasks[1].wakers = 2;
    assert_eq!(findings(&snapshot, &snapshot), []);
}

#[test]
fn a_task_that_was_polled_in_between_may_go_on() {
    prevents(&crossed(), |snapshot| snapshot.tasks[1].polls += 1);
}

#[test]
fn a_task_that_is_queued_or_runs_may_go_on() {
    prevents(&crossed(), |snapshot| {
        snapshot.tasks[1].state = TaskState::Scheduled
    });
    prevents(&crossed(), |snapshot| {
        snapshot.tasks[0].state = TaskState::Running
    });
}

#[test]
fn another_wait_for_the_same_lock_is_another_wait() {
    prevents(&crossed(), |snapshot| snapshot.waits[0].id = 7);
}

#[test]
fn an_owner_that_has_erased_itself_is_not_known() {
    prevents(&crossed(), |snapshot| {
        snapshot.waits[0].object = Some(lock(10, None))
    });
}

#[test]
fn a_deadline_ends_a_wait() {
    prevents(&crossed(), |snapshot| snapshot.waits[0].is_timed = true);
}

#[test]
fn a_second_wait_that_may_end_lets_its_task_go_on() {
    prevents(&crossed(), |snapshot| {
        let other = wait(9, T(2), Kind::Mutex, lock(30, Some(H(5))));
        snapshot.waits.push(other);
        snapshot.tasks[1].wakers = 2;
    });
}

#[test]
fn a_guard_that_may_have_moved_is_likely_only() {
    let mut snapshot = crossed();
    snapshot.waits[0].object.as_mut().unwrap().is_movable = true;
    let found = findings(&snapshot, &snapshot);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].certainty, found[0].kind.as_str()),
        (Certainty::Probable, "deadlock")
    );
}

#[test]
fn wakers_of_a_combinator_are_not_counted_so_that_it_is_likely_only() {
    let mut snapshot = crossed();
    snapshot.waits[0].is_direct = false;
    let found = findings(&snapshot, &snapshot);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].certainty, Certainty::Probable);
}

#[test]
fn threads_that_sleep_for_each_others_locks_are_a_deadlock() {
    let waits = vec![
        wait(1, H(1), Kind::ThreadMutex, lock(10, Some(H(2)))),
        wait(2, H(2), Kind::ThreadMutex, lock(20, Some(H(1)))),
    ];
    prevents(&snapshot(vec![], waits), |snapshot| {
        snapshot.waits[1].object = Some(lock(20, None));
    });
}

#[test]
fn a_handed_over_lock_is_a_futurelock() {
    let found = certain(&futurelock(1), &futurelock(1));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kind, "futurelock");
    assert_eq!(found[0].waiters, [T(1)]);
    assert_eq!(found[0].waits.len(), 2);
}

/// The task also waits for its client, as that of a connection does: it may proceed.
#[test]
fn a_handed_over_lock_is_probable_if_the_task_may_go_on() {
    let of_connection = |wakers| {
        let mut snapshot = futurelock(wakers);
        let mut client = wait_of(4, T(1), Kind::Readable);
        client.kind = "socket".into();
        client.source = Some("read from 10.0.0.1:7".into());
        snapshot.waits.push(client);
        snapshot
    };
    let found = findings(&of_connection(2), &of_connection(2));
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].certainty, Certainty::Probable);
    assert_eq!(found[0].kind, "futurelock");
    assert_eq!(found[0].waiters, [T(1)]);
    assert_eq!(found[0].waits.len(), 2, "both futures: {found:#?}");
    let says =
        ", and can go on only if its client goes away; also waiting: socket (read from 10.0.0.1:7)";
    assert!(found[0].summary.ends_with(says), "{found:#?}");
    // No waker is used up, or not in both snapshots.
    for [earlier, later] in [[3, 3], [2, 3], [3, 2]] {
        let found = findings(&of_connection(earlier), &of_connection(later));
        assert_eq!(found, []);
    }
    // It is another wait for the lock.
    let mut later = of_connection(2);
    later.waits[1].id = 9;
    assert_eq!(findings(&of_connection(2), &later), []);
}

/// Futures of a task have one waker, and join the queue in the order of their first polls.
#[test]
fn a_futurelock_names_the_future_that_has_the_lock() {
    let summary = |change: &dyn Fn(&mut Snapshot)| {
        let mut snapshot = futurelock(1);
        for (wait, line) in snapshot.waits.iter_mut().zip([28, 32, 40]) {
            wait.location = format!("main.rs:{line}");
            wait.object.as_mut().unwrap().taken_at = "main.rs:39".into();
        }
        change(&mut snapshot);
        certain(&snapshot, &snapshot)[0].summary.clone()
    };
    let first = "Mutex, taken before at main.rs:39, was handed to the future at main.rs:28, which task 1 \"t1\" does not poll while it waits for it \
                 again at main.rs:32";
    assert_eq!(summary(&|_| ()), first);
    let later = |snapshot: &mut Snapshot| snapshot.waits[0].since_ms = 1;
    let second = "Mutex, taken before at main.rs:39, was handed to the future at main.rs:32, which task 1 \"t1\" does not poll while it waits for it \
                  again at main.rs:28";
    assert_eq!(summary(&later), second);
    // The record of a future in a combinator says so itself.
    let marked = |snapshot: &mut Snapshot| {
        later(snapshot);
        snapshot.waits[0].is_handed = true;
    };
    assert_eq!(summary(&marked), first);
    // Two threads polled them in one millisecond.
    let unknown = "Mutex, taken before at main.rs:39, was handed to a future of task 1 \"t1\" that the task does not poll";
    assert_eq!(summary(&|snapshot| snapshot.waits[0].thread = 2), unknown);
}

/// A task has a combinator with two futures that have wakers of their own. One was handed a lock; the task
/// waits for that lock itself.
fn futurelock_in_combinator() -> Snapshot {
    let mut snapshot = futurelock(1);
    let mut timer = wait(4, T(1), Kind::Sleep, lock(0, None));
    (timer.object, timer.is_timed, timer.is_direct) = (None, true, false);
    snapshot.waits.push(timer);
    (snapshot.waits[0].is_direct, snapshot.waits[0].is_handed) = (false, true);
    snapshot
}

#[test]
fn a_lock_that_was_handed_to_a_combinator_is_a_futurelock() {
    let snapshot = futurelock_in_combinator();
    let found = certain(&snapshot, &snapshot);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kind, "futurelock");
    assert_eq!(found[0].waiters, [T(1)]);
    assert_eq!(found[0].waits.len(), 2);
    // The combinator has a waker of the task, so it may wake the task.
    prevents(&snapshot, |snapshot| snapshot.tasks[0].wakers = 2);
    // The direct future was woken, and a waker is the combinator's or a foreign future's.
    prevents(&snapshot, |snapshot| snapshot.tasks[0].wakers = 0);
    // Another future may have the lock.
    prevents(&snapshot, |snapshot| snapshot.waits[0].is_handed = false);
    // The direct future may have been handed the lock for reading, too.
    prevents(&snapshot, |snapshot| {
        for wait in &mut snapshot.waits[..2] {
            (wait.kind, wait.semantics) = of(Kind::Read);
        }
    });
    // Its own timer ends its wait.
    prevents(&snapshot, |snapshot| {
        snapshot.waits[3].is_direct = true;
        snapshot.tasks[0].wakers = 2;
    });
}

/// A task has a future that was handed something of which there may be several, and polls another one that
/// waits for it.
fn handed_share(kind: Kind) -> Snapshot {
    let mut waits = vec![
        wait(1, T(1), kind, lock(10, None)),
        wait(2, T(1), kind, lock(10, None)),
    ];
    for wait in &mut waits {
        wait.is_handed = true;
    }
    snapshot(vec![task(1, 1)], waits)
}

#[test]
fn a_permit_that_was_handed_over_is_probably_a_futurelock() {
    for kind in [Kind::Semaphore, Kind::Notify, Kind::MpscSend] {
        let share = handed_share(kind);
        let found = findings(&share, &share);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!(found[0].certainty, Certainty::Probable);
        assert_eq!(found[0].kind, "futurelock");
        assert_eq!(found[0].waiters, [T(1)]);
        assert_eq!(found[0].waits.len(), 2);
        let summary = &found[0].summary;
        assert!(summary.contains(", and can go on only if "), "{summary}");
        // `notify_last` chooses another future than `notify_one`.
        let is_named = summary.contains("handed to the future at main.rs:2, ");
        assert_eq!(is_named, kind != Kind::Notify, "{summary}");
        // Another task waits for it, while this one is busy with another future.
        let mut of_others = share.clone();
        (of_others.waits[1].waiter, of_others.waits[1].is_handed) = (T(2), false);
        of_others.tasks[0].wakers = 1;
        of_others.tasks.push(task(2, 1));
        let found = findings(&of_others, &of_others);
        assert!(
            found
                .iter()
                .any(|f| f.kind == "futurelock" && f.waiters == [T(1)])
        );

        let changes: [fn(&mut Snapshot); 5] = [
            // It was not handed over, or not in both snapshots.
            |changed| {
                for wait in &mut changed.waits {
                    wait.is_handed = false;
                }
            },
            // It was woken, and is about to be polled.
            |changed| changed.tasks[0].state = TaskState::Scheduled,
            // It is polled.
            |changed| changed.tasks[0].state = TaskState::Running,
            // It is another wait.
            |changed| changed.waits[0].id = 9,
            // No other future waits for it.
            |changed| drop(changed.waits.pop()),
        ];
        for change in changes {
            let mut changed = share.clone();
            change(&mut changed);
            assert_eq!(findings(&share, &changed), []);
            assert_eq!(findings(&changed, &share), []);
        }
    }
}

/// The owner has taken the lock and was preempted before it wrote itself down: no future has used
/// up its waker.
#[test]
fn a_lock_whose_owner_is_not_written_down_is_no_futurelock() {
    prevents(&futurelock(1), |snapshot| snapshot.tasks[0].wakers = 2);
}

/// Its waker may be a foreign future's, and the other one be used up.
#[test]
fn a_foreign_future_beside_a_handed_over_lock() {
    let mut snapshot = futurelock(1);
    let other = wait(4, T(1), Kind::Mutex, lock(20, Some(T(2))));
    snapshot.waits.push(other);
    snapshot.tasks[0].wakers = 3;
    assert_eq!(certain(&snapshot, &snapshot), []);
}

/// A task that has waited for `waiting_ms`, after `short` waits below 1 ms, and `long` ones above.
fn after_others(kind: Kind, waiting_ms: u64, short: u64, long: u64) -> Snapshot {
    let object = lock(10, None);
    let mut buckets = vec![0; 28];
    (buckets[10], buckets[20]) = (short, long);
    let contention = Contention {
        kind: kind.name().into(),
        buckets,
        ..Contention::default()
    };
    let waits = Wait {
        waiting_ms,
        ..wait(1, T(1), kind, object.clone())
    };
    let resource = Resource {
        object,
        contention: vec![contention],
        fill: None,
    };
    Snapshot {
        objects: Some(vec![resource]),
        ..snapshot(vec![task(1, 1)], vec![waits])
    }
}

fn sender(waiting_ms: u64, short: u64, long: u64) -> Snapshot {
    after_others(Kind::MpscSend, waiting_ms, short, long)
}

#[test]
fn a_wait_that_is_much_longer_than_others_is_probable() {
    let is_long = |snapshot: &Snapshot| {
        let found = findings(snapshot, snapshot);
        let is_it = |f: &Finding| f.kind == "long-wait" && f.certainty == Certainty::Probable;
        found.iter().any(is_it)
    };
    assert!(is_long(&sender(1_100, 10_000, 0)));
    assert!(is_long(&sender(1_100, 10_000, 10)));
    assert!(!is_long(&sender(900, 10_000, 0)), "it is short");
    assert!(!is_long(&sender(1_100, 999, 0)), "too few waits");
    assert!(!is_long(&sender(1_100, 10_000, 11)), "some last longer");
    let mut timed = sender(1_100, 10_000, 0);
    timed.waits[0].is_timed = true;
    assert!(!is_long(&timed));
    let mut likely = sender(1_100, 10_000, 0);
    likely.waits[0].object.as_mut().unwrap().receiver = Some(T(1));
    assert!(!is_long(&likely), "it is a self-wait");
}

/// The program may just have nothing to do.
#[test]
fn a_receiver_that_waits_longer_than_before_has_a_note() {
    let quiet = after_others(Kind::MpscReceive, 1_100, 10_000, 0);
    assert_eq!(findings(&quiet, &quiet), []);
    let text = report(&quiet, &[]);
    assert!(text.contains("note: task 1 "), "{text}");
    for snapshot in [
        after_others(Kind::MpscReceive, 900, 10_000, 0),
        after_others(Kind::MpscReceive, 1_100, 999, 0),
        sender(1_100, 10_000, 0),
    ] {
        assert!(!report(&snapshot, &[]).contains("note: "));
    }
}

#[test]
fn new_requests_do_not_hide_a_futurelock() {
    let mut later = futurelock(1);
    later.waits.push(wait(8, T(3), Kind::Mutex, lock(10, None)));
    later.tasks.push(task(3, 1));
    assert_eq!(certain(&futurelock(1), &later).len(), 1);
}

#[test]
fn one_stuck_reader_suffices_to_keep_a_writer_out() {
    let readers = Object {
        id: 10,
        readers: vec![T(1), T(5)],
        ..Object::default()
    };
    let waits = vec![
        wait(1, T(1), Kind::Read, readers.clone()),
        wait(2, T(2), Kind::Write, readers),
    ];
    let stuck = snapshot(vec![task(1, 1), task(2, 1)], waits);
    // Without the writer, or if the writer times out, the reader proceeds.
    prevents(&stuck, |snapshot| snapshot.waits[1].is_timed = true);
}

/// Thread 1 is the upgradable reader of lock 10 and waits for lock 11, whose owner, thread 2, waits for
/// lock 10 in this way.
fn beside_upgradable(kind: Kind) -> Snapshot {
    let table = Object {
        is_movable: true,
        is_beside_readers: true,
        ..lock(10, Some(H(1)))
    };
    let waits = vec![
        wait(1, H(1), Kind::ThreadMutex, lock(11, Some(H(2)))),
        wait(2, H(2), kind, table),
    ];
    snapshot(Vec::new(), waits)
}

#[test]
fn an_upgradable_reader_keeps_writers_out_and_no_readers() {
    for kind in [Kind::ThreadWrite, Kind::ThreadUpgradable] {
        let stuck = beside_upgradable(kind);
        prevents(&stuck, |snapshot| {
            snapshot.waits[1].object.as_mut().unwrap().is_beside_readers = false;
        });
    }
    for kind in [Kind::ThreadRead, Kind::ThreadReadAgain] {
        let reads = beside_upgradable(kind);
        assert_eq!(
            findings(&reads, &reads),
            [],
            "{kind:?}: it is about to get the lock"
        );
    }
    // A writer is before the reader.
    let mut stuck = beside_upgradable(Kind::ThreadRead);
    let mut writes = stuck.waits[1].clone();
    (writes.id, writes.waiter) = (3, H(3));
    (writes.kind, writes.semantics) = of(Kind::ThreadWrite);
    stuck.waits.push(writes);
    prevents(&stuck, |snapshot| snapshot.waits[2].is_timed = true);
}

#[test]
fn a_reader_is_held_up_by_the_writer_before_it() {
    let table = Object {
        readers: vec![H(1)],
        ..lock(10, None)
    };
    let mut writes = wait(2, H(2), Kind::ThreadWrite, table.clone());
    writes.is_timed = true;
    let waits = vec![wait(1, H(1), Kind::ThreadRead, table), writes];
    let mut twice = snapshot(Vec::new(), waits);
    let kinds = |snapshot: &Snapshot| {
        let chains = Chains::new(snapshot);
        let (chain, last) = chains.from(&snapshot.waits[0]);
        (chain.iter().map(|wait| wait.id).collect::<Vec<_>>(), last)
    };
    assert_eq!(
        kinds(&twice),
        (vec![1, 2], None),
        "the writer has a deadline"
    );
    twice.waits[1].is_timed = false;
    assert_eq!(kinds(&twice), (vec![1, 2], Some(H(1))));
    twice.waits.pop();
    assert_eq!(kinds(&twice), (vec![1], Some(H(1))));
}

/// Two woken tasks, the first of which has been polled three times; a second before and now.
fn not_polled() -> [Snapshot; 2] {
    let woken = |id| Task {
        state: TaskState::Scheduled,
        ..task(id, 0)
    };
    [0, 1_000].map(|at_ms| Snapshot {
        at_ms,
        ..snapshot(vec![woken(1), woken(2), task(3, 1)], Vec::new())
    })
}

#[test]
fn a_woken_task_that_is_not_polled_is_probable() {
    let finds = |change: fn(&mut [Snapshot; 2])| {
        let mut both = not_polled();
        change(&mut both);
        findings(&both[0], &both[1])
    };
    let [finding] = &*finds(|_| ()) else {
        panic!("there is one");
    };
    assert_eq!(finding.certainty, Certainty::Probable);
    assert_eq!(
        (&*finding.kind, &*finding.waiters),
        ("not-polled", &[T(1), T(2)][..])
    );
    assert!(
        finding
            .summary
            .starts_with("task 1 \"t1\", task 2 \"t2\" could go on")
    );
    let one = finds(|both| both[1].tasks[0].polls += 1);
    assert_eq!(one[0].waiters, [T(2)], "it was polled");
    let one = finds(|both| both[0].tasks[0].state = TaskState::Idle);
    assert_eq!(one[0].waiters, [T(2)], "it was woken in between");
    assert!(finds(|both| both[1].at_ms = 999).is_empty());
}

#[test]
fn a_report_has_the_stacks() {
    let frame = Frame {
        function: "server::sessions::update<(), server::Session>".into(),
        location: "src/sessions.rs:17".into(),
    };
    let stack = |thread, frames| Stack {
        thread,
        frames,
        ..Stack::default()
    };
    let asleep = Stack {
        state: "sleeps in the system call poll".into(),
        missing: "only a part".into(),
        ..stack(3, vec![frame.clone()])
    };
    let snapshot = Snapshot {
        stacks: vec![stack(1, vec![frame; 18]), stack(2, Vec::new()), asleep],
        missing: vec!["no /proc".into()],
        ..Snapshot::default()
    };
    let text = report(&snapshot, &[]);
    for part in [
        "stack of thread 1:\n  server::sessions::update\n    at src/sessions.rs:17\n",
        "17\n  … 2 callers; `blitz why --all` shows them\nno stack of thread 2: it blocks the signal, or",
        "stack of thread 3, which sleeps in the system call poll:\n  server::sessions::update\n",
        "17\n  only a part\n",
        "\nno /proc\n",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_report_has_the_ends_of_a_channel() {
    let object = lock(2, None);
    let mut snapshot = snapshot(
        vec![task(1, 1)],
        vec![wait(9, Waiter::Task(1), Kind::MpscReceive, object.clone())],
    );
    let channel = |capacity, senders| {
        Some(vec![Resource {
            object: object.clone(),
            fill: Some(Fill {
                used: 1,
                capacity,
                senders,
                receivers: senders.map(|_| 1),
            }),
            ..Resource::default()
        }])
    };
    let mut has = |objects, line: &str| {
        snapshot.objects = objects;
        let text = report(&snapshot, &[]);
        assert!(text.contains(&format!("\n    {line}\n")), "{text}");
    };
    has(
        channel(Some(4), Some(2)),
        "1 of 4 values, 2 senders, 1 receiver",
    );
    has(channel(None, Some(1)), "1 value, 1 sender, 1 receiver");
    // An older version does not count ends.
    has(channel(Some(4), None), "1 of 4 values");
}

#[test]
fn a_snapshot_survives_json() {
    let text = serde_json::to_string(&crossed()).unwrap();
    assert_eq!(serde_json::from_str::<Snapshot>(&text).unwrap(), crossed());
}

/// A version of before has no objects and no runtimes, and its answer is read nevertheless.
#[test]
fn an_older_version_is_read() {
    let text = r#"{"pid": 7, "threads": [], "tasks": [], "waits": []}"#;
    let older: Snapshot = serde_json::from_str(text).unwrap();
    assert_eq!((older.pid, older.at_ms), (7, 0));
    assert_eq!((older.objects, older.runtimes), (None, None));
}

/// Two threads for blocking work run jobs 1 and 2, which wait for jobs 3 and 4.
fn full_pool() -> Snapshot {
    let job = |id, thread| Job {
        id,
        thread,
        ..Job::default()
    };
    let waits_for_end = |id| Wait {
        object: None,
        task: Some(id + 2),
        blocks_thread: true,
        ..wait(id, T(id), Kind::Join, Object::default())
    };
    let is_queued = |id| Wait {
        object: None,
        ..wait(id, T(id), Kind::QueuedJob, Object::default())
    };
    Snapshot {
        jobs: vec![job(1, Some(1)), job(2, Some(2)), job(3, None), job(4, None)],
        ..snapshot(
            vec![],
            vec![
                waits_for_end(1),
                waits_for_end(2),
                is_queued(3),
                is_queued(4),
            ],
        )
    }
}

#[test]
fn jobs_on_all_threads_wait_for_queued_ones() {
    let found = findings(&full_pool(), &full_pool());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kind, "pool-starvation");
    assert_eq!(found[0].certainty, Certainty::Probable);
    assert_eq!(found[0].waiters, [T(1), T(3)]);
    let summary = "job 3 is queued, and job 1, job 2 wait for queued jobs on all threads, and can go on only if the \
                   runtime has another thread for blocking work";
    assert_eq!(found[0].summary, summary);
}

#[test]
fn a_job_that_may_end_gives_its_thread_to_a_queued_one() {
    let mut running = full_pool();
    running.waits.remove(1);
    assert_eq!(findings(&running, &running), []);
    assert_eq!(findings(&running, &full_pool()), []);
    assert_eq!(findings(&full_pool(), &running), []);
}

/// A task that waits for something of which it is the holder, the readers, the members and the last user.
fn alone(kind: Kind) -> Snapshot {
    let object = Object {
        readers: vec![T(1)],
        sender: Some(T(1)),
        receiver: Some(T(1)),
        ..lock(10, Some(T(1)))
    };
    let wait = Wait {
        task: (kind.semantics().ended_by == EndedBy::Task).then_some(1),
        ..wait(1, T(1), kind, object)
    };
    snapshot(vec![task(1, 1)], vec![wait])
}

#[test]
fn each_kind_is_judged_by_its_semantics() {
    for (at, &kind) in Kind::ALL.iter().enumerate() {
        assert_eq!(kind as usize, at);
        let mut same = Kind::ALL.iter().filter(|other| other.name() == kind.name());
        assert!(same.next().is_some() && same.next().is_none(), "{kind:?}");

        let snapshot = alone(kind);
        let found = findings(&snapshot, &snapshot);
        let certainty = found.first().map(|finding| finding.certainty);
        let expected = match kind.semantics().ended_by {
            EndedBy::Holder
            | EndedBy::Writer
            | EndedBy::Readers
            | EndedBy::AnyMember
            | EndedBy::FailedMember
            | EndedBy::MembersOrFailure
            | EndedBy::Task => Some(Certainty::Certain),
            EndedBy::LastUser => Some(Certainty::Probable),
            // There is no other member, no running closure and no participant.
            EndedBy::AllMembers
            | EndedBy::OtherMembers
            | EndedBy::Jobs
            | EndedBy::RunningJobs
            | EndedBy::Peers
            | EndedBy::Nobody => None,
        };
        assert_eq!(certainty, expected, "{kind:?}: {found:?}");

        let text = serde_json::to_string(&snapshot).unwrap();
        let again: Snapshot = serde_json::from_str(&text).unwrap();
        assert_eq!(again.waits[0].semantics, kind.semantics(), "{text}");
    }
}

#[test]
fn semantics_of_another_version() {
    let snapshot = alone(Kind::Mutex);
    let text = serde_json::to_string(&snapshot).unwrap();
    let semantics = r#""semantics":{"ended_by":"holder","mode":"lock","hands":"lock"}"#;
    assert!(text.contains(semantics), "{text}");

    let newer = text.replace(
        semantics,
        r#""semantics":{"ended_by":"moon","mode":"lock"}"#,
    );
    let newer: Snapshot = serde_json::from_str(&newer).unwrap();
    let expected = Semantics {
        ended_by: EndedBy::Nobody,
        mode: Mode::Lock,
        hands: Hands::Nothing,
    };
    assert_eq!(newer.waits[0].semantics, expected);

    let older = text.replace(&format!("{semantics},"), "");
    let older: Snapshot = serde_json::from_str(&older).unwrap();
    assert_eq!(older.waits[0].semantics, Semantics::default());
}

/// Thread 1 drives future 5, which awaits task 6, which waits for an answer.
#[test]
fn threads_that_are_all_asleep_have_the_innermost_waits() {
    let awaits = |id, waiter, kind, task| Wait {
        task: Some(task),
        ..wait_of(id, waiter, kind)
    };
    let answer = Wait {
        location: "main.rs:6".into(),
        ..wait(3, T(6), Kind::OneshotReceive, lock(10, None))
    };
    let root = Task {
        is_root: true,
        ..task(5, 1)
    };
    let waits = vec![
        awaits(1, H(1), Kind::BlockOn, 5),
        awaits(2, T(5), Kind::Join, 6),
        answer.clone(),
    ];
    let asleep = |handles_signals| {
        let snapshot = Snapshot {
            all_asleep: Some(1),
            handles_signals,
            ..snapshot(vec![root.clone(), task(6, 1)], waits.clone())
        };
        let [finding] = &*findings(&snapshot, &snapshot) else {
            panic!("one finding is expected");
        };
        finding.clone()
    };
    let finding = asleep(false);
    assert_eq!(
        (finding.certainty, &*finding.kind),
        (Certainty::Certain, "all-asleep")
    );
    let summary = "thread 1 sleeps, and no thread is left that could wake it: task 6 \"t6\" waits for oneshot::Receiver at \
                   main.rs:6";
    assert_eq!(finding.summary, summary);
    assert_eq!(finding.waits, [waits[0].clone(), answer]);
    let finding = asleep(true);
    assert_eq!(finding.certainty, Certainty::Probable);
    assert_eq!(
        finding.summary,
        format!("{summary}; only a handler of a signal could")
    );
}

/// Thread 1 drives future 5, whose scope has two children.
#[test]
fn threads_that_are_all_asleep_have_the_waits_of_children() {
    let scope = Object {
        readers: vec![T(6), T(7)],
        ..lock(20, None)
    };
    let at = |line: &str, wait| Wait {
        location: format!("main.rs:{line}"),
        ..wait
    };
    let drive = Wait {
        task: Some(5),
        ..wait_of(1, H(1), Kind::BlockOn)
    };
    let sends = at("37", wait(3, T(6), Kind::MpscSend, lock(10, None)));
    let locks = at("40", wait(4, T(7), Kind::Mutex, lock(30, Some(T(6)))));
    let waits = vec![drive, wait(2, T(5), Kind::Scope, scope), sends, locks];
    let root = Task {
        is_root: true,
        ..task(5, 1)
    };
    let snapshot = Snapshot {
        all_asleep: Some(1),
        ..snapshot(vec![root, task(6, 1), task(7, 1)], waits)
    };
    let found = findings(&snapshot, &snapshot);
    let finding = found.iter().find(|finding| finding.kind == "all-asleep");
    let summary = &finding.expect("all threads sleep").summary;
    for line in ["main.rs:37", "main.rs:40"] {
        assert!(summary.contains(line), "{summary}");
    }
}

/// Both workers wait for a lock of std, in polls of tasks 5 and 6. Task 7 was polled before, and waits for a socket.
#[test]
fn workers_that_are_all_blocked_come_before_what_no_worker_polls() {
    let sleeps = |id, task| Wait {
        blocks_thread: true,
        ..wait_of(id, T(task), Kind::Futex)
    };
    let asks = Wait {
        kind: blitz_io_observe::SOCKET.into(),
        source: Some("read from 192.0.2.7:80".into()),
        location: "src/lib.rs:96".into(),
        ..wait_of(3, T(7), Kind::Readable)
    };
    let worker = || blitz_io_inspect::Worker::default();
    let runtime = |workers| blitz_io_inspect::Runtime {
        workers,
        scheduler: Some(blitz_io_inspect::Scheduler::default()),
        ..blitz_io_inspect::Runtime::default()
    };
    let with = |workers| Snapshot {
        all_asleep: Some(1),
        runtimes: Some(vec![runtime(workers)]),
        ..snapshot(
            vec![task(5, 1), task(6, 1), task(7, 1)],
            vec![sleeps(1, 5), sleeps(2, 6), asks.clone()],
        )
    };
    let summary = |workers| {
        let snapshot = with(workers);
        let found = findings(&snapshot, &snapshot);
        let mut found = found.into_iter();
        let finding = found.find(|finding| finding.kind == "all-asleep");
        finding.expect("all threads sleep").summary
    };
    assert_eq!(
        summary(vec![worker(), worker()]),
        "all 2 workers are blocked, so no socket is read and no timer fires: task 5 \"t5\", task 6 \"t6\" block in a poll. \
         What they wait for may be held by a task that can no longer be polled: task 7 \"t7\" waits for socket (read from \
         192.0.2.7:80) at src/lib.rs:96"
    );
    let other = summary(vec![worker(), worker(), worker()]);
    assert!(
        other.contains("no thread is left that could wake one"),
        "{other}"
    );
    // The line is known from the stack. That of the C library says nothing.
    let frame = |function: &str, location: &str| blitz_io_inspect::Frame {
        function: function.into(),
        location: location.into(),
    };
    let stack = blitz_io_inspect::Stack {
        thread: sleeps(1, 5).thread,
        frames: vec![
            frame("syscall", "./misc/syscall.S:37"),
            frame("orders::region", "src/lib.rs:137"),
        ],
        state: String::new(),
        missing: String::new(),
    };
    let mut snapshot = with(vec![worker(), worker()]);
    snapshot.stacks.push(stack);
    for wait in &mut snapshot.waits[..2] {
        wait.location.clear();
    }
    let text = report(&snapshot, &findings(&snapshot, &snapshot));
    assert!(text.contains("\n    at src/lib.rs:137\n"), "{text}");
}

#[test]
fn a_probable_circle_says_what_else_could_end_it() {
    let summary = |change: fn(&mut Wait)| {
        let mut snapshot = crossed();
        change(&mut snapshot.waits[0]);
        let [finding] = &*findings(&snapshot, &snapshot) else {
            panic!("one finding is expected");
        };
        assert_eq!(finding.certainty, Certainty::Probable);
        finding.summary.clone()
    };
    let names = "task 1 \"t1\", task 2 \"t2\" wait for each other, and can go on only if";
    let moved = |wait: &mut Wait| wait.object.as_mut().unwrap().is_movable = true;
    let expected = format!("{names} another task or thread has the guard by now");
    assert_eq!(summary(moved), expected);
    let in_combinator = |wait: &mut Wait| wait.is_direct = false;
    let expected = format!("{names} task 1 \"t1\" also waits for something without a record");
    assert_eq!(summary(in_combinator), expected);
    let message = |wait: &mut Wait| {
        (wait.kind, wait.semantics) = of(Kind::MpscReceive);
        wait.object.as_mut().unwrap().sender = Some(T(2));
    };
    let expected = format!("{names} another task or thread has a sender by now");
    assert_eq!(summary(message), expected);
    let certain = &findings(&crossed(), &crossed())[0].summary;
    assert_eq!(certain, names.split_once(", and").unwrap().0);
}
