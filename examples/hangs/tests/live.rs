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
    ("answer_before_question", "deadlock"),
    ("arc_cycle", "deadlock"),
    ("biased_select_spins", "long-poll"),
    ("block_on_in_worker", "deadlock"),
    ("block_on_self_lock", "self-wait"),
    ("blocked_worker", "long-poll"),
    ("bounded_both_ways", "deadlock"),
    ("bounded_to_oneself", "self-wait"),
    ("broadcast_sender_kept", "deadlock"),
    ("busy_first_poll", "long-poll"),
    ("cancelled_after_its_task", "deadlock"),
    ("cell_needs_itself", "self-wait"),
    ("cell_set_too_late", "deadlock"),
    ("cells_need_each_other", "deadlock"),
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
    ("job_waits_for_value", "deadlock"),
    ("job_wants_lock", "deadlock"),
    ("jobs_wait_for_queued_jobs", "pool-starvation"),
    ("join_each_other", "deadlock"),
    ("join_holds_lock", "deadlock"),
    ("join_itself", "self-wait"),
    ("lagged_broadcast", "deadlock"),
    ("last_sender_waits", "deadlock"),
    ("leaked_permit", "lost-holder"),
    ("local_tasks_lock", "deadlock"),
    ("loop_wants_lock", "deadlock"),
    ("missing_party", "deadlock"),
    ("notified_once_for_two", "deadlock"),
    ("notified_too_early", "deadlock"),
    ("one_task_too_many", "deadlock"),
    ("oneshot_in_a_shared_map", "deadlock"),
    ("permits_leaked_one_by_one", "lost-holder"),
    ("pipeline_holds_lock", "deadlock"),
    ("pipeline_tasks_hold_lock", "deadlock"),
    ("read_twice", "self-wait"),
    ("read_while_writing", "self-wait"),
    ("receivers_in_a_registry", "deadlock"),
    ("reserved_place_kept", "deadlock"),
    ("ring_of_oneshots", "deadlock"),
    ("root_blocks", "long-poll"),
    ("root_waits_for_a_channel", "long-poll"),
    ("route_to_oneself", "self-wait"),
    ("scope_holds_lock", "deadlock"),
    ("select_with_a_guard", "deadlock"),
    ("self_lock", "self-wait"),
    ("send_under_a_lock", "deadlock"),
    ("sender_in_a_map", "deadlock"),
    ("set_waits_for_owner", "deadlock"),
    ("set_with_a_full_channel", "deadlock"),
    ("shutdown_waits_for_job", "long-wait"),
    ("shutdown_waits_for_stdin", "long-wait"),
    ("std_mutex_in_a_task", "long-poll"),
    ("stop_after_join", "deadlock"),
    ("stopped_receiver", "stopped-peer"),
    ("stopped_sender", "stopped-peer"),
    ("thread_and_task", "deadlock"),
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
    ("two_tables", "deadlock"),
    ("two_thread_mutexes", "deadlock"),
    ("two_thread_semaphores", "deadlock"),
    ("unordered_holds_lock", "self-wait"),
    ("values_need_each_other", "deadlock"),
    ("watch_borrow_kept", "long-poll"),
    ("watch_that_never_changes", "deadlock"),
    ("watch_value_seen_before", "deadlock"),
    ("write_while_reading", "self-wait"),
];

/// Not healthy in a service: a task keeps its worker while its children sleep.
const BLOCKS: &str = "idle_scope_of_sleepers";

/// The programs run at the same time.
const AT_ONCE: usize = 4;
/// The accept loop of the service waits so many milliseconds before a healthy program has been asked often enough.
const LONG: u64 = 3_000;
/// The tasks of the service.
const SERVICE: usize = 3;

fn start(name: &str) -> Program {
    Program::start_with(name, &[("BLITZ_HANGS_LIVE", OsStr::new("1"))])
}

/// The answer of a program whose service has begun.
fn answer(program: &mut Program) -> Answer {
    answer_of(program, SERVICE)
}

/// The answer of a program with so many tasks at least.
fn answer_of(program: &mut Program, tasks: usize) -> Answer {
    loop {
        program.still_runs();
        match ask_with_peers(program.0.id(), "blitz-io-hangs") {
            Ok(answer) if answer.snapshot.tasks.len() >= tasks => return answer,
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

/// Waits for the finding of each program.
fn finds_all(
    start: impl Fn(&str) -> Program + Sync,
    answer: impl Fn(&mut Program) -> Answer + Sync,
) {
    for_each(FOUND, |&(name, kind)| {
        let mut program = start(name);
        let mut is_found = || answer(&mut program).findings.iter().any(|f| f.kind == kind);
        while !is_found() {}
    });
}

/// The findings do not depend on the service.
#[test]
fn the_same_programs_have_these_findings_alone() {
    finds_all(Program::start, |program| answer_of(program, 0));
}

/// Three of four hangs are found. The others are listed only: one end of such a wait is a plain value or a shared word
/// that any live thread could have, or it is outside the process.
#[test]
fn a_live_service_hides_no_hang_whose_end_is_known() {
    finds_all(start, answer);
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
    healthy.retain(|name| name.starts_with("idle_") && name != BLOCKS);
    for_each(&healthy, |name| {
        let mut program = start(name);
        loop {
            let Answer { snapshot, findings } = answer(&mut program);
            assert_eq!(findings, [], "{name}");
            // Some findings are about waits of a second or two.
            if snapshot.waits.iter().any(|wait| wait.waiting_ms >= LONG) {
                break;
            }
        }
    });
}
