//! The judgement of snapshots that are made by hand: ends that are plain values, and tasks that nothing wakes.

use blitz_io_inspect::{
    Certainty, ChildOf, Finding, Kind, Maker, Object, Resource, Snapshot, Spawned, TaskState, Wait,
    Waiter, findings, report,
};

use Waiter::{Task as T, Thread as H};

use crate::judgement::{task, wait_of};

/// A change of a snapshot, after which there is no finding.
type Change = fn(&mut Snapshot);

fn wait(id: u64, waiter: Waiter, kind: Kind) -> Wait {
    Wait {
        is_timed: kind == Kind::Sleep,
        ..wait_of(id, waiter, kind)
    }
}

fn spawned(task: u64, by: impl Into<Option<Waiter>>, number: u64) -> Spawned {
    let by = by.into();
    Spawned { task, by, number }
}

/// Task 1 makes a channel as object 5, spawns task 2 with the receiver, and awaits that task. Task 3 is older than the
/// channel and sleeps.
fn sender_kept() -> Snapshot {
    let joins = Wait {
        task: Some(2),
        ..wait(1, T(1), Kind::Join)
    };
    Snapshot {
        tasks: vec![task(1, 1), task(2, 1), task(3, 1)],
        waits: vec![
            joins,
            wait(2, T(2), Kind::OneshotReceive),
            wait(3, T(3), Kind::Sleep),
        ],
        makers: vec![Maker {
            wait: 2,
            maker: T(1),
            number: 5,
        }],
        spawned: vec![
            spawned(1, H(1), 0),
            spawned(2, T(1), 5),
            spawned(3, H(1), 4),
        ],
        other_threads: Some(0),
        ..Snapshot::default()
    }
}

fn of(snapshot: &Snapshot) -> Vec<Finding> {
    findings(snapshot, snapshot)
}

#[test]
fn a_maker_that_waits_for_the_task_with_the_other_end_is_found_beside_a_live_task() {
    let found = of(&sender_kept());
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].kind, "deadlock");
    assert_eq!(found[0].certainty, Certainty::Probable);
    assert_eq!(found[0].waiters, [T(1), T(2)]);
    let text = report(&sender_kept(), &found);
    assert!(text.contains("such as a map"), "{text}");
}

/// Task 4 has got an end, too, and waits for the channel of another one.
#[test]
fn the_tasks_that_may_have_the_other_end_are_named() {
    let mut snapshot = sender_kept();
    snapshot.tasks.push(task(4, 1));
    snapshot.waits.push(wait(4, T(4), Kind::OneshotReceive));
    snapshot.makers.push(Maker {
        wait: 4,
        maker: T(1),
        number: 5,
    });
    snapshot.spawned.push(spawned(4, T(1), 6));
    let found = of(&snapshot);
    let names = |finding: &Finding| {
        let (members, made) = finding
            .summary
            .split_once(" wait for each other: ")
            .unwrap();
        let are_all = ["task 1", "task 2", "task 4"]
            .iter()
            .all(|name| members.contains(name));
        are_all
            && made.contains(
                " made, and only these were spawned with it, and can go on only if another ",
            )
    };
    assert!(found.iter().any(names), "{found:#?}");
    // Their lines are in the finding, too.
    let has_wait = |finding: &Finding| finding.waits.iter().any(|wait| wait.waiter == T(4));
    assert!(found.iter().any(has_wait), "{found:#?}");
}

/// Tasks 4 and 5 were spawned later, too, and have a deadlock of their own.
#[test]
fn tasks_that_are_stuck_for_another_reason_are_no_part_of_the_cycle() {
    let mut snapshot = sender_kept();
    for (id, other) in [(4, 5), (5, 4)] {
        snapshot.tasks.push(task(id, 1));
        let mut join = wait(id, T(id), Kind::Join);
        join.task = Some(other);
        snapshot.waits.push(join);
        snapshot.spawned.push(spawned(id, T(1), 2 + id));
    }
    let found = of(&snapshot);
    let said: Vec<&str> = found.iter().map(|f| f.summary.as_str()).collect();
    let [joins, made] = &said[..] else {
        panic!("{said:?}")
    };
    assert!(
        joins.contains("task 4") && joins.contains("task 5"),
        "{joins}"
    );
    let (members, reason) = made.split_once(" wait for each other: ").unwrap();
    assert!(
        !members.contains("task 4") && !members.contains("task 5"),
        "{made}"
    );
    let beside = ", and only these were spawned with it, beside task 4";
    assert!(reason.contains(beside), "{made}");
    assert!(
        reason.contains(", stuck for another reason, and can go on only if "),
        "{made}"
    );
    let of_others = |wait: &Wait| wait.waiter > T(2);
    assert!(!found[1].waits.iter().any(of_others), "{found:#?}");
}

/// A child of a scope got the receiver from its task, and another task the sender.
#[test]
fn a_child_may_wait_for_what_its_task_has_made() {
    let mut snapshot = sender_kept();
    let owner = |borrows| ChildOf {
        owner: T(1),
        scope: 100,
        borrows,
    };
    snapshot.tasks[1].child_of = Some(owner(true));
    assert_eq!(of(&snapshot), []);
    snapshot.tasks[1].child_of = Some(owner(false));
    assert_eq!(of(&snapshot).len(), 1);
}

/// Adds a task that sleeps, and was spawned after the channel was made.
fn with_later(by: impl Into<Option<Waiter>>) -> Snapshot {
    let mut snapshot = sender_kept();
    snapshot.tasks.push(task(4, 1));
    snapshot.waits.push(wait(4, T(4), Kind::Sleep));
    snapshot.spawned.push(spawned(4, by, 6));
    snapshot
}

#[test]
fn a_later_task_may_have_the_end_unless_an_older_task_that_lives_has_spawned_it() {
    assert_eq!(of(&with_later(T(1))), [], "a child of the maker");
    assert_eq!(of(&with_later(T(2))), [], "a grandchild");
    assert_eq!(of(&with_later(T(9))), [], "the spawner has ended");
    assert_eq!(of(&with_later(H(1))), [], "a thread has spawned it");
    assert_eq!(of(&with_later(None)), [], "it is not known who has");
    assert_eq!(of(&with_later(T(3))).len(), 1, "a child of the older one");
    let mut between = with_later(T(3));
    between.tasks.push(task(5, 1));
    between.waits.push(wait(5, T(5), Kind::Sleep));
    between.spawned.push(spawned(5, T(4), 7));
    assert_eq!(of(&between).len(), 1, "a grandchild of the older one");
}

#[test]
fn an_end_whose_owner_is_not_known_has_no_finding() {
    let changes: [(&str, Change); 9] = [
        ("a living task has a message of the maker", |s| {
            let object = Object {
                sender: Some(T(1)),
                receiver: Some(T(3)),
                ..Object::default()
            };
            let contention = Vec::new();
            s.objects = Some(vec![Resource {
                object,
                contention,
                fill: None,
            }]);
        }),
        ("threads", |s| s.other_threads = Some(1)),
        ("the system does not say", |s| s.other_threads = None),
        ("the maker waits itself", |s| s.makers[0].maker = T(2)),
        ("the maker has ended", |s| s.makers[0].maker = T(9)),
        ("the maker runs", |s| {
            s.tasks[0].state = TaskState::Running;
        }),
        ("the wait is short", |s| s.waits[1].waiting_ms = 999),
        ("it has a deadline", |s| s.waits[1].is_timed = true),
        ("a task has no record", |s| {
            let runtime = blitz_io_inspect::Runtime {
                alive_tasks: 4,
                ..Default::default()
            };
            s.runtimes = Some(vec![runtime]);
        }),
    ];
    for (what, change) in changes {
        let mut snapshot = sender_kept();
        change(&mut snapshot);
        for (earlier, later) in [(&snapshot, &snapshot), (&sender_kept(), &snapshot)] {
            assert_eq!(findings(earlier, later), [], "{what}");
        }
    }
}

/// A service may have very many of them.
#[test]
fn many_later_tasks_that_may_proceed_are_not_looked_at_one_by_one() {
    let mut snapshot = sender_kept();
    for id in 10..10_010 {
        snapshot.tasks.push(task(id, 1));
        snapshot.waits.push(wait(id, T(id), Kind::OneshotReceive));
        snapshot.spawned.push(spawned(id, T(3), id));
        let maker = T(3);
        snapshot.makers.push(Maker {
            wait: id,
            maker,
            number: id,
        });
    }
    assert_eq!(of(&snapshot), []);
}

/// Task 2 waits for the lock of task 1.
fn holder_without_a_waker() -> Snapshot {
    let object = Object {
        id: 10,
        holder: Some(T(1)),
        ..Object::default()
    };
    let waits = vec![Wait {
        object: Some(object),
        ..wait(1, T(2), Kind::Mutex)
    }];
    Snapshot {
        tasks: vec![task(1, 0), task(2, 1)],
        waits,
        ..Snapshot::default()
    }
}

#[test]
fn a_lock_of_a_task_that_nothing_wakes_is_a_finding() {
    let found = of(&holder_without_a_waker());
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].kind, "never-woken");
    assert_eq!(found[0].certainty, Certainty::Probable);
    assert_eq!(found[0].waiters, [T(2), T(1)]);

    let changes: [(&str, Change); 5] = [
        ("a waker", |s| s.tasks[0].wakers = 1),
        ("it is ready", |s| s.tasks[0].state = TaskState::Scheduled),
        ("it was polled", |s| s.tasks[0].polls += 1),
        ("the wait is short", |s| s.waits[0].waiting_ms = 999),
        ("the guard may have moved", |s| {
            let object = s.waits[0].object.as_mut();
            object.expect("a lock").is_movable = true;
        }),
    ];
    for (what, change) in changes {
        let mut snapshot = holder_without_a_waker();
        change(&mut snapshot);
        let found = findings(&holder_without_a_waker(), &snapshot);
        assert_eq!(found, [], "{what}");
    }
}
