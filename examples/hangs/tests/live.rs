//! Each program again beside an accept loop, a ticker and a signal handler, as in a service. There, a thread is always
//! left that could wake another one.
#![cfg(target_os = "linux")]

mod program;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use blitz_io_inspect::{Answer, ask_with_peers};
use program::Program;

/// The programs that have a finding there, and its kind.
const FOUND: &[(&str, &str)] = &[
    ("block_on_in_worker", "deadlock"),
    ("block_on_self_lock", "self-wait"),
    ("blocked_worker", "long-poll"),
    ("bounded_both_ways", "deadlock"),
    ("bounded_to_oneself", "self-wait"),
    ("broadcast_sender_kept", "deadlock"),
    ("busy_first_poll", "long-poll"),
    ("crossed_channels", "deadlock"),
    ("crossed_queues", "deadlock"),
    ("crossed_routes", "deadlock"),
    ("crossed_routes_threads", "deadlock"),
    ("executor_stops", "not-polled"),
    ("fork_join_holds_lock", "deadlock"),
    ("futurelock_block_on", "deadlock"),
    ("futurelock_notify", "futurelock"),
    ("futurelock_of_connection", "futurelock"),
    ("futurelock_reserve", "futurelock"),
    ("futurelock_rwlock", "futurelock"),
    ("futurelock_select", "futurelock"),
    ("futurelock_semaphore", "futurelock"),
    ("futurelock_unordered", "futurelock"),
    ("guard_over_await", "never-woken"),
    ("handler_awaits_its_task", "deadlock"),
    ("handlers_two_mutexes", "deadlock"),
    ("handlers_two_semaphores", "deadlock"),
    ("install_wants_lock", "deadlock"),
    ("job_wants_lock", "deadlock"),
    ("jobs_wait_for_queued_jobs", "pool-starvation"),
    ("join_each_other", "deadlock"),
    ("join_holds_lock", "deadlock"),
    ("last_sender_waits", "deadlock"),
    ("leaked_permit", "lost-holder"),
    ("local_tasks_lock", "deadlock"),
    ("loop_wants_lock", "deadlock"),
    ("missing_party", "deadlock"),
    ("notified_too_early", "deadlock"),
    ("pipeline_holds_lock", "deadlock"),
    ("pipeline_tasks_hold_lock", "deadlock"),
    ("read_twice", "self-wait"),
    ("receivers_in_a_registry", "deadlock"),
    ("root_blocks", "long-poll"),
    ("route_to_oneself", "self-wait"),
    ("scope_holds_lock", "deadlock"),
    ("self_lock", "self-wait"),
    ("sender_in_a_map", "deadlock"),
    ("sender_stops", "long-wait"),
    ("set_waits_for_owner", "deadlock"),
    ("std_mutex_in_a_task", "long-poll"),
    ("stopped_receiver", "stopped-peer"),
    ("stopped_sender", "stopped-peer"),
    ("thread_and_task", "deadlock"),
    ("thread_leaked_permit", "self-wait"),
    ("thread_read_in_write", "self-wait"),
    ("thread_read_twice", "self-wait"),
    ("thread_self_lock", "self-wait"),
    ("thread_upgrade_beside_reader", "deadlock"),
    ("thread_write_beside_upgradable", "deadlock"),
    ("threads_bounded_both_ways", "deadlock"),
    ("three_locks", "deadlock"),
    ("timer_not_driven", "not-driven"),
    ("two_mutexes", "deadlock"),
    ("two_process_locks", "deadlock"),
    ("two_process_locks_tasks", "deadlock"),
    ("two_readers_upgrade", "self-wait"),
    ("two_semaphores", "deadlock"),
    ("two_thread_mutexes", "deadlock"),
    ("two_thread_semaphores", "deadlock"),
    ("values_need_each_other", "deadlock"),
    ("watch_that_never_changes", "deadlock"),
];

/// Healthy programs with a finding nevertheless: a task keeps its worker while its children sleep, and a guard has
/// moved to another task, which the judgement does not know.
const DOUBTFUL: [&str; 2] = ["idle_scope_of_sleepers", "idle_guard_moved"];

/// The programs run at the same time.
const AT_ONCE: usize = 4;
/// The tasks of the service.
const SERVICE: usize = 3;

fn start(name: &str) -> Program {
    Program::start_with(name, &[("BLITZ_HANGS_LIVE", OsStr::new("1"))])
}

/// The answer of a program whose service has begun.
fn answer(program: &mut Program) -> Answer {
    loop {
        program.still_runs();
        match ask_with_peers(program.0.id(), "blitz-io-hangs") {
            Ok(answer) if answer.snapshot.tasks.len() >= SERVICE => return answer,
            _ => thread::yield_now(),
        }
    }
}

fn for_each<T: Sync>(all: &[T], body: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(item) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    body(item);
                }
            });
        }
    });
}

/// The names of all programs.
fn programs() -> Vec<String> {
    let listed = Command::new(env!("CARGO_BIN_EXE_blitz-io-hangs")).output();
    let names = String::from_utf8(listed.expect("it was built").stdout).unwrap();
    names.lines().map(str::to_owned).collect()
}

/// Three of four hangs are found. The others are listed only: one end of such a wait is a plain value or a shared word
/// that any live thread could have, or it is outside the process.
#[test]
fn a_live_service_hides_no_hang_whose_end_is_known() {
    for_each(FOUND, |&(name, kind)| {
        let mut program = start(name);
        let mut is_found = || answer(&mut program).findings.iter().any(|f| f.kind == kind);
        while !is_found() {}
    });
    let known: HashSet<&str> = FOUND.iter().map(|&(name, _)| name).collect();
    assert_eq!(known.len(), FOUND.len());
    let mut hangs = programs();
    hangs.retain(|name| !name.starts_with("idle_") && name != "contended");
    assert!(
        known.len() * 4 >= hangs.len() * 3,
        "{} of {}",
        known.len(),
        hangs.len()
    );
}

#[test]
fn healthy_programs_have_no_finding_beside_a_live_service() {
    let mut healthy = programs();
    healthy.retain(|name| name.starts_with("idle_") && !DOUBTFUL.contains(&name.as_str()));
    for_each(&healthy, |name| {
        let mut program = start(name);
        for _ in 0..3 {
            let found = answer(&mut program).findings;
            assert_eq!(found, [], "{name}");
        }
    });
}
