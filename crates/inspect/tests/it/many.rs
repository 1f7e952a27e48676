//! Findings about many tasks, and findings as text without their snapshot.

use blitz_io_inspect::{
    Certainty, Finding, Job, Kind, Object, Snapshot, Wait, Waiter, findings, report,
};

use super::judgement::{task, wait_of};
use Waiter::Task as T;

/// So many closures run, each of which waits for one that is queued.
fn full_pool(count: u64) -> Snapshot {
    let job = |id, thread| Job {
        id,
        thread,
        ..Job::default()
    };
    let waits_for_end = |id| Wait {
        task: Some(id + count),
        blocks_thread: true,
        ..wait_of(id, T(id), Kind::Join)
    };
    let queued = count + 1..=2 * count;
    let running = 1..=count;
    Snapshot {
        jobs: (running.clone().map(|id| job(id, Some(id))))
            .chain(queued.clone().map(|id| job(id, None)))
            .collect(),
        waits: (running.map(waits_for_end))
            .chain(queued.map(|id| wait_of(id, T(id), Kind::QueuedJob)))
            .collect(),
        ..Snapshot::default()
    }
}

#[test]
fn a_summary_names_eight_closures_and_counts_the_others() {
    let summary = |count| {
        let found = findings(&full_pool(count), &full_pool(count));
        assert_eq!(found[0].kind, "pool-starvation");
        found[0].summary.clone()
    };
    let all = "job 1, job 2, job 3, job 4, job 5, job 6, job 7, job 8";
    let eight = format!("job 9 is queued, and {all} wait for queued jobs on all threads, ");
    assert!(summary(8).starts_with(&eight), "{}", summary(8));
    let more =
        format!("job 513 is queued, and {all}, and 504 more wait for queued jobs on all threads, ");
    assert!(summary(512).starts_with(&more), "{}", summary(512));
}

/// Two tasks hold the locks for which they wait.
fn crossed() -> Snapshot {
    let waits = [(1, 2), (2, 1)].map(|(id, holder)| Wait {
        object: Some(Object {
            id,
            holder: Some(T(holder)),
            taken_at: format!("main.rs:{holder}0"),
            ..Object::default()
        }),
        location: format!("main.rs:{id}5"),
        ..wait_of(id, T(id), Kind::Mutex)
    });
    Snapshot {
        tasks: vec![task(1, 1), task(2, 1)],
        waits: waits.to_vec(),
        ..Snapshot::default()
    }
}

#[test]
fn a_finding_is_shown_with_its_waits_and_lines() {
    let found = findings(&crossed(), &crossed());
    let text = "certain: deadlock: task 1 \"t1\", task 2 \"t2\" wait for each other
  task 1 waits 2.0 s for Mutex #1
    at main.rs:15
    held by task 2 since main.rs:20
  task 2 waits 2.0 s for Mutex #2
    at main.rs:25
    held by task 1 since main.rs:10";
    assert_eq!(found[0].to_string(), text);
    let full = report(&crossed(), &found);
    let (first, _) = text.split_once('\n').unwrap();
    assert!(full.starts_with(&format!("{first}\n")), "{full}");
}

/// The summary says all about tasks that were not polled.
#[test]
fn a_finding_without_waits_is_one_line() {
    let finding = Finding {
        certainty: Certainty::Probable,
        kind: "not-polled".into(),
        summary: "task 1 could go on".into(),
        waiters: vec![T(1)],
        waits: vec![],
        further: vec![],
    };
    let text = "probable: not-polled: task 1 could go on";
    assert_eq!(finding.to_string(), text);
}

/// Other tasks may be at the barrier, and the finding does not have them.
#[test]
fn a_finding_does_not_count_who_is_at_a_barrier() {
    let wait = Wait {
        object: Some(Object {
            id: 7,
            parties: Some(3),
            ..Object::default()
        }),
        ..wait_of(1, T(1), Kind::Barrier)
    };
    let finding = Finding {
        certainty: Certainty::Probable,
        kind: "deadlock".into(),
        summary: "task 1 waits".into(),
        waiters: vec![T(1)],
        waits: vec![wait],
        further: vec![],
    };
    let text = finding.to_string();
    assert!(text.contains("a barrier for 3"), "{text}");
    assert!(!text.contains("are here"), "{text}");
}
