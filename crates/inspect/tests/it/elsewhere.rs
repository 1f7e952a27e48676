//! Requests in fork-join pools and in other processes, in recordings that are made by hand.

use blitz_io_inspect::trace::{Category, Recording, Report, judge};

use crate::made::*;

const JOB_NUMBER: u64 = 0x7fff_0000_1000;
/// Segments, from the request to the other process and back.
const THERE: u64 = u64::MAX;
const BACK: u64 = 98;

fn parse(made: &Made) -> Recording {
    Recording::parse(made.text().as_bytes()).unwrap()
}

/// The recording of process 8. `unix`: the time of day at which its clock was 0.
fn of_other(made: &Made, unix: u64) -> Recording {
    let text = made
        .text()
        .replace("\"pid\":7", &format!("\"pid\":8,\"unix\":{unix}"));
    Recording::parse(text.as_bytes()).unwrap()
}

/// Task 1 has a request from 0 to 10 ms, and a job from 1 to 9.5 ms.
fn a_task_awaits_a_job() -> Made {
    let mut made = Made::default();
    made.spawn(0.0, 1, thread(1), MAIN)
        .poll(0.0, 1)
        .request(0.0, 1, 1)
        .job_queued(1.0, task(1), JOB_NUMBER)
        .awaits_job(1.0, task(1), JOB_NUMBER)
        .awaits_job_end(9.5, task(1), JOB_NUMBER)
        .request_end(10.0, 1, 1)
        .end(10.0, 1);
    made
}

#[test]
fn a_job_waits_for_a_thread_and_then_runs_and_waits_as_its_thread_does() {
    let mut made = a_task_awaits_a_job();
    made.job(4.0, thread(2), JOB_NUMBER)
        .row(5, 5.0, MUTEX, SESSIONS, (thread(2), 0), LOCK)
        .row(7, 7.0, MUTEX, SESSIONS, (thread(2), 0), LOCK)
        .job_end(9.0, thread(2), JOB_NUMBER);
    let report = judge(&parse(&made), 1);
    assert_eq!(
        causes(&report),
        [
            (Category::PoolQueue, "", "main.rs:1", 3.0),
            (Category::PoolRunning, "", "main.rs:1", 3.0),
            (Category::Lock, "Mutex \"sessions\"", "main.rs:2", 2.0),
            (Category::Running, "", "main.rs:1", 1.5),
            (Category::Runnable, "", "main.rs:1", 0.5),
        ]
    );
    assert!((report.slowest.attributed() - 1.0).abs() < 1e-9);
    assert!(report.text().contains("pool, waiting"), "{}", report.text());
}

#[test]
fn of_the_jobs_of_a_scope_that_counts_which_ended_last() {
    let mut made = a_task_awaits_a_job();
    made.job(2.0, thread(2), JOB_NUMBER)
        .job(3.0, thread(3), JOB_NUMBER)
        .job_end(5.0, thread(2), JOB_NUMBER)
        // It waits for a job of its own from 6 to 7 ms, and runs another one meanwhile.
        .awaits_job(6.0, thread(3), 77)
        .job(6.0, thread(3), 78)
        .job_end(6.5, thread(3), 78)
        .job(5.0, thread(4), 77)
        .job_end(7.0, thread(4), 77)
        .awaits_job_end(7.0, thread(3), 77)
        .job_end(9.5, thread(3), JOB_NUMBER);
    let report = judge(&parse(&made), 1);
    assert_eq!(
        causes(&report),
        [
            // From 2 to 9.5 ms some thread of the pool worked for it.
            (Category::PoolRunning, "", "main.rs:1", 7.5),
            (Category::Running, "", "main.rs:1", 1.5),
            (Category::PoolQueue, "", "main.rs:1", 1.0),
        ]
    );
}

#[test]
fn a_job_that_was_not_recorded_is_a_wait_for_a_fork() {
    let report = judge(&parse(&a_task_awaits_a_job()), 1);
    assert_eq!(causes(&report)[0].0, Category::Task);
    // Another request's job ends the wait of this one: it is none of it.
    let mut made = Made::default();
    made.spawn(0.0, 1, thread(1), MAIN)
        .job_queued(0.0, task(9), JOB_NUMBER)
        .job(0.0, thread(2), JOB_NUMBER)
        .poll(0.5, 1)
        .request(0.5, 1, 1)
        .wait(1.0, 1, ONESHOT, ANSWER, MAIN)
        .end(1.0, 1)
        .wake(4.0, 1, thread(2))
        .job_end(4.0, thread(2), JOB_NUMBER)
        .poll(4.0, 1)
        .wait_end(4.0, 1, ONESHOT, ANSWER, MAIN)
        .request_end(4.0, 1, 1)
        .end(4.0, 1);
    let report = judge(&parse(&made), 1);
    assert_eq!(causes(&report)[0].0, Category::Channel);
    let behind = report.slowest.causes[0].behind.as_deref();
    assert_eq!(behind, Some("thread 2"));
}

#[test]
fn a_job_that_answers_is_followed_from_its_queue() {
    let mut made = Made::default();
    made.spawn(0.0, 1, thread(1), MAIN)
        .poll(0.0, 1)
        .request(0.0, 1, 1)
        // A job of the pool queues the one that answers.
        .job_queued(0.5, task(1), JOB_NUMBER)
        .job(0.5, thread(3), JOB_NUMBER)
        .job_queued(1.0, thread(3), 77)
        .job_end(1.0, thread(3), JOB_NUMBER)
        .wait(1.0, 1, ONESHOT, ANSWER, MAIN)
        .end(1.0, 1)
        .job(3.0, thread(2), 77)
        .wake(8.0, 1, thread(2))
        .job_end(8.0, thread(2), 77)
        .poll(8.0, 1)
        .wait_end(8.0, 1, ONESHOT, ANSWER, MAIN)
        .request_end(8.0, 1, 1)
        .end(8.0, 1);
    let report = judge(&parse(&made), 1);
    assert_eq!(
        causes(&report),
        [
            (Category::PoolRunning, "", "main.rs:1", 5.0),
            (Category::PoolQueue, "", "main.rs:1", 2.0),
            (Category::Running, "", "main.rs:1", 1.0),
        ]
    );
}

/// Task 1 sends a question at 1 ms, and receives the answer at 9 ms.
fn a_task_asks_a_process() -> Made {
    let mut made = Made::default();
    made.spawn(0.0, 1, thread(1), MAIN)
        .poll(0.0, 1)
        .request(0.0, 1, 1)
        .sent(1.0, 1, THERE, 5)
        .wait(1.0, 1, IPC, ANSWER, MAIN)
        .peer(1.0, 1, BACK, 8)
        .end(1.0, 1)
        // A timer looks for processes that have died.
        .timer(4.0, 1)
        .poll(4.0, 1)
        .end(4.0, 1)
        .row(9, 9.0, 2, 0, (task(1), thread(1)), 0)
        .poll(9.0, 1)
        .received(9.0, 1, BACK, 3)
        .wait_end(9.0, 1, IPC, ANSWER, MAIN)
        .request_end(10.0, 1, 1)
        .end(10.0, 1);
    made
}

/// Task 1 of the other process takes the question at 2 ms. Task 2, which it spawns at 3 ms, sleeps until 7 ms, and
/// answers at 8 ms. `late`: milliseconds that its clock is ahead.
fn a_process_answers(late: f64) -> Made {
    let at = |time: f64| time + late;
    let mut made = Made::default();
    made.spawn(at(0.0), 1, thread(1), MAIN)
        .poll(at(2.0), 1)
        .received(at(2.0), 1, THERE, 5)
        .spawn(at(3.0), 2, task(1), ACTOR)
        .end(at(3.0), 1)
        .poll(at(3.0), 2)
        .wait_for(at(3.0), 2, SLEEP, 0, NAP)
        .end(at(3.0), 2)
        .timer(at(7.0), 2)
        .poll(at(7.0), 2)
        .wait_for_end(at(7.0), 2, SLEEP, 0, NAP)
        .sent(at(8.0), 2, BACK, 3)
        .end(at(8.0), 2);
    made
}

#[test]
fn a_process_without_a_recording_is_named() {
    let report = judge(&parse(&a_task_asks_a_process()), 1);
    assert_eq!(
        causes(&report),
        [
            (Category::Process, "8 (not recorded)", "main.rs:1", 8.0),
            (Category::Running, "", "main.rs:1", 2.0),
        ]
    );
    let elsewhere = report.all.elsewhere[0];
    assert_eq!((elsewhere.pid, elsewhere.is_recorded), (8, false));
    let text = report.text();
    assert!(
        text.contains("in process 8 (not recorded) at main.rs:1"),
        "{text}"
    );
    // It may be one of two.
    let mut made = a_task_asks_a_process();
    made.peer(1.0, 1, BACK, 9);
    let report = judge(&parse(&made), 1);
    assert_eq!(causes(&report)[0].1, "(one of several, not recorded)");
}

/// The time of day at which the clock of the first process was 0.
const UNIX: u64 = 10_000_000_000;

/// Returns the report of both processes. `late`: milliseconds that the clock of the other one is ahead. `unix`: the time of
/// day at which it was 0.
fn of_both(late: f64, unix: u64) -> Report {
    let own = a_task_asks_a_process().text();
    let own = own.replace("\"pid\":7", &format!("\"pid\":7,\"unix\":{UNIX}"));
    let own = Recording::parse(own.as_bytes()).unwrap();
    let other = of_other(&a_process_answers(late), unix);
    judge(&Recording::of_all([own, other]), 1)
}

#[test]
fn a_request_has_the_time_that_another_process_works_for_it() {
    // Clocks that are five seconds apart are compared by the time of day.
    for (late, unix) in [(0.0, UNIX), (5_000.0, UNIX - 5_000_000_000)] {
        let report = of_both(late, unix);
        assert_eq!(
            causes(&report),
            [
                (Category::Timer, "Sleep in process 8", "main.rs:3", 4.0),
                (Category::Running, "", "main.rs:1", 2.0),
                (Category::Channel, "ipc::Receiver", "main.rs:1", 1.0),
                (Category::Running, "in process 8", "main.rs:1", 1.0),
                (Category::Running, "in process 8", "main.rs:4", 1.0),
                (Category::Runnable, "", "main.rs:1", 1.0),
            ]
        );
        let elsewhere = report.all.elsewhere[0];
        let is_same =
            (elsewhere.pid, elsewhere.is_recorded, elsewhere.nanos) == (8, true, 6_000_000);
        assert!(is_same, "{elsewhere:?}");
        assert_eq!(report.pids, [7, 8]);
        let text = report.text();
        assert!(
            text.contains("  process 8         6.0 ms   60.0 %"),
            "{text}"
        );
        let behind = report.paths[0].behind.as_deref();
        assert_eq!(behind, Some("task 1 (main.rs:1) in process 7"));
    }
}

/// A time of day that is wrong is corrected: no message is received before it is sent.
#[test]
fn messages_correct_the_clocks() {
    for wrong in [-3_000_000, 3_000_000] {
        let unix = (UNIX - 5_000_000_000).saturating_add_signed(wrong);
        let elsewhere = of_both(5_000.0, unix).all.elsewhere;
        assert_eq!(elsewhere[0].nanos, 6_000_000, "{wrong}");
    }
}

#[test]
fn an_answer_for_another_request_is_none_of_this_one() {
    let mut other = a_process_answers(0.0);
    // The question of this request is never received.
    other.rows.retain(|row| !row.starts_with("[25,"));
    let report = judge(
        &Recording::of_all([parse(&a_task_asks_a_process()), of_other(&other, 0)]),
        1,
    );
    assert_eq!(
        causes(&report)[0],
        (Category::Channel, "ipc::Receiver", "main.rs:1", 8.0)
    );
    let behind = report.slowest.causes[0].behind.as_deref();
    assert_eq!(behind, Some("task 2 (main.rs:4) in process 8"));
}
