//! Runs each program and asks it from outside, as `blitz why` does, what it waits for.
#![cfg(unix)]

mod program;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[cfg(target_os = "linux")]
use blitz_io_inspect::Frame;
#[cfg(target_os = "linux")]
use blitz_io_inspect::ask_with_stacks;
use blitz_io_inspect::{Answer, Certainty, Fill, Finding, Wait, Waiter, ask, of_waiter, report};
use program::Program;

impl Program {
    /// Asks until the answer has come to this state.
    fn until(&mut self, is_there: impl Fn(&Answer) -> bool) -> Answer {
        self.until_asked(ask, is_there)
    }

    /// The same with another question.
    fn until_asked(
        &mut self,
        ask: impl Fn(u32, &str) -> std::io::Result<Answer>,
        is_there: impl Fn(&Answer) -> bool,
    ) -> Answer {
        loop {
            self.still_runs();
            match ask(self.0.id(), "blitz-io-hangs") {
                Ok(answer) if is_there(&answer) => return answer,
                _ => std::thread::yield_now(),
            }
        }
    }
}

/// Waits for a finding, whose certainty, kind and number of waiters must be these.
fn finds(program: &str, certainty: Certainty, kind: &str, waiters: usize) -> (Answer, Finding) {
    let mut program = Program::start(program);
    let answer = program.until(|answer| answer.findings.iter().any(|f| f.kind == kind));
    let finding = answer
        .findings
        .iter()
        .find(|f| f.kind == kind)
        .unwrap()
        .clone();
    assert_eq!(finding.certainty, certainty, "{finding:#?}");
    assert_eq!(finding.waiters.len(), waiters, "{finding:#?}");
    (answer, finding)
}

/// The names of the tasks and objects of a finding, and the files of its locations.
fn names(answer: &Answer, finding: &Finding) -> (Vec<String>, Vec<String>) {
    let task = |waiter: &Waiter| Some(answer.snapshot.task(waiter.task()?)?.name.clone());
    let mut tasks: Vec<String> = finding.waiters.iter().filter_map(task).collect();
    tasks.sort();
    let object = |wait: &blitz_io_inspect::Wait| wait.object.as_ref()?.name.clone();
    let mut objects: Vec<String> = finding.waits.iter().filter_map(object).collect();
    objects.sort();
    objects.dedup();
    (tasks, objects)
}

fn at(finding: &Finding, file: &str) {
    for wait in finding.waits.iter().filter(|wait| wait.task.is_none()) {
        assert!(wait.location.contains(file), "{wait:#?}");
    }
}

#[test]
fn two_mutexes() {
    let (answer, finding) = finds("two_mutexes", Certainty::Certain, "deadlock", 2);
    let (tasks, objects) = names(&answer, &finding);
    assert_eq!(tasks, ["report", "transfer"]);
    assert_eq!(objects, ["accounts", "audit"]);
    at(&finding, "locks.rs");
}

#[test]
fn three_locks() {
    let (answer, finding) = finds("three_locks", Certainty::Certain, "deadlock", 3);
    assert_eq!(names(&answer, &finding).0, ["philosopher"; 3]);
    at(&finding, "locks.rs");
}

#[test]
fn self_lock() {
    let (answer, finding) = finds("self_lock", Certainty::Certain, "self-wait", 1);
    assert_eq!(
        names(&answer, &finding),
        (vec!["refresh".into()], vec!["cache".into()])
    );
    at(&finding, "locks.rs");
}

#[test]
fn block_on_self_lock() {
    let (answer, finding) = finds("block_on_self_lock", Certainty::Certain, "self-wait", 1);
    assert!(finding.summary.starts_with("block_on at "), "{finding:#?}");
    assert_eq!(names(&answer, &finding).1, ["cache"]);
    at(&finding, "locks.rs");
}

/// A signal makes the program print what `blitz why` says.
#[test]
fn a_signal_prints_the_report() {
    let mut program = Program::start("two_mutexes");
    program.until(|answer| answer.findings.iter().any(|f| f.kind == "deadlock"));
    let pid = program.0.id().to_string();
    let sent = Command::new("kill").args(["-QUIT", &pid]).status();
    assert!(sent.expect("kill is a program of each Unix").success());
    let mut lines = BufReader::new(program.0.stderr.take().expect("it is a pipe")).lines();
    let is_it = |line: &String| line.starts_with("certain: deadlock: ");
    assert!(lines.by_ref().map(Result::unwrap).any(|line| is_it(&line)));
}

#[test]
fn read_twice() {
    let (answer, finding) = finds("read_twice", Certainty::Certain, "self-wait", 1);
    assert_eq!(
        names(&answer, &finding),
        (vec!["reader".into()], vec!["config".into()])
    );
    at(&finding, "locks.rs");
}

#[test]
fn futurelock() {
    let (answer, finding) = finds("futurelock_select", Certainty::Certain, "futurelock", 1);
    assert_eq!(
        names(&answer, &finding),
        (vec!["futurelock".into()], vec!["shared".into()])
    );
    assert_eq!(finding.waits.len(), 2, "both futures: {finding:#?}");
    at(&finding, "locks.rs");
}

/// The client may leave, and then the task goes on.
#[test]
fn futurelock_of_connection() {
    let (answer, finding) = finds(
        "futurelock_of_connection",
        Certainty::Probable,
        "futurelock",
        1,
    );
    assert_eq!(
        names(&answer, &finding),
        (vec!["connection".into()], vec!["shared".into()])
    );
    assert_eq!(finding.waits.len(), 2, "both futures: {finding:#?}");
    at(&finding, "locks.rs");
    // The first `lock` of the function is the one whose future is not polled.
    let mut places: Vec<&str> = finding.waits.iter().map(|wait| &*wait.location).collect();
    places.sort_unstable();
    let [first, second] = [places[0], places[1]];
    let says = format!("was handed to the future at {first}, which task ");
    assert!(finding.summary.contains(&says), "{finding:#?}");
    let says = format!(" waits for it again at {second}, and can go on only if ");
    assert!(finding.summary.contains(&says), "{finding:#?}");
}

#[test]
fn futurelock_unordered() {
    let (answer, finding) = finds("futurelock_unordered", Certainty::Certain, "futurelock", 1);
    assert_eq!(
        names(&answer, &finding),
        (vec!["futurelock".into()], vec!["shared".into()])
    );
    assert_eq!(finding.waits.len(), 2, "both futures: {finding:#?}");
    at(&finding, "locks.rs");
}

/// Other permits may come back, and others may notify or receive: this is likely only.
#[test]
fn futurelocks_of_what_there_is_more_than_one_of() {
    for (program, kind, name) in [
        ("futurelock_semaphore", "Semaphore", Some("limit")),
        ("futurelock_notify", "Notify", Some("changed")),
        ("futurelock_reserve", "mpsc::Sender", None),
    ] {
        let (answer, finding) = finds(program, Certainty::Probable, "futurelock", 1);
        let (tasks, objects) = names(&answer, &finding);
        assert_eq!(tasks, ["futurelock"], "{finding:#?}");
        assert_eq!(objects, Vec::from_iter(name), "{finding:#?}");
        assert_eq!(finding.waits.len(), 2, "both futures: {finding:#?}");
        assert!(finding.waits.iter().all(|wait| wait.kind == kind));
        // The owner before has returned its permit.
        let object = finding.waits[0].object.as_ref().unwrap();
        assert_eq!(object.holder, None, "{finding:#?}");
    }
}

#[test]
fn futurelock_of_a_reader() {
    let (answer, finding) = finds("futurelock_rwlock", Certainty::Certain, "futurelock", 1);
    assert_eq!(
        names(&answer, &finding),
        (vec!["futurelock".into()], vec!["table".into()])
    );
    assert_eq!(finding.waits.len(), 2, "both futures: {finding:#?}");
    at(&finding, "locks.rs");
}

#[test]
fn a_guard_over_an_endless_await_has_its_holder() {
    let mut program = Program::start("guard_over_await");
    let wait = |answer: &Answer| {
        let mut waits = answer.snapshot.waits.iter();
        let is_it = |wait: &&blitz_io_inspect::Wait| wait.kind == "Mutex" && !wait.is_timed;
        waits.find(is_it).cloned()
    };
    let answer = program.until(|answer| wait(answer).is_some());
    let object = wait(&answer).unwrap().object.unwrap();
    let Some(Waiter::Task(holder)) = object.holder else {
        panic!("{object:#?}")
    };
    assert_eq!(answer.snapshot.task(holder).unwrap().name, "holder");
    assert_eq!(object.name.as_deref(), Some("sessions"));
    // After a while, that no thread is left is certain.
    let mut findings = answer.findings.iter();
    assert!(findings.all(|finding| {
        finding.certainty != Certainty::Certain || finding.kind == "all-asleep"
    }));
}

/// The task that blocks is not idle, so which future has the lock is likely only.
#[test]
fn futurelock_block_on() {
    let (answer, finding) = finds("futurelock_block_on", Certainty::Probable, "deadlock", 2);
    let (tasks, objects) = names(&answer, &finding);
    assert!(tasks.contains(&"futurelock".to_owned()), "{finding:#?}");
    assert_eq!(objects, ["shared"]);
}

#[test]
fn block_on_in_worker() {
    let (answer, finding) = finds("block_on_in_worker", Certainty::Certain, "deadlock", 3);
    let (tasks, objects) = names(&answer, &finding);
    assert_eq!(tasks, ["", "inner", "outer"]);
    assert_eq!(objects, ["state"]);
}

#[test]
fn two_readers_upgrade() {
    let (answer, finding) = finds("two_readers_upgrade", Certainty::Certain, "self-wait", 1);
    let (tasks, objects) = names(&answer, &finding);
    assert!(
        ["first", "second"].contains(&tasks[0].as_str()),
        "{finding:#?}"
    );
    assert_eq!(objects, ["table"]);
    at(&finding, "locks.rs");
}

#[test]
fn two_semaphores() {
    let (answer, finding) = finds("two_semaphores", Certainty::Probable, "deadlock", 2);
    let (tasks, objects) = names(&answer, &finding);
    assert_eq!(tasks, ["download", "upload"]);
    assert_eq!(objects, ["files", "sockets"]);
    at(&finding, "locks.rs");
}

#[test]
fn bounded_to_oneself() {
    let (answer, finding) = finds("bounded_to_oneself", Certainty::Probable, "self-wait", 1);
    assert_eq!(names(&answer, &finding).0, ["echo"]);
    at(&finding, "channels.rs");
}

#[test]
fn bounded_both_ways() {
    let (answer, finding) = finds("bounded_both_ways", Certainty::Probable, "deadlock", 2);
    assert_eq!(names(&answer, &finding).0, ["client", "server"]);
    at(&finding, "channels.rs");
}

#[test]
fn threads_bounded_both_ways() {
    let (_, finding) = finds(
        "threads_bounded_both_ways",
        Certainty::Probable,
        "deadlock",
        2,
    );
    assert!(
        finding
            .waiters
            .iter()
            .all(|waiter| matches!(waiter, Waiter::Thread(_)))
    );
    at(&finding, "channels.rs");
}

#[test]
fn last_sender_waits() {
    let (answer, finding) = finds("last_sender_waits", Certainty::Probable, "deadlock", 2);
    assert_eq!(names(&answer, &finding).0, ["consumer", "producer"]);
    at(&finding, "channels.rs");
    let receives = |wait: &&blitz_io_inspect::Wait| wait.kind == "mpsc::Receiver";
    let wait = finding.waits.iter().find(receives).expect("the consumer's");
    let object = wait.object.as_ref().expect("a channel");
    let channel = Fill {
        used: 0,
        capacity: Some(4),
        senders: Some(1),
        receivers: Some(1),
    };
    assert_eq!(answer.snapshot.channel(object.id), Some(&channel));
}

/// Nothing is wrong with these waits by themselves: the report has who waits, for what and where.
fn is_listed(
    program: &str,
    kind: &str,
    object: Option<&str>,
    waiters: usize,
    file: &str,
) -> Answer {
    let mut program = Program::start(program);
    let is_it = |wait: &&blitz_io_inspect::Wait| wait.kind == kind;
    let answer =
        program.until(|answer| answer.snapshot.waits.iter().filter(is_it).count() == waiters);
    for wait in answer.snapshot.waits.iter().filter(is_it) {
        let name = wait
            .object
            .as_ref()
            .and_then(|object| object.name.as_deref());
        assert_eq!(name, object, "{wait:#?}");
        assert!(wait.location.contains(file), "{wait:#?}");
        // The line of the call, not that of the creation.
        let object = wait.object.as_ref();
        assert!(
            object.is_none_or(|object| object.created_at != wait.location),
            "{wait:#?}"
        );
    }
    // If it is certain that these waits last, then because no thread is left.
    let is_fine =
        |finding: &Finding| finding.certainty != Certainty::Certain || finding.kind == "all-asleep";
    assert!(answer.findings.iter().all(is_fine));
    answer
}

#[test]
fn sender_in_a_map() {
    is_listed(
        "sender_in_a_map",
        "oneshot::Receiver",
        None,
        1,
        "channels.rs",
    );
}

/// Waits until threads with these names wait for a futex, whose value is the last number of the pair.
fn wait_for_futexes(program: &str, expected: &[(&str, u32)]) -> (Program, Answer) {
    let mut program = Program::start(program);
    let waits = |answer: &Answer| {
        let is_it = |wait: &&blitz_io_inspect::Wait| wait.kind == "futex";
        let describe = |wait: &blitz_io_inspect::Wait| {
            let id = answer.snapshot.threads.iter();
            let thread = id.clone().find(|thread| thread.id == wait.thread);
            let source = wait.source.clone().expect("it has an address");
            let (address, value) = source.split_once(" while it is ").expect(&source);
            assert!(address.starts_with("0x"), "{address}");
            assert!(wait.location.contains("futexes.rs"), "{wait:#?}");
            (thread.expect("it waits").name.clone(), value.to_owned())
        };
        let mut waits: Vec<_> = answer
            .snapshot
            .waits
            .iter()
            .filter(is_it)
            .map(describe)
            .collect();
        waits.sort();
        waits
    };
    let mut expected: Vec<_> = expected
        .iter()
        .map(|&(name, value)| (name.to_owned(), value.to_string()))
        .collect();
    expected.sort();
    let answer = program.until(|answer| waits(answer) == expected);
    (program, answer)
}

/// The waits are those of a finding, beside that of the thread that has started the others.
fn all_asleep(program: &str, expected: &[(&str, u32)]) {
    let (mut program, _) = wait_for_futexes(program, expected);
    if !cfg!(target_os = "linux") {
        return;
    }
    let answer = program.until(|answer| answer.findings.iter().any(|f| f.kind == "all-asleep"));
    let [finding] = &*answer.findings else {
        panic!("{:#?}", answer.findings);
    };
    assert_eq!(finding.certainty, Certainty::Certain, "{finding:#?}");
    assert_eq!(finding.waiters.len(), expected.len() + 1, "{finding:#?}");
    let kinds: Vec<&str> = finding.waits.iter().map(|wait| &*wait.kind).collect();
    let (last, others) = kinds.split_last().expect("it has waits");
    assert_eq!(*last, "unknown futex", "{finding:#?}");
    assert_eq!(others, vec!["futex"; expected.len()], "{finding:#?}");
}

#[test]
fn strict_turns() {
    let expected = [("reader", 0), ("worker", 1), ("worker", 1), ("writer", 0)];
    all_asleep("strict_turns", &expected);
}

#[test]
fn flag_read_too_early() {
    all_asleep("flag_read_too_early", &[("worker", 1)]);
}

/// A thread sleeps on several words.
#[test]
fn end_in_another_word() {
    all_asleep("end_in_another_word", &[("writer", 1)]);
}

#[test]
fn counter_stays() {
    all_asleep("counter_stays", &[("writer", 1)]);
}

/// The names of the threads and tasks that sleep in futexes without a record, as the system says.
#[cfg(target_os = "linux")]
fn in_unknown_futexes(answer: &Answer) -> Vec<String> {
    let is_it = |wait: &&blitz_io_inspect::Wait| wait.kind == "unknown futex";
    let name = |wait: &blitz_io_inspect::Wait| {
        let source = wait.source.as_ref().expect("it has an address");
        assert!(source.starts_with("0x"), "{source}");
        let name = blitz_io_inspect::of_waiter(&answer.snapshot, wait.waiter);
        let (_, name) = name.split_once('"').expect(&name);
        name.trim_end_matches('"').to_owned()
    };
    let waits = answer.snapshot.waits.iter();
    let mut names: Vec<String> = waits.filter(is_it).map(name).collect();
    names.sort();
    names
}

/// The thread that has started the others waits for them with `park` of the standard library.
#[test]
#[cfg(target_os = "linux")]
fn two_std_mutexes() {
    let mut program = Program::start("two_std_mutexes");
    let expected = ["blitz-io-hangs", "report", "transfer"];
    program.until(|answer| in_unknown_futexes(answer) == expected);
    let answer = program.until(|answer| answer.findings.iter().any(|f| f.kind == "all-asleep"));
    let finding = &answer.findings[0];
    assert_eq!(finding.certainty, Certainty::Certain, "{finding:#?}");
    assert_eq!(finding.waiters.len(), 3, "{finding:#?}");
    for name in ["report", "transfer"] {
        program.until(|answer| {
            let mut threads = answer.snapshot.threads.iter();
            let thread = threads.find(|thread| thread.name == name).unwrap();
            has_stack(answer, thread.id, "lock_both", "futexes.rs")
        });
    }
}

/// The stack of the thread has a function whose name ends so, in this file.
#[cfg(target_os = "linux")]
fn has_stack(answer: &Answer, thread: u64, function: &str, file: &str) -> bool {
    let mut stacks = answer.snapshot.stacks.iter();
    let is_it = |frame: &Frame| {
        frame.function.ends_with(function) && frame.location.contains(&format!("src/{file}:"))
    };
    stacks.any(|stack| stack.thread == thread && stack.frames.iter().any(is_it))
}

/// The other worker is idle, and the thread that awaits the task has a record.
#[test]
#[cfg(target_os = "linux")]
fn std_mutex_in_a_task() {
    let mut program = Program::start("std_mutex_in_a_task");
    let has_finding = |answer: &Answer| answer.findings.iter().any(|f| f.kind == "long-poll");
    let answer = program.until(has_finding);
    assert_eq!(in_unknown_futexes(&answer), ["blocks"]);
    let finding = &answer.findings[0];
    assert_eq!(finding.waits.len(), 1, "{finding:#?}");
    assert_eq!(finding.waits[0].kind, "unknown futex");
    let thread = finding.waits[0].thread;
    program.until(|answer| has_stack(answer, thread, "update", "futexes.rs"));
}

#[test]
fn threads_sender_in_a_map() {
    for kind in ["oneshot::Receiver", "oneshot::Sender::closed"] {
        is_listed("threads_sender_in_a_map", kind, None, 1, "channels.rs");
    }
}

#[test]
fn sender_stops() {
    let answer = noted("sender_stops", "\"consumer\" has waited");
    assert!(answer.findings.iter().all(|f| f.kind == "all-asleep"));
}

#[test]
fn select_of_threads() {
    let program = "select_of_threads";
    is_listed(program, "mpmc::Receiver", Some("jobs"), 1, "channels.rs");
    is_listed(program, "mpmc::Sender", Some("results"), 1, "channels.rs");
}

#[test]
fn missing_party() {
    let answer = is_listed("missing_party", "Barrier", Some("ready"), 2, "tasks.rs");
    has_parties(&answer);
}

/// The report says how many are at the barrier, and how many it is for.
fn has_parties(answer: &Answer) {
    let text = report(&answer.snapshot, &answer.findings);
    assert!(text.contains("\n    2 of 3 are here\n"), "{text}");
    let mut waits = answer.snapshot.waits.iter();
    let barrier = waits.find_map(|wait| wait.object.as_ref().filter(|at| at.parties.is_some()));
    assert!(
        barrier.is_some_and(|at| at.created_at.contains("tasks.rs")),
        "{text}"
    );
}

#[test]
fn thread_missing_party() {
    let (program, kind) = ("thread_missing_party", "thread::Barrier");
    has_parties(&is_listed(program, kind, Some("ready"), 2, "tasks.rs"));
}

#[test]
fn latch_counts_too_few() {
    let program = "latch_counts_too_few";
    is_listed(program, "thread::Latch", Some("started"), 2, "tasks.rs");
}

#[test]
fn group_keeps_a_member() {
    let (program, kind) = ("group_keeps_a_member", "thread::WaitGroup");
    is_listed(program, kind, Some("workers"), 1, "tasks.rs");
}

#[test]
fn event_reset_too_early() {
    let mut program = Program::start("event_reset_too_early");
    let waits = |answer: &Answer| {
        let mut names: Vec<String> = Vec::new();
        for wait in &answer.snapshot.waits {
            if wait.kind == "thread::Event" {
                assert!(wait.location.contains("tasks.rs"), "{wait:#?}");
                let object = wait.object.as_ref().expect("an event is an object");
                names.extend(object.name.clone());
            }
        }
        names.sort();
        names
    };
    program.until(|answer| waits(answer) == ["open", "work"]);
}

#[test]
fn parked_twice() {
    is_listed(
        "parked_twice",
        "thread::Parker",
        Some("work"),
        1,
        "tasks.rs",
    );
}

#[test]
fn leaked_permit() {
    let (answer, finding) = finds("leaked_permit", Certainty::Probable, "lost-holder", 1);
    assert_eq!(
        names(&answer, &finding),
        (vec!["waits".into()], vec!["limit".into()])
    );
}

#[test]
fn thread_leaked_permit() {
    let (answer, finding) = finds("thread_leaked_permit", Certainty::Certain, "all-asleep", 1);
    assert_eq!(names(&answer, &finding).1, ["limit"]);
    at(&finding, "locks.rs");
}

#[test]
fn two_thread_semaphores() {
    let (answer, finding) = finds("two_thread_semaphores", Certainty::Probable, "deadlock", 2);
    assert_eq!(names(&answer, &finding).1, ["files", "sockets"]);
    at(&finding, "locks.rs");
}

#[test]
fn two_thread_mutexes() {
    let (_, finding) = finds("two_thread_mutexes", Certainty::Certain, "deadlock", 2);
    at(&finding, "locks.rs");
}

/// Locks that a program builds on the futex have names and holders.
#[test]
fn two_own_locks() {
    let (answer, finding) = finds("two_own_locks", Certainty::Certain, "deadlock", 2);
    assert_eq!(names(&answer, &finding).1, ["accounts", "audit"]);
    at(&finding, "futexes.rs");
    assert!(finding.waits.iter().all(|wait| wait.kind == "lock"));
}

#[test]
fn values_need_each_other() {
    let (answer, finding) = finds("values_need_each_other", Certainty::Certain, "deadlock", 2);
    assert_eq!(names(&answer, &finding).1, ["config", "logger"]);
    at(&finding, "locks.rs");
}

#[test]
fn thread_self_lock() {
    let (_, finding) = finds("thread_self_lock", Certainty::Certain, "self-wait", 1);
    at(&finding, "locks.rs");
}

#[test]
fn thread_read_twice() {
    let (_, finding) = finds("thread_read_twice", Certainty::Certain, "self-wait", 1);
    at(&finding, "locks.rs");
}

#[test]
fn thread_upgrade_beside_reader() {
    let program = "thread_upgrade_beside_reader";
    let (_, finding) = finds(program, Certainty::Certain, "deadlock", 2);
    let mut kinds: Vec<&str> = finding.waits.iter().map(|wait| &*wait.kind).collect();
    kinds.sort_unstable();
    assert_eq!(
        kinds,
        [
            "thread::RwLock (upgradable read)",
            "thread::RwLock (upgrade)"
        ]
    );
    at(&finding, "locks.rs");
}

#[test]
fn thread_write_beside_upgradable() {
    let program = "thread_write_beside_upgradable";
    let (_, finding) = finds(program, Certainty::Certain, "deadlock", 2);
    let mut kinds: Vec<&str> = finding.waits.iter().map(|wait| &*wait.kind).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["thread::Mutex", "thread::RwLock (write)"]);
    at(&finding, "locks.rs");
}

#[test]
fn thread_read_in_write() {
    let (_, finding) = finds("thread_read_in_write", Certainty::Certain, "self-wait", 1);
    assert_eq!(finding.waits[0].kind, "thread::RwLock (recursive read)");
    at(&finding, "locks.rs");
}

#[test]
fn thread_and_task() {
    let (_, finding) = finds("thread_and_task", Certainty::Certain, "deadlock", 2);
    assert!(
        finding
            .waiters
            .iter()
            .any(|waiter| matches!(waiter, Waiter::Thread(_)))
    );
    assert!(
        finding
            .waiters
            .iter()
            .any(|waiter| matches!(waiter, Waiter::Task(_)))
    );
    at(&finding, "locks.rs");
}

/// The tasks are known by their wakers. Another reason to poll them has no record.
#[test]
fn foreign_two_mutexes() {
    let (answer, finding) = finds("foreign_two_mutexes", Certainty::Probable, "deadlock", 2);
    assert_eq!(names(&answer, &finding).1, ["one", "two"]);
    at(&finding, "foreign.rs");
    assert!(finding.summary.starts_with("future 0x"), "{finding:#?}");
    let polled = " (last polled by thread ";
    assert!(finding.summary.contains(polled), "{finding:#?}");
}

/// The lock is held by a task of another runtime, and not by the thread that has polled it.
#[test]
fn a_thread_is_not_what_it_polled_for_another_runtime() {
    let mut program = Program::start("idle_foreign_holder");
    let waits = |answer: &Answer, kind: &str| {
        let waits = answer.snapshot.waits.iter();
        waits.filter(|wait| wait.kind == kind).count()
    };
    let is_there =
        |answer: &Answer| waits(answer, "Mutex") == 2 && waits(answer, "thread::Mutex") == 1;
    program.until(is_there);
    let answer = program.until(is_there);
    assert_eq!(answer.findings, []);
    let text = report(&answer.snapshot, &answer.findings);
    assert!(text.contains("held by future 0x"), "{text}");
    assert!(text.contains(" of another runtime"), "{text}");
}

#[test]
fn join_each_other() {
    let (answer, finding) = finds("join_each_other", Certainty::Certain, "deadlock", 2);
    assert_eq!(names(&answer, &finding).0, ["one", "two"]);
}

#[test]
fn local_tasks_lock() {
    let (answer, finding) = finds("local_tasks_lock", Certainty::Certain, "deadlock", 2);
    assert_eq!(names(&answer, &finding).0, ["report", "transfer"]);
    at(&finding, "tasks.rs");
    let task = |waiter: &Waiter| answer.snapshot.task(waiter.task()?);
    for task in finding.waiters.iter().filter_map(task) {
        assert!(task.location.contains("tasks.rs"), "{task:#?}");
    }
    let mut waits = answer.snapshot.waits.iter();
    let join = waits.find(|wait| wait.kind == "JoinHandle");
    let awaited = join.and_then(|wait| wait.task).map(Waiter::Task);
    assert!(awaited.is_some_and(|task| finding.waiters.contains(&task)));
}

#[test]
fn join_holds_lock() {
    let (answer, finding) = finds("join_holds_lock", Certainty::Certain, "deadlock", 2);
    assert_eq!(
        names(&answer, &finding),
        (vec!["child".into(), "parent".into()], vec!["state".into()])
    );
}

#[test]
fn blocked_worker() {
    let (answer, finding) = finds("blocked_worker", Certainty::Probable, "long-poll", 1);
    assert_eq!(names(&answer, &finding).0, ["blocks"]);
    assert_eq!(finding.waits.len(), 1, "the lock: {finding:#?}");
}

/// The thread that sleeps is not woken for its stack. The one that spins has a stack only if it gets a signal.
#[test]
#[cfg(target_os = "linux")]
fn stacks_of_long_polls() {
    let polls = |answer: &Answer| {
        let mut tasks = answer.snapshot.tasks.iter();
        let task = tasks.find(|task| task.poll_ms.is_some() && !task.is_root);
        task.map(|task| task.thread)
    };
    let mut sleeps = Program::start("blocked_worker");
    sleeps.until(|answer| {
        polls(answer).is_some_and(|thread| has_stack(answer, thread, "read_state", "tasks.rs"))
    });
    let mut spins = Program::start("busy_first_poll");
    spins.until(|answer| {
        let stacks = answer.snapshot.stacks.iter();
        let has_none = |stack: &blitz_io_inspect::Stack| {
            stack.frames.is_empty() && stack.missing.contains("--stacks")
        };
        stacks.clone().count() == 1 && stacks.clone().all(has_none)
    });
    spins.until_asked(ask_with_stacks, |answer| {
        polls(answer).is_some_and(|thread| has_stack(answer, thread, "spin", "tasks.rs"))
    });
}

/// The fiber has the lock, and not the worker that runs it.
#[test]
fn fiber_holds_lock() {
    let (answer, finding) = finds("fiber_holds_lock", Certainty::Certain, "deadlock", 2);
    assert!(
        names(&answer, &finding).0.contains(&"holds".to_owned()),
        "{finding:#?}"
    );
    let says = "waits for thread::Mutex, which task ";
    assert!(finding.summary.contains(says), "{finding:#?}");
    at(&finding, "fibers.rs");
}

/// The finding says that the thread sleeps, and where.
#[test]
#[cfg(target_os = "linux")]
fn poll_sleeps() {
    let (_, finding) = finds("poll_sleeps", Certainty::Probable, "long-poll", 1);
    let says = ": the thread sleeps in the system call clock_nanosleep, at ";
    assert!(finding.summary.contains(says), "{finding:#?}");
    assert!(finding.summary.contains("src/fibers.rs:"), "{finding:#?}");
}

#[test]
fn jobs_wait_for_queued_jobs() {
    let program = "jobs_wait_for_queued_jobs";
    let (answer, finding) = finds(program, Certainty::Probable, "pool-starvation", 3);
    let jobs = finding.waiters.iter().filter_map(|waiter| waiter.task());
    let jobs: Vec<_> = jobs.filter_map(|id| answer.snapshot.job(id)).collect();
    let queued = jobs.iter().filter(|job| job.thread.is_none());
    assert_eq!((jobs.len(), queued.count()), (2, 1), "{finding:#?}");
    assert!(jobs.iter().all(|job| job.location.contains("tasks.rs")));
    // The summary names the other closure that keeps a thread, too.
    for job in answer
        .snapshot
        .jobs
        .iter()
        .filter(|job| job.thread.is_some())
    {
        let name = format!("job {}", job.id);
        assert!(finding.summary.contains(&name), "{finding:#?}");
    }
    at(&finding, "tasks.rs");
}

#[test]
fn busy_first_poll() {
    let (answer, finding) = finds("busy_first_poll", Certainty::Probable, "long-poll", 1);
    let task = finding.waiters[0]
        .task()
        .and_then(|id| answer.snapshot.task(id));
    let task = task.expect("it is polled");
    assert!(task.location.contains("tasks.rs"), "{task:#?}");
}

#[test]
fn set_waits_for_owner() {
    let (answer, finding) = finds("set_waits_for_owner", Certainty::Certain, "deadlock", 2);
    assert_eq!(
        names(&answer, &finding),
        (
            vec!["child".into(), "owner".into()],
            vec!["children".into(), "state".into()]
        )
    );
    at(&finding, "tasks.rs");
}

#[test]
fn fork_join_holds_lock() {
    let (answer, finding) = finds("fork_join_holds_lock", Certainty::Certain, "deadlock", 2);
    let mut kinds: Vec<&str> = finding.waits.iter().map(|wait| &*wait.kind).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["fork-join", "thread::Mutex"]);
    // That of the main thread for the scope. From a stack, the path would be a whole one.
    let mut waits = answer.snapshot.waits.iter();
    let has_line =
        waits.any(|wait| wait.kind == "fork-join" && wait.location.starts_with("src/tasks.rs:"));
    assert!(has_line, "{:#?}", answer.snapshot.waits);
}

#[test]
fn pool_wants_lock() {
    for program in ["install_wants_lock", "loop_wants_lock"] {
        let (_, finding) = finds(program, Certainty::Certain, "deadlock", 2);
        let mut kinds: Vec<&str> = finding.waits.iter().map(|wait| &*wait.kind).collect();
        kinds.sort_unstable();
        assert_eq!(kinds, ["fork-join", "thread::Mutex"], "{program}");
    }
}

#[test]
fn executor_stops() {
    let (answer, finding) = finds("executor_stops", Certainty::Probable, "not-polled", 1);
    assert_eq!(names(&answer, &finding).0, ["late"]);
}

#[test]
fn timer_not_driven() {
    let (answer, finding) = finds("timer_not_driven", Certainty::Probable, "not-driven", 1);
    assert_eq!(names(&answer, &finding).0, ["late"]);
}

#[test]
fn pipeline_holds_lock() {
    let (_, finding) = finds("pipeline_holds_lock", Certainty::Certain, "deadlock", 2);
    let mut kinds: Vec<&str> = finding.waits.iter().map(|wait| &*wait.kind).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["pipeline", "thread::Mutex"]);
    at(&finding, "tasks.rs");
}

#[test]
fn pipeline_tasks_hold_lock() {
    let program = "pipeline_tasks_hold_lock";
    let (answer, finding) = finds(program, Certainty::Certain, "deadlock", 2);
    assert_eq!(
        names(&answer, &finding),
        (vec!["owner".into(), "worker".into()], vec!["total".into()])
    );
    at(&finding, "tasks.rs");
}

#[test]
fn scope_holds_lock() {
    let (_, finding) = finds("scope_holds_lock", Certainty::Certain, "deadlock", 2);
    let mut kinds: Vec<&str> = finding.waits.iter().map(|wait| &*wait.kind).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["scope", "thread::Mutex"]);
    at(&finding, "tasks.rs");
}

#[test]
fn scope_without_an_end() {
    let program = "scope_without_an_end";
    is_listed(program, "scope", None, 1, "tasks.rs");
    is_listed(program, "CancellationToken", None, 1, "tasks.rs");
}

/// The children of a finding, with the kinds and objects of their waits.
fn of_children(program: &str, certainty: Certainty, of: &str) -> (Answer, Finding) {
    let (answer, finding) = finds(program, certainty, "deadlock", 2);
    for &waiter in &finding.waiters {
        let name = of_waiter(&answer.snapshot, waiter);
        assert!(name.starts_with("child ") && name.ends_with(of), "{name}");
    }
    at(&finding, "scopes.rs");
    (answer, finding)
}

#[test]
fn children_of_a_task_take_two_mutexes() {
    let expected = vec!["accounts".to_owned(), "audit".into()];
    let (answer, finding) = of_children("scope_two_mutexes", Certainty::Certain, "\"owner\"");
    assert_eq!(names(&answer, &finding).1, expected);
    let text = report(&answer.snapshot, &answer.findings);
    assert!(text.contains("spawned at src/scopes.rs:"), "{text}");
    // The sibling that ticks may have one of the guards.
    let program = "scope_two_mutexes_beside_ticks";
    let (answer, finding) = of_children(program, Certainty::Probable, "\"owner\"");
    assert_eq!(names(&answer, &finding).1, expected);
    let program = "scope_two_mutexes_within";
    let (answer, finding) = of_children(program, Certainty::Certain, "\"owner\"");
    assert_eq!(names(&answer, &finding).1, expected);
    let name = of_waiter(&answer.snapshot, finding.waiters[0]);
    assert_eq!(name.matches("child ").count(), 2, "{name}");
}

#[test]
fn a_child_awaits_its_sibling_or_is_awaited_with_a_lock() {
    let program = "scope_sibling_holds_lock";
    let (_, finding) = of_children(program, Certainty::Certain, "\"owner\"");
    let mut kinds: Vec<&str> = finding.waits.iter().map(|wait| &*wait.kind).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["JoinHandle", "Mutex"]);
    let program = "scope_body_holds_lock";
    let (answer, finding) = finds(program, Certainty::Certain, "deadlock", 2);
    assert_eq!(names(&answer, &finding).1, ["total"]);
    assert!(
        finding
            .waiters
            .iter()
            .any(|&waiter| of_waiter(&answer.snapshot, waiter).starts_with("task "))
    );
    at(&finding, "scopes.rs");
}

#[test]
fn children_wait_for_each_others_messages() {
    of_children("scope_crossed_queues", Certainty::Probable, "\"owner\"");
}

#[test]
fn children_that_are_tasks_take_two_mutexes() {
    for program in ["blocking_scope_two_mutexes", "parallel_scope_two_mutexes"] {
        let (answer, finding) = finds(program, Certainty::Certain, "deadlock", 2);
        assert_eq!(names(&answer, &finding).1, ["accounts", "audit"]);
        at(&finding, "scopes.rs");
    }
}

/// A child that fails ends the others.
#[test]
fn children_in_parallel_beside_one_that_may_fail() {
    let program = "parallel_scope_beside_a_sleeper";
    finds(program, Certainty::Probable, "deadlock", 2);
}

/// The body of the scope runs.
#[test]
fn parallel_scope_holds_lock() {
    let program = "parallel_scope_holds_lock";
    let (answer, finding) = finds(program, Certainty::Certain, "deadlock", 2);
    assert_eq!(names(&answer, &finding).1, ["total"]);
    let mut kinds: Vec<&str> = finding.waits.iter().map(|wait| &*wait.kind).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["JoinHandle", "Mutex"]);
    let mut waits = answer.snapshot.waits.iter();
    let scope = waits.find(|wait| wait.kind == "scope (failure of a child)");
    let scope = scope.expect("the body of the scope runs");
    assert!(scope.location.contains("tasks.rs"), "{scope:#?}");
    let children = &scope.object.as_ref().expect("it has a child").readers;
    assert!(children.len() == 1 && finding.waiters.contains(&children[0]));
}

#[test]
fn parallel_scope_without_an_end() {
    let name = "parallel_scope_without_an_end";
    is_listed(name, "parallel scope", None, 1, "tasks.rs");
    is_listed(name, "CancellationToken", None, 10, "tasks.rs");
    let mut program = Program::start(name);
    let scope_of = |answer: &Answer| {
        let mut waits = answer.snapshot.waits.iter();
        waits
            .find(|wait| wait.kind == "parallel scope")?
            .object
            .clone()
    };
    let answer = program.until(|answer| scope_of(answer).is_some());
    let scope = scope_of(&answer).unwrap();
    assert_eq!((scope.readers.len(), scope.unnamed), (8, 2), "{scope:#?}");
    let text = report(&answer.snapshot, &answer.findings);
    assert!(text.contains("    10 children\n    child task "), "{text}");
    assert!(text.contains("    and 2 more\n"), "{text}");
}

#[test]
fn tracker_without_an_end() {
    is_listed("tracker_without_an_end", "TaskTracker", None, 1, "tasks.rs");
}

#[test]
fn notified_too_early() {
    is_listed("notified_too_early", "Notify", Some("exit"), 1, "tasks.rs");
}

#[test]
fn condvar_signalled_before() {
    let program = "condvar_signalled_before";
    is_listed(program, "thread::Condvar", Some("changed"), 1, "tasks.rs");
}

#[test]
fn channels_without_an_end() {
    is_listed(
        "watch_that_never_changes",
        "watch::Receiver",
        None,
        1,
        "channels.rs",
    );
    is_listed(
        "broadcast_sender_kept",
        "broadcast::Receiver",
        None,
        1,
        "channels.rs",
    );
}

#[test]
fn receivers_in_a_registry() {
    for (kind, name) in [
        ("mpsc::Sender::closed", None),
        ("watch::Sender::closed", Some("state")),
        ("broadcast::Sender::closed", Some("events")),
        ("oneshot::Sender::closed", None),
    ] {
        is_listed("receivers_in_a_registry", kind, name, 1, "channels.rs");
    }
}

#[test]
fn crossed_queues() {
    for program in ["crossed_queues", "threads_crossed_queues"] {
        is_listed(program, "mpmc::Sender", Some("log"), 1, "channels.rs");
        is_listed(program, "mpmc::Receiver", Some("reads"), 1, "channels.rs");
    }
}

/// Returns the event that a task with this name awaits, once it waits for a source of this kind. Such a
/// wait is no finding.
fn source_of(program: &mut Program, task: &str, kind: &str) -> String {
    let source = |answer: &Answer| {
        let snapshot = &answer.snapshot;
        let mut waits = snapshot.waits.iter().filter(|wait| wait.kind == kind);
        let wait = waits.find(|wait| {
            let waiter = wait.waiter.task().and_then(|id| snapshot.task(id));
            waiter.is_some_and(|waiter| waiter.name == task)
        })?;
        wait.source.clone()
    };
    let answer = program.until(|answer| source(answer).is_some());
    let mut findings = answer.findings.iter();
    assert!(findings.all(|finding| finding.certainty != Certainty::Certain));
    source(&answer).unwrap()
}

/// Their connections also wait for their sockets, as hyper's do.
#[test]
fn handlers_that_wait_for_each_other() {
    for (program, tasks, objects) in [
        (
            "handlers_two_mutexes",
            ["report", "transfer"],
            &["accounts", "audit"][..],
        ),
        (
            "handlers_two_semaphores",
            ["download", "upload"],
            &["files", "sockets"],
        ),
        ("handler_awaits_its_task", ["child", "parent"], &["state"]),
    ] {
        let (answer, finding) = finds(program, Certainty::Probable, "deadlock", 2);
        assert_eq!(answer.findings[0], finding, "it comes first");
        assert_eq!(names(&answer, &finding).0, tasks);
        assert_eq!(names(&answer, &finding).1, objects);
        let end = "can go on only if a client goes away";
        assert!(finding.summary.contains(end), "{finding:#?}");
        assert!(finding.waits.iter().all(|wait| wait.kind != "socket"));
        let mut all = answer.snapshot.waits.iter();
        assert!(all.any(|wait| wait.kind == "socket"));
    }
}

/// Which task has the other end of a channel is likely only.
#[test]
fn handlers_that_want_something_of_a_task_that_wants_their_lock() {
    let answer = "or if another task has the sender of the answer";
    let queue = "or if another task has the receiver by now";
    for (program, tasks, end) in [
        ("handler_asks_an_actor", ["actor", "asks"], answer),
        ("handler_asks_its_task", ["answers", "asks"], answer),
        ("handler_fills_a_queue", ["actor", "fills"], queue),
    ] {
        let (answer, finding) = finds(program, Certainty::Probable, "deadlock", 2);
        assert_eq!(names(&answer, &finding).0, tasks);
        let ends = "can go on only if a client goes away, ";
        let ends = finding.summary.split(ends).nth(1);
        assert_eq!(ends, Some(end), "{finding:#?}");
    }
}

#[test]
fn root_blocks() {
    let (_, finding) = finds("root_blocks", Certainty::Probable, "long-poll", 1);
    assert!(finding.summary.starts_with("block_on at "), "{finding:#?}");
    assert_eq!(finding.waits.len(), 1, "the lock: {finding:#?}");
}

#[test]
fn peer_never_answers() {
    let mut program = Program::start("peer_never_answers");
    let server = source_of(&mut program, "server", "socket");
    let address = server.strip_prefix("accept at ").expect(&server);
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let client = source_of(&mut program, "client", "socket");
    assert_eq!(client, format!("read from {address}"));
}

#[test]
#[cfg(target_os = "linux")]
fn peer_never_accepts() {
    let mut program = Program::start("peer_never_accepts");
    let client = source_of(&mut program, "client", "socket");
    assert!(client.starts_with("connect to 127.0.0.1:"), "{client}");
}

#[test]
#[cfg(target_os = "linux")]
fn child_fills_its_pipe() {
    let mut program = Program::start("child_fills_its_pipe");
    let process = source_of(&mut program, "parent", "process");
    let pid = process.strip_prefix("pid ").expect(&process);
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let parent = format!("PPid:\t{}\n", program.0.id());
    assert!(status.contains(&parent), "{status}");
}

#[test]
fn signal_that_never_comes() {
    let program = "signal_that_never_comes";
    is_listed(program, "signal", None, 2, "system.rs");
    let mut program = Program::start(program);
    assert_eq!(source_of(&mut program, "stop", "signal"), "SIGTERM");
    assert_eq!(source_of(&mut program, "ctrl-c", "signal"), "SIGINT");
}

#[test]
fn pipe_without_a_writer() {
    let mut program = Program::start("pipe_without_a_writer");
    let id = program.0.id();
    let folder = std::env::temp_dir().join(format!("blitz-io-hangs-{id}"));
    let name = format!("open {}", folder.join("events").display());
    let opens = |answer: &Answer| {
        let mut waits = answer.snapshot.waits.iter();
        waits.any(|wait| {
            let job = wait.task.and_then(|id| answer.snapshot.job(id));
            job.is_some_and(|job| job.name == name && job.thread.is_some())
        })
    };
    let answer = program.until(opens);
    assert_eq!(answer.findings, []);
    drop(program);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn job_wants_lock() {
    let (answer, finding) = finds("job_wants_lock", Certainty::Certain, "deadlock", 2);
    assert_eq!(
        names(&answer, &finding),
        (vec!["owner".into()], vec!["state".into()])
    );
    let mut jobs = finding.waiters.iter().filter_map(|waiter| waiter.task());
    let job = jobs.find_map(|id| answer.snapshot.job(id));
    assert!(job.expect("it runs").location.contains("system.rs"));
}

/// The healthy program could also be a handler that locks twice, which waits until its client goes away.
#[test]
fn a_task_that_waits_for_its_own_lock_and_its_client_has_a_note() {
    let says =
        "\"connection\" waits for Mutex \"session\", which it took itself at src/handlers.rs:";
    assert_eq!(noted("idle_reads_under_own_lock", says).findings, []);
}

/// The client of the handler that has the lock may still send.
#[test]
fn a_task_that_waits_behind_one_that_waits_for_a_peer_has_a_note() {
    let says = "\"holds\", which waits for socket (read from 127.0.0.1:";
    assert_eq!(noted("idle_handler_reads", says).findings, []);
}

/// Other tasks have the permits and the guard by now.
#[test]
fn a_task_that_has_given_away_what_it_waits_for_has_a_note() {
    for program in ["idle_limit_is_reached", "idle_guard_moved"] {
        assert_eq!(noted(program, "which it took itself at src/").findings, []);
    }
}

/// The consumer of the channel may still receive.
#[test]
fn a_full_channel_without_a_receiver_has_a_note() {
    let says = "1 sender waits (longest ";
    let answer = noted("idle_receives_later", says);
    assert_eq!(answer.findings, []);
    let text = report(&answer.snapshot, &answer.findings);
    let says = "it is full (4 of 4 values), and nothing has been received from it yet";
    assert!(text.contains(says), "{text}");
}

/// The limit ends the wait, or it is the work that is done under the lock.
#[test]
fn deadlocks_with_a_time_limit_have_a_note() {
    let says = "wait for each other, probably until a timer ends: Sleep at src/handlers.rs:";
    assert_eq!(noted("handlers_with_a_limit", says).findings, []);
    let says = "\"twice\" waits for Mutex \"accounts\", which it took itself at src/handlers.rs:";
    let program = "handler_locks_twice_with_a_limit";
    assert_eq!(noted(program, says).findings, []);
    assert_eq!(noted(program, "a time limit ends it").findings, []);
}

/// It was spawned before the ends of the answer were made, and has got one in a message.
#[test]
fn an_older_task_that_answers_is_no_deadlock() {
    let mut program = Program::start("idle_answers_of_a_dispatcher");
    let answer = program.until(|answer| {
        let mut waits = answer.snapshot.waits.iter();
        waits.any(|wait| wait.kind == "oneshot::Receiver" && wait.waiting_ms >= 1_000)
    });
    assert_eq!(answer.findings, []);
}

/// The one that answers does not want the lock.
#[test]
fn a_lock_that_is_held_while_an_actor_sleeps_is_a_note() {
    let says = "\"actor\", which waits for Sleep at src/handlers.rs:";
    assert_eq!(noted("idle_asks_under_a_lock", says).findings, []);
}

#[test]
fn clients_that_wait_for_answers_have_a_note() {
    let says = "probably behind task ";
    let answer = noted("idle_answers_later", says);
    assert_eq!(answer.findings, []);
    let text = report(&answer.snapshot, &answer.findings);
    assert!(text.contains("note: 3 tasks wait"), "{text}");
}

#[test]
fn tasks_that_hold_all_permits_and_want_more_are_one_finding() {
    let (answer, finding) = finds("one_permit_each", Certainty::Probable, "permits", 3);
    let says = "3 tasks wait for Semaphore \"limit\", and hold all its permits";
    assert!(finding.summary.starts_with(says), "{finding:#?}");
    let text = report(&answer.snapshot, &answer.findings);
    for name in ["upload", "download", "index"] {
        let holder = |line: &str| {
            let held = line.trim_start().strip_prefix("held by task ");
            held.is_some_and(|name_of| name_of.contains(&format!("\"{name}\"")))
        };
        // Each of the four waits has all three.
        assert_eq!(
            text.lines().filter(|line| holder(line)).count(),
            4,
            "{text}"
        );
    }
    let (_, finding) = finds("permits_collected", Certainty::Probable, "permits", 1);
    let says = "\"collects\" waits for Semaphore \"limit\", and holds all its permits since src/owners.rs:";
    assert!(finding.summary.contains(says), "{finding:#?}");
}

/// The connections have the permits by now.
#[test]
fn tasks_that_have_given_away_all_permits_are_no_finding() {
    let mut program = Program::start("idle_permits_are_given");
    let answer = program.until(|answer| {
        let waits = answer.snapshot.waits.iter();
        waits.filter(|wait| wait.kind == "Semaphore").count() == 2
    });
    assert_eq!(answer.findings, []);
    let text = report(&answer.snapshot, &answer.findings);
    assert!(!text.contains("note: "), "{text}");
}

/// The one that had a permit has released it.
#[test]
fn a_wait_for_more_permits_than_there_are_blames_nobody() {
    let mut program = Program::start("idle_more_permits_than_there_are");
    let answer = program.until(|answer| {
        let mut waits = answer.snapshot.waits.iter();
        waits.any(|wait| wait.kind == "Semaphore")
    });
    let mut waits = answer.snapshot.waits.iter();
    let semaphore =
        waits.find_map(|wait| wait.object.as_ref().filter(|_| wait.kind == "Semaphore"));
    assert_eq!(semaphore.unwrap().holder, None);
    let mut findings = answer.findings.iter();
    assert!(findings.all(|finding| finding.kind != "lost-holder"));
}

/// Not a test: it hangs, for the next one.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "hangs"]
fn a_test_that_hangs() {
    let runtime = blitz_io::runtime::Runtime::new().unwrap();
    let never = blitz_io::sync::Notify::new();
    runtime.block_on(never.notified());
}

/// The harness waits for the test with a deadline, only to say that it takes long.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#[test]
fn a_test_that_hangs_is_asleep_with_its_harness() {
    let own = std::env::current_exe().unwrap();
    let name = own.file_name().unwrap().to_str().unwrap().to_owned();
    let mut command = Command::new(own);
    command.args(["--ignored", "--exact", "a_test_that_hangs"]);
    let mut program = Program::run(command, Stdio::null());
    let has_findings = |answer: &Answer| !answer.findings.is_empty();
    let answer = program.until_asked(|pid, _| ask(pid, &name), has_findings);
    let finding = &answer.findings[0];
    let (certainty, kind) = (finding.certainty, &*finding.kind);
    assert_eq!((certainty, kind), (Certainty::Certain, "all-asleep"));
    let says = finding
        .summary
        .contains(" waits for Notify at tests/why.rs:");
    assert!(says, "{finding:#?}");
}

/// Waits for a note, which says this.
fn noted(program: &str, says: &str) -> Answer {
    let mut program = Program::start(program);
    let text = |answer: &Answer| report(&answer.snapshot, &answer.findings);
    let answer = program.until(|answer| text(answer).contains("note: "));
    let text = text(&answer).replace("\n  ", " ");
    let note = text.split("note: ").nth(1).unwrap_or_default();
    assert!(note.contains(says), "{text}");
    answer
}

/// Nothing certain is said of this program, once it has waits or tasks, and again later.
fn is_fine(program: &str) {
    let mut program = Program::start(program);
    program.until(|answer| !answer.snapshot.waits.is_empty() || !answer.snapshot.tasks.is_empty());
    for _ in 0..3 {
        let answer = program.until(|_| true);
        let certain = answer
            .findings
            .iter()
            .find(|f| f.certainty == Certainty::Certain);
        assert_eq!(certain, None);
    }
}

/// The task that took a lock has ended, and its value is the guard.
#[test]
fn a_guard_that_a_task_has_returned_is_not_lost() {
    for program in ["idle_guard_of_child", "idle_guard_of_task"] {
        let mut program = Program::start(program);
        let is_mutex = |wait: &Wait| wait.kind == "Mutex";
        program.until(|answer| answer.snapshot.waits.iter().any(is_mutex));
        let answer = program.until(|_| true);
        assert!(answer.snapshot.waits.iter().any(is_mutex), "{answer:#?}");
        let mut kinds = answer.findings.iter().map(|finding| &*finding.kind);
        assert!(!kinds.any(|kind| kind == "lost-holder"), "{answer:#?}");
    }
}

macro_rules! fine {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                is_fine(stringify!($name));
            }
        )*
    };
}

fine! {
    idle_timed_writer
    idle_foreign_future
    idle_foreign_holder
    idle_unordered
    idle_abort
    idle_job_holds_lock
    idle_queued_job
    idle_pipeline
    idle_thread_pipeline
    idle_scope_of_sleepers
    idle_scope_guard_is_given
    idle_scope_guard_is_sent
    idle_scope_guard_is_returned
    idle_scope_in_a_timeout
    idle_sleep
    idle_lock_with_timeout
    idle_holder_sleeps
    idle_queue_moves
    idle_oneshot_later
    idle_guard_moved
    idle_select_of_locks
    idle_join_sleeper
    idle_set_of_sleepers
    idle_fork_join
    idle_handler_reads
    idle_reads_under_own_lock
    idle_limit_is_reached
    idle_permit_given_to_a_job
    idle_readers
    idle_semaphore
    idle_thread_holder_sleeps
}
