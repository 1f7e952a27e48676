//! Signals that a program sends to itself.

use blitz_io_sim::{Faults, Plan, Schedule, Simulator, Verdict};

use crate::support::{c, passes_twice};

#[test]
fn timers_send_their_signals_and_count_those_that_were_missed() {
    let compiled = c(r#"
#include <signal.h>
static volatile int rings, value, missed;
static timer_t id;
static void ring(int signal, siginfo_t *info, void *x) {
    assert(info->si_code == SI_TIMER);
    rings++;
    value = info->si_value.sival_int;
    missed += timer_getoverrun(id);
}
static void at(long long first, long long interval, int flags) {
    struct itimerspec new = { { interval / 1000, interval % 1000 * 1000000 }, { first / 1000, first % 1000 * 1000000 } };
    assert(timer_settime(id, flags, &new, NULL) == 0);
}
int main(void) {
    struct sigaction action = { .sa_sigaction = ring, .sa_flags = SA_SIGINFO };
    sigaction(SIGUSR1, &action, NULL);
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1, .sigev_value.sival_int = 7 };
    assert(timer_create(CLOCK_MONOTONIC, &event, &id) == 0);
    at(1000, 500, 0);
    for (int i = 0; i < 5; i++) assert(pause() == -1 && errno == EINTR);
    assert(rings == 5 && value == 7 && missed == 0);
    struct itimerspec left;
    timer_gettime(id, &left);
    assert(left.it_interval.tv_nsec == 500000000 && left.it_value.tv_nsec <= 500000000);
    at(0, 0, 0);
    assert(sleep(100) == 0 && rings == 5);

    // An absolute time, and one that is over.
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    at(now.tv_sec * 1000 + 60000, 0, TIMER_ABSTIME);
    unsigned slept = 100 - sleep(100);
    assert(slept >= 59 && slept <= 60 && rings == 6);
    at(1, 0, TIMER_ABSTIME);
    while (rings < 7) sched_yield();

    // A process that blocks the signal misses some.
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    at(10, 10, 0);
    assert(sleep(1) == 0 && rings == 7);
    int count = timer_getoverrun(id);
    assert(count >= 98 && count <= 99);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    assert(rings == 8);

    assert(timer_delete(id) == 0 && timer_settime(id, 0, &left, NULL) == -1 && errno == EINVAL);
    struct sigevent none = { .sigev_notify = SIGEV_NONE };
    assert(timer_create(CLOCK_REALTIME, &none, &id) == 0);
    at(1000, 1000, 0);
    assert(sleep(10) == 0 && rings == 8);
    return 0;
}"#);
    passes_twice(&compiled.program, Faults::NONE, 30);
}

#[test]
fn a_signal_that_all_threads_block_waits_for_sigwait_and_signalfd() {
    let compiled = c(r#"
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
static sigset_t set;
static pthread_barrier_t both;
static void *waits(void *x) {
    int signal = 0;
    assert(sigwait(&set, &signal) == 0 && signal == SIGUSR1);
    pthread_barrier_wait(&both);
    struct signalfd_siginfo info;
    int fd = signalfd(-1, &set, SFD_CLOEXEC), epoll = epoll_create1(0);
    struct epoll_event event = { EPOLLIN, { .fd = fd } };
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    pthread_barrier_wait(&both);
    assert(epoll_wait(epoll, &event, 1, -1) == 1);
    assert(read(fd, &info, sizeof info) == sizeof info && info.ssi_signo == SIGALRM);
    assert(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    assert(read(fd, &info, sizeof info) == -1 && errno == EAGAIN);
    return x;
}
int main(void) {
    pthread_t t;
    struct timespec second = { 1, 0 };
    pthread_barrier_init(&both, NULL, 2);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    assert(sigtimedwait(&set, NULL, &second) == -1 && errno == EAGAIN);
    pthread_create(&t, NULL, waits, NULL);
    kill(getpid(), SIGUSR1);
    pthread_barrier_wait(&both);
    pthread_barrier_wait(&both);
    alarm(60);
    pthread_join(t, NULL);
    return 0;
}"#);
    passes_twice(&compiled.program, Faults::NONE, 30);
}

#[test]
fn a_thread_signals_itself_and_asks_for_others() {
    let compiled = c(r#"
#include <signal.h>
#include <sys/syscall.h>
static pthread_t taker;
static volatile int count;
static void take(int signal) { taker = pthread_self(); count++; }
static void *signals(void *x) {
    assert(pthread_kill(pthread_self(), SIGUSR1) == 0 && count == 1);
    assert(pthread_equal(taker, pthread_self()));
    assert(syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1) == 0 && count == 2);
    assert(raise(SIGUSR1) == 0 && count == 3);
    assert(kill(getpid(), SIGUSR1) == 0 && count == 4);
    assert(pthread_kill(pthread_self(), 999) == EINVAL);
    return x;
}
int main(void) {
    signal(SIGUSR1, take);
    pthread_t t;
    pthread_create(&t, NULL, signals, NULL);
    assert(pthread_kill(t, 0) == 0 || count == 4);
    pthread_join(t, NULL);
    assert(count == 4);
    return 0;
}"#);
    passes_twice(&compiled.program, Faults::NONE, 30);
}

#[test]
fn what_is_not_simulated_of_signals_is_told() {
    for (call, told) in [
        ("pthread_kill(t, SIGUSR1);", "a signal to another thread"),
        ("kill(1, SIGUSR1);", "a signal to another process"),
        (
            "struct sigevent e = { .sigev_notify = SIGEV_THREAD }; timer_t id; timer_create(CLOCK_MONOTONIC, &e, &id);",
            "timer_create with a thread (SIGEV_THREAD)",
        ),
        (
            "timer_t id; timer_create(CLOCK_PROCESS_CPUTIME_ID, NULL, &id);",
            "timer_create of processor time",
        ),
    ] {
        let compiled = c(&format!(
            "#include <signal.h>\nstatic void *waits(void *x) {{ sleep(100); return x; }}\n\
             int main(void) {{ pthread_t t; pthread_create(&t, NULL, waits, NULL); {call} return 0; }}"
        ));
        let mut simulator = Simulator::start(&compiled.program).unwrap();
        let outcome = simulator.run(&Plan::new(Schedule::Random, 1)).unwrap();
        assert_eq!(outcome.verdict, Verdict::Escaped, "{call}");
        let expected = format!("escaped: {told}, ");
        assert!(outcome.report.starts_with(&expected), "{}", outcome.report);
    }
}
