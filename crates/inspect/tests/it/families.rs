//! The judgement of snapshots with children of scopes, which are made by hand.

use blitz_io_inspect::{
    Certainty, ChildOf, Finding, Kind, Object, Snapshot, Task, Wait, Waiter, findings, of_waiter,
    report,
};
use blitz_io_observe::number_of_child;

use super::judgement::{task, wait_of};

/// The object of the wait for the children of task 4.
const SCOPE: u64 = 100;

/// Returns the child with this number, which its task polls.
fn c(number: u64) -> Waiter {
    Waiter::Task(number_of_child(number))
}

/// The owner of the scope.
const OWNER: Waiter = Waiter::Task(4);

/// An idle child with one waker.
fn child(number: u64) -> Task {
    Task {
        child_of: Some(ChildOf {
            owner: OWNER,
            scope: SCOPE,
            borrows: true,
        }),
        is_pinned: false,
        ..task(number_of_child(number), 1)
    }
}

fn waits(id: u64, waiter: Waiter, lock: u64, holder: Waiter) -> Wait {
    Wait {
        object: Some(Object {
            id: lock,
            holder: Some(holder),
            ..Object::default()
        }),
        ..wait_of(id, waiter, Kind::Mutex)
    }
}

fn waits_for_children(id: u64, kind: Kind, children: &[Waiter], more: u32) -> Wait {
    Wait {
        object: Some(Object {
            id: SCOPE,
            readers: children.to_vec(),
            unnamed: more,
            ..Object::default()
        }),
        ..wait_of(id, OWNER, kind)
    }
}

/// Two children that took two locks in two orders, and their task, which waits for them.
fn crossed() -> Snapshot {
    Snapshot {
        tasks: vec![task(4, 1), child(5), child(6)],
        waits: vec![
            waits_for_children(1, Kind::Scope, &[c(5), c(6)], 0),
            waits(2, c(5), 10, c(6)),
            waits(3, c(6), 20, c(5)),
        ],
        ..Snapshot::default()
    }
}

/// Returns the same for children in parallel, which are tasks 5 and 6.
fn parallel() -> Snapshot {
    let mut snapshot = crossed();
    let plain = |waiter: &mut Waiter| match *waiter {
        it if it == c(5) => *waiter = Waiter::Task(5),
        it if it == c(6) => *waiter = Waiter::Task(6),
        _ => {}
    };
    for (task, id) in snapshot.tasks.iter_mut().zip([4, 5, 6]) {
        task.id = id;
        task.child_of.iter_mut().for_each(|of| of.borrows = false);
    }
    for wait in &mut snapshot.waits {
        plain(&mut wait.waiter);
        let object = wait.object.as_mut().unwrap();
        object.holder.iter_mut().for_each(plain);
        object.readers.iter_mut().for_each(plain);
    }
    let kind = Kind::ParallelScope;
    snapshot.waits[0].kind = kind.name().into();
    snapshot.waits[0].semantics = kind.semantics();
    snapshot
}

fn certain(snapshot: &Snapshot) -> Vec<Finding> {
    let mut found = findings(snapshot, snapshot);
    found.retain(|finding| finding.certainty == Certainty::Certain);
    found
}

#[test]
fn children_that_wait_for_each_other_are_a_deadlock() {
    let found = certain(&crossed());
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].waiters, [c(5), c(6)]);
    let name = of_waiter(&crossed(), c(5));
    assert_eq!(name, "child 5 of task 4 \"t4\"");
    assert!(found[0].summary.starts_with(&name), "{found:#?}");
    let text = report(&crossed(), &found);
    assert!(
        text.contains("\n    2 children\n    child 5 of task 4"),
        "{text}"
    );
    let found = certain(&parallel());
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].waiters, [Waiter::Task(5), Waiter::Task(6)]);
}

#[test]
fn a_child_may_end_if_its_owner_goes_on() {
    for mut snapshot in [crossed(), parallel()] {
        let timer = Wait {
            is_timed: true,
            ..wait_of(9, OWNER, Kind::Sleep)
        };
        snapshot.waits.push(timer);
        snapshot.tasks[0].wakers = 2;
        assert_eq!(findings(&snapshot, &snapshot), []);
    }
}

/// The owner waits for a client, which may go away.
#[test]
fn children_whose_owner_may_go_on_are_probable() {
    for mut snapshot in [crossed(), parallel()] {
        let client = wait_of(9, OWNER, Kind::Readable);
        snapshot.waits.push(client);
        snapshot.tasks[0].wakers = 2;
        let found = findings(&snapshot, &snapshot);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!(found[0].certainty, Certainty::Probable);
        let further: Vec<u64> = found[0].further.iter().map(|wait| wait.id).collect();
        assert_eq!(further, [9]);
        assert!(
            found[0]
                .summary
                .ends_with("can go on only if another of their waits ends"),
            "{found:#?}"
        );
    }
}

#[test]
fn polls_of_other_children_are_none_of_the_owner() {
    let (earlier, mut later) = (crossed(), crossed());
    later.tasks[0].polls += 7;
    assert_eq!(findings(&earlier, &later).len(), 1);
    later.tasks[1].polls += 1;
    assert_eq!(findings(&earlier, &later), []);
}

/// A third child may have the guard of one of them.
#[test]
fn a_sibling_that_runs_may_have_a_guard() {
    let mut snapshot = crossed();
    let sleeps = wait_of(9, c(7), Kind::Sleep);
    snapshot.tasks.push(child(7));
    snapshot.waits.push(sleeps);
    let found = findings(&snapshot, &snapshot);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].certainty, Certainty::Probable);
    // That of the owner is more likely to be there.
    snapshot.waits[1] = waits(2, c(5), 10, OWNER);
    snapshot.waits[2] = waits(3, c(6), 10, OWNER);
    assert_eq!(findings(&snapshot, &snapshot), []);
    snapshot.tasks.pop();
    snapshot.waits.pop();
    assert_eq!(certain(&snapshot).len(), 1);
}

#[test]
fn a_child_that_waits_for_its_own_lock_may_have_given_the_guard_away() {
    let mut snapshot = crossed();
    snapshot.waits[1] = waits(2, c(5), 10, c(5));
    snapshot.waits[2] = wait_of(3, c(6), Kind::Sleep);
    assert_eq!(findings(&snapshot, &snapshot), []);
    snapshot.waits[2] = waits(3, c(6), 10, c(5));
    let found = certain(&snapshot);
    assert_eq!(
        (found.len(), &*found[0].kind),
        (1, "self-wait"),
        "{found:#?}"
    );
}

/// The task may have given its permit to another task.
#[test]
fn a_child_may_wait_for_a_permit_that_its_task_gave_away() {
    let mut snapshot = crossed();
    for wait in &mut snapshot.waits[1..] {
        wait.kind = Kind::Semaphore.name().into();
        wait.semantics = Kind::Semaphore.semantics();
        wait.object.as_mut().unwrap().is_movable = true;
    }
    let found = findings(&snapshot, &snapshot);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].certainty, Certainty::Probable);
    for wait in &mut snapshot.waits[1..] {
        let object = wait.object.as_mut().unwrap();
        (object.id, object.holder) = (10, Some(OWNER));
    }
    assert_eq!(findings(&snapshot, &snapshot), []);
}

/// One that fails aborts the others.
#[test]
fn a_sibling_in_parallel_that_runs_may_fail() {
    let mut snapshot = parallel();
    let mut runs = snapshot.tasks[2].clone();
    runs.id = 7;
    snapshot.tasks.push(runs);
    snapshot
        .waits
        .push(wait_of(9, Waiter::Task(7), Kind::Sleep));
    snapshot.waits[0].object.as_mut().unwrap().unnamed = 1;
    let found = findings(&snapshot, &snapshot);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].certainty, Certainty::Probable);
}

/// So does one that its scope polls, even if the others wait for no lock.
#[test]
fn a_sibling_that_runs_may_panic() {
    let joins = |id, child, other: Waiter| Wait {
        task: other.task(),
        ..wait_of(id, child, Kind::Join)
    };
    let mut snapshot = crossed();
    snapshot.waits[1] = joins(2, c(5), c(6));
    snapshot.waits[2] = joins(3, c(6), c(5));
    assert_eq!(certain(&snapshot).len(), 1);
    snapshot.tasks.push(child(7));
    snapshot.waits.push(wait_of(9, c(7), Kind::Sleep));
    let object = snapshot.waits[0].object.as_mut().unwrap();
    object.readers.push(c(7));
    let found = findings(&snapshot, &snapshot);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].certainty, Certainty::Probable);
}

/// The object of a scope names eight children. The others say themselves whose they are.
#[test]
fn children_that_the_scope_does_not_name_are_known() {
    let mut snapshot = parallel();
    let object = snapshot.waits[0].object.as_mut().unwrap();
    object.unnamed = 1;
    object.readers.pop();
    assert_eq!(certain(&snapshot).len(), 1);
    let object = snapshot.waits[0].object.as_mut().unwrap();
    object.unnamed = 2;
    assert_eq!(certain(&snapshot), []);
}

/// A child may have given its guard to its owner.
#[test]
fn a_child_that_has_ended_has_lost_nothing() {
    let snapshot = Snapshot {
        tasks: vec![task(8, 1)],
        waits: vec![waits(1, Waiter::Task(8), 10, c(5))],
        ..Snapshot::default()
    };
    assert_eq!(findings(&snapshot, &snapshot), []);
    let mut lost = snapshot;
    lost.waits[0] = waits(1, Waiter::Task(8), 10, Waiter::Task(5));
    assert_eq!(findings(&lost, &lost).len(), 1);
}

/// A file that was made by hand may have any numbers.
#[test]
fn owners_in_a_circle_have_names_and_no_findings() {
    let mut snapshot = crossed();
    for (task, other) in snapshot.tasks[1..].iter_mut().zip([c(6), c(5)]) {
        task.child_of.as_mut().unwrap().owner = other;
    }
    let name = of_waiter(&snapshot, c(5));
    assert!(name.starts_with("child 5 of child 6 of child 5"), "{name}");
    _ = findings(&snapshot, &snapshot);
}
