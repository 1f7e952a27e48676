//! Programs that explain their deadlocks.

use blitz_io_sim::{Outcome, Plan, Program, Schedule, Simulator, Verdict};

use crate::support::{Compiled, c};

/// Two threads that wait for each other at last. The first argument says how the program explains this: by a report,
/// by one that waits for a mutex of theirs, or by one that aborts. With a second one, the last thread that runs
/// ends.
const PROGRAM: &str = r#"
#include <dlfcn.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static int kind;
static void *waits(void *x) { sleep(1); pthread_mutex_lock(&m); return x; }
static void explain(const unsigned *threads, size_t count, void (*write)(const char *, size_t)) {
    char text[99];
    if (kind == 2) pthread_mutex_lock(&m);
    if (kind == 3) abort();
    pthread_t t;
    pthread_create(&t, NULL, (void *(*)(void *))usleep, (void *)1000);
    pthread_join(t, NULL);
    write(text, snprintf(text, sizeof text, "%zu threads, the first is %u\n", count, threads[0]));
}
int main(int argc, char **argv) {
    pthread_t t;
    void (*gives)(void (*)(const unsigned *, size_t, void (*)(const char *, size_t))) = NULL;
    *(void **)&gives = dlsym(RTLD_DEFAULT, "blitz_sim_explains");
    kind = atoi(argv[1]);
    if (kind > 0) gives(explain);
    pthread_mutex_lock(&m);
    pthread_create(&t, NULL, waits, NULL);
    if (argc > 2) { sleep(10); pthread_exit(NULL); }
    pthread_join(t, NULL);
    return 0;
}"#;

fn deadlock(compiled: &Compiled, arguments: &[&str]) -> Outcome {
    let program = Program::new(&compiled.program.path, arguments.iter().copied());
    let mut simulator = Simulator::start(&program).unwrap();
    let plan = Plan::new(Schedule::Random, 1);
    let outcome = simulator.run(&plan).unwrap();
    assert_eq!(outcome.verdict, Verdict::Deadlock, "{}", outcome.report);
    let again = simulator.run(&plan).unwrap();
    assert_eq!((again.hash, &again.report), (outcome.hash, &outcome.report));
    let text = &outcome.report;
    assert!(text.contains("waits for a mutex"), "{text}");
    outcome
}

#[test]
fn a_program_explains_its_deadlock() {
    let compiled = c(PROGRAM);
    let counts = |outcome: &Outcome| (outcome.hash, outcome.points, outcome.nanoseconds);
    let without = deadlock(&compiled, &["0"]);
    assert!(!without.report.contains("blitz why"));
    for (kind, text) in [
        ("1", "2 threads, the first is 4096\n"),
        ("2", "what `blitz why` says:\n"),
        ("3", "what `blitz why` says:\n"),
    ] {
        let outcome = deadlock(&compiled, &[kind]);
        assert!(outcome.report.ends_with(text), "{}", outcome.report);
        // A process that aborts leaves no time to take its steps away.
        if kind != "3" {
            assert_eq!(counts(&outcome), counts(&without));
        }
    }
}

#[test]
fn the_end_of_the_last_thread_leaves_a_deadlock_to_explain() {
    let compiled = c(PROGRAM);
    let outcome = deadlock(&compiled, &["1", "ends"]);
    let text = &outcome.report;
    assert!(text.ends_with("1 threads, the first is 4097\n"), "{text}");
}

/// Two threads that wait for each other, beside one that sleeps and looks for as long as the second argument says. The
/// first argument decides the answer: nothing is certain, always the same finding, or another one each time. Or the program
/// waits for ever, or aborts.
const RUNS_ON: &str = r#"
#include <dlfcn.h>
#include <stdint.h>
typedef void Write(const char *, size_t);
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static int kind;
static volatile int turns;
static void *waits(void *x) { pthread_mutex_lock(&n); usleep(9); pthread_mutex_lock(&m); return x; }
static void *others(void *x) { pthread_mutex_lock(&m); usleep(9); pthread_mutex_lock(&n); return x; }
static void judge(unsigned what, Write *write) {
    char text[99];
    uint64_t found = kind == 0 ? 0 : kind == 2 ? turns : 7;
    if (kind == 3) pthread_mutex_lock(&m);
    if (kind == 4) abort();
    pthread_t t;
    pthread_create(&t, NULL, (void *(*)(void *))usleep, (void *)0);
    turns = -1;
    if (what == 1) return write((char *)&found, 8);
    write(text, sprintf(text, "the report\n"));
}
int main(int argc, char **argv) {
    pthread_t t;
    void (*gives)(void (*)(unsigned, Write *)) = NULL;
    *(void **)&gives = dlsym(RTLD_DEFAULT, "blitz_sim_judges");
    kind = atoi(argv[1]);
    if (kind < 9) gives(judge);
    pthread_create(&t, NULL, waits, NULL);
    pthread_create(&t, NULL, others, NULL);
    while (turns++ < atoi(argv[2])) {
        /* A copy of the process has set it there. */
        if (turns < 0) return 1;
        usleep(100);
    }
    _exit(0);
}"#;

/// The number of points at which a second question confirms a finding.
const FOUND: u64 = 4_096 + 1_024;

#[test]
fn a_deadlock_beside_a_thread_that_goes_on_ends_the_run() {
    let compiled = c(RUNS_ON);
    let run = |arguments: [&str; 2]| {
        let program = Program::new(&compiled.program.path, arguments);
        let mut simulator = Simulator::start(&program).unwrap();
        let plan = Plan::new(Schedule::Random, 1);
        let outcome = simulator.run(&plan).unwrap();
        let again = simulator.run(&plan).unwrap();
        assert_eq!((again.hash, &again.report), (outcome.hash, &outcome.report));
        outcome
    };
    let found = run(["1", "20000"]);
    assert_eq!(found.verdict, Verdict::Deadlock, "{}", found.report);
    assert_eq!(found.points, FOUND);
    let text = &found.report;
    assert!(text.contains("some waits can never end"), "{text}");
    assert!(text.contains("waits for a mutex"), "{text}");
    assert!(
        text.ends_with("what `blitz why` says:\nthe report\n"),
        "{text}"
    );
    // The questions are no part of a run.
    let counts = |outcome: &Outcome| {
        (
            outcome.hash,
            outcome.points,
            outcome.nanoseconds,
            outcome.threads,
        )
    };
    let without = run(["9", "20000"]);
    assert_eq!(without.verdict, Verdict::Passed, "{}", without.report);
    assert!(without.points > 3 * FOUND);
    for kind in ["0", "2", "3", "4"] {
        let outcome = run([kind, "20000"]);
        assert_eq!(
            outcome.verdict,
            Verdict::Passed,
            "{kind}: {}",
            outcome.report
        );
        assert_eq!(counts(&outcome), counts(&without), "{kind}");
        assert_eq!(outcome.report, without.report, "{kind}");
    }
}

#[test]
fn a_livelock_has_what_the_program_says() {
    let compiled = c(RUNS_ON);
    let program = Program::new(&compiled.program.path, ["0", "20000"]);
    let mut simulator = Simulator::start(&program).unwrap();
    let mut plan = Plan::new(Schedule::Random, 1);
    plan.limit = 1_000;
    let outcome = simulator.run(&plan).unwrap();
    assert_eq!(outcome.verdict, Verdict::Livelock, "{}", outcome.report);
    let text = &outcome.report;
    assert!(
        text.ends_with("what `blitz why` says:\nthe report\n"),
        "{text}"
    );
}

#[test]
fn a_deadlock_without_time_limits_says_so() {
    let compiled = c(RUNS_ON);
    let program = Program::new(&compiled.program.path, ["0", "20000"]);
    let mut simulator = Simulator::start(&program).unwrap();
    let mut plan = Plan::new(Schedule::Random, 1);
    plan.no_timeouts = true;
    let outcome = simulator.run(&plan).unwrap();
    assert_eq!(outcome.verdict, Verdict::Deadlock, "{}", outcome.report);
    let text = &outcome.report;
    assert!(
        text.starts_with("with --no-timeouts, no time limit"),
        "{text}"
    );
    // The question is that of a program whose threads may run: a sleep is no certain finding.
    assert!(
        text.ends_with("what `blitz why` says:\nthe report\n"),
        "{text}"
    );
}
