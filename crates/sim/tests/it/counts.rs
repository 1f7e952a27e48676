//! Exhaustive search finds as many schedules as a formula says.

use blitz_io_sim::{Exhaustive, Simulator, Verdict};

use crate::support::{c, text};

/// Number of ways to merge two sequences of `a` and `b` steps.
pub fn merges(a: u64, b: u64) -> u64 {
    (1..=b).fold(1, |all, at| all * (a + at) / at)
}

/// Runs all schedules, and returns their number and the different outputs.
fn all(source: &str, preemptions: Option<u32>) -> (u64, Vec<String>) {
    let compiled = c(source);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let mut search = Exhaustive::new(1, preemptions);
    let mut outputs = std::collections::BTreeSet::new();
    while let Some(plan) = search.plan() {
        let outcome = simulator.run(plan).unwrap();
        assert_eq!(
            outcome.verdict,
            Verdict::Passed,
            "{}{}",
            outcome.report,
            text(&outcome)
        );
        outputs.insert(text(&outcome));
        search.finish(&outcome);
        assert!(search.runs() < 100_000);
    }
    (search.runs(), outputs.into_iter().collect())
}

/// Two threads that each make `n` calls on locks of their own.
pub fn independent(n: u32) -> String {
    format!(
        "static void calls(void) {{\n\
             pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
             for (int i = 0; i < {n}; i++) pthread_mutex_trylock(&m);\n\
         }}\n\
         static void *other(void *x) {{ calls(); return x; }}\n\
         int main(void) {{\n\
             pthread_t t;\n\
             pthread_create(&t, NULL, other, NULL);\n\
             calls();\n\
             pthread_join(t, NULL);\n\
             return 0;\n\
         }}"
    )
}

#[test]
fn two_independent_threads_have_as_many_schedules_as_merges_of_their_steps() {
    for n in 0..4u64 {
        // `main` has a step after each of its points: the creation, `n` calls, the join. The other thread
        // has one from its start to its first point, and one after each of `n` points.
        let (runs, _) = all(&independent(n as u32), None);
        assert_eq!(runs, merges(n + 2, n + 1), "n = {n}");
    }
}

#[test]
fn without_preemptions_a_thread_runs_until_it_waits() {
    let (runs, _) = all(&independent(5), Some(0));
    assert_eq!(runs, 1);
}

#[test]
fn one_preemption_can_be_at_each_point() {
    // At each of `main`'s 4 points the other thread may take over; once it has, nothing is left to
    // choose but one way back, at the end of the other thread.
    let (runs, _) = all(&independent(2), Some(1));
    assert_eq!(runs, 1 + 4);
}

#[test]
fn all_orders_of_a_lock_are_seen() {
    let (_, outputs) = all(
        "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
         static char order[4]; static int at;\n\
         static void *take(void *name) {\n\
             pthread_mutex_lock(&m); order[at++] = *(char *)name; pthread_mutex_unlock(&m);\n\
             return NULL;\n\
         }\n\
         int main(void) {\n\
             pthread_t t[2];\n\
             pthread_create(&t[0], NULL, take, \"a\");\n\
             pthread_create(&t[1], NULL, take, \"b\");\n\
             take(\"c\");\n\
             for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);\n\
             puts(order);\n\
             return 0;\n\
         }",
        Some(2),
    );
    assert_eq!(
        outputs,
        ["abc\n", "acb\n", "bac\n", "bca\n", "cab\n", "cba\n"]
    );
}
