//! Schedules whose probabilities are known.
//!
//! The seeds are fixed, so each count is the same in each run of a test.

use std::collections::BTreeMap;

use blitz_io_sim::{Plan, Schedule, Simulator, Verdict};

use crate::support::{c, run, text};

/// Returns the share of `seeds` with which a program prints `wanted`.
fn share(source: &str, schedule: Schedule, wanted: &str, seeds: u64) -> f64 {
    let compiled = c(source);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let count = (0..seeds)
        .filter(|seed| {
            let outcome = run(&mut simulator, schedule, *seed);
            assert_eq!(outcome.verdict, Verdict::Passed, "{}", outcome.report);
            text(&outcome).contains(wanted)
        })
        .count();
    count as f64 / seeds as f64
}

/// `main` makes `calls` calls on a lock of its own. Then it and the other thread use the same lock once.
/// Prints which one was last.
fn last_at_a_shared_lock(calls: u32) -> String {
    format!(
        "static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER, shared = PTHREAD_MUTEX_INITIALIZER;\n\
         static const char *last;\n\
         static void *other(void *x) {{ pthread_mutex_trylock(&shared); last = \"other\"; return x; }}\n\
         int main(void) {{\n\
             pthread_t t;\n\
             pthread_create(&t, NULL, other, NULL);\n\
             for (int i = 0; i < {calls}; i++) pthread_mutex_trylock(&own);\n\
             pthread_mutex_trylock(&shared); last = \"main\";\n\
             pthread_join(t, NULL);\n\
             puts(last);\n\
             return 0;\n\
         }}"
    )
}

/// Returns the probability that both steps of a thread (up to its first call, and that call) let all `m`
/// steps of another one pass, where the thread with the higher of two random numbers has the next step,
/// and then draws anew.
fn both_are_last(m: i32) -> f64 {
    // The first step has the number x, and goes ahead of a step with the number u < x after k others, or
    // after all. In the first case the second step needs a number below u and below all others.
    let steps = 400;
    let middle = |at: i32| (f64::from(at) + 0.5) / f64::from(steps);
    let mut sum = 0.0;
    for x in (0..steps).map(middle) {
        let mut given = (1.0 - x).powi(m);
        for k in 0..m {
            let second: f64 = (0..steps)
                .map(middle)
                .filter(|y| *y < x)
                .map(|y| (x - y) * (1.0 - y).powi(m - 1 - k))
                .sum();
            given += (1.0 - x).powi(k) * second / f64::from(steps);
        }
        sum += given;
    }
    sum / f64::from(steps)
}

#[test]
fn pos_lets_a_thread_be_last_as_often_as_the_formula_says() {
    let calls = 10;
    // Steps of `main` while the other thread can wait: the creation, its own calls, the shared one.
    let expected = both_are_last(calls + 2);
    let found = share(
        &last_at_a_shared_lock(calls as u32),
        Schedule::Pos,
        "other",
        4_000,
    );
    // Four standard deviations.
    let width = 4.0 * (expected * (1.0 - expected) / 4_000.0).sqrt();
    assert!(
        (found - expected).abs() < width,
        "{found} instead of {expected}"
    );
    // A walk that chooses either thread with probability 1/2 has 2^-12 for that.
    assert!(expected > 0.01);
}

#[test]
fn surw_tries_both_orders_of_two_shared_calls_equally_often() {
    for calls in [0, 30] {
        let found = share(
            &last_at_a_shared_lock(calls),
            Schedule::Surw,
            "other",
            2_000,
        );
        // Four standard deviations.
        assert!(
            (found - 0.5).abs() < 4.0 * (0.25f64 / 2_000.0).sqrt(),
            "{calls}: {found}"
        );
    }
}

#[test]
fn surw_tries_all_orders_of_independent_threads_equally_often() {
    let compiled = c(&crate::counts::independent(1));
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let mut counts = BTreeMap::new();
    let seeds = 4_000;
    for seed in 0..seeds {
        let outcome = run(&mut simulator, Schedule::Surw, seed);
        assert_eq!(outcome.verdict, Verdict::Passed, "{}", outcome.report);
        let choices: Vec<u16> = outcome.decisions.iter().map(|made| made.choice).collect();
        *counts.entry(choices).or_insert(0) += 1;
    }
    let orders = crate::counts::merges(3, 2);
    assert_eq!(counts.len() as u64, orders, "{counts:?}");
    let expected = seeds as f64 / orders as f64;
    for count in counts.values() {
        let width = 4.0 * expected.sqrt();
        assert!((f64::from(*count) - expected).abs() < width, "{counts:?}");
    }
}

#[test]
fn each_schedule_gives_the_same_run_in_another_start_of_the_program() {
    let compiled = c(&last_at_a_shared_lock(5));
    let schedules = [
        Schedule::Random,
        Schedule::Pct(3),
        Schedule::Pos,
        Schedule::Surw,
        Schedule::RoundRobin,
    ];
    for schedule in schedules {
        let mut one = Simulator::start(&compiled.program).unwrap();
        let mut two = Simulator::start(&compiled.program).unwrap();
        // The runs before this one must not matter.
        run(&mut two, Schedule::Random, 1);
        for seed in 0..20 {
            let hashes = [&mut one, &mut two].map(|it| run(it, schedule, seed).hash);
            assert_eq!(hashes[0], hashes[1], "{schedule}, seed {seed}");
        }
    }
}

/// A thread that spins until another one, which uses a shared lock, has gone on.
#[test]
fn a_loop_that_yields_ends_with_each_schedule() {
    let compiled = c(r#"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile int ready;
static void *set(void *x) {
    for (int i = 0; i < 3; i++) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); }
    ready++;
    return x;
}
int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, set, NULL);
    pthread_mutex_lock(&m); pthread_mutex_unlock(&m);
    while (ready < 2) sched_yield();
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return 0;
}"#);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    for schedule in [Schedule::Pct(3), Schedule::Pos, Schedule::Surw] {
        for seed in 0..100 {
            let mut plan = Plan::new(schedule, seed);
            plan.limit = 10_000;
            let outcome = simulator.run(&plan).unwrap();
            assert_eq!(
                outcome.verdict,
                Verdict::Passed,
                "{schedule}, seed {seed}: {}",
                outcome.report
            );
        }
    }
}

#[test]
fn pct_lets_a_third_thread_run_if_two_yield() {
    let compiled = c(r#"
static volatile int ready;
static void *spin(void *x) { while (!ready) sched_yield(); return x; }
static void *set(void *x) { ready = 1; return x; }
int main(void) {
    pthread_t t[3];
    for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, i < 2 ? spin : set, NULL);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    return 0;
}"#);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    for seed in 0..40 {
        let mut plan = Plan::new(Schedule::Pct(1), seed);
        plan.limit = 1_000;
        let outcome = simulator.run(&plan).unwrap();
        assert_eq!(outcome.verdict, Verdict::Passed, "seed {seed}");
    }
}

/// `main` is drawn for the next shared call. Before it makes one, it spins until the other thread, which
/// is held back, has made one.
#[test]
fn surw_lets_a_thread_go_on_for_which_another_one_yields() {
    let compiled = c(r#"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile int ready;
static void *set(void *x) { pthread_mutex_trylock(&m); ready = 1; return x; }
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, set, NULL);
    while (!ready) sched_yield();
    for (int i = 0; i < 5; i++) pthread_mutex_trylock(&m);
    pthread_join(t, NULL);
    return 0;
}"#);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    for seed in 0..100 {
        let mut plan = Plan::new(Schedule::Surw, seed);
        plan.limit = 1_000;
        let outcome = simulator.run(&plan).unwrap();
        assert_eq!(outcome.verdict, Verdict::Passed, "seed {seed}");
    }
}

/// Neither takes the baton away from a thread that could go on.
#[test]
fn a_loop_of_calls_ends_without_preemptions() {
    let compiled = c(r#"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile int ready;
static void *set(void *x) { ready = 1; return x; }
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, set, NULL);
    while (!ready) pthread_mutex_trylock(&m);
    pthread_join(t, NULL);
    return 0;
}"#);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    for schedule in [Schedule::Script, Schedule::Pct(1)] {
        for seed in 0..20 {
            let mut plan = Plan::new(schedule, seed);
            plan.limit = 10_000;
            let outcome = simulator.run(&plan).unwrap();
            assert_eq!(outcome.verdict, Verdict::Passed, "{schedule}, seed {seed}");
        }
    }
}

/// The simulator keeps more or less in its memory, by the strategy, and if it records. That moves nothing of the program.
#[test]
fn objects_are_where_they_were_in_each_run() {
    let compiled = c(r#"
static void *at[3];
static void *allocates(void *x) { at[(long)x] = malloc(100); sched_yield(); return x; }
int main(void) {
    pthread_t t[2];
    for (long i = 0; i < 2; i++) pthread_create(&t[i], NULL, allocates, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    at[2] = malloc(100);
    printf("%p %p\n", (void *)t, at[2]);
    return 0;
}"#);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let plan = Plan::new(Schedule::Script, 0);
    let (recorded, _) = simulator.record(&plan).unwrap();
    let schedules = [Schedule::Pct(3), Schedule::Pos, Schedule::Surw];
    for schedule in schedules {
        for seed in 0..5 {
            let outcome = run(&mut simulator, schedule, seed);
            assert_eq!(text(&outcome), text(&recorded), "{schedule}, seed {seed}");
        }
    }
}
