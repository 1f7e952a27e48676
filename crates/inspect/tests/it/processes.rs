//! The judgement of joined snapshots of several processes, which are made by hand.

use blitz_io_inspect::{
    Certainty, End, Finding, Job, Kind, Object, Peer, Process, ProcessState, Snapshot, Wait,
    Waiter, dot, findings, join, of_waiter, report, report_within, tree,
};

use Waiter::{Process as P, Thread as H};

use crate::judgement::wait_of;

const ONE: u32 = 101;
const TWO: u32 = 102;

fn process(pid: u32, state: ProcessState) -> Process {
    Process {
        pid,
        command: format!("/usr/bin/server-{pid} --verbose"),
        state,
        idle_ms: Some(12_340),
        ..Process::default()
    }
}

fn peer(participant: usize, pid: u32, sends: bool, holds: bool) -> Peer {
    Peer {
        participant,
        pid,
        started: 7,
        sends,
        holds,
    }
}

/// The end of a participant, which thread 1 of its process uses.
fn end(pid: u32, segment: u64, kind: &str, participant: usize, peers: &[Peer]) -> End {
    End {
        object: segment * 10,
        pid,
        path: format!("/run/{segment}"),
        segment,
        kind: kind.into(),
        participant,
        user: Some(H(1)),
        peers: peers.to_vec(),
        is_open: false,
    }
}

/// Thread 1 waits for an end.
fn wait(kind: Kind, segment: u64) -> Wait {
    Wait {
        object: Some(Object {
            id: segment * 10,
            ..Object::default()
        }),
        waiting_ms: 500,
        ..wait_of(1 << 40, H(1), kind)
    }
}

/// A process with one thread, which waits.
fn snapshot(pid: u32, wait: Wait, ends: Vec<End>) -> Snapshot {
    let own = Process {
        has_records: true,
        threads: 1,
        ..process(pid, ProcessState::Running)
    };
    Snapshot {
        pid,
        waits: vec![wait],
        ends,
        processes: vec![own],
        ..Snapshot::default()
    }
}

fn joined(one: &Snapshot, two: &Snapshot) -> Snapshot {
    let sleeping = |pid| process(pid, ProcessState::Sleeping);
    let parts = [(sleeping(ONE), one), (sleeping(TWO), two)];
    join(parts.map(|(process, snapshot)| (process, Some(snapshot.clone()))))
}

/// Two processes take two locks in two orders.
fn locks() -> [Snapshot; 2] {
    let own = |holder: u32| {
        [
            peer(0, ONE, false, holder == ONE),
            peer(1, TWO, false, holder == TWO),
        ]
    };
    let ends = |pid, participant| {
        vec![
            end(pid, 1, "semaphore", participant, &own(ONE)),
            end(pid, 2, "semaphore", participant, &own(TWO)),
        ]
    };
    [
        snapshot(ONE, wait(Kind::IpcSemaphore, 2), ends(ONE, 0)),
        snapshot(TWO, wait(Kind::IpcSemaphore, 1), ends(TWO, 1)),
    ]
}

/// Two processes wait for each other's message.
fn routes() -> [Snapshot; 2] {
    let peers = |sender: u32, receiver: u32| {
        [
            peer(0, sender, true, false),
            peer(1, receiver, false, false),
        ]
    };
    let (from_one, from_two) = (peers(ONE, TWO), peers(TWO, ONE));
    [
        snapshot(
            ONE,
            wait(Kind::IpcReceive, 2),
            vec![
                end(ONE, 1, "route", 0, &from_one),
                end(ONE, 2, "route", 1, &from_two),
            ],
        ),
        snapshot(
            TWO,
            wait(Kind::IpcReceive, 1),
            vec![
                end(TWO, 1, "route", 1, &from_one),
                end(TWO, 2, "route", 0, &from_two),
            ],
        ),
    ]
}

fn found(one: &Snapshot, two: &Snapshot) -> Vec<Finding> {
    let joined = joined(one, two);
    findings(&joined, &joined)
}

/// The only finding of a snapshot.
fn only(one: &Snapshot, two: &Snapshot) -> Finding {
    let found = found(one, two);
    assert_eq!(found.len(), 1, "{found:#?}");
    found.into_iter().next().unwrap()
}

#[test]
fn crossed_locks_of_two_processes_are_a_deadlock() {
    let [one, two] = locks();
    let finding = only(&one, &two);
    assert_eq!(finding.certainty, Certainty::Certain);
    assert_eq!(finding.kind, "deadlock");
    let snapshot = joined(&one, &two);
    let names = finding
        .waiters
        .iter()
        .map(|&waiter| of_waiter(&snapshot, waiter));
    let names: Vec<String> = names.collect();
    assert_eq!(names, ["thread 1", "thread 1 of process 102"]);
    // Each process alone has no finding.
    assert_eq!(findings(&one, &one), []);
    assert_eq!(findings(&two, &two), []);
}

#[test]
fn a_free_permit_ends_the_wait() {
    let [mut one, two] = locks();
    one.ends[1].is_open = true;
    assert_eq!(found(&one, &two), []);
}

#[test]
fn an_owner_that_does_not_answer_may_release() {
    let [one, _] = locks();
    let parts = [
        (process(ONE, ProcessState::Sleeping), Some(one)),
        (process(TWO, ProcessState::Sleeping), None),
    ];
    let joined = join(parts);
    assert_eq!(findings(&joined, &joined), []);
}

#[test]
fn a_lock_with_a_deadline_is_no_deadlock() {
    let [one, mut two] = locks();
    two.waits[0].is_timed = true;
    assert_eq!(found(&one, &two), []);
}

#[test]
fn processes_whose_threads_all_wait_for_each_others_message_are_a_deadlock() {
    let [one, two] = routes();
    let finding = only(&one, &two);
    assert_eq!(finding.certainty, Certainty::Certain);
    assert_eq!(finding.kind, "deadlock");
    let mut waiters = finding.waiters;
    waiters.sort();
    assert_eq!(waiters, [P(ONE), P(TWO)]);
    assert_eq!(finding.waits.len(), 2);
}

#[test]
fn a_thread_without_a_record_may_send() {
    let [one, mut two] = routes();
    two.processes[0].threads = 2;
    assert_eq!(only(&one, &two).certainty, Certainty::Probable);
    // It is not even likely if the thread that has the sender does not wait.
    two.ends[1].user = Some(H(2));
    assert_eq!(found(&one, &two), []);
}

#[test]
fn another_sender_may_join() {
    let [mut one, two] = routes();
    one.ends[1].is_open = true;
    assert_eq!(only(&one, &two).certainty, Certainty::Probable);
}

#[test]
fn a_second_sender_may_send() {
    let [mut one, two] = routes();
    one.ends[1].peers.push(peer(2, 103, true, false));
    assert_eq!(found(&one, &two), []);
}

#[test]
fn a_claimed_position_waits_for_its_sender_alone() {
    let [mut one, two] = routes();
    one.ends[1].peers.push(peer(2, 103, true, false));
    one.ends[1].peers[0].holds = true;
    assert_eq!(only(&one, &two).certainty, Certainty::Certain);
}

#[test]
fn a_process_that_waits_for_its_own_message_waits_for_itself() {
    let peers = [peer(0, ONE, true, false), peer(1, ONE, false, false)];
    let ends = vec![
        end(ONE, 1, "route", 0, &peers),
        End {
            object: 11,
            ..end(ONE, 1, "route", 1, &peers)
        },
    ];
    let mut wait = wait(Kind::IpcReceive, 1);
    wait.object.as_mut().unwrap().id = 11;
    let snapshot = snapshot(ONE, wait, ends);
    let found = findings(&snapshot, &snapshot);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].kind, "self-wait");
    assert_eq!(found[0].certainty, Certainty::Certain);
}

/// A full route with two receivers, and the states of their processes.
fn full(states: [ProcessState; 2], holds: [bool; 2]) -> Snapshot {
    let peers = [
        peer(0, ONE, true, false),
        peer(1, TWO, false, holds[0]),
        peer(2, 103, false, holds[1]),
    ];
    let ends = vec![end(ONE, 1, "route", 0, &peers)];
    let own = snapshot(ONE, wait(Kind::IpcSend, 1), ends);
    join([
        (process(ONE, ProcessState::Sleeping), Some(own)),
        (process(TWO, states[0]), None),
        (process(103, states[1]), None),
    ])
}

#[test]
fn the_slowest_receiver_that_is_stopped_is_probably_why() {
    use ProcessState::{Sleeping, Stopped};
    let snapshot = full([Stopped, Sleeping], [true, false]);
    let found = findings(&snapshot, &snapshot);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].kind, "stopped-peer");
    assert_eq!(found[0].certainty, Certainty::Probable);
    assert_eq!(found[0].waiters, [H(1), P(TWO)]);
    // It went on in between.
    let before = full([Sleeping, Sleeping], [true, false]);
    assert_eq!(findings(&before, &snapshot), []);
    assert_eq!(findings(&snapshot, &before), []);
    // The stopped one keeps no sender waiting.
    let other = full([Stopped, Sleeping], [false, true]);
    assert_eq!(findings(&other, &other), []);
}

#[test]
fn a_receiver_waits_as_long_as_one_of_its_senders_runs() {
    use ProcessState::{Sleeping, Stopped};
    let snapshot = |state| {
        let peers = [
            peer(0, TWO, true, false),
            peer(1, 103, true, false),
            peer(2, ONE, false, false),
        ];
        let ends = vec![end(ONE, 1, "channel", 2, &peers)];
        let own = snapshot(ONE, wait(Kind::IpcReceive, 1), ends);
        join([
            (process(ONE, Sleeping), Some(own)),
            (process(TWO, Stopped), None),
            (process(103, state), None),
        ])
    };
    let (one, both) = (snapshot(Sleeping), snapshot(Stopped));
    assert_eq!(findings(&one, &one), []);
    let found = findings(&both, &both);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].waiters, [H(1), P(TWO), P(103)]);
}

#[test]
fn the_jobs_of_each_process_have_numbers_of_their_own() {
    let job = Job {
        id: 5,
        name: "open".into(),
        thread: Some(1),
        ..Job::default()
    };
    let [mut one, mut two] = routes();
    one.jobs.push(job.clone());
    two.jobs.push(job);
    let joined = joined(&one, &two);
    let names = joined
        .jobs
        .iter()
        .map(|job| of_waiter(&joined, Waiter::Task(job.id)));
    let names: Vec<String> = names.collect();
    assert_eq!(names, ["job 5 \"open\"", "job 5 \"open\" of process 102"]);
    let thread = joined.jobs[1].thread.map(Waiter::Thread);
    assert_eq!(
        thread.and_then(|thread| joined.process_of(thread)),
        joined.process(TWO)
    );
}

#[test]
fn reports_name_the_processes() {
    use ProcessState::{Sleeping, Stopped};
    let snapshot = full([Stopped, Sleeping], [true, false]);
    let found = findings(&snapshot, &snapshot);
    let text = report_within(&snapshot, &found, 60);
    let lines = [
        "probable: stopped-peer: thread 1 waits for ipc::Sender of\n  route \"/run/1\", and process 102 \"server-102\" is stopped\n  until SIGCONT\n",
        "    receiver: process 102 \"server-102\", stopped\n",
        "\nprocess 102: /usr/bin/server-102 --verbose\n  stopped, has not run for 12.3 s, its waits are not known\n",
        "\nprocess 103: /usr/bin/server-103 --verbose\n  sleeping, has not run for 12.3 s, its waits are not known\n",
    ];
    for line in lines {
        assert!(text.contains(line), "{line:?} in\n{text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 60),
        "{text}"
    );
    // A line of a file is found with its whole path.
    let whole = report(&snapshot, &found);
    let first = "probable: stopped-peer: thread 1 waits for ipc::Sender of route \"/run/1\", and process 102 \"server-102\" \
                 is stopped until SIGCONT";
    assert_eq!(whole.lines().next(), Some(first));

    let graph = dot(&snapshot, &found);
    for part in [
        "  subgraph cluster_1 {\n  label=\"process 102 \\\"server-102\\\", stopped\";\n",
        "label=\"route \\\"/run/1\\\"\", color=orange, style=rounded];\n",
        "label=\"ended by\", color=orange, style=dashed];\n",
    ] {
        assert!(graph.contains(part), "{part:?} in\n{graph}");
    }
    let chain = tree(&snapshot, H(1));
    assert!(
        chain.contains("ended by process 102 \"server-102\""),
        "{chain}"
    );
}

#[test]
fn the_graph_has_the_threads_of_each_process() {
    let [one, two] = routes();
    let snapshot = joined(&one, &two);
    let graph = dot(&snapshot, &findings(&snapshot, &snapshot));
    for part in [
        "  subgraph cluster_0 {\n  label=\"process 101 \\\"server-101\\\"\";\n",
        "[shape=box, label=\"thread 1\", color=red];\n",
        "[shape=box, label=\"thread 1 of process 102\", color=red];\n",
    ] {
        assert!(graph.contains(part), "{part:?} in\n{graph}");
    }
    assert!(!graph.contains("black"), "{graph}");
}
