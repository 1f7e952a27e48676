//! Predictions, judged by injection: each service is made twice, as it is and really changed. The prediction from the
//! first one must be near the figures of the second one. The services are made by hand, without a clock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use blitz_io_inspect::trace::{Prediction, Recording, predict, predictions};

use crate::made::*;

/// The time between two requests of a client, in milliseconds.
const THINKS: f64 = 3.0;
/// Number of clients, each of which is a task, and of the requests of each.
const CLIENTS: u64 = 6;
const REQUESTS: u64 = 40;

/// What requests need one after the other.
#[derive(Clone, Copy, PartialEq)]
enum Service {
    /// A lock, while they sleep.
    Mutex,
    /// A permit, while they sleep.
    Permits,
    /// A thread for blocking work.
    Jobs,
    /// A worker, while they compute.
    Workers,
    /// An answer of a task that sleeps.
    Actor,
}

/// A service in which `count` requests can have what they need at the same time, for `takes` milliseconds each.
struct Load {
    service: Service,
    count: usize,
    takes: f64,
}

/// A moment, in millionths of a millisecond, so that moments can be compared.
type Moment = u64;

fn moment(at: f64) -> Moment {
    (at * 1e6).round() as u64
}

fn millis(at: Moment) -> f64 {
    at as f64 / 1e6
}

/// Returns how long a request takes: some take longer.
fn takes(load: &Load, request: u64) -> f64 {
    load.takes * (1 + request % 3) as f64
}

/// Plays a service, and writes down what its tasks do.
fn play(load: &Load) -> Made {
    let mut made = Made::default();
    if load.service == Service::Actor {
        made.spawn(0.0, 100, thread(9), ACTOR)
            .poll(0.0, 100)
            .end(0.0, 100);
    }
    let mut arrivals = BinaryHeap::new();
    for client in 1..=CLIENTS {
        let first = client as f64 * 0.1;
        made.spawn(0.0, client, thread(9), MAIN).poll(0.0, client);
        sleeps(&mut made, 0.0, client, first, 1);
        arrivals.push(Reverse((moment(first), client, 0)));
    }
    // The moments at which each is free, and the last client that had it.
    let mut free: BinaryHeap<_> = (0..load.count)
        .map(|place| Reverse((0, place, 0)))
        .collect();
    while let Some(Reverse((arrival, client, number))) = arrivals.pop() {
        let request = client * REQUESTS + number;
        let Reverse((free_at, place, by)) = free.pop().expect("there is one");
        let begin = arrival.max(free_at);
        let end = begin + moment(takes(load, request));
        let times = [arrival, begin, end, free_at].map(millis);
        one(
            &mut made,
            load.service,
            (client, request),
            by,
            place as u64 + 1,
            times,
        );
        free.push(Reverse((end, place, client)));
        let next = end + moment(THINKS);
        if number + 1 < REQUESTS {
            sleeps(
                &mut made,
                millis(end),
                client,
                millis(next),
                place as u64 + 1,
            );
            arrivals.push(Reverse((next, client, number + 1)));
        } else {
            made.end(millis(end), client);
        }
    }
    made
}

/// A task sleeps. When it is woken, it is polled at once, unless it has to wait for a worker.
fn sleeps(made: &mut Made, from: f64, id: u64, to: f64, thread_of: u64) {
    made.wait_for(from, id, SLEEP, 0, MAIN)
        .row(2, from, 0, 0, (task(id), thread(thread_of)), 0)
        .timer(to, id);
}

/// One request, whose client has been woken at `arrival`.
fn one(
    made: &mut Made,
    service: Service,
    (client, request): (u64, u64),
    by: u64,
    place: u64,
    [arrival, begin, end, free_at]: [f64; 4],
) {
    let poll = |made: &mut Made, at: f64| {
        made.row(1, at, 0, 0, (task(client), thread(place)), 0)
            .wait_for_end(at, client, SLEEP, 0, MAIN);
    };
    let is_ready = arrival >= begin;
    match service {
        Service::Mutex | Service::Permits => {
            poll(made, arrival);
            made.request(arrival, client, request);
            let kind = if service == Service::Mutex {
                MUTEX
            } else {
                SEMAPHORE
            };
            let object = if service == Service::Mutex {
                SESSIONS
            } else {
                ANSWER
            };
            if !is_ready {
                made.wait(arrival, client, kind, object, LOCK)
                    .end(arrival, client)
                    .wake(begin, client, task(by))
                    .poll(begin, client)
                    .wait_end(begin, client, kind, object, LOCK);
            }
            if service == Service::Mutex {
                made.acquired(begin, client);
            } else {
                made.row(17, begin, 1, ANSWER, (task(client), 0), LOCK);
            }
            made.wait_for(begin, client, SLEEP, 0, NAP)
                .end(begin, client)
                .timer(end, client)
                .poll(end, client)
                .wait_for_end(end, client, SLEEP, 0, NAP);
            if service == Service::Mutex {
                made.released(end, client);
            } else {
                made.row(18, end, 1, ANSWER, (task(client), 0), 0);
            }
            made.request_end(end, client, request);
        }
        Service::Jobs => {
            let job = 1_000 + request;
            poll(made, arrival);
            made.request(arrival, client, request)
                .spawn_job(arrival, job, task(client), JOB)
                .wait_for(arrival, client, JOIN, job, MAIN)
                .end(arrival, client)
                .row(1, begin, 0, 0, (task(job), thread(20 + place)), 0)
                .row(2, end, 0, 0, (task(job), thread(20 + place)), 0)
                .wake(end, client, task(job))
                .poll(end, client)
                .wait_for_end(end, client, JOIN, job, MAIN)
                .request_end(end, client, request);
        }
        Service::Workers => {
            // Its request begins when it is woken: another task has read it.
            made.request(arrival, client, request);
            poll(made, begin);
            made.request_end(end, client, request);
        }
        Service::Actor => {
            if arrival > free_at {
                // It has waited for a question.
                if free_at > 0.0 {
                    made.end(free_at, 100);
                }
                made.wake(arrival, 100, task(client)).poll(arrival, 100);
            }
            poll(made, arrival);
            made.request(arrival, client, request)
                .wait(arrival, client, ONESHOT, 10 + client, MAIN)
                .end(arrival, client)
                .wait_for(begin, 100, SLEEP, 0, NAP)
                .end(begin, 100)
                .timer(end, 100)
                .poll(end, 100)
                .wait_for_end(end, 100, SLEEP, 0, NAP)
                .wake(end, client, task(100))
                .poll(end, client)
                .wait_end(end, client, ONESHOT, 10 + client, MAIN)
                .request_end(end, client, request);
        }
    }
}

fn ask(made: &Made, scenario: &str) -> Prediction {
    let recording = Recording::parse(made.text().as_bytes()).unwrap();
    let scenario = scenario.parse().unwrap();
    predict(&recording, &[scenario]).unwrap().remove(0)
}

/// The prediction for the first one is near the figures of the second one.
#[track_caller]
fn is_right(before: &Load, after: &Load, scenario: &str) {
    let prediction = ask(&play(before), scenario);
    let real = ask(&play(after), "workers 1000").recorded;
    let near = |one: f64, other: f64| (one / other - 1.0).abs() < 0.05;
    let text = format!("{prediction:#?}\nreally: {real:#?}");
    let (recorded, replayed) = (prediction.recorded, prediction.replayed);
    assert!(near(replayed.p50 as f64, recorded.p50 as f64), "{text}");
    assert!(near(replayed.p99 as f64, recorded.p99 as f64), "{text}");
    assert!(near(replayed.per_second, recorded.per_second), "{text}");
    assert!(
        !near(real.p50 as f64, recorded.p50 as f64),
        "nothing changed: {text}"
    );
    assert!(near(prediction.p50.value, real.p50 as f64), "{text}");
    assert!(near(prediction.p99.value, real.p99 as f64), "{text}");
    assert!(near(prediction.per_second.value, real.per_second), "{text}");
    for estimate in [prediction.p50, prediction.p99, prediction.per_second] {
        assert!(
            estimate.low <= estimate.value && estimate.value <= estimate.high,
            "{text}"
        );
    }
    assert_eq!(prediction.forced, 0, "{text}");
    assert_eq!(prediction.requests as u64, CLIENTS * REQUESTS);
}

fn service(service: Service, count: usize, takes: f64) -> Load {
    Load {
        service,
        count,
        takes,
    }
}

#[test]
fn a_lock_that_is_held_for_half_the_time() {
    let load = |takes| service(Service::Mutex, 1, takes);
    is_right(&load(2.0), &load(1.0), "Mutex sessions / 2");
    is_right(&load(2.0), &load(4.0), "Mutex sessions * 2");
    // The clients are the limit from here on.
    is_right(&load(2.0), &load(0.25), "lock main.rs:2 / 8");
}

#[test]
fn more_permits_and_fewer() {
    let load = |count| service(Service::Permits, count, 2.0);
    is_right(&load(2), &load(4), "permits 4");
    is_right(&load(4), &load(2), "permits Semaphore 2");
    is_right(
        &load(2),
        &service(Service::Permits, 2, 1.0),
        "Semaphore / 2",
    );
}

#[test]
fn more_threads_for_blocking_work_and_fewer() {
    let load = |count| service(Service::Jobs, count, 2.0);
    is_right(&load(2), &load(4), "blocking threads 4");
    is_right(&load(3), &load(1), "blocking threads 1");
    is_right(
        &load(2),
        &service(Service::Jobs, 2, 1.0),
        "running main.rs:5 / 2",
    );
}

#[test]
fn more_workers_and_fewer() {
    let load = |count| service(Service::Workers, count, 2.0);
    is_right(&load(1), &load(3), "workers 3");
    is_right(&load(3), &load(1), "workers 1");
    is_right(&load(2), &service(Service::Workers, 2, 4.0), "running * 2");
}

/// The last one needs that an answer is not given before its question.
#[test]
fn a_task_that_answers_sooner() {
    let load = |takes| service(Service::Actor, 1, takes);
    is_right(&load(2.0), &load(1.0), "timer main.rs:3 / 2");
    is_right(&load(2.0), &load(0.25), "timer main.rs:3 / 8");
}

#[test]
fn changes_can_be_combined() {
    let before = service(Service::Permits, 2, 2.0);
    let after = service(Service::Permits, 3, 1.0);
    is_right(&before, &after, "permits 3, Sleep main.rs:3 / 2");
}

#[test]
fn a_scenario_that_names_nothing_says_what_there_is() {
    let made = play(&service(Service::Mutex, 1, 2.0));
    let recording = Recording::parse(made.text().as_bytes()).unwrap();
    for wrong in [
        "Mutex accounts / 2",
        "permits 4",
        "timer main.rs:4 / 2",
        "file / 2",
    ] {
        let error = predict(&recording, &[wrong.parse().unwrap()]).unwrap_err();
        assert!(
            error.to_string().contains("Mutex \"sessions\" main.rs:2"),
            "{error}"
        );
    }
    let empty = Recording::parse(b"{\"format\":1}").unwrap();
    let error = predict(&empty, &["workers 8".parse().unwrap()]).unwrap_err();
    assert!(error.to_string().contains("no request"), "{error}");
}

/// The line may be without its folders, as those of waits.
#[test]
fn a_lock_without_a_name_is_found_by_the_line_that_created_it() {
    let made = play(&service(Service::Mutex, 1, 2.0)).text();
    let named = "\"objects\":[\"sessions\",null]";
    assert!(made.contains(named));
    let text = made.replace(
        named,
        "\"objects\":[null,null],\"created\":[\"src/lib.rs:51\",null]",
    );
    let recording = Recording::parse(text.as_bytes()).unwrap();
    let ask = |what: &str| predict(&recording, &[what.parse().unwrap()]);
    let full = ask("Mutex created at src/lib.rs:51 / 2").unwrap()[0].p50;
    assert!(full.value < ask("Mutex * 1").unwrap()[0].p50.value);
    for words in [
        "Mutex lib.rs:51 / 2",
        "lib.rs:51 / 2",
        "Mutex src/lib.rs:51 / 2",
    ] {
        assert_eq!(ask(words).unwrap()[0].p50, full, "{words}");
    }
    for words in ["rs:51 / 2", "lib.rs:5 / 2"] {
        assert!(ask(words).is_err(), "{words}");
    }
}

/// A replay ends, whatever is missing in the recording.
#[test]
fn a_recording_that_has_lost_events_is_replayed_to_its_end() {
    let whole = play(&service(Service::Mutex, 1, 2.0));
    let scenario = "Mutex sessions / 2";
    for lost in (0..40).step_by(5) {
        let mut made = Made::default();
        // Each 41st event.
        let rows = whole.rows.iter().enumerate();
        let kept = rows.filter(|(at, _)| at % 41 != lost);
        made.rows = kept.map(|(_, row)| row.clone()).collect();
        let prediction = ask(&made, scenario);
        assert!(
            prediction.p50.value.is_finite() && prediction.requests > 0,
            "{prediction:?}"
        );
    }
}

/// A service of `count` requests that takes `takes` milliseconds for each. Task 1 waits for sockets, and each request is that
/// of a task which it spawns, or, with `keeps`, of the task of one of three connections.
fn connections(count: u64, takes: f64, keeps: bool) -> Made {
    let mut made = Made::default();
    made.spawn(0.0, 1, thread(9), MAIN).poll(0.0, 1);
    for request in 0..count {
        let at = 10.0 * request as f64 + 5.0;
        let task_of = if keeps { 2 + request % 3 } else { 2 + request };
        if !keeps || request < 3 {
            made.wait_for(at - 5.0, 1, READABLE, 0, MAIN)
                .end(at - 5.0, 1)
                .row(9, at, 2, 0, (task(1), thread(1)), 0)
                .poll(at, 1)
                .wait_for_end(at, 1, READABLE, 0, MAIN)
                .spawn(at, task_of, task(1), MAIN);
        }
        made.row(13, at, 0, 1 + request % 2, (task(task_of), request + 1), 0)
            .poll(at, task_of)
            .wait_for(at, task_of, SLEEP, 0, NAP)
            .end(at, task_of)
            .timer(at + takes, task_of)
            .poll(at + takes, task_of)
            .wait_for_end(at + takes, task_of, SLEEP, 0, NAP)
            .request_end(at + takes, task_of, request + 1)
            .end(at + takes, task_of);
    }
    made
}

/// The arrival of such requests follows from no answer, so the output says that its intervals do not include it.
#[test]
fn requests_that_arrive_when_they_did_are_told() {
    let own = ask(&connections(20, 2.0, false), "timer main.rs:3 / 2");
    assert_eq!((own.arrivals, own.requests), (20, 20), "{own:#?}");
    let text = predictions(&[own]);
    assert!(
        text.contains("20 of 20 requests have a task of their own"),
        "{text}"
    );
    let kept = ask(&connections(20, 2.0, true), "timer main.rs:3 / 2");
    assert_eq!((kept.arrivals, kept.requests), (0, 20), "{kept:#?}");
    let text = predictions(&[kept]);
    assert!(!text.contains("Take these with care"), "{text}");
    // Clients with a task each begin with a timer.
    let clients = ask(&play(&service(Service::Mutex, 1, 2.0)), "workers 2");
    assert_eq!(clients.arrivals, 0);
}

#[test]
fn each_name_has_a_row_and_columns_are_below_each_other() {
    let both = ["timer main.rs:3 / 2", "timer main.rs:3 / 1000, workers 12"];
    let recording = Recording::parse(connections(21, 2.0, true).text().as_bytes()).unwrap();
    let both = predict(&recording, &both.map(|one| one.parse().unwrap())).unwrap();
    let names: Vec<_> = (both[0].by_name.iter())
        .map(|one| (one.name.as_str(), one.requests, one.p50.value))
        .collect();
    assert_eq!(names, [("GET /x", 11, 1e6), ("POST /y", 10, 1e6)]);
    let text = predictions(&both);
    let rows: Vec<&str> = text.trim().lines().collect();
    let labels = [
        "What if",
        "  as recorded",
        "    GET /x",
        "    POST /y",
        "  timer main.rs:3 / 2",
        "    GET /x",
        "    POST /y",
        "  timer main.rs:3 / 1000, workers 12",
        "    GET /x",
        "    POST /y",
    ];
    assert_eq!(rows.len(), labels.len(), "{text}");
    for (row, label) in rows.iter().zip(labels) {
        assert!(row.starts_with(label), "{text}");
    }
    // The places of characters, as one of them is `µ`. Values end below their titles, and intervals begin below each other.
    let rows: Vec<Vec<char>> = rows.iter().map(|row| row.chars().collect()).collect();
    let place = |row: &[char], part: &str| {
        let part: Vec<char> = part.chars().collect();
        row.windows(part.len()).position(|these| these == part)
    };
    for title in ["p50", "p99", "a second"] {
        let end = place(&rows[0], title).unwrap() + title.len();
        for row in &rows {
            assert!(
                row[end - 1] != ' ' && row.get(end).is_none_or(|next| *next == ' '),
                "{text}"
            );
        }
    }
    let intervals = |row: &[char]| {
        let places = row.iter().enumerate().filter(|(_, letter)| **letter == '(');
        places.map(|(place, _)| place).collect::<Vec<_>>()
    };
    assert_eq!(intervals(&rows[4]).len(), 3, "{text}");
    for row in &rows[5..] {
        assert_eq!(intervals(row), intervals(&rows[4]), "{text}");
    }
}

/// A request sleeps for 5 ms, and another task then keeps the worker for this time.
fn sleeps_beside_a_poll(keeps: f64) -> Recording {
    let mut made = Made::default();
    let end = 5.0 + keeps;
    made.spawn(0.0, 1, thread(9), MAIN)
        .spawn(0.0, 2, thread(9), ACTOR)
        .poll(0.0, 1)
        .request(0.0, 1, 1)
        .wait_for(0.5, 1, SLEEP, 0, NAP)
        .end(0.5, 1)
        .poll(4.0, 2)
        .timer(5.0, 1)
        .end(end, 2)
        .poll(end, 1)
        .wait_for_end(end, 1, SLEEP, 0, NAP)
        .request_end(end + 1.0, 1, 1)
        .end(end + 1.0, 1);
    Recording::parse(made.text().as_bytes()).unwrap()
}

/// The timer is not what the request waits for: the report names the poll that keeps the worker.
#[test]
fn a_timer_after_which_no_worker_is_free_has_a_warning() {
    let text = |keeps: f64, what_if: &str| {
        let scenario = what_if.parse().unwrap();
        predictions(&predict(&sleeps_beside_a_poll(keeps), &[scenario]).unwrap())
    };
    let warned = text(40.0, "timer main.rs:3 / 4");
    let says = "Take \"timer main.rs:3 / 4\" with care: its waits took 4.5 ms in all, and their tasks were then ready for \
                40.0 ms,\nas no worker was free. Look at the polls that keep the workers first.\n\
                The longest poll took 41.0 ms, and ran for 41.0 ms of it: task 2 (main.rs:4)\n";
    assert!(warned.ends_with(says), "{warned}");
    for (keeps, what_if) in [
        (4.0, "timer main.rs:3 / 4"),
        (40.0, "timer main.rs:3 * 2"),
        (40.0, "workers 2"),
    ] {
        let text = text(keeps, what_if);
        assert!(!text.contains("as no worker was free"), "{text}");
    }
}
