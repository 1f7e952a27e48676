//! The judgement of runs that are made by hand.

use blitz_io_inspect::lint::{
    Edge, Event, Finding, Growth, Leak, Lint, Permits, Run, Side, Step, Storm, Write, judge, sarif,
};
use blitz_io_inspect::{Certainty, Kind, Waiter};

/// A lock of its own line, taken at a line that says so.
fn side(lock: &str, kind: Kind, at: u32) -> Side {
    Side {
        lock: lock.to_owned(),
        kind,
        name: None,
        made_at: None,
        at: Some(format!("main.rs:{at}")),
    }
}

/// A task takes one lock within another one.
fn edge(task: u64, from: (&str, Kind), to: (&str, Kind)) -> Edge {
    let line = u32::try_from(task).unwrap() * 10;
    Edge {
        from: side(from.0, from.1, line),
        to: side(to.0, to.1, line + 1),
        owner: Some(Waiter::Task(task)),
        owner_at: None,
        is_movable: false,
        is_joined: false,
        is_beside: false,
        gates: vec![],
    }
}

fn locks(task: u64, from: &str, to: &str) -> Edge {
    edge(task, (from, Kind::Mutex), (to, Kind::Mutex))
}

fn found(edges: Vec<Edge>) -> Vec<Finding> {
    judge(&[Run {
        edges,
        ..Run::default()
    }])
}

#[test]
fn a_cycle_of_three_is_one_finding_with_all_its_lines() {
    let all = found(vec![
        locks(1, "a", "b"),
        locks(2, "b", "c"),
        locks(3, "c", "a"),
        locks(4, "c", "d"),
        locks(5, "e", "a"),
    ]);
    assert_eq!(all.len(), 1, "{all:#?}");
    assert_eq!(all[0].certainty, Certainty::Certain);
    let lines = ["10", "11", "20", "21", "30", "31"].map(|line| format!("main.rs:{line}"));
    assert!(all[0].lines().into_iter().eq(lines.iter()));
    assert_eq!(
        found(vec![
            locks(1, "a", "b"),
            locks(2, "b", "c"),
            locks(3, "a", "c")
        ]),
        []
    );
}

#[test]
fn a_future_of_block_on_is_named_so() {
    let mut edge = locks(1, "a", "b");
    edge.owner = Some(Waiter::Task((1 << 52) + 3));
    let all = found(vec![edge, locks(2, "b", "a")]);
    let text = all[0].text();
    assert!(text.contains("block_on 3 holds"), "{text}");
}

/// The lines at which tasks were spawned are for the reader. The same locks at the same lines are one finding, whoever
/// takes them.
#[test]
fn owners_have_the_lines_at_which_they_began() {
    let of = |at: &str| {
        let (mut root, mut task) = (locks(1, "a", "b"), locks(2, "b", "a"));
        root.owner = Some(Waiter::Task((1 << 52) + 3));
        let folder = "/u/me/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/";
        root.owner_at = Some("tests/it.rs:60".into());
        task.owner_at = Some(format!("{folder}axum-0.8.9/src/serve/mod.rs:{at}"));
        Run {
            edges: vec![root, task],
            ..Run::default()
        }
    };
    let all = judge(&[of("389"), of("390")]);
    assert_eq!((all.len(), all[0].count), (1, 2), "{all:#?}");
    assert_eq!(all[0].lines().len(), 4);
    let text = all[0].text();
    for part in [
        "  block_on at tests/it.rs:60 holds Mutex",
        "  task 2, spawned at axum-0.8.9/src/serve/mod.rs:389, holds Mutex",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn modes_that_share_a_lock_are_no_joint_of_a_cycle() {
    use Kind::{Mutex, Read, ThreadRead, ThreadReadAgain, ThreadUpgradable, ThreadWrite, Write};
    let both = |held, wanted| {
        let way = |task, from, to| edge(task, (from, held), (to, wanted));
        found(vec![way(1, "a", "b"), way(2, "b", "a")]).len()
    };
    for (held, wanted) in [
        (Read, Read),
        (ThreadRead, ThreadRead),
        (ThreadRead, ThreadReadAgain),
        (ThreadUpgradable, ThreadRead),
        (ThreadRead, ThreadUpgradable),
    ] {
        assert_eq!(both(held, wanted), 0, "{held:?} {wanted:?}");
    }
    for (held, wanted) in [
        (Read, Write),
        (Write, Read),
        (Mutex, Mutex),
        (ThreadUpgradable, ThreadUpgradable),
        (ThreadUpgradable, ThreadWrite),
        (ThreadWrite, ThreadReadAgain),
    ] {
        assert_eq!(both(held, wanted), 1, "{held:?} {wanted:?}");
    }
}

#[test]
fn one_lock_of_readers_breaks_a_cycle_with_other_locks() {
    let one = edge(1, ("a", Kind::Read), ("b", Kind::Mutex));
    let two = edge(2, ("b", Kind::Mutex), ("a", Kind::Read));
    assert_eq!(found(vec![one, two]), []);
}

#[test]
fn a_common_lock_must_be_that_of_all_owners() {
    let within = |mut edge: Edge, gates: &[&str]| {
        edge.gates = gates.iter().map(|&gate| gate.to_owned()).collect();
        edge
    };
    let one = || within(locks(1, "a", "b"), &["g", "h"]);
    assert_eq!(found(vec![one(), within(locks(2, "b", "a"), &["g"])]), []);
    assert_eq!(
        found(vec![one(), within(locks(2, "b", "a"), &["i"])]).len(),
        1
    );
    assert_eq!(found(vec![one(), locks(2, "b", "a")]).len(), 1);
}

#[test]
fn doubts_make_a_cycle_probable_and_other_futures_of_the_task_none() {
    let one = || locks(1, "a", "b");
    let certainty = |other: Edge| found(vec![one(), other])[0].certainty;
    assert_eq!(certainty(locks(2, "b", "a")), Certainty::Certain);
    assert_eq!(certainty(locks(1, "b", "a")), Certainty::Probable);
    let mut moved = locks(2, "b", "a");
    moved.is_movable = true;
    assert_eq!(certainty(moved), Certainty::Probable);
    let mut joined = locks(2, "b", "a");
    joined.is_joined = true;
    assert_eq!(found(vec![one(), joined]), []);
}

/// The task of a connection waits for its socket beside the handler that takes the locks.
#[test]
fn handlers_of_two_connections_are_a_probable_cycle() {
    let beside = |task, from, to| {
        let mut edge = locks(task, from, to);
        edge.is_beside = true;
        edge
    };
    let all = found(vec![beside(1, "a", "b"), beside(2, "b", "a")]);
    assert_eq!((all.len(), all[0].certainty), (1, Certainty::Probable));
    assert!(all[0].summary.contains("as a connection does"), "{all:#?}");
    let mixed = found(vec![locks(1, "a", "b"), beside(2, "b", "a")]);
    assert_eq!((mixed.len(), mixed[0].certainty), (1, Certainty::Probable));
    // Two futures of one task may each have one of the locks.
    assert_eq!(found(vec![beside(1, "a", "b"), beside(1, "b", "a")]), []);
}

/// Two locks and the lines at which they were created.
fn made(task: u64, from: (&str, &str), to: (&str, &str)) -> Edge {
    let mut edge = locks(task, from.0, to.0);
    edge.from.made_at = Some(from.1.to_owned());
    edge.to.made_at = Some(to.1.to_owned());
    edge
}

#[test]
fn classes_are_lines_and_locks_of_one_class_are_told_apart() {
    let all = found(vec![
        made(1, ("a1", "x"), ("b1", "y")),
        made(2, ("b2", "y"), ("a2", "x")),
    ]);
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].certainty, Certainty::Probable);
    assert_eq!(
        found(vec![
            made(1, ("a1", "x"), ("a2", "x")),
            made(2, ("a2", "x"), ("a3", "x")),
        ]),
        []
    );
}

#[test]
fn locks_that_std_made_are_no_class() {
    let arc = "/rustc/0123/library/alloc/src/sync.rs:3596:10";
    let cycle = |other| {
        found(vec![
            made(1, ("a", arc), ("b", "main.rs:3:4")),
            made(2, ("b", "main.rs:3:4"), (other, arc)),
        ])
    };
    assert_eq!(cycle("c"), []);
    assert_eq!(cycle("a").len(), 1);
}

#[test]
fn runs_with_the_same_lines_are_one_finding() {
    let run = |edges| Run {
        edges,
        ..Run::default()
    };
    let both = || vec![locks(1, "a", "b"), locks(2, "b", "a")];
    // The locks of two processes are different ones, even if their numbers are the same.
    let halves = both().into_iter().map(|edge| run(vec![edge]));
    assert_eq!(judge(&halves.collect::<Vec<_>>()), []);
    let all = judge(&[run(both()), run(both())]);
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].count, 2);
}

#[test]
fn short_waits_for_locks_are_no_finding() {
    let event = |kind, longest_ns| Run {
        blocked: vec![Event {
            side: Some(side("a", kind, 1)),
            holder_at: Some("main.rs:9".into()),
            longest_ns,
            count: 1,
            ..Event::default()
        }],
        ..Run::default()
    };
    assert_eq!(judge(&[event(Kind::ThreadMutex, 999_999)]), []);
    let all = judge(&[event(Kind::ThreadMutex, 1_000_000)]);
    assert_eq!((all.len(), all[0].lint), (1, Lint::BlockingInPoll));
    assert!(all[0].lines().contains("main.rs:9"));
    assert_eq!(judge(&[event(Kind::ThreadSemaphore, 1)]).len(), 1);
}

/// A service whose tasks are spawned by a library: the request and the lines around the computation say which code it is.
#[test]
fn a_long_poll_has_its_request_and_the_lines_around_it() {
    let poll = |request: &str, between: [Option<&str>; 2]| Event {
        task: Some(Waiter::Task(4)),
        task_at: Some("axum.rs:389".into()),
        request: Some(request.into()),
        between: between.map(|at| at.map(str::to_owned)),
        longest_ns: 40_000_000,
        count: 1,
        ..Event::default()
    };
    let found = judge(&[Run {
        polls: vec![
            poll("GET /hash", [Some("main.rs:28"), Some("main.rs:34")]),
            poll("GET /a", [None; 2]),
            poll("GET /b", [None; 2]),
        ],
        ..Run::default()
    }]);
    let texts: Vec<String> = found.iter().map(Finding::text).collect();
    assert_eq!(texts.len(), 3, "{texts:#?}");
    let first = "certain: blocking-in-poll: a poll takes 40.0 ms, 0.0 ms of it on a processor\n  \
                 task 4 (GET /hash), spawned at axum.rs:389\n    \
                 the longest part of it between main.rs:28 and main.rs:34\n";
    assert_eq!(texts[0], first);
    assert!(
        texts[2].contains("task 4 (GET /b), spawned at axum.rs:389\n"),
        "{texts:#?}"
    );
    let lines: Vec<&str> = found[0].lines().into_iter().collect();
    assert_eq!(lines, ["axum.rs:389", "main.rs:28", "main.rs:34"]);
}

/// The line of the spawn is that of the server's package, and says nothing about the request.
#[test]
fn a_poll_of_a_server_without_requests_has_advice() {
    let text = |request: Option<&str>, task_at: &str| {
        let event = Event {
            task: Some(Waiter::Task(4)),
            task_at: Some(task_at.to_owned()),
            request: request.map(str::to_owned),
            longest_ns: 40_000_000,
            count: 1,
            ..Event::default()
        };
        let run = Run {
            polls: vec![event],
            ..Run::default()
        };
        judge(&[run])[0].text()
    };
    let axum =
        "/u/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/axum-0.8.9/src/serve/mod.rs:7";
    assert!(text(None, axum).contains("RequestLayer"));
    assert!(!text(Some("GET /hash"), axum).contains("RequestLayer"));
    assert!(!text(None, "src/main.rs:7").contains("RequestLayer"));
}

#[test]
fn a_text_names_each_owner_and_both_of_its_lines() {
    let all = found(vec![locks(1, "a", "b"), locks(2, "b", "a")]);
    let text = all[0].text();
    for part in [
        "certain: lock-order: Mutex #1 and Mutex #2 are taken in both orders\n",
        "task 1 holds Mutex #1\n      at main.rs:10\n    and takes Mutex #2\n      at main.rs:11\n",
        "task 2 holds Mutex #2\n      at main.rs:20\n    and takes Mutex #1\n      at main.rs:21\n",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

/// Locks with a line of their own need no number.
#[test]
fn locks_that_look_the_same_have_numbers() {
    let mut edges = vec![locks(1, "a", "b"), locks(2, "b", "a")];
    for edge in &mut edges {
        for side in [&mut edge.from, &mut edge.to] {
            side.made_at = Some(format!("main.rs:{}", side.lock));
        }
    }
    let text = found(edges)[0].text();
    let headline = "Mutex created at main.rs:a and Mutex created at main.rs:b are taken";
    assert!(text.contains(headline), "{text}");
    assert!(text.contains("holds Mutex created at main.rs:a"), "{text}");
    assert!(!text.contains('#'), "{text}");
    let mut edges = vec![locks(1, "a", "b"), locks(2, "b", "a")];
    for edge in &mut edges {
        for side in [&mut edge.from, &mut edge.to] {
            side.made_at = Some("main.rs:5".into());
        }
    }
    let text = found(edges)[0].text();
    let headline = "Mutex #1 created at main.rs:5 and Mutex #2 created at main.rs:5 are taken";
    assert!(text.contains(headline), "{text}");
    assert!(
        text.contains("holds Mutex #2 created at main.rs:5"),
        "{text}"
    );
}

#[test]
fn a_lock_is_read_twice_only_if_another_owner_may_write_in_between() {
    let run = |writer: u64, gates: (&[&str], &[&str]), is_joined| {
        let owned = |gates: &[&str]| gates.iter().map(|&gate| gate.to_owned()).collect();
        let mut reads = edge(1, ("a", Kind::Read), ("a", Kind::Read));
        reads.gates = owned(gates.0);
        reads.is_joined = is_joined;
        let write = Write {
            side: side("a", Kind::Write, 7),
            owner: Some(Waiter::Task(writer)),
            owner_at: None,
            gates: owned(gates.1),
        };
        let found = judge(&[Run {
            edges: vec![reads],
            writes: vec![write],
            ..Run::default()
        }]);
        found.len()
    };
    assert_eq!(run(2, (&[], &[]), false), 1);
    assert_eq!(run(1, (&[], &[]), false), 0);
    assert_eq!(run(2, (&["g"], &["g"]), false), 0);
    assert_eq!(run(2, (&["g"], &["h"]), false), 1);
    assert_eq!(run(2, (&[], &[]), true), 0);
    assert_eq!(
        found(vec![edge(1, ("a", Kind::Read), ("a", Kind::Read))]),
        []
    );
}

#[test]
fn a_guard_that_is_kept_for_long_says_for_how_long() {
    let text = |longest_ns| {
        let guard = Event {
            side: Some(side("a", Kind::Mutex, 9)),
            count: 1,
            longest_ns,
            ..Event::default()
        };
        let found = judge(&[Run {
            guards: vec![guard],
            ..Run::default()
        }]);
        assert_eq!((found.len(), found[0].lint), (1, Lint::GuardAcrossAwait));
        found[0].summary.clone()
    };
    assert_eq!(text(0), "a task keeps the guard of Mutex over an await");
    let long = "a task keeps the guard of Mutex over awaits for 1200.0 ms, and others wait for it";
    assert_eq!(text(1_200_000_000), long);
}

/// Returns the lints of a run, and whether they are for those who ask for all.
fn lints(run: Run) -> Vec<(Lint, bool)> {
    let found = judge(&[run]);
    found.iter().map(|f| (f.lint, f.is_pedantic)).collect()
}

#[test]
fn what_is_handed_to_a_future_that_is_not_polled_is_a_risk_if_it_is_a_lock() {
    let run = |kind| Run {
        handed: vec![Event {
            side: Some(side("a", kind, 1)),
            count: 1,
            ..Event::default()
        }],
        ..Run::default()
    };
    for kind in [Kind::Mutex, Kind::Read, Kind::Write] {
        assert_eq!(lints(run(kind)), [(Lint::FuturelockRisk, false)]);
    }
    for kind in [Kind::Semaphore, Kind::Notify, Kind::MpscSend] {
        assert_eq!(lints(run(kind)), [(Lint::FuturelockRisk, true)]);
    }
}

#[test]
fn a_channel_grows_if_it_is_received_from_and_never_shorter() {
    let growth = |longer, shorter, length, receiver: Option<u64>| Run {
        channels: vec![Growth {
            side: side("a", Kind::MpscReceive, 1),
            sender: Some(Waiter::Task(1)),
            sender_at: Some("main.rs:3".into()),
            receiver: receiver.map(Waiter::Task),
            receiver_at: None,
            longer,
            shorter,
            length,
        }],
        ..Run::default()
    };
    let text = judge(&[growth(16, 0, 8_192, Some((1 << 52) + 3))])[0].text();
    assert!(text.contains("  task 1, spawned at main.rs:3\n"), "{text}");
    assert!(text.contains("  block_on 3 waits for "), "{text}");
    let expected = [(Lint::UnboundedGrowth, false)];
    assert_eq!(lints(growth(16, 0, 8_192, Some(2))), expected);
    assert_eq!(lints(growth(15, 0, 8_192, Some(2))), []);
    assert_eq!(lints(growth(16, 1, 8_192, Some(2))), []);
    assert_eq!(lints(growth(16, 0, 8_191, Some(2))), []);
    assert_eq!(lints(growth(16, 0, 8_192, None)), []);
}

#[test]
fn a_permit_is_lost_if_the_semaphore_goes_on_with_fewer() {
    let permits = |forgotten, taken, is_awaited, is_refilled| Run {
        permits: vec![Permits {
            side: side("a", Kind::Semaphore, 1),
            owner: None,
            owner_at: None,
            forgotten,
            taken,
            is_awaited,
            is_refilled,
        }],
        ..Run::default()
    };
    let lost = [(Lint::LostPermit, false)];
    assert_eq!(lints(permits(1, 1, false, false)), lost);
    assert_eq!(lints(permits(1, 0, true, false)), lost);
    assert_eq!(lints(permits(1, 0, false, false)), []);
    assert_eq!(lints(permits(1, 1, true, true)), []);
    assert_eq!(lints(permits(0, 1, true, false)), []);
}

#[test]
fn a_storm_wakes_many_for_one_and_a_loop_is_none() {
    let storm = |tasks, again, progressed| Run {
        storms: vec![Storm {
            side: side("a", Kind::Notify, 1),
            task_at: None,
            task: None,
            tasks,
            again,
            progressed,
        }],
        ..Run::default()
    };
    assert_eq!(lints(storm(8, 1_000, 16)), [(Lint::WakeStorm, true)]);
    // Too few tasks; too few wakes; tasks that only leave their loops; tasks that have work each time.
    assert_eq!(lints(storm(7, 1_000, 16)), []);
    assert_eq!(lints(storm(8, 999, 16)), []);
    assert_eq!(lints(storm(8, 1_000, 8)), []);
    assert_eq!(lints(storm(8, 1_000, 251)), []);
}

#[test]
fn a_task_that_is_left_is_a_finding_for_all_if_it_is_certain() {
    let leak = |certainty| Run {
        leaks: vec![Leak {
            certainty,
            summary: "task 1 waits for itself".into(),
            steps: vec![Step {
                who: Some(Waiter::Task(1)),
                ..Step::default()
            }],
        }],
        ..Run::default()
    };
    assert_eq!(lints(leak(Certainty::Certain)), [(Lint::LeakedTask, false)]);
    assert_eq!(lints(leak(Certainty::Probable)), [(Lint::LeakedTask, true)]);
}

#[test]
fn a_log_in_sarif_has_each_finding_with_its_rule_and_lines() {
    let all = found(vec![locks(1, "a", "b"), locks(2, "b", "a")]);
    let log = sarif(&[(&all[0], None), (&all[0], Some("why"))], "1", true);
    let run = &log["runs"][0];
    let (result, allowed) = (&run["results"][0], &run["results"][1]);
    let rule = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
    assert_eq!(run["tool"]["driver"]["rules"][rule]["id"], "lock-order");
    assert_eq!(
        result["locations"][0]["physicalLocation"]["region"]["startLine"],
        10
    );
    assert_eq!(result["relatedLocations"].as_array().unwrap().len(), 3);
    assert!(result.get("suppressions").is_none());
    assert_eq!(allowed["suppressions"][0]["justification"], "why");
}
