//! The judgement of recordings that are made by hand, without a clock.

use blitz_io_inspect::trace::{Category, Recording, Report, chrome, judge, predict};
use blitz_io_observe::number_of_child;

use crate::made::*;

trait Judged {
    fn report(&self) -> Report;
}

impl Judged for Made {
    fn report(&self) -> Report {
        judge(&Recording::parse(self.text().as_bytes()).unwrap(), 2)
    }
}

/// Task 1 has the lock from 0 to 10 ms, and sleeps meanwhile. Task 2 waits for it from 2 to 10 ms, and is polled
/// at 11 ms.
fn two_tasks_and_a_lock() -> Made {
    let mut made = a_task_waits_for_a_lock();
    made.request_end(10.5, 1, 1)
        .end(10.5, 1)
        .poll(11.0, 2)
        .wait_end(11.0, 2, MUTEX, SESSIONS, LOCK)
        .acquired(11.0, 2)
        .released(13.0, 2)
        .request_end(13.0, 2, 2)
        .end(13.0, 2);
    made
}

#[test]
fn the_report_of_a_lock_is_as_it_was() {
    let text = two_tasks_and_a_lock().report().text();
    let expected = include_str!("trace.txt");
    assert_eq!(text, expected, "\n{text}");
}

/// The child of a scope waits for the lock, as a part of its task: the recording says the same.
#[test]
fn the_waits_and_locks_of_a_child_are_those_of_its_task() {
    let mut made = two_tasks_and_a_lock();
    let child = task(number_of_child(9));
    let own = format!(",{},0,", task(2));
    // Of waits that begin and end, and of locks that are taken and released.
    for row in &mut made.rows {
        if ["[3,", "[7,", "[11,", "[12,"]
            .iter()
            .any(|code| row.starts_with(code))
        {
            *row = row.replace(&own, &format!(",{child},0,"));
        }
    }
    assert!(made.rows.iter().any(|row| row.contains(&child.to_string())));
    made.row(28, 11.0, 0, 0, (child, task(2)), 0);
    let text = made.report().text().replace("24 events", "");
    let expected = two_tasks_and_a_lock()
        .report()
        .text()
        .replace("24 events", "");
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn a_wait_for_a_lock_names_the_lock_its_holder_and_both_lines() {
    let report = two_tasks_and_a_lock().report();
    assert_eq!(
        causes(&report),
        [
            (Category::Lock, "Mutex \"sessions\"", "main.rs:2", 8.0),
            (Category::Running, "", "main.rs:1", 3.0),
            (Category::Runnable, "", "main.rs:1", 1.0),
        ]
    );
    let behind = report.slowest.causes[0].behind.as_deref();
    assert_eq!(
        behind,
        Some("task 1 (main.rs:1), which took it at main.rs:2")
    );
    // The actions of the holder while the other task waited, from 2 to 10 ms.
    let lock = &report.paths[0].parts[0];
    let did: Vec<_> = lock
        .parts
        .iter()
        .map(|node| (&*node.what, node.nanos))
        .collect();
    assert_eq!(did, [("timer Sleep", 7_000_000), ("running", 1_000_000)]);
    assert!((report.slowest.attributed() - 1.0).abs() < 1e-9);
}

#[test]
fn a_request_has_the_time_of_the_closure_that_it_waits_for() {
    let mut made = Made::default();
    made.spawn(0.0, 1, thread(1), MAIN)
        .poll(0.0, 1)
        .request(0.0, 1, 1)
        .spawn_job(1.0, 2, task(1), JOB)
        .wait_for(1.0, 1, JOIN, 2, MAIN)
        .end(1.0, 1)
        // No thread was free for 5 ms.
        .poll(6.0, 2)
        .end(9.0, 2)
        .wake(9.0, 1, thread(1))
        .poll(9.5, 1)
        .wait_for_end(9.5, 1, JOIN, 2, MAIN)
        .request_end(10.0, 1, 1)
        .end(10.0, 1);
    assert_eq!(
        causes(&made.report()),
        [
            (Category::BlockingPool, "", "main.rs:5", 5.0),
            (Category::Running, "", "main.rs:5", 3.0),
            (Category::Running, "", "main.rs:1", 1.5),
            (Category::Runnable, "", "main.rs:1", 0.5),
        ]
    );
}

/// Task 2 answers task 1 at 5 ms. It sleeps before that. `spawned`: the time of its spawn.
fn an_answer(spawned: f64, parent: u64) -> Made {
    let mut made = Made::default();
    made.spawn(spawned, 2, parent, ACTOR)
        .spawn(0.5, 1, thread(1), MAIN)
        .poll(0.5, 1)
        .request(0.5, 1, 1)
        .wait(1.0, 1, ONESHOT, ANSWER, MAIN)
        .end(1.0, 1)
        .poll(1.0, 2)
        .wait_for(1.0, 2, SLEEP, 0, NAP)
        .end(1.0, 2)
        .timer(5.0, 2)
        .poll(5.0, 2)
        .wait_for_end(5.0, 2, SLEEP, 0, NAP)
        .wake(5.0, 1, task(2))
        .end(5.0, 2)
        .poll(5.0, 1)
        .wait_end(5.0, 1, ONESHOT, ANSWER, MAIN)
        .request_end(5.0, 1, 1)
        .end(5.0, 1);
    made
}

#[test]
fn a_wait_for_an_answer_is_behind_the_task_that_answers() {
    let report = an_answer(0.0, thread(1)).report();
    let first = &report.slowest.causes[0];
    assert_eq!(
        (first.category, &*first.what),
        (Category::Channel, "oneshot::Receiver")
    );
    assert_eq!(first.behind.as_deref(), Some("task 2 (main.rs:4)"));
    assert_eq!(report.paths[0].parts[0].parts[0].what, "timer Sleep");
}

#[test]
fn a_task_that_the_request_has_spawned_is_part_of_it() {
    let report = an_answer(0.7, task(1)).report();
    let first = &report.slowest.causes[0];
    assert_eq!((first.category, &*first.at), (Category::Timer, "main.rs:3"));
}

#[test]
fn a_request_with_a_future_of_its_own_is_ready_while_its_task_works_for_another() {
    let mut made = Made::default();
    made.spawn(0.0, 1, thread(1), MAIN)
        .poll(0.0, 1)
        .request(0.0, 1, 1)
        .row(16, 0.0, 0, 0, (task(1), 1), 0)
        .row(15, 1.0, 0, 0, (task(1), 1), 0)
        .row(16, 2.0, 0, 0, (task(1), 1), 0)
        .request_end(4.0, 1, 1)
        .end(4.0, 1);
    assert_eq!(
        causes(&made.report()),
        [
            (Category::Runnable, "", "main.rs:1", 3.0),
            (Category::Running, "", "main.rs:1", 1.0),
        ]
    );
}

/// The task runs from 1 to 5 ms and from 6 to 10 ms, and waits in between within its poll. `first`: the time of the first
/// reading of the counter, which is 3 ms higher at the end.
fn a_poll_that_lost_its_processor(first: f64) -> Made {
    let mut made = Made::default();
    made.spawn(0.0, 1, thread(1), MAIN)
        .delay(first, 1, 20.0)
        .poll(1.0, 1)
        .request(1.0, 1, 1)
        .row(5, 5.0, MUTEX, SESSIONS, (task(1), 0), LOCK)
        .wait_end(6.0, 1, MUTEX, SESSIONS, LOCK)
        .delay(10.0, 1, 23.0)
        .request_end(10.0, 1, 1)
        .end(10.0, 1);
    made
}

#[test]
fn a_long_poll_was_preempted_for_as_long_as_the_system_says() {
    assert_eq!(
        causes(&a_poll_that_lost_its_processor(1.0).report()),
        [
            (Category::Running, "", "main.rs:1", 6.0),
            // The wait may have had one of the three milliseconds.
            (Category::Preempted, "", "main.rs:1", 2.0),
            (Category::Lock, "Mutex \"sessions\"", "main.rs:2", 1.0),
        ]
    );
    // Another one may have been before the poll.
    let report = a_poll_that_lost_its_processor(0.0).report();
    let causes = causes(&report);
    let mut preempted = causes.iter().filter(|cause| cause.0 == Category::Preempted);
    assert_eq!(preempted.next().map(|cause| cause.3), Some(1.0));
    // Both of these belong to no object.
    assert_eq!(report.objects.len(), 1);
}

/// As with `thread::sleep` under a lock of the standard library, which has no records.
#[test]
fn a_poll_that_blocks_its_worker_is_asleep_and_the_report_names_its_request() {
    let mut made = Made::default();
    made.spawn(0.0, 1, thread(1), MAIN)
        .processor(0.0, 1, 5.0)
        .delay(0.0, 1, 20.0)
        .poll(0.0, 1)
        .request(0.0, 1, 1)
        .processor(40.0, 1, 6.0)
        .delay(40.0, 1, 23.0)
        .request_end(40.0, 1, 1)
        .end(40.0, 1);
    let report = made.report();
    assert_eq!(
        causes(&report),
        [
            (Category::AsleepInPoll, "", "main.rs:1", 36.0),
            (Category::Preempted, "", "main.rs:1", 3.0),
            (Category::Running, "", "main.rs:1", 1.0),
        ]
    );
    let poll = report.longest_poll.as_ref().unwrap();
    assert_eq!((poll.nanos, poll.running), (40_000_000, 1_000_000));
    assert_eq!(poll.request.as_deref(), Some("GET /x"));
    let line =
        "\nThe longest poll took 40.0 ms, and ran for 1.0 ms of it: GET /x, task 1 (main.rs:1)\n";
    assert!(report.text().contains(line), "{}", report.text());
    // It is no object for which a request waits.
    assert_eq!(report.objects, []);
}

/// All workers are blocked from 2 to 21 ms. The deadline is that of the recording, in microseconds.
#[test]
fn a_timer_that_is_late_lacks_a_worker() {
    let late = |deadline: u64, woken: f64| {
        let mut made = Made::default();
        made.spawn(0.0, 1, thread(1), MAIN)
            .poll(0.0, 1)
            .request(0.0, 1, 1)
            .wait_for(0.5, 1, SLEEP, deadline, NAP)
            .end(1.0, 1)
            .row(9, woken, 1, 0, (task(1), 0), 0)
            .poll(22.0, 1)
            .wait_for_end(22.0, 1, SLEEP, deadline, NAP)
            .request_end(22.0, 1, 1)
            .end(22.0, 1);
        made.report()
    };
    let running = (Category::Running, "", "main.rs:1", 1.0);
    assert_eq!(
        causes(&late(3_000, 21.0)),
        [
            (Category::Runnable, "", "main.rs:1", 18.0),
            // The timer rounds up to a millisecond.
            (Category::Timer, "Sleep", "main.rs:3", 3.0),
            running,
        ]
    );
    // In time; and of a recording that does not have the deadline.
    for deadline in [20_000, 0] {
        assert_eq!(
            causes(&late(deadline, 21.0)),
            [
                (Category::Timer, "Sleep", "main.rs:3", 20.0),
                running,
                (Category::Runnable, "", "main.rs:1", 1.0),
            ]
        );
    }
}

#[test]
fn a_request_that_is_a_part_of_a_poll_has_a_part_of_its_delay() {
    let mut made = Made::default();
    made.spawn(0.0, 1, thread(1), MAIN)
        .delay(0.0, 1, 0.0)
        .poll(0.0, 1)
        .request(0.0, 1, 1)
        .row(16, 0.0, 0, 0, (task(1), 1), 0)
        .row(15, 2.0, 0, 0, (task(1), 1), 0)
        .row(16, 4.0, 0, 0, (task(1), 1), 0)
        .request_end(8.0, 1, 1)
        .delay(8.0, 1, 4.0)
        .end(8.0, 1);
    assert_eq!(
        causes(&made.report()),
        [
            (Category::Runnable, "", "main.rs:1", 6.0),
            (Category::Running, "", "main.rs:1", 1.0),
            (Category::Preempted, "", "main.rs:1", 1.0),
        ]
    );
}

#[test]
fn a_wait_that_nothing_explains_is_other_and_counts_as_such() {
    let mut made = Made::default();
    made.spawn(0.0, 1, thread(1), MAIN)
        .poll(0.0, 1)
        .request(0.0, 1, 1)
        .end(1.0, 1)
        .wake(9.0, 1, 1)
        .poll(9.0, 1)
        .request_end(10.0, 1, 1);
    let report = made.report();
    assert_eq!(report.slowest.causes[0].category, Category::Other);
    assert!((report.slowest.attributed() - 0.2).abs() < 1e-9);
}

/// A source ends the record of a polled wait, and then wakes the task.
#[test]
fn a_wait_that_ends_before_its_task_is_woken_is_known() {
    let mut made = Made::default();
    made.spawn(0.0, 1, thread(1), MAIN)
        .poll(0.0, 1)
        .request(0.0, 1, 1)
        .wait_for(1.0, 1, SLEEP, 0, NAP)
        .end(1.0, 1)
        .wait_for_end(4.0, 1, SLEEP, 0, NAP)
        .timer(4.0, 1)
        .poll(5.0, 1)
        .request_end(5.0, 1, 1)
        .end(5.0, 1);
    assert_eq!(
        causes(&made.report()),
        [
            (Category::Timer, "Sleep", "main.rs:3", 3.0),
            (Category::Running, "", "main.rs:1", 1.0),
            (Category::Runnable, "", "main.rs:1", 1.0),
        ]
    );
}

#[test]
fn the_last_moments_are_those_before_the_last_event() {
    let mut recording = Recording::parse(two_tasks_and_a_lock().text().as_bytes()).unwrap();
    recording.keep_last(2_600_000);
    // From 10.4 ms on.
    assert_eq!(recording.len(), 8);
    assert_eq!(judge(&recording, 1).all.count, 0);
}

#[test]
fn the_last_moments_are_those_before_the_events_were_read() {
    let made = two_tasks_and_a_lock().text();
    // The last event is at 13 ms.
    let made = made.replacen('{', "{\"now\":15000000,\"is_on\":false,", 1);
    let mut recording = Recording::parse(made.as_bytes()).unwrap();
    assert!(!recording.is_of_a_recorder());
    let first = recording.keep_last(4_600_000);
    assert_eq!((first, recording.len()), (10_400_000, 8));
    // A file has the same events.
    let mut file = vec![];
    Recording::write_from(first, made.as_bytes(), &mut file).unwrap();
    let of_file = Recording::parse(&file).unwrap();
    assert_eq!(
        (of_file.len(), of_file.duration()),
        (8, recording.duration())
    );
    recording.keep_last(1_000_000);
    assert!(recording.is_empty());
}

#[test]
fn a_recording_without_requests_says_how_to_mark_one() {
    let text = Made::default().report().text();
    assert!(text.contains("blitz_io::trace::request"), "{text}");
}

#[test]
fn chrome_gets_lanes_spans_and_arrows() {
    let recording = Recording::parse(two_tasks_and_a_lock().text().as_bytes()).unwrap();
    let text = chrome(&recording);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let events = value["traceEvents"].as_array().unwrap();
    let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
    assert!(of("M") >= 3 && of("X") >= 8, "{text}");
    assert_eq!((of("s"), of("f")), (1, 1));
}

/// Numbers that only look random.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

#[test]
fn no_recording_panics_and_parts_are_the_whole() {
    let mut random = Random(1);
    let (mut requests, mut predicted) = (0, 0);
    for _ in 0..300 {
        let mut made = Made::default();
        for _ in 0..270 {
            let code = random.below(27) as u8;
            let at = random.below(50) as f64;
            let words = (random.below(8), random.below(4));
            let (target, kind) = (random.below(4), random.below(7) as u8);
            made.row(code, at, kind, target, words, random.below(7) as usize);
        }
        // Times at which sums would overflow.
        made.rows.push(format!("[1,{},0,0,3,2,0]", u64::MAX));
        made.rows.push(format!("[14,{},0,0,3,1,0]", u64::MAX - 1));
        let recording = Recording::parse(made.text().as_bytes()).unwrap();
        let report = judge(&recording, 100);
        assert!(!report.text().is_empty() && !chrome(&recording).is_empty());
        let scenario = "workers 1, blocking threads 1, running / 2"
            .parse()
            .unwrap();
        // Most recordings have a request that runs.
        predicted += u32::from(predict(&recording, &[scenario]).is_ok());
        requests += report.all.count;
        let sum = |sums: &[(Category, u64)]| {
            sums.iter()
                .fold(0, |all: u64, one| all.saturating_add(one.1))
        };
        assert_eq!(sum(&report.all.categories), report.all.nanos);
        let both = judge(&Recording::of_all([recording.clone(), recording]), 100);
        assert_eq!(both.all.count, 2 * report.all.count);
        assert_eq!(sum(&both.all.categories), both.all.nanos);
    }
    assert!(requests > 1000 && predicted > 200, "{requests} {predicted}");
    for text in ["", "{}", "[]", "{\"format\":1,\"events\":[[1]]}"] {
        assert!(Recording::parse(text.as_bytes()).is_err(), "{text}");
    }
}

/// Each kind of the library has a category of its own, unless it is an event.
#[test]
fn permits_are_permits() {
    let mut made = Made::default();
    made.spawn(0.0, 1, thread(1), MAIN)
        .poll(0.0, 1)
        .request(0.0, 1, 1)
        .wait(0.0, 1, SEMAPHORE, ANSWER, LOCK)
        .end(0.0, 1)
        .wake(4.0, 1, task(2))
        .poll(4.0, 1)
        .wait_end(4.0, 1, SEMAPHORE, ANSWER, LOCK)
        .request_end(4.0, 1, 1);
    let report = made.report();
    let [(category, what, at, time)] = causes(&report)[..] else {
        panic!("{report:?}");
    };
    assert_eq!(
        (category, what, at, time),
        (Category::Permit, "Semaphore", "main.rs:2", 4.0)
    );
}

/// Returns `true` for a row that begins or ends a request.
fn is_of_request(row: &str) -> bool {
    row.starts_with("[13,") || row.starts_with("[14,")
}

/// The task waits within its poll, and loses its processor.
#[test]
fn the_longest_poll_has_the_part_in_which_the_task_ran() {
    let mut made = a_poll_that_lost_its_processor(1.0);
    made.rows.retain(|row| !is_of_request(row));
    let report = made.report();
    let line = &report.tasks[0];
    assert_eq!(line.longest_poll, 9_000_000);
    assert_eq!(line.longest_poll_running, 6_000_000);
    assert_eq!(line.nanos(Category::Running), 6_000_000);
    let text = report.text();
    assert!(text.contains("longest poll   it ran for\n"), "{text}");
    assert!(text.contains("9.0 ms       6.0 ms  task"), "{text}");
}

#[test]
fn objects_without_a_name_have_the_line_that_created_them() {
    let what = |objects: &str, created: &str| {
        let mut made = a_task_waits_for_a_lock();
        made.rows.retain(|row| !is_of_request(row));
        let text = made.text().replace(
            "\"objects\":[\"sessions\",null]",
            &format!("\"objects\":[{objects}],\"created\":[{created}]"),
        );
        let report = judge(&Recording::parse(text.as_bytes()).unwrap(), 1);
        let text = report.text();
        (report.objects[0].cause.what.clone(), text)
    };
    let (name, text) = what("null,null", "\"lib.rs:51\",\"lib.rs:52\"");
    assert_eq!(name, "Mutex created at lib.rs:51");
    assert!(
        text.contains("lock Mutex created at lib.rs:51, at main.rs:2"),
        "{text}"
    );
    let (name, _) = what("null,null", "\"lib.rs:51\",\"lib.rs:51\"");
    assert_eq!(name, "Mutex #1 created at lib.rs:51");
    let (name, _) = what("\"sessions\",null", "\"lib.rs:51\",\"lib.rs:51\"");
    assert_eq!(name, "Mutex \"sessions\"");
    // A recording of an older version.
    let (name, _) = what("null,null", "");
    assert_eq!(name, "Mutex #1");
    // The other object is of another type.
    let mut made = a_task_waits_for_a_lock();
    made.rows.retain(|row| !is_of_request(row));
    made.wait(10.0, 1, ONESHOT, ANSWER, NAP);
    let text = made.text().replace("\"sessions\"", "null");
    let report = judge(&Recording::parse(text.as_bytes()).unwrap(), 1);
    assert_eq!(report.objects[0].cause.what, "Mutex");
}

/// A request that has begun is marked.
#[test]
fn a_report_of_requests_that_have_not_ended_says_so() {
    let text = a_task_waits_for_a_lock().report().text();
    assert!(text.contains("No request has ended"), "{text}");
    assert!(!text.contains("marks no request"), "{text}");
}

/// Without a request, the report is about the tasks of each line.
#[test]
fn without_requests_the_report_is_about_tasks() {
    let mut made = two_tasks_and_a_lock();
    made.rows.retain(|row| !is_of_request(row));
    let report = made.report();
    assert_eq!((report.all.count, report.unfinished), (0, 0));
    let [main] = &*report.tasks else {
        panic!("one line spawns all tasks: {:#?}", report.tasks)
    };
    assert_eq!((main.what, &*main.at, main.count), ("task", "main.rs:1", 2));
    let millis = |category| main.nanos(category) as f64 / 1e6;
    assert_eq!(
        (millis(Category::Lock), millis(Category::Runnable)),
        (8.0, 1.0)
    );
    // Task 2 is polled from 11 to 13 ms.
    assert_eq!(main.longest_poll, 2_000_000);
    let waits: Vec<_> = main
        .waits
        .iter()
        .map(|wait| (&*wait.cause.at, wait.max))
        .collect();
    assert_eq!(waits, [("main.rs:3", 8_000_000), ("main.rs:2", 8_000_000)]);
    // A timer is nothing that another task uses.
    assert_eq!(report.objects.len(), 1, "{:#?}", report.objects);
    assert_eq!(report.objects[0].cause.what, "Mutex \"sessions\"");
    assert!(report.objects[0].held.is_some_and(|held| held.times == 2));
    let text = report.text();
    for part in [
        "0 requests",
        "Tasks, by the line that spawned them",
        "task at main.rs:1",
        "8.0 ms in 1 wait: lock Mutex \"sessions\" at main.rs:2, behind task 1",
        "What tasks and threads waited for",
        "marks no request",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // With requests, the same tasks are no part of the report.
    assert_eq!(two_tasks_and_a_lock().report().tasks, []);
}

/// Wakers of a task may be called in its last poll, and after it. It is not ready then, and nothing polls it.
#[test]
fn a_task_that_has_ended_is_in_no_state() {
    let mut made = Made::default();
    made.spawn(0.0, 1, thread(1), MAIN)
        .poll(1.0, 1)
        .wake(2.0, 1, thread(2))
        .end(3.0, 1)
        .task_end(3.0, 1)
        .wake(4.0, 1, thread(2))
        // Its last poll ends without a wake-up, which comes later.
        .spawn(0.0, 2, thread(1), MAIN)
        .poll(3.0, 2)
        .end(4.0, 2)
        .task_end(4.5, 2)
        .wake(5.0, 2, thread(2))
        // It is aborted while it waits, and its wait ends when its future is dropped.
        .spawn(0.0, 3, thread(1), MAIN)
        .poll(4.0, 3)
        .wait(5.0, 3, MUTEX, SESSIONS, LOCK)
        .end(5.0, 3)
        .task_end(15.0, 3)
        .wait_end(15.5, 3, MUTEX, SESSIONS, LOCK)
        .wake(16.0, 3, thread(2))
        // Task 4 lives on.
        .spawn(0.0, 4, thread(1), ACTOR)
        .poll(0.0, 4)
        .end(100.0, 4);
    let report = made.report();
    let main = report.tasks.iter().find(|one| one.at == "main.rs:1");
    let main = main.unwrap();
    let found: Vec<_> = (main.categories.iter())
        .map(|(category, nanos)| (*category, *nanos as f64 / 1e6))
        .collect();
    assert_eq!(
        found,
        [
            (Category::Lock, 10.0),
            (Category::Runnable, 1.0 + 3.0 + 4.0),
            (Category::Running, 2.0 + 1.0 + 1.0),
        ]
    );
}

/// The time of a task, from its spawn to its end, is the sum of its states, whatever wakes it and whenever.
#[test]
fn the_states_of_a_task_are_its_time() {
    const TASKS: u64 = 4;
    const END: u64 = 400;
    let mut random = Random(7);
    let mut late = 0;
    for _ in 0..300 {
        let mut made = Made::default();
        let mut expected = 0.0;
        for id in 1..=TASKS {
            // A life: polls and pauses, which begin and end at random times, one after the other.
            let mut times: Vec<u64> = (0..7).map(|_| random.below(END / 2)).collect();
            times.sort_unstable();
            let times: Vec<f64> = times.into_iter().map(|time| time as f64).collect();
            made.spawn(times[0], id, thread(1), MAIN);
            for poll in times[1..].chunks(2) {
                made.poll(poll[0], id);
                if random.below(2) == 0 {
                    made.wait(poll[0], id, MUTEX, SESSIONS, LOCK);
                    made.wait_end(poll[1], id, MUTEX, SESSIONS, LOCK);
                }
                made.end(poll[1], id);
            }
            made.task_end(times[6], id);
            expected += times[6] - times[0];
            for _ in 0..4 {
                let at = random.below(END) as f64;
                late += u32::from(at > times[6]);
                if at > times[0] {
                    made.wake(at, id, thread(2));
                }
            }
        }
        made.spawn(0.0, 9, thread(1), ACTOR)
            .poll(0.0, 9)
            .end(END as f64, 9);
        let report = made.report();
        let main = report.tasks.iter().find(|one| one.at == "main.rs:1");
        let sums = main.unwrap().categories.iter().map(|(_, nanos)| nanos);
        assert_eq!(sums.sum::<u64>() as f64 / 1e6, expected, "{}", made.text());
    }
    assert!(late > 100, "{late}");
}

#[test]
fn the_future_of_block_on_and_a_closure_have_lines_of_their_own() {
    let root = (1 << 52) + 1;
    let mut made = Made::default();
    made.poll(0.0, root)
        .spawn_job(1.0, 7, task(root), JOB)
        .end(2.0, root)
        .poll(4.0, 7)
        .end(9.0, 7);
    let report = made.report();
    let found: Vec<_> = (report.tasks.iter())
        .map(|one| (one.what, &*one.at, one.longest_poll / 1_000_000))
        .collect();
    assert_eq!(found, [("job", "main.rs:5", 5), ("block_on", "", 2)]);
    // The closure waited for a thread.
    assert_eq!(report.objects[0].cause.category, Category::BlockingPool);
    assert_eq!(report.objects[0].max, 3_000_000);
}

/// The recorder was started after these tasks: their spawns are no events.
#[test]
fn tasks_that_lived_before_the_recording_have_their_lines() {
    let mut made = a_task_waits_for_a_lock();
    made.request_end(10.5, 1, 1)
        .end(10.5, 1)
        .poll(11.0, 2)
        .wait_end(11.0, 2, MUTEX, SESSIONS, LOCK)
        .request_end(13.0, 2, 2)
        .end(13.0, 2)
        .row(1, 13.0, 0, 0, (task(1 << 52 | 3), thread(1)), 0)
        .row(2, 30.0, 0, 0, (task(1 << 52 | 3), thread(1)), 0);
    made.rows.retain(|row| !row.starts_with("[10,"));
    let spawned = format!(
        r#""spawned":[[{},{MAIN},0],[{},{ACTOR},0]],"events":"#,
        task(1),
        task(1 << 52 | 3)
    );
    let text = made.text().replace(r#""events":"#, &spawned);
    let recording = Recording::parse(text.as_bytes()).unwrap();
    for recording in [
        recording.clone(),
        Recording::of_all([Recording::default(), recording]),
    ] {
        let report = judge(&recording, 2);
        let text = report.text();
        assert!(text.contains("behind task 1 (main.rs:1)"), "{text}");
        let page = chrome(&recording);
        assert!(page.contains("block_on at main.rs:4"), "{page}");
    }
}
