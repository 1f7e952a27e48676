//! Clocks that are set while a program runs.

use std::collections::BTreeSet;

use blitz_io_sim::{Faults, Plan, Schedule, Simulator, Verdict};

use crate::support::{c, passes_twice, text};

/// Measures a sleep of a second by the calendar, and by the clock that never jumps.
const MEASURES: &str = r#"
static long long now(int clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
int main(void) {
    long long calendar = now(CLOCK_REALTIME), monotonic = now(CLOCK_MONOTONIC);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL);
    long long slept = now(CLOCK_MONOTONIC) - monotonic;
    assert(slept >= 1000000000 && slept < 1001000000);
    printf("%lld\n", (now(CLOCK_REALTIME) - calendar + 10000500000000) / 1000000000 - 10000);
    return 0;
}"#;

#[test]
fn the_calendar_jumps_and_other_clocks_do_not() {
    let compiled = c(MEASURES);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let mut seconds = BTreeSet::new();
    for seed in 0..400 {
        let mut plan = Plan::new(Schedule::Random, seed);
        plan.faults = Faults::CLOCK;
        let outcome = simulator.run(&plan).unwrap();
        assert_eq!(outcome.verdict, Verdict::Passed, "{}", text(&outcome));
        seconds.insert(text(&outcome).trim().parse::<i64>().unwrap());
    }
    // The second of the sleep, and one jump of each kind.
    for jump in [0, 1, -1, 3600, -3600] {
        assert!(seconds.contains(&(1 + jump)), "{seconds:?}");
    }
}

#[test]
fn a_timer_sends_its_signal_at_its_time() {
    let compiled = c(r#"
#include <signal.h>
#include <sys/time.h>
static volatile int rings;
static void ring(int signal) { rings++; }
static void *waits(void *x) {
    // A wait with a queue continues.
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 100;
    assert(sem_timedwait(x, &until) == -1 && (errno == ETIMEDOUT || errno == EINTR));
    return x;
}
int main(void) {
    signal(SIGALRM, ring);
    struct itimerval often = { { 0, 10000 }, { 0, 10000 } }, none = { { 0, 0 }, { 0, 0 } }, old;
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 5; i++) assert(pause() == -1 && errno == EINTR);
    assert(rings == 5);
    setitimer(ITIMER_REAL, &none, &old);
    assert(old.it_interval.tv_usec == 10000 && old.it_value.tv_usec <= 10000);

    alarm(10);
    unsigned left = sleep(100);
    assert(left >= 89 && left <= 90 && rings == 6);
    assert(alarm(50) == 0 && alarm(7) >= 49);
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    pthread_t t;
    pthread_create(&t, NULL, waits, &semaphore);
    pthread_join(t, NULL);
    assert(rings == 7);
    return 0;
}"#);
    passes_twice(&compiled.program, Faults::NONE, 30);
}

#[test]
fn a_timer_without_a_handler_ends_the_program() {
    let compiled = c("int main(void) { alarm(3600); pause(); return 0; }");
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let outcome = simulator.run(&Plan::new(Schedule::Random, 1)).unwrap();
    assert_eq!(outcome.verdict, Verdict::Killed(14), "{}", outcome.report);
    assert!(outcome.nanoseconds >= 3_600_000_000_000);
}

#[test]
fn a_thread_that_blocks_the_signal_leaves_it_to_one_that_sleeps() {
    let compiled = c(r#"
#include <signal.h>
static pthread_t taker;
static void ring(int signal) { taker = pthread_self(); }
static void *blocks(void *x) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    alarm(1);
    sleep(5);
    return x;
}
int main(void) {
    signal(SIGALRM, ring);
    pthread_t t;
    pthread_create(&t, NULL, blocks, NULL);
    assert(sleep(100) > 90);
    assert(pthread_equal(taker, pthread_self()));
    pthread_join(t, NULL);
    return 0;
}"#);
    passes_twice(&compiled.program, Faults::NONE, 20);
}

/// A library may look up libc's own functions, past those that this crate has in their places.
#[test]
fn libcs_own_clocks_show_the_simulated_time() {
    let compiled = c(r#"
#include <dlfcn.h>
#include <sys/time.h>
int main(void) {
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    int (*own_clock)(clockid_t, struct timespec *) = dlsym(libc, "clock_gettime");
    int (*own_day)(struct timeval *, void *) = dlsym(libc, "gettimeofday");
    time_t (*own_time)(time_t *) = dlsym(libc, "time");
    assert(own_clock && own_day && own_time && own_clock != clock_gettime);
    struct timespec before, after;
    own_clock(CLOCK_MONOTONIC, &before);
    sleep(3600);
    own_clock(CLOCK_MONOTONIC, &after);
    assert(after.tv_sec - before.tv_sec == 3600);
    struct timeval day;
    own_day(&day, NULL);
    assert(own_time(NULL) == time(NULL) && day.tv_sec == time(NULL));
    for (int i = 0; i < 1000; i++) own_clock(CLOCK_REALTIME, &after);
    printf("%ld\n", after.tv_nsec);
    return 0;
}"#);
    passes_twice(&compiled.program, Faults::NONE, 40);
}
