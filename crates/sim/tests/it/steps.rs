//! Runs that stop at a step, and the record of the events.

use std::fs;

use blitz_io_sim::{Choice, Faults, Happening, Plan, Schedule, Simulator, Verdict};

use crate::support::{c, run};

/// The kind of a decision whether the running thread goes on.
const SWITCH: u16 = 0;

/// The other thread waits for a lock that `main` holds while it sleeps.
const WAIT: &str = r#"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *other(void *x) {
    pthread_setname_np(pthread_self(), "other");
    pthread_mutex_lock(&m); pthread_mutex_unlock(&m);
    return x;
}
int main(void) {
    pthread_t t;
    pthread_mutex_lock(&m);
    pthread_create(&t, NULL, other, NULL);
    sleep(1);
    pthread_mutex_unlock(&m);
    pthread_join(t, NULL);
    return 0;
}"#;

#[test]
fn a_run_stops_at_each_of_its_steps() {
    let compiled = c(WAIT);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let plan = Plan::new(Schedule::Random, 3);
    let all = simulator.run(&plan).unwrap();
    assert_eq!(all.verdict, Verdict::Passed);
    for step in 1..=all.points {
        let outcome = simulator.run_until(&plan, step).unwrap();
        assert_eq!((outcome.verdict, outcome.points), (Verdict::Stopped, step));
        assert!(
            outcome.report.starts_with(&format!("step {step}, ")),
            "{}",
            outcome.report
        );
        assert_eq!(
            outcome.decisions[..],
            all.decisions[..outcome.decisions.len()]
        );
    }
    let beyond = simulator.run_until(&plan, all.points + 1).unwrap();
    assert_eq!((beyond.verdict, beyond.hash), (all.verdict, all.hash));
}

#[test]
fn a_run_that_stops_says_who_waits_where() {
    let compiled = c(WAIT);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let plan = Plan::new(Schedule::Script, 0);
    // `main`: lock, create, sleep; the other thread: lock, and waits; `main`: unlock.
    let outcome = simulator.run_until(&plan, 5).unwrap();
    for part in [
        "thread 0 is about to call pthread_mutex_unlock",
        "thread 0 could run, in pthread_mutex_unlock",
        "thread 1 \"other\" waits for a mutex at ",
        "held by thread 0, in pthread_mutex_lock",
    ] {
        assert!(outcome.report.contains(part), "{part}: {}", outcome.report);
    }
}

#[test]
fn a_run_waits_for_the_debugger_at_its_step() {
    let compiled = c(WAIT);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let plan = Plan::new(Schedule::Script, 0);
    let mut seen = vec![];
    let outcome = simulator
        .debug(&plan, 5, |process, report| {
            // It sends the signal after it has said that it stops.
            let stopped = (0..u64::MAX).find_map(|_| {
                std::thread::yield_now();
                let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
                let (_, fields) = stat.rsplit_once(')').unwrap();
                fields.trim().starts_with('T').then_some(process)
            });
            seen.push((stopped.is_some(), report.contains("is about to call")));
        })
        .unwrap();
    assert_eq!(seen, [(true, true)]);
    assert_eq!(outcome.verdict, Verdict::Stopped);
    // The debugger has not let it run to its end. The next run is not concerned.
    assert_eq!(
        run(&mut simulator, Schedule::Script, 0).verdict,
        Verdict::Passed
    );
    // A run that ends before the step starts no debugger.
    let ended = simulator
        .debug(&plan, 1_000, |_, _| panic!("it does not stop"))
        .unwrap();
    assert_eq!(ended.verdict, Verdict::Passed);
}

#[test]
fn the_record_has_each_call_wait_and_wake() {
    let compiled = c(WAIT);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let plan = Plan::new(Schedule::Script, 0);
    let plain = simulator.run(&plan).unwrap();
    let (outcome, recording) = simulator.record(&plan).unwrap();
    assert_eq!(outcome.hash, plain.hash);
    assert!(!recording.is_cut_off);
    let told: Vec<String> = recording
        .events
        .iter()
        .map(|event| {
            let what = match &event.what {
                Happening::Call { name, .. } => name.clone(),
                Happening::Wait { kind, .. } => format!("waits for {kind}"),
                Happening::Ready { by: Some(by) } => format!("is woken by {by}"),
                Happening::Ready { by: None } => "has waited".to_owned(),
                Happening::Start { by } => format!("is started by {by}"),
                Happening::End => "ends".to_owned(),
                Happening::Name(name) => format!("has the name {name}"),
                other => format!("{other:?}"),
            };
            format!("{} {} {what}", event.step, event.thread)
        })
        .collect();
    assert_eq!(
        told,
        [
            "1 0 pthread_mutex_lock",
            "1 1 is started by 0",
            "2 0 pthread_create",
            "3 0 nanosleep",
            "3 0 waits for a time",
            "3 1 has the name other",
            "4 1 pthread_mutex_lock",
            "4 1 waits for a mutex",
            "4 0 has waited",
            "5 0 pthread_mutex_unlock",
            "5 1 is woken by 0",
            "6 0 pthread_join",
            "6 0 waits for the end of a thread",
            "7 1 pthread_mutex_unlock",
            "7 1 ends",
            "7 0 is woken by 1",
        ]
    );
}

/// Two threads wait for a condition, and `main` wakes one after the other.
const WAITERS: &str = r#"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int turns;
static void *waits(void *x) {
    pthread_mutex_lock(&m);
    while (turns == 0) pthread_cond_wait(&c, &m);
    turns--;
    pthread_mutex_unlock(&m);
    return x;
}
int main(void) {
    pthread_t t[2];
    for (long i = 0; i < 2; i++) pthread_create(&t[i], NULL, waits, NULL);
    usleep(100);
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&m); turns++; pthread_cond_signal(&c); pthread_mutex_unlock(&m);
    }
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return 0;
}"#;

#[test]
fn the_record_has_each_choice() {
    let compiled = c(WAITERS);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let (mut runs, mut wakes, mut interrupts, mut faults) = (0, 0, 0, 0);
    for seed in 0..300 {
        let mut plan = Plan::new(Schedule::Random, seed);
        plan.faults = Faults::USUAL;
        plan.preempt = true;
        plan.length = Some(20);
        let (outcome, recording) = simulator.record(&plan).unwrap();
        assert_eq!(outcome.verdict, Verdict::Passed, "{}", outcome.report);
        let mut recorded = vec![];
        for event in &recording.events {
            let Happening::Choice { decision, choice } = &event.what else {
                continue;
            };
            recorded.push(*decision);
            let it = outcome.decisions[*decision as usize];
            match choice {
                Choice::Runs { thread, instead_of } => {
                    runs += 1;
                    // The running thread could go on.
                    assert!(it.kind != SWITCH || *instead_of == event.thread);
                    assert_ne!(thread, instead_of);
                }
                Choice::Wakes { thread, instead_of } => {
                    wakes += 1;
                    assert_eq!((event.thread, thread + instead_of), (0, 3));
                }
                Choice::Interrupts { after } => {
                    interrupts += 1;
                    assert_eq!(*after, u32::from(it.choice));
                }
                Choice::Fault { family, degree } => {
                    faults += 1;
                    assert!(["short", "spurious", "stall"].contains(&family.as_str()));
                    assert_eq!(*degree, u32::from(it.choice));
                }
                _ => unreachable!("there are no others"),
            }
        }
        let script = outcome.script();
        let all: Vec<u32> = script.iter().map(|choice| choice.index).collect();
        assert_eq!(recorded, all, "seed {seed}");
    }
    let seen = [runs, wakes, interrupts, faults];
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

#[test]
fn a_replay_repeats_the_choices_of_threads_waiters_and_faults() {
    let compiled = c(r#"
#define N 4
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int turns;
static void *waits(void *x) {
    pthread_mutex_lock(&m);
    while (turns == 0) pthread_cond_wait(&c, &m);
    turns--;
    printf("%ld ", (long)x);
    pthread_mutex_unlock(&m);
    return x;
}
int main(void) {
    pthread_t t[N];
    for (long i = 0; i < N; i++) pthread_create(&t[i], NULL, waits, (void *)i);
    usleep(100);
    for (int i = 0; i < N; i++) {
        pthread_mutex_lock(&m); turns++; pthread_cond_signal(&c); pthread_mutex_unlock(&m);
    }
    for (int i = 0; i < N; i++) pthread_join(t[i], NULL);
    return 0;
}"#);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    let schedules = [
        Schedule::Random,
        Schedule::Pct(3),
        Schedule::Pos,
        Schedule::Surw,
    ];
    for (faults, schedule) in [Faults::NONE, Faults::USUAL]
        .into_iter()
        .flat_map(|faults| schedules.map(|schedule| (faults, schedule)))
    {
        for seed in 0..30 {
            let mut plan = Plan::new(schedule, seed);
            plan.faults = faults;
            let outcome = simulator.run(&plan).unwrap();
            assert_eq!(outcome.verdict, Verdict::Passed, "{}", outcome.report);
            plan.schedule = Schedule::Script;
            plan.script = outcome.script();
            plan.strict = true;
            let again = simulator.run(&plan).unwrap();
            assert_eq!(
                (again.verdict, again.hash, again.output),
                (outcome.verdict, outcome.hash, outcome.output),
                "{schedule}, seed {seed}"
            );
        }
    }
}

#[test]
fn a_thread_that_sleeps_runs_on_while_others_run() {
    let compiled = c(r#"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile int awake;
static void *sleeps(void *x) { usleep(10); awake = 1; return x; }
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, sleeps, NULL);
    // Each call takes a microsecond. Thousands are enough for ten.
    int calls = 0;
    for (; !awake && calls < 5000; calls++) pthread_mutex_trylock(&m);
    assert(awake);
    pthread_join(t, NULL);
    return 0;
}"#);
    crate::support::passes_twice(&compiled.program, Faults::NONE, 30);
}

#[test]
fn all_runs_inherit_the_one_filter_of_the_fork_server() {
    let compiled = c(r#"
static void told(int process) {
    char name[99], line[999];
    sprintf(name, "/proc/%d/status", process);
    FILE *file = fopen(name, "r");
    while (fgets(line, sizeof line, file)) if (!strncmp(line, "Seccomp", 7)) fputs(line, stdout);
    fclose(file);
}
int main(void) {
    char real[99] = "";
    assert(readlink("/proc/self", real, 98) > 0);
    told(atoi(real));
    told(getppid());
    return 0;
}"#);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    for seed in 0..3 {
        let outcome = run(&mut simulator, Schedule::Random, seed);
        assert_eq!(outcome.verdict, Verdict::Passed, "{}", outcome.report);
        let told = crate::support::text(&outcome);
        // Of the run, then of the server: filtered, by one filter.
        let lines: Vec<&str> = told.lines().collect();
        let one = ["Seccomp:\t2", "Seccomp_filters:\t1"];
        assert_eq!(lines, [one, one].concat(), "seed {seed}");
    }
}

#[test]
fn a_process_finds_itself_and_its_threads_by_their_numbers() {
    let compiled = c(r#"
#include <fcntl.h>
#include <sys/syscall.h>
static void read_name(const char *path, const char *expected) {
    char name[32] = "";
    int fd = open(path, O_RDONLY);
    assert(fd >= 0);
    assert(read(fd, name, sizeof name - 1) > 0);
    assert(strcmp(name, expected) == 0);
    close(fd);
}
static void *other(void *x) {
    char path[64];
    syscall(SYS_prctl, 15, "other", 0, 0, 0);
    snprintf(path, sizeof path, "/proc/%d/task/%ld/comm", getpid(), syscall(SYS_gettid));
    read_name(path, "other\n");
    return x;
}
int main(void) {
    char path[64];
    pthread_t t;
    pthread_create(&t, NULL, other, NULL);
    pthread_join(t, NULL);
    snprintf(path, sizeof path, "/proc/%d/comm", getpid());
    read_name(path, "program\n");
    assert(open("/proc/4000000000/comm", O_RDONLY) == -1);
    return 0;
}"#);
    let mut simulator = Simulator::start(&compiled.program).unwrap();
    for seed in 0..5 {
        let outcome = run(&mut simulator, Schedule::Random, seed);
        assert_eq!(
            outcome.verdict,
            Verdict::Passed,
            "{}{}",
            outcome.report,
            String::from_utf8_lossy(&outcome.output)
        );
    }
}
