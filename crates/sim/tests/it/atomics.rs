//! Atomic operations as points, in programs with the thread sanitizer's instrumentation.

use std::process::Command;

use blitz_io_sim::{
    Exhaustive, Faults, Outcome, Plan, Program, Schedule, Simulator, Trace, Verdict, shrink,
};

use crate::support::{Compiled, c, c_with_atomics, is_sanitized, text};

/// Runs seeds until one does not pass.
fn find(program: &Program, seeds: u64, atomics: bool) -> Option<(Simulator, Plan, Outcome)> {
    let mut simulator = Simulator::start(program).unwrap();
    let found = (0..seeds).find_map(|seed| {
        let mut plan = Plan::new(Schedule::Portfolio, seed);
        plan.atomics = atomics;
        plan.faults = Faults::USUAL.of_seed(seed);
        let outcome = simulator.run(&plan).unwrap();
        (outcome.verdict != Verdict::Passed).then_some((plan, outcome))
    });
    found.map(|(plan, outcome)| (simulator, plan, outcome))
}

/// Each order of the program's points must pass, and another run of the same order must be equal.
fn passes(compiled: &Compiled, seeds: u64) {
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    for seed in 0..seeds {
        let mut plan = Plan::new(Schedule::Portfolio, seed);
        plan.atomics = true;
        plan.faults = Faults::USUAL.of_seed(seed);
        let (first, second) = (simulator.run(&plan).unwrap(), simulator.run(&plan).unwrap());
        let message = format!(
            "seed {seed}: {}\n{}\n{}",
            first.verdict,
            first.report,
            text(&first)
        );
        assert_eq!(first.verdict, Verdict::Passed, "{message}");
        assert_eq!(
            (first.hash, first.points),
            (second.hash, second.points),
            "{message}"
        );
        assert_eq!(first.loops, [0u64; 0], "{message}");
    }
}

/// Three threads, each of which reads a counter and writes it one higher, without a call between.
const LOST_UPDATE: &str = r#"
#include <stdatomic.h>
static atomic_int count;
static void *adds(void *x) { atomic_store(&count, atomic_load(&count) + 1); return x; }
int main(void) {
    pthread_t t[3];
    for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, adds, NULL);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    assert(atomic_load(&count) == 3);
    return 0;
}"#;

#[test]
fn a_lost_update_is_found_between_two_atomic_operations_only() {
    if is_sanitized() {
        return;
    }
    let compiled = c_with_atomics(LOST_UPDATE);
    assert!(find(&compiled.program, 1_000, false).is_none());

    let found = find(&compiled.program, 100, true);
    let (mut simulator, plan, outcome) = found.expect("the lost update is found");
    assert!(
        text(&outcome).contains("atomic_load(&count) == 3"),
        "{}",
        text(&outcome)
    );
    let (small, smallest) = shrink(&mut simulator, &plan, &outcome, |_, _| true).unwrap();
    assert!(small.script.len() <= 3, "{:?}", small.script);
    let trace = Trace::new(&compiled.program, &small, &smallest).unwrap();
    let read = Trace::decode(&trace.encode()).unwrap();
    assert!(read.plan.atomics && !read.plan.preempt);
    let mut simulator = Simulator::start(&read.program).unwrap();
    for _ in 0..100 {
        let again = simulator.run(&read.plan).unwrap();
        assert_eq!((again.verdict, again.hash), (read.verdict, read.hash));
    }
}

#[test]
fn a_correct_counter_passes_with_operations_of_all_sizes() {
    if is_sanitized() {
        return;
    }
    let compiled = c_with_atomics(
        r#"
#include <stdatomic.h>
#include <stdint.h>
static _Atomic __int128 e;
static _Atomic uint8_t a; static _Atomic uint16_t b; static _Atomic uint32_t c; static _Atomic uint64_t d;
static void *adds(void *x) {
    atomic_fetch_add(&a, 3); atomic_fetch_sub(&b, 1); atomic_fetch_xor(&c, 1u << (long)x);
    uint64_t old = atomic_load(&d);
    while (!atomic_compare_exchange_weak(&d, &old, old * 2 + 1)) {}
    atomic_fetch_add(&e, ((__int128)1 << 64) + 2);
    atomic_thread_fence(memory_order_seq_cst);
    return x;
}
int main(void) {
    pthread_t t[3];
    for (long i = 0; i < 3; i++) pthread_create(&t[i], NULL, adds, (void *)i);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    assert(a == 9 && b == (uint16_t)-3 && c == 7 && d == 7);
    assert(atomic_exchange(&c, 12) == 7 && atomic_fetch_and(&c, 10) == 12 && atomic_fetch_or(&c, 3) == 8 && c == 11);
    assert(__atomic_fetch_nand(&c, 3, __ATOMIC_SEQ_CST) == 11 && c == ~3u);
    assert(e == ((__int128)3 << 64) + 6 && atomic_exchange(&e, 5) != 5 && e == 5);
    uint8_t expected = 1;
    assert(!atomic_compare_exchange_strong(&a, &expected, 2) && expected == 9 && a == 9);
    return 0;
}"#,
    );
    passes(&compiled, 100);
    // Without a simulator, too.
    assert!(
        Command::new(&compiled.program.path)
            .status()
            .unwrap()
            .success()
    );
}

/// Two threads with a point each in `main`'s way: a thread stores and then looks whether the other one has. In one
/// order at a time, at least one of them sees the other's store.
#[test]
fn all_orders_of_two_threads_are_tried_once() {
    if is_sanitized() {
        return;
    }
    let compiled = c_with_atomics(
        r#"
#include <stdatomic.h>
static atomic_int stored[2], seen[2];
static void *one(void *x) {
    atomic_store(&stored[0], 1);
    atomic_store(&seen[0], atomic_load(&stored[1]));
    return x;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, one, NULL);
    atomic_store(&stored[1], 1);
    atomic_store(&seen[1], atomic_load(&stored[0]));
    pthread_join(t, NULL);
    printf("%d%d", seen[0], seen[1]);
    return 0;
}"#,
    );
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let mut search = Exhaustive::new(0, None);
    search.plan_mut().atomics = true;
    let mut results = std::collections::BTreeMap::new();
    while let Some(plan) = search.plan().cloned() {
        let outcome = simulator.run(&plan).unwrap();
        assert_eq!(outcome.verdict, Verdict::Passed, "{}", outcome.report);
        *results.entry(text(&outcome)).or_insert(0) += 1;
        search.finish(&outcome);
    }
    assert_eq!(results.keys().collect::<Vec<_>>(), ["01", "10", "11"]);
}

#[test]
fn a_loop_of_atomic_operations_lets_others_run_and_time_pass() {
    if is_sanitized() {
        return;
    }
    // A spin lock, and a flag that a thread sets after an hour.
    let compiled = c_with_atomics(
        r#"
#include <stdatomic.h>
static atomic_flag lock = ATOMIC_FLAG_INIT;
static atomic_int late;
static int count;
static void *counts(void *x) {
    for (int i = 0; i < 3; i++) {
        while (atomic_flag_test_and_set(&lock)) {}
        count++;
        atomic_flag_clear(&lock);
    }
    return x;
}
static void *sleeps(void *x) { sleep(3600); atomic_store(&late, 1); return x; }
int main(void) {
    pthread_t t[3];
    pthread_create(&t[0], NULL, counts, NULL);
    pthread_create(&t[1], NULL, counts, NULL);
    pthread_create(&t[2], NULL, sleeps, NULL);
    while (!atomic_load(&late)) {}
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    assert(count == 6);
    return 0;
}"#,
    );
    passes(&compiled, 50);
}

#[test]
fn a_loop_that_nothing_ends_is_a_livelock_and_a_long_computation_is_none() {
    if is_sanitized() {
        return;
    }
    let program = |body: &str| {
        c_with_atomics(&format!(
            r#"
#include <stdatomic.h>
static atomic_int word;
static void *other(void *x) {{ {body} return x; }}
int main(void) {{
    pthread_t t;
    pthread_create(&t, NULL, other, NULL);
    {body}
    pthread_join(t, NULL);
    return 0;
}}"#
        ))
    };
    let run = |compiled: &Compiled| {
        let mut plan = Plan::new(Schedule::RoundRobin, 0);
        plan.atomics = true;
        plan.limit = 10_000;
        Simulator::start(&compiled.program)
            .unwrap()
            .run(&plan)
            .unwrap()
    };
    let endless = run(&program("while (!atomic_load(&word)) {}"));
    assert_eq!(endless.verdict, Verdict::Livelock, "{}", endless.report);
    let long = run(&program(
        "for (int i = 0; i < 15000; i++) atomic_fetch_add(&word, 1);",
    ));
    assert_eq!(long.verdict, Verdict::Passed, "{}", long.report);
    assert!(long.points > 30_000);
}

#[test]
fn a_program_without_the_instrumentation_is_refused() {
    let compiled = c("int main(void) { return 0; }");
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let mut plan = Plan::new(Schedule::Random, 0);
    plan.atomics = true;
    let error = simulator.run(&plan).unwrap_err();
    assert!(error.to_string().contains("instrumentation"), "{error}");
    plan.atomics = false;
    assert_eq!(simulator.run(&plan).unwrap().verdict, Verdict::Passed);
}

/// Destructors of the last round run after the thread has passed the baton on: their operations are no points.
#[test]
fn a_thread_that_has_ended_is_at_no_point() {
    if is_sanitized() {
        return;
    }
    let compiled = c_with_atomics(
        r#"
#include <stdatomic.h>
static pthread_key_t key;
static atomic_int rounds;
static void ends(void *left) {
    for (int i = 0; i < 100; i++) atomic_fetch_add(&rounds, 1);
    if ((long)left > 1) pthread_setspecific(key, (void *)((long)left - 1));
}
static void *begins(void *x) { pthread_setspecific(key, (void *)4); return x; }
int main(void) {
    pthread_t t[3];
    pthread_key_create(&key, ends);
    for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, begins, NULL);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    assert(atomic_load(&rounds) == 1200);
    return 0;
}"#,
    );
    passes(&compiled, 30);
}

/// A thread looks for long, then announces that it sleeps. The mistake: it does not look again. The other thread looks for
/// the announcement in the same step in which it sets the word.
fn looks_then_sleeps(loop_of_looks: &str, last_look: &str) -> Compiled {
    c_with_atomics(&format!(
        r#"
#include <stdatomic.h>
#include <linux/futex.h>
#include <sys/syscall.h>
enum {{ EMPTY, SET, WAITS }};
static atomic_int word, done;
static void *sets(void *x) {{
    atomic_store(&done, 1);
    if (atomic_exchange(&word, SET) == WAITS) syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
    return x;
}}
static void waits(void) {{
    {loop_of_looks}
    if (atomic_load(&word) == SET) return;
    {last_look}
    while (atomic_load(&word) == WAITS) syscall(SYS_futex, &word, FUTEX_WAIT, WAITS, NULL, NULL, 0);
}}
int main(void) {{
    pthread_t t;
    pthread_create(&t, NULL, sets, NULL);
    waits();
    pthread_join(t, NULL);
    return 0;
}}"#
    ))
}

const LOOKS_FIRST: &str = "atomic_store(&word, WAITS);";
const LOOKS_AGAIN: &str =
    "int empty = EMPTY; if (!atomic_compare_exchange_strong(&word, &empty, WAITS)) return;";

/// Runs all orders with at most so many preemptions. Returns their number, and the first one that does not pass.
fn all_orders(
    program: &Program,
    preemptions: u32,
    change: impl Fn(&mut Plan),
) -> (u64, Option<Outcome>) {
    let mut simulator = Simulator::start(program).unwrap();
    let mut search = Exhaustive::new(0, Some(preemptions));
    search.plan_mut().atomics = true;
    change(search.plan_mut());
    while let Some(plan) = search.plan().cloned() {
        let outcome = simulator.run(&plan).unwrap();
        assert!(!outcome.verdict.is_incomplete(), "{}", outcome.report);
        search.finish(&outcome);
        if outcome.verdict.is_failure() {
            return (search.runs(), Some(outcome));
        }
    }
    (search.runs(), None)
}

/// If another thread ran at each yield, the first one would never come to its sleep before the word is set.
#[test]
fn a_wake_up_lost_after_a_loop_that_yields_is_found() {
    if is_sanitized() {
        return;
    }
    let yields = "for (int i = 0; i < 50 && atomic_load(&word) != SET; i++) sched_yield();";
    let wrong = looks_then_sleeps(yields, LOOKS_FIRST);
    let (_, found) = all_orders(&wrong.program, 1, |_| {});
    assert_eq!(found.map(|it| it.verdict), Some(Verdict::Deadlock));
    let right = looks_then_sleeps(yields, LOOKS_AGAIN);
    let (all, found) = all_orders(&right.program, 1, |_| {});
    assert!(found.is_none(), "{found:?}");
    // None for each of the yields.
    assert!((4..40).contains(&all), "{all}");
}

/// The place that matters is one of a dozen, beside hundreds of looks.
#[test]
fn a_change_after_the_last_look_of_a_loop_is_found() {
    if is_sanitized() {
        return;
    }
    let looks = "for (int i = 0; i < 300 && atomic_load(&word) != SET; i++) {}";
    let compiled = looks_then_sleeps(looks, LOOKS_FIRST);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let found = (0..100).find(|seed| {
        let mut plan = Plan::new(Schedule::Pct(2), *seed);
        plan.atomics = true;
        simulator.run(&plan).unwrap().verdict == Verdict::Deadlock
    });
    assert!(found.is_some());
}

#[test]
fn a_search_leaves_out_repetitions_and_objects_of_one_thread() {
    if is_sanitized() {
        return;
    }
    let own = "static atomic_int own; for (int i = 0; i < 40; i++) atomic_fetch_add(&own, 1);";
    let looks = "for (int i = 0; i < 300 && atomic_load(&word) != SET; i++) {}";
    let compiled = looks_then_sleeps(&format!("{own} {looks}"), LOOKS_AGAIN);
    let (all, found) = all_orders(&compiled.program, 1, |_| {});
    assert!(found.is_none(), "{found:?}");
    // One for each addition and a dozen others, and none for each look.
    assert!((45..100).contains(&all), "{all}");
    let (contended, found) = all_orders(&compiled.program, 1, |plan| plan.contended = true);
    assert!(found.is_none(), "{found:?}");
    assert!((4..40).contains(&contended), "{contended}");

    let compiled = looks_then_sleeps(&format!("{own} {looks}"), LOOKS_FIRST);
    let (_, found) = all_orders(&compiled.program, 1, |plan| plan.contended = true);
    assert_eq!(found.map(|it| it.verdict), Some(Verdict::Deadlock));
}

/// A lost update, with a hundred operations of each thread on an object of its own before.
#[test]
fn pct_finds_an_order_of_two_objects_beside_many_of_one_thread() {
    if is_sanitized() {
        return;
    }
    let compiled = c_with_atomics(
        r#"
#include <stdatomic.h>
static atomic_int count, own[2];
static void *adds(void *x) {
    for (int i = 0; i < 200; i++) atomic_fetch_add(&own[(long)x], 1);
    atomic_store(&count, atomic_load(&count) + 1);
    for (int i = 0; i < 200; i++) atomic_fetch_add(&own[(long)x], 1);
    return x;
}
int main(void) {
    pthread_t t[2];
    for (long i = 0; i < 2; i++) pthread_create(&t[i], NULL, adds, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    assert(atomic_load(&count) == 2);
    return 0;
}"#,
    );
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let found = (0..40).find(|seed| {
        let mut plan = Plan::new(Schedule::Pct(2), *seed);
        plan.atomics = true;
        simulator.run(&plan).unwrap().verdict != Verdict::Passed
    });
    assert!(found.is_some());
}

/// The waiter wakes up on its own after 2 ms, as a lock does that is fair, and then finds the word set.
#[test]
fn without_timeouts_a_wake_up_is_missed() {
    if is_sanitized() {
        return;
    }
    let sleeps = |last_look: &str| {
        let wait = "struct timespec time = {0, 2000000};
            while (atomic_load(&word) == WAITS) {
                syscall(SYS_futex, &word, FUTEX_WAIT, WAITS, &time, NULL, 0);
                if (atomic_load(&done)) return;
            }";
        looks_then_sleeps("", &format!("{last_look}\n{wait}"))
    };
    let wrong = sleeps(LOOKS_FIRST);
    let (_, found) = all_orders(&wrong.program, 1, |_| {});
    assert!(found.is_none(), "{found:?}");
    let (_, found) = all_orders(&wrong.program, 1, |plan| plan.no_timeouts = true);
    let found = found.expect("the wake-up is lost");
    assert_eq!(found.verdict, Verdict::Deadlock);
    assert!(found.report.contains("at most"), "{}", found.report);
    let right = sleeps(LOOKS_AGAIN);
    let (_, found) = all_orders(&right.program, 1, |plan| plan.no_timeouts = true);
    assert!(found.is_none(), "{found:?}");
}
