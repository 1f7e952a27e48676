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
