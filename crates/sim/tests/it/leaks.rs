//! Threads that a test leaves.

use std::process::Command;

use blitz_io_sim::{Faults, Outcome, Plan, Program, Schedule, Simulator, Verdict};

use crate::support::{c, text};

/// A program with tests, of which each argument names one. Each prints the threads that it has left.
const PROGRAM: &str = r#"
#include <dlfcn.h>
#include <stdint.h>
typedef void *body(void *);
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t two;
static unsigned (*begins)(void);
static void (*ended)(unsigned, void *, void (*)(void *, unsigned, const char *, const uintptr_t *, size_t));
static void (*serves)(void);

__attribute__((noinline)) static void start(body *b) {
    pthread_t t;
    pthread_create(&t, NULL, b, NULL);
    pthread_detach(t);
}
static void *waits(void *x) { pthread_setname_np(pthread_self(), "waits"); pthread_mutex_lock(&held); return x; }
static void *sleeps(void *x) { for (;;) sleep(3600); return x; }
static void *naps(void *x) { usleep(50); return x; }
static void *yields(void *x) { for (int i = 0; i < 100; i++) sched_yield(); return x; }
static void *stays(void *x) { serves(); pthread_mutex_lock(&held); return x; }
static void *starts(void *x) { start(waits); return x; }
static void *waits_and_starts(void *x) { pthread_barrier_wait(&two); start(waits); return waits(x); }

/* The program may take long to say what it has left: it looks lines up. */
static void works(long rounds) { for (volatile long i = 0; i < rounds; i++) {} }

static void tell(void *to, unsigned number, const char *name, const uintptr_t *calls, size_t count) {
    uintptr_t first = (uintptr_t)start;
    int is_here = count > 1 && calls[0] > first && calls[0] < first + 100;
    printf("%s: %u \"%s\"%s\n", (char *)to, number, name, is_here ? "" : ", started elsewhere");
}
static void *ends_a_test(void *x) {
    unsigned since = begins();
    start(yields);
    pthread_barrier_wait(&two);
    ended(since, "a test", tell);
    return x;
}
int main(int argc, char **argv) {
    if (argc > 2 && !strcmp(argv[1], "measure")) {
        works(atol(argv[2]));
        printf("%ld", (long)clock());
        return 0;
    }
    *(void **)&begins = dlsym(RTLD_DEFAULT, "blitz_sim_test_begins");
    *(void **)&ended = dlsym(RTLD_DEFAULT, "blitz_sim_test_ended");
    *(void **)&serves = dlsym(RTLD_DEFAULT, "blitz_sim_serves");
    pthread_mutex_lock(&held);
    pthread_barrier_init(&two, NULL, 2);
    char *name = argv[1];
    if (!strcmp(name, "two")) {
        pthread_t t, u;
        pthread_create(&t, NULL, ends_a_test, NULL);
        pthread_create(&u, NULL, ends_a_test, NULL);
        pthread_join(t, NULL);
        pthread_join(u, NULL);
        return 0;
    }
    if (!strcmp(name, "before")) start(waits_and_starts);
    unsigned since = begins();
    if (!strcmp(name, "before")) pthread_barrier_wait(&two);
    if (!strcmp(name, "waits")) start(waits);
    if (!strcmp(name, "sleeps")) { start(sleeps); start(yields); }
    if (!strcmp(name, "naps")) { start(naps); start(yields); }
    if (!strcmp(name, "yields")) start(yields);
    if (!strcmp(name, "stays")) start(stays);
    if (!strcmp(name, "starts")) start(starts);
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    ended(since, name, tell);
    clock_gettime(CLOCK_MONOTONIC, &after);
    // No fault has moved the clock to the end of a sleep.
    assert(after.tv_sec - before.tv_sec < 2);
    if (argc > 2) works(atol(argv[2]));
    // The clock moves again.
    sleep(1);
    return 0;
}"#;

/// Runs a test in the order in which each thread runs until it waits, and in others.
fn each_run(test: &str, seeds: u64, mut check: impl FnMut(&Outcome)) {
    let compiled = c(PROGRAM);
    let program = Program::new(&compiled.program.path, [test]);
    let mut simulator = Simulator::start(&program).unwrap();
    let first = Plan::new(Schedule::Script, 0);
    let others = (0..seeds).map(|seed| {
        let mut plan = Plan::new(Schedule::Portfolio, seed);
        plan.faults = Faults::USUAL.of_seed(seed);
        plan.preempt = seed % 2 == 1;
        plan.length = Some(20);
        plan
    });
    for plan in [first].into_iter().chain(others) {
        let outcome = simulator.run(&plan).unwrap();
        let told = format!("{}\n{}", outcome.report, text(&outcome));
        assert_eq!(outcome.verdict, Verdict::Passed, "{test}: {told}");
        let again = simulator.run(&plan).unwrap();
        assert_eq!(again.hash, outcome.hash, "{test}: {told}");
        check(&outcome);
    }
}

/// Requires that a test leaves these threads in each order, or none.
fn leaves(test: &str, seeds: u64, threads: &str, waits: &str) {
    each_run(test, seeds, |outcome| {
        let report = &outcome.report;
        assert_eq!(text(outcome), threads, "{test}: {report}");
        assert!(report.contains(waits), "{test}: {report}");
        assert_eq!(report.is_empty(), threads.is_empty(), "{test}: {report}");
    });
}

#[test]
fn a_thread_that_waits_or_sleeps_is_left() {
    let waits = "left at the end of the test:\nthread 1 \"waits\" waits for a mutex at ";
    leaves("waits", 10, "waits: 1 \"waits\"\n", waits);
    let sleeps = "left at the end of the test:\nthread 1 sleeps for ";
    leaves("sleeps", 10, "sleeps: 1 \"\"\n", sleeps);
}

#[test]
fn a_thread_of_a_thread_that_has_ended_is_left() {
    let waits = "thread 2 \"waits\" waits for a mutex at ";
    leaves("starts", 10, "starts: 2 \"waits\"\n", waits);
}

#[test]
fn a_thread_that_ends_by_itself_is_not_left() {
    leaves("yields", 10, "", "");
}

/// The calls of the other thread take more time than that.
#[test]
fn a_thread_with_a_short_sleep_is_left() {
    leaves("naps", 0, "naps: 1 \"\"\n", "thread 1 sleeps for 0 ns");
}

#[test]
fn a_thread_that_serves_the_process_is_not_left() {
    leaves("stays", 10, "", "");
}

#[test]
fn a_thread_from_before_the_test_has_its_own_threads() {
    leaves("before", 10, "", "");
}

#[test]
fn two_tests_end_at_the_same_time() {
    leaves("two", 10, "", "");
}

#[test]
fn a_program_that_has_left_threads_is_in_no_loop() {
    let compiled = c(PROGRAM);
    // More processor time than the one after which a thread may be in a loop, measured without the simulator.
    const ROUNDS: u64 = 50_000_000;
    let path = &compiled.program.path;
    let measured = Command::new(path)
        .args(["measure", &ROUNDS.to_string()])
        .output()
        .unwrap();
    let microseconds: u64 = String::from_utf8_lossy(&measured.stdout).parse().unwrap();
    let rounds = ROUNDS * 900_000 / microseconds.max(1);
    let program = Program::new(path, ["sleeps".to_owned(), rounds.to_string()]);
    let mut simulator = Simulator::start(&program).unwrap();
    let outcome = simulator.run(&Plan::new(Schedule::Random, 1)).unwrap();
    let report = &outcome.report;
    assert_eq!(outcome.verdict, Verdict::Passed, "{report}");
    assert!(report.contains("thread 1 sleeps for "), "{report}");
    assert_eq!(outcome.loops, [0u64; 0], "{report}");
}
