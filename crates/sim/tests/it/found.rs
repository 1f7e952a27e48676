//! Faults of programs in C that are found, replayed and shrunk.

use blitz_io_sim::{Faults, Outcome, Plan, Schedule, Simulator, Trace, Verdict, shrink};

use crate::support::{Compiled, c, find, run, text};

/// Checks a balance and uses it under two locks of the same mutex: fails if the other thread comes between.
const RACE: &str = r#"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int balance = 10;
static int get(void) { pthread_mutex_lock(&m); int b = balance; pthread_mutex_unlock(&m); return b; }
static void put(int b) { pthread_mutex_lock(&m); balance = b; pthread_mutex_unlock(&m); }
static void *withdraw(void *x) {
    for (int i = 0; i < 3; i++) get();
    put(get() - 1);
    for (int i = 0; i < 3; i++) get();
    return x;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, withdraw, NULL);
    withdraw(NULL);
    pthread_join(t, NULL);
    assert(balance == 8);
    return 0;
}"#;

/// Runs the program, which is a livelock after so many calls without progress, and whose report has this text.
fn is_livelock(compiled: &Compiled, limit: u64, text: &str) -> Outcome {
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let mut plan = Plan::new(Schedule::Random, 1);
    plan.limit = limit;
    let outcome = simulator.run(&plan).unwrap();
    assert_eq!(outcome.verdict, Verdict::Livelock);
    assert!(outcome.report.contains(text), "{}", outcome.report);
    outcome
}

#[test]
fn a_race_is_found_replayed_and_shrunk() {
    let compiled = c(RACE);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let (plan, outcome) = find(&mut simulator, Faults::NONE, 1_000).expect("the race is found");
    assert_eq!(outcome.verdict, Verdict::Killed(6), "{}", text(&outcome));
    assert!(text(&outcome).contains("balance == 8"));

    let (small, smallest) = shrink(&mut simulator, &plan, &outcome, |_, _| true).unwrap();
    assert_eq!(smallest.verdict, outcome.verdict);
    assert!(small.script.len() <= 3, "{:?}", small.script);

    let trace = Trace::new(&compiled.program, &small, &smallest).unwrap();
    assert!(trace.encode().len() <= 1024);
    let trace = Trace::decode(&trace.encode()).unwrap();
    // In another start of the program.
    let mut simulator = Simulator::start(&trace.program).unwrap();
    for _ in 0..100 {
        let again = simulator.run(&trace.plan).unwrap();
        assert_eq!((again.verdict, again.hash), (trace.verdict, trace.hash));
    }
}

#[test]
fn a_deadlock_is_found_and_told() {
    let compiled = c(r#"
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static void *other(void *x) {
    pthread_setname_np(pthread_self(), "other");
    pthread_mutex_lock(&b); pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a); pthread_mutex_unlock(&b);
    return x;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, other, NULL);
    pthread_mutex_lock(&a); pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b); pthread_mutex_unlock(&a);
    pthread_join(t, NULL);
    return 0;
}"#);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let (_, outcome) = find(&mut simulator, Faults::NONE, 1_000).expect("the deadlock is found");
    assert_eq!(outcome.verdict, Verdict::Deadlock);
    for part in [
        "thread 0",
        "held by thread 1",
        "thread 1 \"other\"",
        "held by thread 0",
        "in pthread_mutex_lock",
        "program+0x",
    ] {
        assert!(outcome.report.contains(part), "{part}: {}", outcome.report);
    }
}

#[test]
fn a_lost_wake_up_is_a_deadlock() {
    let compiled = c(r#"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int ready;
static void *set(void *x) { ready = 1; pthread_cond_signal(&c); return x; }
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, set, NULL);
    pthread_mutex_lock(&m);
    while (!ready) pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    pthread_join(t, NULL);
    return 0;
}"#);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let (_, outcome) =
        find(&mut simulator, Faults::NONE, 1_000).expect("the lost wake-up is found");
    assert_eq!(outcome.verdict, Verdict::Deadlock);
    assert!(
        outcome.report.contains("waits for a condition"),
        "{}",
        outcome.report
    );
}

#[test]
fn threads_that_only_yield_are_a_livelock() {
    let compiled = c(r#"
static volatile int never;
static void *spin(void *x) { while (!never) sched_yield(); return x; }
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, spin, NULL);
    spin(NULL);
    return 0;
}"#);
    let outcome = is_livelock(&compiled, 10_000, "sched_yield");
    assert!(
        (10_000..10_100).contains(&outcome.points),
        "{} points",
        outcome.points
    );
}

/// Both find the flag unset under a lock. Often one of them waits for the lock of the other.
#[test]
fn threads_that_poll_under_a_lock_and_wake_each_other_are_a_livelock() {
    let compiled = c(r#"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile int never;
static void *poll(void *x) {
    for (;;) {
        pthread_mutex_lock(&m);
        int ends = never;
        sched_yield();
        pthread_mutex_unlock(&m);
        if (ends) return x;
    }
}
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, poll, NULL);
    poll(NULL);
    return 0;
}"#);
    is_livelock(&compiled, 10_000, "wake each other");
}

/// Without simulation, it would do so for ever.
#[test]
fn a_thread_that_sleeps_between_two_looks_is_a_livelock() {
    let compiled = c(r#"
static volatile int never;
int main(void) {
    while (!never) usleep(1000);
    return 0;
}"#);
    is_livelock(&compiled, 1_000, "woken by time");
}

/// A pipe, then sleeps and short-lived threads, each for many times the limit.
#[test]
fn a_program_that_runs_long_is_no_livelock() {
    let compiled = c(r#"
#define N 500
static int fds[2];
static void *feed(void *x) {
    for (int i = 0; i < N; i++) assert(write(fds[1], "x", 1) == 1);
    return x;
}
static void *nothing(void *x) { return x; }
int main(void) {
    pthread_t t;
    char c;
    assert(pipe(fds) == 0);
    pthread_create(&t, NULL, feed, NULL);
    for (int i = 0; i < N; i++) assert(read(fds[0], &c, 1) == 1);
    pthread_join(t, NULL);
    for (int i = 0; i < N; i++) { usleep(i); pthread_create(&t, NULL, nothing, NULL); pthread_join(t, NULL); }
    return 0;
}"#);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    for seed in 0..10 {
        let mut plan = Plan::new(Schedule::Random, seed);
        plan.limit = 60;
        let outcome = simulator.run(&plan).unwrap();
        assert_eq!(
            outcome.verdict,
            Verdict::Passed,
            "seed {seed}: {}",
            outcome.report
        );
        assert!(outcome.points > 20 * plan.limit);
    }
}

#[test]
fn a_wait_without_a_loop_is_found_by_spurious_wake_ups() {
    let compiled = c(r#"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int ready;
static void *set(void *x) {
    pthread_mutex_lock(&m); ready = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);
    return x;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, set, NULL);
    pthread_mutex_lock(&m);
    if (!ready) pthread_cond_wait(&c, &m);
    assert(ready);
    pthread_mutex_unlock(&m);
    pthread_join(t, NULL);
    return 0;
}"#);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    assert!(find(&mut simulator, Faults::NONE, 200).is_none());
    let (_, outcome) =
        find(&mut simulator, Faults::USUAL, 2_000).expect("the missing loop is found");
    assert!(
        text(&outcome).contains("Assertion `ready'"),
        "{}",
        text(&outcome)
    );
}

#[test]
fn the_same_seed_has_the_same_hash_and_another_one_has_not() {
    let compiled = c(RACE);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let first = run(&mut simulator, Schedule::Random, 5);
    let mut other = Simulator::start(&compiled.program).unwrap();
    assert_eq!(first.hash, run(&mut other, Schedule::Random, 5).hash);
    assert_ne!(first.hash, run(&mut other, Schedule::Random, 6).hash);
}

#[test]
fn an_hour_of_sleep_takes_no_time_and_clocks_agree() {
    let compiled = c(r#"
#include <sys/time.h>
int main(void) {
    struct timespec a, b; struct timeval v, w;
    clock_gettime(CLOCK_MONOTONIC, &a); gettimeofday(&v, NULL);
    sleep(3600); usleep(1000);
    clock_gettime(CLOCK_MONOTONIC, &b); gettimeofday(&w, NULL);
    assert(b.tv_sec - a.tv_sec == 3600 && w.tv_sec - v.tv_sec == 3600);
    assert(time(NULL) == w.tv_sec && time(NULL) > 1893456000);
    return 0;
}"#);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let outcome = run(&mut simulator, Schedule::Random, 1);
    assert_eq!(
        outcome.verdict,
        Verdict::Passed,
        "{}{}",
        outcome.report,
        text(&outcome)
    );
    assert!(outcome.nanoseconds > 3_600_000_000_000);
}

#[test]
fn waits_with_a_time_limit_end_at_it() {
    let compiled = c(r#"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c;
static sem_t s;
static void *hold(void *x) { pthread_mutex_lock(&m); sleep(10); pthread_mutex_unlock(&m); return x; }
int main(void) {
    pthread_condattr_t a; pthread_condattr_init(&a); pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    pthread_cond_init(&c, &a); sem_init(&s, 0, 0);
    struct timespec t, u;
    clock_gettime(CLOCK_MONOTONIC, &t); t.tv_sec += 5;
    pthread_mutex_lock(&m);
    assert(pthread_cond_timedwait(&c, &m, &t) == ETIMEDOUT);
    pthread_mutex_unlock(&m);
    clock_gettime(CLOCK_MONOTONIC, &u);
    assert(u.tv_sec == t.tv_sec);
    clock_gettime(CLOCK_REALTIME, &t); t.tv_sec += 2;
    assert(sem_timedwait(&s, &t) == -1 && errno == ETIMEDOUT);
    pthread_t thread; pthread_create(&thread, NULL, hold, NULL); sleep(1);
    clock_gettime(CLOCK_REALTIME, &t); t.tv_sec += 2;
    assert(pthread_mutex_timedlock(&m, &t) == ETIMEDOUT);
    pthread_join(thread, NULL);
    return 0;
}"#);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    for seed in 0..20 {
        let outcome = run(&mut simulator, Schedule::Portfolio, seed);
        assert_eq!(
            outcome.verdict,
            Verdict::Passed,
            "{}{}",
            outcome.report,
            text(&outcome)
        );
    }
}

#[test]
fn barriers_semaphores_locks_and_once_keep_their_promises() {
    let compiled = c(r#"
#define N 3
static pthread_barrier_t barrier; static sem_t sem; static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int inits, arrived, leaders, value, readers;
static void init(void) { sched_yield(); inits++; }
static void *run(void *x) {
    pthread_once(&once, init);
    assert(inits == 1);
    arrived++;
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) leaders++;
    assert(arrived == N);
    sem_wait(&sem); int old = value; sched_yield(); value = old + 1; sem_post(&sem);
    pthread_rwlock_rdlock(&lock); readers++; sched_yield(); readers--; pthread_rwlock_unlock(&lock);
    pthread_rwlock_wrlock(&lock); assert(readers == 0); sched_yield(); assert(readers == 0); pthread_rwlock_unlock(&lock);
    return x;
}
int main(void) {
    pthread_t t[N];
    pthread_barrier_init(&barrier, NULL, N); sem_init(&sem, 0, 1);
    for (long i = 0; i < N; i++) pthread_create(&t[i], NULL, run, (void *)i);
    for (long i = 0; i < N; i++) { void *r; pthread_join(t[i], &r); assert(r == (void *)i); }
    assert(leaders == 1 && value == N);
    return 0;
}"#);
    crate::support::passes_twice(&compiled.program, Faults::USUAL, 200);
}

#[test]
fn what_is_not_simulated_is_reported() {
    for (call, name) in [
        ("system(\"true\")", "escaped: system"),
        ("fork()", "escaped: fork"),
        (
            "({ int sigsuspend(const void *); sigsuspend(\"\"); })",
            "escaped: sigsuspend",
        ),
        ("execl(\"/bin/true\", \"true\", NULL)", "escaped: "),
        (
            "({ int kill(int, int); kill(1, 9); })",
            "escaped: a signal to another process",
        ),
        // By instruction, round libc.
        (
            "({ long r; asm volatile(\"syscall\" : \"=a\"(r) : \"a\"(103), \"D\"(0) : \"rcx\", \"r11\", \"memory\"); r; })",
            "escaped: system call 103",
        ),
    ] {
        let compiled = c(&format!("int main(void) {{ return ({call}) != 12345; }}"));
        let mut simulator = Simulator::start(&compiled.program).unwrap();
        let outcome = run(&mut simulator, Schedule::Random, 1);
        assert_eq!(
            outcome.verdict,
            Verdict::Escaped,
            "{call}: {}",
            outcome.verdict
        );
        assert!(
            outcome.report.starts_with(name),
            "{call}: {}",
            outcome.report
        );
        assert!(
            outcome.report.contains("program+0x"),
            "{call}: {}",
            outcome.report
        );
    }
}

#[test]
fn system_calls_by_instruction_are_simulated() {
    let compiled = c(r#"
#include <sys/syscall.h>
static long sys(long n, long a, long b) {
    long r; asm volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b) : "rcx", "r11", "memory"); return r;
}
int main(void) {
    struct timespec t = {7, 0}, a, b;
    assert(sys(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&a) == 0);
    assert(sys(SYS_nanosleep, (long)&t, 0) == 0);
    assert(sys(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&b) == 0);
    assert(b.tv_sec - a.tv_sec == 7);
    assert(sys(SYS_getpid, 0, 0) != 0);
    return 0;
}"#);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let outcome = run(&mut simulator, Schedule::Random, 1);
    assert_eq!(
        outcome.verdict,
        Verdict::Passed,
        "{}{}",
        outcome.report,
        text(&outcome)
    );
}

#[test]
fn random_numbers_come_from_the_seed() {
    let compiled = c(r#"
#include <fcntl.h>
#include <sys/random.h>
int main(void) {
    unsigned a, b, c; getrandom(&a, 4, 0); getentropy(&b, 4);
    int fd = open("/dev/urandom", O_RDONLY); assert(read(fd, &c, 4) == 4); close(fd);
    printf("%x %x %x %d\n", a, b, c, getpid());
    return 0;
}"#);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let first = text(&run(&mut simulator, Schedule::Random, 1));
    assert_eq!(first, text(&run(&mut simulator, Schedule::Random, 1)));
    assert_ne!(first, text(&run(&mut simulator, Schedule::Random, 2)));
}

#[test]
fn the_counter_of_the_processor_shows_simulated_time() {
    let compiled = c(r#"
#include <signal.h>
#include <x86intrin.h>
static void caught(int signal) { _exit(signal == SIGSEGV ? 0 : 1); }
int main(void) {
    unsigned cpu;
    unsigned long long a = __rdtsc();
    sleep(5);
    unsigned long long b = __rdtscp(&cpu);
    assert(b - a >= 5000000000ull && b - a < 5001000000ull);
    // Real faults still reach the program.
    struct sigaction action = { .sa_handler = caught };
    sigaction(SIGSEGV, &action, NULL);
    *(volatile int *)8 = 1;
    return 1;
}"#);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let outcome = run(&mut simulator, Schedule::Random, 1);
    assert_eq!(
        outcome.verdict,
        Verdict::Passed,
        "{}{}",
        outcome.report,
        text(&outcome)
    );
}

#[test]
fn an_invalid_access_ends_the_program_as_always() {
    let compiled = c("int main(void) { *(volatile int *)8 = 1; return 0; }");
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    assert_eq!(
        run(&mut simulator, Schedule::Random, 1).verdict,
        Verdict::Killed(11)
    );
}

#[test]
fn a_loop_of_calls_that_do_not_block_lets_other_threads_run() {
    let compiled = c(r#"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int ready;
static void *set(void *x) { pthread_mutex_lock(&m); ready = 1; pthread_mutex_unlock(&m); return x; }
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, set, NULL);
    for (int done = 0; !done;) {
        if (pthread_mutex_trylock(&m) == 0) { done = ready; pthread_mutex_unlock(&m); }
    }
    pthread_join(t, NULL);
    return 0;
}"#);
    crate::support::passes_twice(&compiled.program, Faults::NONE, 40);
}

#[test]
fn a_thread_that_waits_alone_for_a_timer_descriptor_is_woken() {
    let compiled = c(r#"
#include <sys/epoll.h>
#include <sys/timerfd.h>
int main(void) {
    int e = epoll_create1(0), t = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct epoll_event event = { EPOLLIN | EPOLLET, { .u64 = 7 } };
    epoll_ctl(e, EPOLL_CTL_ADD, t, &event);
    for (int i = 0; i < 100; i++) {
        // No thread reads the number of expirations.
        struct itimerspec s = { { 0, 0 }, { 0, i % 3 ? 1 : 50000 } };
        timerfd_settime(t, 0, &s, NULL);
        if (i % 5 == 0) timerfd_settime(t, 0, &s, NULL);
        assert(epoll_wait(e, &event, 1, -1) == 1 && event.data.u64 == 7);
    }
    struct itimerspec s = { { 0, 1000000 }, { 0, 1000000 } };
    timerfd_settime(t, 0, &s, NULL);
    usleep(5500);
    long long count;
    assert(read(t, &count, 8) == 8 && count == 5);
    return 0;
}"#);
    crate::support::passes_twice(&compiled.program, Faults::NONE, 20);
}

/// One thread waits for the epoll, and another one reads. The reader takes a transfer that is shorter than its
/// buffer for the last one, as a program with an edge-triggered epoll may, and waits for the next change.
#[test]
fn what_a_short_transfer_leaves_wakes_the_thread_that_waits_for_the_epoll() {
    let compiled = c(r#"
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#define BYTES 64
static int s[2], e, got;
static sem_t changed;
static void *poller(void *x) {
    while (__atomic_load_n(&got, __ATOMIC_SEQ_CST) < BYTES) {
        struct epoll_event event;
        assert(epoll_wait(e, &event, 1, -1) == 1);
        sem_post(&changed);
    }
    return x;
}
static void *reader(void *x) {
    char buffer[16];
    while (got < BYTES) {
        sem_wait(&changed);
        for (;;) {
            ssize_t n = read(s[0], buffer, sizeof buffer);
            if (n < 0) { assert(errno == EAGAIN); break; }
            got += n;
            if (n < (ssize_t)sizeof buffer) break;
        }
    }
    // The poller may wait again.
    assert(write(s[1], "x", 1) == 1);
    return x;
}
int main(void) {
    pthread_t t[2];
    char buffer[BYTES] = { 0 };
    sem_init(&changed, 0, 0);
    socketpair(AF_UNIX, SOCK_STREAM, 0, s);
    fcntl(s[0], F_SETFL, O_NONBLOCK);
    e = epoll_create1(0);
    struct epoll_event event = { EPOLLIN | EPOLLET, { .fd = s[0] } };
    epoll_ctl(e, EPOLL_CTL_ADD, s[0], &event);
    pthread_create(&t[0], NULL, poller, NULL);
    pthread_create(&t[1], NULL, reader, NULL);
    assert(write(s[1], buffer, BYTES) == BYTES);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return 0;
}"#);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    for seed in 0..300 {
        for schedule in [Schedule::Pct(2), Schedule::Pct(3), Schedule::Pos] {
            let mut plan = Plan::new(schedule, seed);
            plan.length = Some(30);
            plan.faults = "short".parse::<Faults>().unwrap();
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

/// Programs ask at their start what the kernel has, and do without.
#[test]
fn io_uring_and_descriptors_of_processes_are_missing() {
    let compiled = c(r#"
#include <sys/syscall.h>
int main(void) {
    assert(syscall(SYS_io_uring_setup, 8, NULL) == -1 && errno == ENOSYS);
    assert(syscall(SYS_pidfd_open, getpid(), 0) == -1 && errno == ENOSYS);
    return 0;
}"#);
    crate::support::passes_twice(&compiled.program, Faults::NONE, 1);
}
