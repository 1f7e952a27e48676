//! A run follows from its decisions.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use blitz_io::sim::{Builder, Cause, Failure, Schedule, Trace};
use blitz_io::sync::{Mutex, mpsc};
use blitz_io::{task, time};

/// Writes which task does what into a log.
async fn logged(log: Rc<RefCell<Vec<u32>>>) {
    let lock = Rc::new(Mutex::new(()));
    let (sender, mut receiver) = mpsc::channel(1);
    for number in 0..3 {
        let (lock, log, sender) = (lock.clone(), log.clone(), sender.clone());
        task::spawn_local(async move {
            for step in 0..3 {
                let _guard = lock.lock().await;
                log.borrow_mut().push(number * 10 + step);
                sender.send(number).await.unwrap();
                time::sleep(Duration::from_millis(number.into())).await;
            }
        });
    }
    drop(sender);
    while let Some(number) = receiver.recv().await {
        log.borrow_mut().push(100 + number);
        blitz_io::select! {
            () = task::yield_now() => log.borrow_mut().push(200),
            () = task::yield_now() => log.borrow_mut().push(300),
        }
    }
}

fn logs(schedule: Schedule, seed: u64, seeds: u64) -> Vec<Vec<u32>> {
    let logs = Rc::new(RefCell::new(Vec::new()));
    let own = logs.clone();
    let builder = Builder::new().seed(seed).seeds(seeds).schedule(schedule);
    builder.run(move || {
        let log = Rc::new(RefCell::new(Vec::new()));
        let own = own.clone();
        async move {
            logged(log.clone()).await;
            own.borrow_mut().push(log.take());
        }
    });
    logs.take()
}

#[test]
fn the_same_seeds_give_the_same_runs() {
    let texts = ["portfolio", "random", "pct:3", "pos", "surw", "guided"];
    for schedule in texts.map(|text| text.parse().unwrap()) {
        let runs = logs(schedule, 5, 20);
        assert_eq!(runs, logs(schedule, 5, 20), "{schedule}");
        assert!(runs.iter().any(|run| *run != runs[0]), "{schedule}");
    }
}

#[test]
fn a_seed_means_the_same_run_alone() {
    let texts = ["portfolio", "random", "pct:3", "pos", "surw"];
    for schedule in texts.map(|text| text.parse().unwrap()) {
        // Before the first run there may be one that counts operations.
        let runs = logs(schedule, 5, 20);
        let runs = &runs[runs.len() - 20..];
        for (seed, run) in (5..).zip(runs) {
            let alone = logs(schedule, seed, 1);
            assert_eq!(alone.last(), Some(run), "{schedule}, seed {seed}");
        }
    }
}

#[test]
fn a_search_from_seed_0_counts_operations_in_its_first_run() {
    assert_eq!(logs(Schedule::Portfolio, 0, 20).len(), 20);
    for text in ["pct:3", "surw"] {
        assert_eq!(logs(text.parse().unwrap(), 0, 20).len(), 21, "{text}");
    }
}

#[test]
#[should_panic(expected = "a simulation needs at least one run")]
fn a_search_without_runs_is_refused() {
    _ = Builder::new().seeds(0);
}

#[test]
fn a_search_without_time_has_one_run() {
    let builder = Builder::new().time_limit(Duration::ZERO);
    assert_eq!(builder.run(|| logged(Rc::default())).runs(), 1);
}

#[test]
fn round_robin_has_one_run() {
    assert_eq!(logs(Schedule::RoundRobin, 0, 100).len(), 1);
}

/// Loses an addition if another task runs between two yields.
async fn lost_addition() {
    let count = Arc::new(AtomicU32::new(0));
    let adders = [0; 3].map(|_| {
        let count = count.clone();
        task::spawn(async move {
            for _ in 0..3 {
                let before = count.load(Ordering::Relaxed);
                task::consume_budget().await;
                count.store(before + 1, Ordering::Relaxed);
                task::consume_budget().await;
            }
        })
    });
    for adder in adders {
        adder.await.unwrap();
    }
    assert_eq!(count.load(Ordering::Relaxed), 9);
}

fn failure() -> Failure {
    *Builder::new().check(lost_addition).unwrap_err()
}

#[test]
fn a_failure_shrinks_to_the_decisions_that_matter() {
    let failure = failure();
    // One preemption, and the rest follows.
    assert!(failure.trace().len() <= 2, "{failure}");
    let long = Builder::new().shrink(false).check(lost_addition);
    assert!(long.unwrap_err().trace().len() > failure.trace().len());
}

#[test]
fn a_trace_replays_a_failure_a_hundred_times() {
    let failure = failure();
    let trace: Trace = failure.trace().to_string().parse().unwrap();
    for _ in 0..100 {
        let again = Builder::new().trace(trace.clone()).shrink(false);
        let again = again.check(lost_addition).unwrap_err();
        assert_eq!(again.cause(), failure.cause());
    }
}

/// Returns the text without the line that names the run.
fn without_run(failure: &Failure) -> String {
    let text = failure.to_string();
    let lines = text.lines();
    lines
        .filter(|line| !line.starts_with("  run ") && !line.starts_with("  replay of "))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn a_replay_is_one_run_with_the_same_report() {
    let runs = Rc::new(RefCell::new(0));
    let count = runs.clone();
    let test = move || {
        *count.borrow_mut() += 1;
        lost_addition()
    };
    let found = Builder::new().shrink(false).check(&test).unwrap_err();
    let builder = Builder::new().trace(found.trace().clone());
    runs.replace(0);
    let again = builder.check(&test).unwrap_err();
    assert_eq!(runs.replace(0), 1);
    assert_eq!(again.trace(), found.trace());
    assert_eq!(without_run(&again), without_run(&found));
    // Unless it is to be shortened.
    let shorter = builder.shrink(true).check(&test).unwrap_err();
    assert!(shorter.trace().len() < found.trace().len(), "{shorter}");
    assert!(*runs.borrow() > 1);
}

#[test]
fn the_seed_of_a_failure_finds_it_at_once() {
    let first = Builder::new()
        .schedule(Schedule::Random)
        .check(lost_addition);
    let first = first.unwrap_err();
    let builder = Builder::new()
        .schedule(Schedule::Random)
        .seed(first.seed())
        .seeds(1);
    let again = builder.check(lost_addition).unwrap_err();
    assert_eq!(
        (again.cause(), again.trace()),
        (first.cause(), first.trace())
    );
}

#[test]
fn the_text_says_how_to_replay() {
    let failure = failure();
    let text = failure.to_string();
    let test = "replay::the_text_says_how_to_replay";
    let line = format!(
        "to replay: BLITZ_SIM_TRACE={} cargo test {test} -- --exact\n",
        failure.trace()
    );
    assert!(text.contains(&line), "{text}");
    let run = format!("\n  run {}, seed {}, ", failure.runs(), failure.seed());
    assert!(text.contains(&run), "{text}");
    // A replay is no run of a search.
    let again = Builder::new().trace(failure.trace().clone());
    let text = again.check(lost_addition).unwrap_err().to_string();
    let left = failure.trace().len();
    let line_of_run = format!("\n  replay of the trace; it has {left} of ");
    assert!(text.contains(&line_of_run), "{text}");
    assert!(!text.contains("seed "), "{text}");
    assert!(text.contains(&line), "{text}");
}

/// Does not end, in decisions that no line holds.
async fn endless() {
    let tasks = [0; 3].map(|_| {
        task::spawn(async {
            loop {
                task::yield_now().await;
            }
        })
    });
    let [first, ..] = tasks;
    first.await.unwrap();
}

#[test]
fn a_run_too_long_to_shrink_is_repeated_by_its_seed() {
    let limit = Builder::new().max_steps(200_000);
    let limit = limit.schedule(Schedule::Random).seed(7);
    let text = limit.check(endless).unwrap_err().to_string();
    assert!(
        text.contains("to replay: BLITZ_SIM_SEED=7 cargo test "),
        "{text}"
    );
    assert!(
        text.contains("not shrunk") && !text.contains("matter"),
        "{text}"
    );
}

#[test]
fn a_schedule_that_learns_is_repeated_with_the_runs_before() {
    let runs = Rc::new(RefCell::new(0));
    let count = runs.clone();
    let test = move || {
        *count.borrow_mut() += 1;
        let is_third = *count.borrow() % 3 == 0;
        async move {
            if is_third {
                endless().await;
            }
        }
    };
    let builder = Builder::new()
        .schedule(Schedule::Guided)
        .seed(5)
        .shrink(false);
    let failure = builder.max_steps(5_000).check(test).unwrap_err();
    let text = failure.to_string();
    assert!(
        text.contains("to replay: BLITZ_SIM_SEED=5 BLITZ_SIM_SEEDS=3 cargo test "),
        "{text}"
    );
    let run = "\n  run 3 from seed 5, schedule guided; ";
    assert!(text.contains(run), "{text}");
}

#[test]
fn a_trace_of_another_test_still_runs() {
    let trace: Trace = "1:0.9,1.9,1.9,7.1,100.4".parse().unwrap();
    let report = Builder::new().trace(trace).run(|| logged(Rc::default()));
    assert_eq!(report.runs(), 1);
}

/// Also a program for the next test.
#[test]
fn runs_are_those_of_the_environment() {
    let builder = Builder::new().seeds(3).from_env();
    builder.run(|| logged(Rc::default()));
}

/// Runs the program above with these variables. Returns `true` if it passes, and its output.
fn with_environment(variables: &[(&str, &str)]) -> (bool, String) {
    let ran = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "replay::runs_are_those_of_the_environment"])
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = [ran.stdout, ran.stderr].concat();
    (
        ran.status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

#[test]
#[cfg_attr(miri, ignore = "starts a program")]
fn a_wrong_variable_is_named_with_what_it_should_be() {
    let wrong = [
        ("SEED", "-1", "a number, such as 7"),
        ("SEEDS", "-1", "a number of runs, at least 1"),
        ("SEEDS", "0", "a number of runs, at least 1"),
        ("TIME", "10 minutes", "a time: a number of seconds, or "),
        ("SCHEDULE", "urw", "`portfolio`, `random`, "),
        ("EVENTS", "some", "a number of events, `all` or `merged`"),
        ("TRACE", "4.1", "a trace, such as 1:4.1,1.2"),
    ];
    for (name, value, wanted) in wrong {
        let name = format!("BLITZ_SIM_{name}");
        let (passes, text) = with_environment(&[(&name, value)]);
        let line = format!("the variable {name} is `{value}`, and should be {wanted}");
        assert!(!passes && text.contains(&line), "{text}");
    }
    assert!(with_environment(&[("BLITZ_SIM_TIME", "0")]).0);
}

#[test]
#[cfg_attr(miri, ignore = "starts a program")]
fn an_unknown_variable_is_named_once() {
    let (passes, text) = with_environment(&[("BLITZ_SIM_SEEED", "1")]);
    let line =
        "the variable BLITZ_SIM_SEEED has no effect: those of simulations are BLITZ_SIM_EVENTS, ";
    assert_eq!((passes, text.matches(line).count()), (true, 1), "{text}");
    assert!(
        !with_environment(&[("BLITZ_SIM_SEEDS", "1")])
            .1
            .contains("has no effect")
    );
}

#[test]
#[cfg_attr(miri, ignore = "starts a program")]
fn a_seed_that_repeats_no_run_says_so() {
    let cases = [("guided", true), ("exhaustive", true), ("surw", false)];
    for (schedule, depends) in cases {
        let seed = ("BLITZ_SIM_SEED", "11");
        let (passes, text) = with_environment(&[seed, ("BLITZ_SIM_SCHEDULE", schedule)]);
        let line = format!("BLITZ_SIM_SEED=11 does not repeat a run of the schedule {schedule}, ");
        assert_eq!((passes, text.contains(&line)), (true, depends), "{text}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "starts a program")]
fn a_trace_of_other_code_does_not_pass() {
    for (trace, fits) in [("1:", true), ("1:100000.4", false), ("1:0.99", false)] {
        let (passes, text) = with_environment(&[("BLITZ_SIM_TRACE", trace)]);
        assert_eq!(passes, fits, "{trace}: {text}");
        assert_eq!(
            text.contains("these are of other code"),
            !fits,
            "{trace}: {text}"
        );
        // A run that passes fails in no order, and needs no replay.
        let fails = text.contains("it fails in") || text.contains("to replay: ");
        assert!(!fails, "{trace}: {text}");
        let line = "one run only, that of the trace in BLITZ_SIM_TRACE: it passes\n";
        assert_eq!(text.contains(line), fits, "{trace}: {text}");
    }
}

/// Also a program for the next test.
#[test]
#[should_panic(expected = "has panicked at ")]
fn a_failure_has_the_events_of_the_environment() {
    Builder::new().from_env().run(|| async {
        let (sender, mut receiver) = mpsc::channel(1);
        task::spawn(async move {
            for number in 0..100 {
                sender.send(number).await.unwrap();
            }
        });
        while let Some(number) = receiver.recv().await {
            assert!(number < 80, "on purpose");
        }
    });
}

#[test]
#[cfg_attr(miri, ignore = "starts a program")]
fn the_environment_says_how_many_events_are_shown() {
    for (events, left_out) in [("all", false), ("1000", false), ("2", true)] {
        let text = report("a_failure_has_the_events_of_the_environment", events);
        assert_eq!(
            text.contains(" earlier events"),
            left_out,
            "{events}: {text}"
        );
        let lines = text.matches("\n    step ").count();
        assert_eq!(lines > 40, events == "all", "{events}: {text}");
        assert_eq!(
            text.contains("… the same "),
            events == "1000",
            "{events}: {text}"
        );
    }
}

/// Also a program for the next test. The tasks end before the deadlock, in which they are not.
#[test]
#[should_panic(expected = "deadlock: no task is ready")]
fn tasks_end_before_a_deadlock() {
    Builder::new().from_env().run(|| async {
        for _ in 0..12 {
            task::spawn(task::yield_now()).await.unwrap();
        }
        let lock = Mutex::new(());
        let _guard = lock.lock().await;
        drop(lock.lock().await);
    });
}

#[test]
#[cfg_attr(miri, ignore = "starts a program")]
fn all_events_are_those_of_all_tasks() {
    let text = report("tasks_end_before_a_deadlock", "all");
    for task in 2..14 {
        assert!(text.contains(&format!("\n  task {task}, ")), "{text}");
    }
}

/// Runs a test of this file with this value of the variable, and returns what it prints.
fn report(test: &str, events: &str) -> String {
    let ran = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("replay::{test}"), "--nocapture"])
        .env("BLITZ_SIM_EVENTS", events)
        .output()
        .unwrap();
    String::from_utf8_lossy(&ran.stderr).into_owned()
}

/// Also a program for the next test.
#[test]
#[should_panic(expected = "the last run")]
fn a_task_panics_in_each_run() {
    let runs = std::cell::Cell::new(0);
    let passes = Builder::new().seeds(10).allow_panics(true).check(|| {
        runs.set(runs.get() + 1);
        async {
            let task = task::spawn(async { panic!("as it may") });
            assert!(task.await.unwrap_err().is_panic());
        }
    });
    assert!(passes.is_ok() && runs.get() == 10);
    eprintln!("now a test fails");
    let failing = Builder::new().seeds(10).allow_panics(true);
    failing.run(|| async {
        let task = task::spawn(async { panic!("as it may") });
        assert!(task.await.unwrap_err().is_panic());
        let other = task::spawn(async {});
        task::yield_now().await;
        assert!(!other.is_finished(), "the last run");
    });
}

#[test]
#[cfg_attr(miri, ignore = "starts a program")]
fn allowed_panics_are_printed_once_and_only_those_of_a_run_that_fails() {
    let text = report("a_task_panics_in_each_run", "20");
    let (passing, failing) = text.split_once("now a test fails").expect(&text);
    assert!(!passing.contains("as it may"), "{text}");
    let (printed, _) = failing
        .split_once("the simulation has failed")
        .expect(&text);
    assert_eq!(printed.matches("as it may").count(), 1, "{text}");
}

#[test]
#[cfg_attr(miri, ignore = "starts a program")]
fn events_of_all_tasks_are_in_one_list() {
    let text = report("a_failure_has_the_events_of_the_environment", "merged");
    let (_, events) = text.split_once("the last events\n").expect(&text);
    let steps: Vec<u32> = events
        .lines()
        .filter_map(|line| {
            line.strip_prefix("  step ")?
                .split_once(' ')?
                .0
                .parse()
                .ok()
        })
        .collect();
    assert!(steps.len() > 100 && steps.is_sorted(), "{events}");
    // Each line names its task, in a column.
    let column = |name| {
        let mut lines = events.lines().filter(|line| line.starts_with("  step "));
        lines.find_map(|line| line.find(name))
    };
    let columns = ["  task 1 \"the test\"  ", "  task 2  "].map(column);
    assert!(columns[0].is_some() && columns[0] == columns[1], "{events}");
    assert!(events.contains("\n  task 2, spawned at "), "{events}");
}

/// Also a program for the next test: more records than the recorder keeps of other threads.
#[test]
#[cfg_attr(miri, ignore = "takes long")]
#[should_panic(expected = "has panicked at ")]
fn a_long_run_has_all_its_events() {
    Builder::new().seeds(1).from_env().run(|| async {
        let (sender, mut receiver) = mpsc::channel(1);
        sender.send(()).await.unwrap();
        task::spawn(async move { while receiver.recv().await.is_some() {} });
        for _ in 0..20_000 {
            task::yield_now().await;
        }
        drop(sender);
        panic!("on purpose");
    });
}

#[test]
#[cfg_attr(miri, ignore = "starts a program")]
fn all_events_of_a_long_run_are_shown() {
    let text = report("a_long_run_has_all_its_events", "all");
    let (_, events) = text.split_once("the last events\n").expect(&text);
    let first = events.lines().nth(1).expect(&text);
    let sends = "    step 1: sends to mpsc channel #1 (now 1 value), at ";
    assert!(first.starts_with(sends), "{first}");
    assert!(events.lines().count() > 20_000);
    assert!(!events.contains("not kept"));
}

#[test]
fn a_failure_leaves_nothing_behind() {
    for _ in 0..3 {
        let failure = Builder::new().check(|| async {
            let lock = Mutex::new(());
            let _guard = lock.lock().await;
            let _again = lock.lock().await;
        });
        assert_eq!(failure.unwrap_err().cause(), &Cause::Deadlock);
        let report = Builder::new().seeds(5).check_determinism(true);
        assert_eq!(report.run(|| logged(Rc::default())).runs(), 5);
    }
}

/// A program for the next tests: it fails if they run it, in decisions that no line holds.
#[test]
fn fails_in_a_program() {
    if std::env::var_os("FAILS").is_some() {
        let builder = Builder::new().schedule(Schedule::Random).max_steps(3_000);
        builder.from_env().run(|| {
            println!("a run");
            endless()
        });
    }
}

/// Runs that program with these variables. Returns its output and its errors, without those that the harness keeps.
fn failing(variables: &[(&str, &str)]) -> (String, String) {
    let ran = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "replay::fails_in_a_program"])
        .env("FAILS", "1")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    assert!(!ran.status.success());
    let [output, errors] =
        [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    (output, errors)
}

#[test]
#[cfg_attr(miri, ignore = "starts a program")]
fn a_failure_is_printed_before_it_is_shrunk() {
    let (output, errors) = failing(&[]);
    let line = "replay::fails_in_a_program: run 1 (seed 0) fails: it does not end in 3000 steps; \
                shrinking (BLITZ_SIM_SEED=0 repeats it)\n";
    assert!(errors.contains(line) && !output.contains(line), "{errors}");
}

#[test]
#[cfg_attr(miri, ignore = "starts a program")]
fn a_seed_alone_runs_once_and_its_trace_is_in_a_file() {
    let seed = ("BLITZ_SIM_SEED", "1");
    let (output, errors) = failing(&[seed]);
    assert_eq!(output.matches("a run\n").count(), 1, "{output}");
    assert!(output.contains("not shrunk"), "{output}");
    assert!(!errors.contains("; shrinking"), "{errors}");
    let rest = output.split_once("to replay: BLITZ_SIM_TRACE=").unwrap().1;
    let file = rest.split_whitespace().next().unwrap();
    assert!(file.starts_with('@') && file.ends_with("replay.fails_in_a_program.trace"));
    let (output, _) = failing(&[("BLITZ_SIM_TRACE", file)]);
    assert_eq!(output.matches("a run\n").count(), 1, "{output}");
    assert!(output.contains("\n  replay of the trace; "), "{output}");
    // A search of one run.
    let (output, errors) = failing(&[seed, ("BLITZ_SIM_SEEDS", "1")]);
    assert!(output.matches("a run\n").count() > 1, "{output}");
    assert!(errors.contains("; shrinking"), "{errors}");
}
