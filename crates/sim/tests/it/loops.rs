//! Threads that change between two calls: in loops without a call, and after a number of instructions.

use blitz_io_sim::{
    Faults, Happening, Outcome, Plan, Schedule, Scripted, Simulator, Verdict, shrink,
};

use crate::support::{Compiled, c, find, is_simulated, test, text};

/// `kind::WINDOW` of the shared memory.
const WINDOW: u16 = 4;

/// Runs seeds, each of which passes, and again in another start of the program with the same loops.
fn pass_in_loops(source: &str, seeds: u64) -> Vec<Outcome> {
    let compiled = c(source);
    let mut first = Simulator::start(&compiled.program).unwrap();
    let mut second = Simulator::start(&compiled.program).unwrap();
    let run = |seed| {
        let mut plan = Plan::new(Schedule::Portfolio, seed);
        let one = first.run(&plan).unwrap();
        assert_eq!(one.verdict, Verdict::Passed, "seed {seed}: {}", one.report);
        plan.loops.clone_from(&one.loops);
        let two = second.run(&plan).unwrap();
        assert_eq!(
            (one.hash, one.points, text(&one)),
            (two.hash, two.points, text(&two)),
            "seed {seed}"
        );
        one
    };
    (0..seeds).map(run).collect()
}

/// `main` sets a flag after `before`; the other thread makes no call until it is set, but executes `round`.
fn waits_for_a_flag(before: &str, round: &str) -> String {
    format!(
        "static int flag;\n\
         static volatile unsigned long rounds;\n\
         static void *other(void *x) {{\n\
             while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE)) {{ {round} }}\n\
             return x;\n\
         }}\n\
         int main(void) {{\n\
             pthread_t t;\n\
             pthread_create(&t, NULL, other, NULL);\n\
             {before};\n\
             __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);\n\
             pthread_join(t, NULL);\n\
             printf(\"%lu\\n\", rounds);\n\
             return 0;\n\
         }}"
    )
}

#[test]
fn a_loop_over_memory_lets_others_run() {
    let outcomes = pass_in_loops(&waits_for_a_flag("sched_yield()", ""), 40);
    assert!(outcomes.iter().any(|outcome| !outcome.loops.is_empty()));
}

#[test]
fn a_loop_that_changes_memory_has_as_many_rounds_each_time() {
    let outcomes = pass_in_loops(&waits_for_a_flag("sched_yield()", "rounds++;"), 40);
    let rounds: Vec<u64> = outcomes
        .iter()
        .map(|it| text(it).trim().parse().unwrap())
        .collect();
    assert!(rounds.iter().any(|count| *count >= 31), "{rounds:?}");
}

#[test]
fn time_passes_for_a_loop_that_waits_for_a_sleeper() {
    let outcomes = pass_in_loops(&waits_for_a_flag("sleep(3600)", ""), 10);
    assert!(
        outcomes
            .iter()
            .all(|it| it.nanoseconds >= 3_600_000_000_000)
    );
}

#[test]
fn threads_that_meet_without_a_call_meet() {
    let outcomes = pass_in_loops(
        r#"
static int arrived, round_number;
static void *rounds(void *x) {
    for (int round = 0; round < 20; round++) {
        if (__atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL) == 3) {
            __atomic_store_n(&arrived, 0, __ATOMIC_RELAXED);
            __atomic_add_fetch(&round_number, 1, __ATOMIC_RELEASE);
        }
        while (__atomic_load_n(&round_number, __ATOMIC_ACQUIRE) <= round);
    }
    return x;
}
int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, rounds, NULL);
    rounds(NULL);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return 0;
}"#,
        20,
    );
    // Each meeting of three needs a change of threads between two calls.
    assert!(outcomes.iter().all(|outcome| outcome.points > 20));
}

#[test]
fn a_loop_of_calls_has_no_rounds() {
    // `look` has the breakpoint: after `spin`, it is executed between calls only.
    let compiled = c(r#"
static int flag;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) static int look(void) { return __atomic_load_n(&flag, __ATOMIC_ACQUIRE); }
__attribute__((noinline)) static void spin(void) { while (!look()); }
static void *other(void *x) {
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 3000; i++) pthread_mutex_trylock(&m);
    return x;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, other, NULL);
    spin();
    for (int i = 0; i < 500; i++) { look(); pthread_mutex_trylock(&n); }
    pthread_join(t, NULL);
    return 0;
}"#);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let (outcome, recording) = simulator.record(&Plan::new(Schedule::Script, 0)).unwrap();
    assert_eq!(outcome.verdict, Verdict::Passed, "{}", outcome.report);
    assert_eq!(outcome.loops.len(), 1);
    let calls = recording.events.iter().filter(|event| event.thread == 0);
    let names = calls.filter_map(|event| match &event.what {
        Happening::Call { name, .. } => Some(name.as_str()),
        _ => None,
    });
    let after = names.skip_while(|name| *name != "pthread_mutex_trylock");
    let counted = after.fold((0, 0), |(calls, rounds), name| match name {
        "a loop without a call" => (calls, rounds + 1),
        _ => (calls + 1, rounds),
    });
    assert_eq!(counted, (501, 0));
}

#[test]
fn a_computation_is_no_loop_if_nobody_could_end_it() {
    let compiled = c("static volatile unsigned long n;\n\
         static void *compute(void *x) { for (n = 0; n < 100000000; n++); return x; }\n\
         int main(void) {\n\
             pthread_t t;\n\
             pthread_create(&t, NULL, compute, NULL);\n\
             pthread_join(t, NULL);\n\
             return 0;\n\
         }");
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let outcome = simulator.run(&Plan::new(Schedule::Script, 0)).unwrap();
    assert_eq!(outcome.verdict, Verdict::Passed, "{}", outcome.report);
    assert!(outcome.loops.is_empty());
}

#[test]
fn a_computation_ends_beside_threads_that_can_run() {
    let outcomes = pass_in_loops(
        "static void *compute(void *x) { for (volatile unsigned long n = 0; n < 100000000; n++); return x; }\n\
         int main(void) {\n\
             pthread_t t;\n\
             pthread_create(&t, NULL, compute, NULL);\n\
             for (int i = 0; i < 50; i++) sched_yield();\n\
             pthread_join(t, NULL);\n\
             return 0;\n\
         }",
        6,
    );
    assert_eq!(outcomes.len(), 6);
}

/// The program has a handler for the signal of the steps, and blocks all signals in a thread that spins.
#[test]
fn the_signal_of_the_steps_stays_the_programs() {
    let outcomes = pass_in_loops(
        r#"
#include <signal.h>
static int flag;
static volatile int traps;
static void trapped(int signal) { traps += signal == SIGTRAP; }
static void *other(void *x) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE));
    return x;
}
int main(void) {
    signal(SIGTRAP, trapped);
    raise(SIGTRAP);
    __asm__ volatile ("int3");
    pthread_t t;
    pthread_create(&t, NULL, other, NULL);
    sched_yield();
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
    pthread_join(t, NULL);
    assert(traps == 2);
    return 0;
}"#,
        10,
    );
    assert!(outcomes.iter().any(|outcome| !outcome.loops.is_empty()));
}

#[test]
fn a_breakpoint_of_the_program_ends_it() {
    let compiled = c("int main(void) { __asm__ volatile (\"int3\"); return 0; }");
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let outcome = simulator.run(&Plan::new(Schedule::Script, 0)).unwrap();
    assert_eq!(outcome.verdict, Verdict::Killed(5), "{}", outcome.report);
}

/// Two threads add to a counter without an atomic operation and without a call. The empty assembly keeps the compiler from
/// making one instruction of it.
const LOST_UPDATE: &str = r#"
static volatile int counter;
static void *add(void *x) {
    for (int i = 0; i < 3; i++) {
        int seen = counter;
        __asm__ volatile ("" : "+r"(seen));
        counter = seen + 1;
    }
    return x;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, add, NULL);
    add(NULL);
    pthread_join(t, NULL);
    assert(counter == 6);
    return 0;
}"#;

/// The same, of two threads that make no call at all: each has its first window when it begins.
#[test]
fn a_lost_update_of_threads_without_calls_is_found() {
    let source = LOST_UPDATE.replace(
        "pthread_t t;\n    pthread_create(&t, NULL, add, NULL);\n    add(NULL);\n",
        "pthread_t t, u;\n    pthread_create(&t, NULL, add, NULL);\n    pthread_create(&u, NULL, add, NULL);\n    pthread_join(u, NULL);\n",
    );
    assert_ne!(source, LOST_UPDATE);
    let compiled = c(&source);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let (plan, outcome) = find_with_windows(&mut simulator);
    // One window is enough: the other thread is next. The failing run has had choices of threads before it.
    let (small, _) = shrink(&mut simulator, &plan, &outcome, |_, _| true).unwrap();
    assert_eq!(small.script.len(), 1, "{:?}", small.script);
    assert_eq!(small.script[0].kind, WINDOW);
}

/// The length of a short run: it has windows at many of its points.
const SHORT: u64 = 20;

/// Runs seeds with windows until one fails.
fn find_with_windows(simulator: &mut Simulator) -> (Plan, Outcome) {
    let mut found = (0..3_000).filter_map(|seed| {
        let mut plan = Plan::new(Schedule::Portfolio, seed);
        plan.preempt = true;
        plan.length = Some(SHORT);
        let outcome = simulator.run(&plan).unwrap();
        outcome.verdict.is_failure().then_some((plan, outcome))
    });
    found.next().expect("the lost update is found")
}

#[test]
fn a_lost_update_is_found_with_windows_only() {
    let compiled = c(LOST_UPDATE);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    assert!(find(&mut simulator, Faults::NONE, 300).is_none());

    let (plan, outcome) = find_with_windows(&mut simulator);
    let (small, smallest) = shrink(&mut simulator, &plan, &outcome, |_, _| true).unwrap();
    assert_eq!(small.script.len(), 1, "{:?}", small.script);
    assert!(small.script.iter().any(|choice| choice.kind == WINDOW));
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    for _ in 0..100 {
        let again = simulator.run(&small).unwrap();
        assert_eq!(
            (again.verdict, again.hash),
            (smallest.verdict, smallest.hash)
        );
    }
}

/// Counts without a call, in a thread that is the only one beside `main`.
#[test]
fn a_window_has_exactly_as_many_instructions() {
    let compiled = c(r#"
static volatile int count;
static void *other(void *x) { printf("%d\n", count); return x; }
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, other, NULL);
    while (count < 20) count = count + 1;
    pthread_join(t, NULL);
    return 0;
}"#);
    let seen: Vec<u32> = with_first_window(&compiled, 200)
        .iter()
        .map(|printed| printed.parse().unwrap())
        .collect();
    // One more instruction counts at most one further, and a round has as many in each round.
    assert!(
        seen.is_sorted() && seen.windows(2).all(|two| two[1] - two[0] <= 1),
        "{seen:?}"
    );
    let rounds: Vec<usize> = (1..19)
        .map(|count| seen.iter().filter(|it| **it == count).count())
        .collect();
    assert!(
        rounds[0] > 1 && rounds.iter().all(|count| *count == rounds[0]),
        "{seen:?}"
    );
}

/// Runs a program without other choices than the first window of `main`, of each length below `end`. Returns what it printed.
fn with_first_window(compiled: &Compiled, end: u16) -> Vec<String> {
    with_window(compiled, 0, end)
}

/// The same with another window; the first is number 0.
fn with_window(compiled: &Compiled, number: usize, end: u16) -> Vec<String> {
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let mut plan = Plan::new(Schedule::Script, 0);
    plan.preempt = true;
    let usual = simulator.run(&plan).unwrap();
    let decisions = usual.decisions.iter().enumerate();
    let mut windows = decisions.filter(|(_, it)| it.kind == WINDOW);
    let (at, _) = windows.nth(number).unwrap();
    let printed = (1..end).map(|choice| {
        plan.script = vec![Scripted {
            index: at as u32,
            kind: WINDOW,
            count: usual.decisions[at].count,
            choice,
            reserved: 0,
        }];
        let outcome = simulator.run(&plan).unwrap();
        assert_eq!(outcome.verdict, Verdict::Passed, "{}", outcome.report);
        text(&outcome).trim().to_owned()
    });
    printed.collect()
}

/// Calls that are no points: a system call of the program and one of libc that the kernel answers, one inside of libc that the simulator answers, and two of its
/// own functions.
#[test]
fn a_window_goes_on_over_calls_that_do_not_matter() {
    let compiled = c(r#"
#include <signal.h>
static volatile int count;
static void *other(void *x) { printf("%d\n", count); return x; }
static void harmless(void) {
    stack_t old;
    struct timespec now;
    cpu_set_t set;
    long number = 131;
    __asm__ volatile("syscall" : "+a"(number) : "D"(0), "S"(&old) : "rcx", "r11", "memory");
    sigaltstack(NULL, &old);
    clock_gettime(CLOCK_MONOTONIC, &now);
    pthread_setname_np(pthread_self(), count % 2 ? "odd" : "even");
    sched_getaffinity(0, sizeof set, &set);
}
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, other, NULL);
    while (count < 9) { count = count + 1; harmless(); }
    pthread_join(t, NULL);
    return 0;
}"#);
    let seen: Vec<u32> = with_first_window(&compiled, 200)
        .iter()
        .map(|seen| seen.parse().unwrap())
        .collect();
    // Only instructions of the program count, so each round has as many. In the first one it looks for libc's functions.
    let rounds: Vec<usize> = (2..5)
        .map(|count| seen.iter().filter(|it| **it == count).count())
        .collect();
    assert!(
        seen.is_sorted() && rounds[0] > 1 && rounds.iter().all(|count| *count == rounds[0]),
        "{rounds:?} {seen:?}"
    );
}

/// The simulator calls libc's function, which uses the program's allocator. No thread is interrupted there. The same with a
/// kernel that allows no breakpoints, so the simulator's own instructions are stepped: a process can ask for that (in Linux 6.3).
#[test]
fn no_window_ends_in_an_allocator_that_the_simulator_calls() {
    for before in ["", "prctl(65, 1, 0, 0, 0);"] {
        no_window_ends_in_an_allocator(before);
    }
}

fn no_window_ends_in_an_allocator(before: &str) {
    let compiled = c(&r#"
#include <netdb.h>
#include <sys/prctl.h>
#include <stddef.h>
static volatile int calls, inside, count;
static char memory[1 << 22];
static size_t used;
void *malloc(size_t size) {
    inside = 1;
    calls++;
    used = (used + 31) & ~(size_t)15;
    *(size_t *)(memory + used - 16) = size;
    void *taken = memory + used;
    used += size;
    inside = 0;
    return taken;
}
void free(void *it) {}
void *calloc(size_t many, size_t size) { return memset(malloc(many * size), 0, many * size); }
void *realloc(void *it, size_t size) {
    void *copy = malloc(size);
    return it ? memcpy(copy, it, ((size_t *)it)[-2] < size ? ((size_t *)it)[-2] : size) : copy;
}
static int before;
static void *other(void *x) { printf("%d %d %d\n", inside, calls > before, count); return x; }
int main(void) {
    FIRST
    pthread_t t;
    struct addrinfo *found;
    pthread_create(&t, NULL, other, NULL);
    before = calls;
    getaddrinfo("127.0.0.1", NULL, NULL, &found);
    while (count < 9) count = count + 1;
    pthread_join(t, NULL);
    return 0;
}"#
    .replace("FIRST", before));
    let seen = with_window(&compiled, 1, 100);
    assert!(seen.iter().all(|seen| seen.starts_with("0 ")), "{seen:?}");
    // Some windows ended after a call of it.
    let called = seen.iter().filter(|seen| seen.starts_with("0 1 ")).count();
    assert!(called > 1, "{seen:?}");
}

/// The simulator calls it, for the program.
#[test]
fn a_window_may_end_in_a_function_that_is_called_once() {
    let compiled = c(r#"
static pthread_once_t once = PTHREAD_ONCE_INIT;
static volatile int count, done;
static void *other(void *x) { printf("%d %d\n", count, done); return x; }
static void first(void) { while (count < 9) count = count + 1; }
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, other, NULL);
    pthread_once(&once, first);
    done = 1;
    pthread_join(t, NULL);
    return 0;
}"#);
    let seen = with_window(&compiled, 1, 100);
    for count in ["1 0", "5 0", "9 0", "9 1"] {
        assert!(seen.iter().any(|it| it == count), "{count}: {seen:?}");
    }
}

/// Functions of libc that do not return, that return twice, and that call the program, in the middle of windows.
#[test]
fn windows_go_on_after_functions_of_libc() {
    let compiled = c(r#"
#include <setjmp.h>
#include <stdlib.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static __thread jmp_buf back;
static int less(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void leaves(volatile int *at) { *at = *at + 1; longjmp(back, 1); }
static void *works(void *x) {
    for (int i = 0; i < 5; i++) {
        int numbers[] = {5, 3, 9, 1}, wanted = 9;
        volatile int jumps = 0;
        char text[32];
        pthread_mutex_lock(&m);
        qsort(numbers, 4, sizeof(int), less);
        assert(*(int *)bsearch(&wanted, numbers, 4, sizeof(int), less) == 9 && numbers[0] == 1);
        if (setjmp(back) == 0) leaves(&jumps);
        assert(jumps == 1);
        snprintf(text, sizeof text, "%d %s", i, "and so on");
        char *copy = strdup(text);
        pthread_mutex_unlock(&m);
        assert(strcmp(copy, text) == 0 && atoi(copy) == i);
        free(copy);
    }
    return x;
}
int main(void) {
    pthread_t t[2];
    for (long i = 0; i < 2; i++) pthread_create(&t[i], NULL, works, NULL);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return 0;
}"#);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let mut interrupted = 0;
    for seed in 0..60 {
        let mut plan = Plan::new(Schedule::Random, seed);
        plan.preempt = true;
        plan.length = Some(SHORT);
        let (first, second) = (simulator.run(&plan).unwrap(), simulator.run(&plan).unwrap());
        let told = format!("seed {seed}: {}\n{}", first.report, text(&first));
        assert_eq!(first.verdict, Verdict::Passed, "{told}");
        let counts = |outcome: &Outcome| (outcome.hash, outcome.points, outcome.stepped);
        assert_eq!(counts(&first), counts(&second), "{told}");
        let usual = simulator
            .run(&Plan {
                preempt: false,
                ..plan
            })
            .unwrap();
        interrupted += u32::from(first.points != usual.points);
    }
    assert!(interrupted > 0);
}

/// A step costs about as much as a call, so a run of many calls has no more of them.
#[test]
fn a_run_has_at_most_as_many_steps_as_calls_if_it_is_long() {
    let compiled = c(r#"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *works(void *x) {
    for (int i = 0; i < 3000; i++) {
        volatile int count = 0;
        while (count < 200) count = count + 1;
        pthread_mutex_lock(&m);
        pthread_mutex_unlock(&m);
    }
    return x;
}
int main(void) {
    pthread_t t[2];
    for (long i = 0; i < 2; i++) pthread_create(&t[i], NULL, works, NULL);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return 0;
}"#);
    /// Steps of a short run and of the longest window.
    const BESIDE: u64 = (1 << 14) + (1 << 12);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let mut run = |length, seed| {
        let mut plan = Plan::new(Schedule::Random, seed);
        plan.preempt = true;
        plan.length = Some(length);
        let outcome = simulator.run(&plan).unwrap();
        assert_eq!(outcome.verdict, Verdict::Passed, "{}", outcome.report);
        assert!(
            outcome.stepped <= BESIDE + outcome.points,
            "{}",
            outcome.stepped
        );
        outcome
    };
    // The first run, from which the length comes, may have been shorter than others.
    let late = run(SHORT, 1);
    assert!(late.stepped > BESIDE, "{}", late.stepped);
    let length = late.decisions.len() as u64;
    let all: Vec<Outcome> = (1..5).map(|seed| run(length, seed)).collect();
    let stepped: Vec<u64> = all.iter().map(|outcome| outcome.stepped).collect();
    let points: u64 = all.iter().map(|outcome| outcome.points).sum();
    assert!(stepped.iter().all(|count| *count > 0), "{stepped:?}");
    assert!(
        stepped.iter().sum::<u64>() <= points,
        "{stepped:?} {points}"
    );
}

#[test]
fn a_service_with_windows_is_the_same_each_time() {
    if is_simulated() {
        return run_a_runtime();
    }
    let program = test("loops::a_service_with_windows_is_the_same_each_time");
    let mut simulator = Simulator::start(&program).unwrap();
    for seed in 0..15 {
        let mut plan = Plan::new(Schedule::Portfolio, seed);
        plan.preempt = true;
        plan.faults = Faults::USUAL.of_seed(seed);
        let first = simulator.run(&plan).unwrap();
        let second = simulator.run(&plan).unwrap();
        assert_eq!(
            first.verdict,
            Verdict::Passed,
            "seed {seed}: {}\n{}",
            first.report,
            text(&first)
        );
        assert_eq!(
            (first.hash, first.points),
            (second.hash, second.points),
            "seed {seed}"
        );
    }
}

/// Tasks of Tokio on two workers, which talk over a connection.
fn run_a_runtime() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut bytes = [0; 5];
            stream.read_exact(&mut bytes).await.unwrap();
            stream.write_all(&bytes).await.unwrap();
        });
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"hello").await.unwrap();
        let mut bytes = [0; 5];
        stream.read_exact(&mut bytes).await.unwrap();
        assert_eq!(&bytes, b"hello");
        server.await.unwrap();
    });
}

/// Calls of the system that concern no other thread are no points.
#[test]
fn a_loop_of_harmless_calls_lets_others_run() {
    let round =
        "char byte; if (pread(0, &byte, 1, 0) > 0) rounds++; if (access(\"/\", F_OK)) abort();";
    let outcomes = pass_in_loops(&waits_for_a_flag("sched_yield()", round), 20);
    assert!(outcomes.iter().any(|outcome| !outcome.loops.is_empty()));
}
