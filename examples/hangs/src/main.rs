//! Programs that hang, each after a public report, and programs that are only slow or idle.
//! `blitz-io-hangs NAME` runs one; with `BLITZ_INSPECT=1`, `blitz why blitz-io-hangs` says why it hangs.

mod blocks;
mod busy;
mod channels;
mod ends;
mod fibers;
mod foreign;
mod futexes;
#[cfg(unix)]
mod handlers;
mod idle;
#[cfg(unix)]
mod live;
mod locks;
mod owners;
#[cfg(unix)]
mod processes;
mod scopes;
#[cfg(all(test, feature = "sim"))]
mod simulated;
#[cfg(unix)]
mod system;
mod tasks;

use std::future::Future;
use std::pin::{Pin, pin};
use std::process::ExitCode;
use std::task::Poll;

use blitz_io::runtime::Builder;
use blitz_io::task;

/// The main task of a program, which spawns the others.
type MainTask = Pin<Box<dyn Future<Output = ()>>>;

/// A program.
enum Program {
    /// It runs in a runtime of two workers.
    Tasks(fn() -> MainTask),
    /// It starts the threads and runtimes that it needs itself.
    Threads(fn()),
}
use Program::{Tasks, Threads};

/// The programs by their names.
const PROGRAMS: &[(&str, Program)] = &[
    ("two_mutexes", Tasks(|| Box::pin(locks::two_mutexes()))),
    ("three_locks", Tasks(|| Box::pin(locks::three_locks()))),
    ("self_lock", Tasks(|| Box::pin(locks::self_lock()))),
    (
        "block_on_self_lock",
        Tasks(|| Box::pin(locks::block_on_self_lock())),
    ),
    ("read_twice", Tasks(|| Box::pin(locks::read_twice()))),
    (
        "futurelock_select",
        Tasks(|| Box::pin(locks::futurelock_select())),
    ),
    (
        "futurelock_unordered",
        Tasks(|| Box::pin(locks::futurelock_unordered())),
    ),
    (
        "futurelock_of_connection",
        Tasks(|| Box::pin(locks::futurelock_of_connection())),
    ),
    (
        "futurelock_semaphore",
        Tasks(|| Box::pin(locks::futurelock_semaphore())),
    ),
    (
        "futurelock_rwlock",
        Tasks(|| Box::pin(locks::futurelock_rwlock())),
    ),
    (
        "futurelock_notify",
        Tasks(|| Box::pin(locks::futurelock_notify())),
    ),
    (
        "futurelock_reserve",
        Tasks(|| Box::pin(locks::futurelock_reserve())),
    ),
    (
        "futurelock_block_on",
        Tasks(|| Box::pin(locks::futurelock_block_on())),
    ),
    (
        "guard_over_await",
        Tasks(|| Box::pin(locks::guard_over_await())),
    ),
    ("leaked_permit", Tasks(|| Box::pin(locks::leaked_permit()))),
    ("thread_leaked_permit", Threads(locks::thread_leaked_permit)),
    (
        "two_thread_semaphores",
        Threads(locks::two_thread_semaphores),
    ),
    ("two_thread_mutexes", Threads(locks::two_thread_mutexes)),
    ("thread_self_lock", Threads(locks::thread_self_lock)),
    ("thread_read_twice", Threads(locks::thread_read_twice)),
    (
        "thread_upgrade_beside_reader",
        Threads(locks::thread_upgrade_beside_reader),
    ),
    (
        "thread_write_beside_upgradable",
        Threads(locks::thread_write_beside_upgradable),
    ),
    ("thread_read_in_write", Threads(locks::thread_read_in_write)),
    ("thread_and_task", Threads(locks::thread_and_task)),
    ("foreign_two_mutexes", Threads(foreign::two_mutexes)),
    ("idle_foreign_holder", Threads(foreign::polled_elsewhere)),
    (
        "join_each_other",
        Tasks(|| Box::pin(tasks::join_each_other())),
    ),
    (
        "local_tasks_lock",
        Tasks(|| Box::pin(tasks::local_tasks_lock())),
    ),
    (
        "join_holds_lock",
        Tasks(|| Box::pin(tasks::join_holds_lock())),
    ),
    (
        "bounded_to_oneself",
        Tasks(|| Box::pin(channels::bounded_to_oneself())),
    ),
    (
        "bounded_both_ways",
        Tasks(|| Box::pin(channels::bounded_both_ways())),
    ),
    (
        "sender_in_a_map",
        Tasks(|| Box::pin(channels::sender_in_a_map())),
    ),
    (
        "threads_sender_in_a_map",
        Threads(channels::threads_sender_in_a_map),
    ),
    ("sender_stops", Tasks(|| Box::pin(channels::sender_stops()))),
    ("select_of_threads", Threads(channels::select_of_threads)),
    (
        "last_sender_waits",
        Tasks(|| Box::pin(channels::last_sender_waits())),
    ),
    (
        "threads_bounded_both_ways",
        Threads(channels::threads_bounded_both_ways),
    ),
    ("missing_party", Tasks(|| Box::pin(tasks::missing_party()))),
    ("thread_missing_party", Threads(tasks::thread_missing_party)),
    ("latch_counts_too_few", Threads(tasks::latch_counts_too_few)),
    ("group_keeps_a_member", Threads(tasks::group_keeps_a_member)),
    (
        "event_reset_too_early",
        Threads(tasks::event_reset_too_early),
    ),
    ("parked_twice", Threads(tasks::parked_twice)),
    ("strict_turns", Threads(futexes::strict_turns)),
    ("flag_read_too_early", Threads(futexes::flag_read_too_early)),
    ("end_in_another_word", Threads(futexes::end_in_another_word)),
    ("counter_stays", Threads(futexes::counter_stays)),
    ("two_own_locks", Threads(futexes::two_own_locks)),
    ("two_std_mutexes", Threads(futexes::two_std_mutexes)),
    (
        "std_mutex_in_a_task",
        Tasks(|| Box::pin(futexes::std_mutex_in_a_task())),
    ),
    (
        "values_need_each_other",
        Threads(locks::values_need_each_other),
    ),
    (
        "two_readers_upgrade",
        Tasks(|| Box::pin(locks::two_readers_upgrade())),
    ),
    (
        "two_semaphores",
        Tasks(|| Box::pin(locks::two_semaphores())),
    ),
    (
        "block_on_in_worker",
        Tasks(|| Box::pin(tasks::block_on_in_worker())),
    ),
    (
        "blocked_worker",
        Tasks(|| Box::pin(tasks::blocked_worker())),
    ),
    (
        "jobs_wait_for_queued_jobs",
        Threads(tasks::jobs_wait_for_queued_jobs),
    ),
    ("fork_join_holds_lock", Threads(tasks::fork_join_holds_lock)),
    ("install_wants_lock", Threads(tasks::install_wants_lock)),
    ("loop_wants_lock", Threads(tasks::loop_wants_lock)),
    ("executor_stops", Threads(tasks::executor_stops)),
    ("timer_not_driven", Threads(tasks::timer_not_driven)),
    ("pipeline_holds_lock", Threads(tasks::pipeline_holds_lock)),
    (
        "pipeline_tasks_hold_lock",
        Tasks(|| Box::pin(tasks::pipeline_tasks_hold_lock())),
    ),
    (
        "scope_holds_lock",
        Tasks(|| Box::pin(tasks::scope_holds_lock())),
    ),
    (
        "scope_without_an_end",
        Tasks(|| Box::pin(tasks::scope_without_an_end())),
    ),
    (
        "parallel_scope_holds_lock",
        Tasks(|| Box::pin(tasks::parallel_scope_holds_lock())),
    ),
    (
        "parallel_scope_without_an_end",
        Tasks(|| Box::pin(tasks::parallel_scope_without_an_end())),
    ),
    (
        "scope_two_mutexes",
        Tasks(|| Box::pin(scopes::two_mutexes())),
    ),
    (
        "scope_two_mutexes_beside_ticks",
        Tasks(|| Box::pin(scopes::two_mutexes_beside_ticks())),
    ),
    (
        "scope_two_mutexes_within",
        Tasks(|| Box::pin(scopes::two_mutexes_within())),
    ),
    (
        "scope_sibling_holds_lock",
        Tasks(|| Box::pin(scopes::sibling_holds_lock())),
    ),
    (
        "scope_body_holds_lock",
        Tasks(|| Box::pin(scopes::body_holds_lock())),
    ),
    (
        "scope_crossed_queues",
        Tasks(|| Box::pin(scopes::crossed_queues())),
    ),
    (
        "blocking_scope_two_mutexes",
        Tasks(|| Box::pin(scopes::blocking_two_mutexes())),
    ),
    (
        "parallel_scope_two_mutexes",
        Tasks(|| Box::pin(scopes::parallel_two_mutexes())),
    ),
    (
        "parallel_scope_beside_a_sleeper",
        Tasks(|| Box::pin(scopes::parallel_beside_a_sleeper())),
    ),
    (
        "idle_scope_guard_is_given",
        Tasks(|| Box::pin(scopes::guard_is_given())),
    ),
    (
        "idle_scope_guard_is_sent",
        Tasks(|| Box::pin(scopes::guard_is_sent())),
    ),
    (
        "idle_scope_guard_is_returned",
        Tasks(|| Box::pin(scopes::guard_is_returned())),
    ),
    (
        "idle_scope_in_a_timeout",
        Tasks(|| Box::pin(scopes::in_a_timeout())),
    ),
    (
        "tracker_without_an_end",
        Tasks(|| Box::pin(tasks::tracker_without_an_end())),
    ),
    (
        "busy_first_poll",
        Tasks(|| Box::pin(tasks::busy_first_poll())),
    ),
    (
        "set_waits_for_owner",
        Tasks(|| Box::pin(tasks::set_waits_for_owner())),
    ),
    (
        "notified_too_early",
        Tasks(|| Box::pin(tasks::notified_too_early())),
    ),
    (
        "condvar_signalled_before",
        Threads(tasks::condvar_signalled_before),
    ),
    (
        "crossed_queues",
        Tasks(|| Box::pin(channels::crossed_queues())),
    ),
    (
        "watch_that_never_changes",
        Tasks(|| Box::pin(channels::watch_that_never_changes())),
    ),
    (
        "broadcast_sender_kept",
        Tasks(|| Box::pin(channels::broadcast_sender_kept())),
    ),
    (
        "receivers_in_a_registry",
        Tasks(|| Box::pin(channels::receivers_in_a_registry())),
    ),
    (
        "threads_crossed_queues",
        Threads(channels::threads_crossed_queues),
    ),
    #[cfg(unix)]
    (
        "handlers_two_mutexes",
        Tasks(|| Box::pin(or_panic(handlers::two_mutexes()))),
    ),
    #[cfg(unix)]
    (
        "handlers_two_semaphores",
        Tasks(|| Box::pin(or_panic(handlers::two_semaphores()))),
    ),
    #[cfg(unix)]
    (
        "handler_awaits_its_task",
        Tasks(|| Box::pin(or_panic(handlers::awaits_its_task()))),
    ),
    #[cfg(unix)]
    (
        "handler_asks_an_actor",
        Tasks(|| Box::pin(or_panic(handlers::asks_an_actor()))),
    ),
    #[cfg(unix)]
    (
        "handler_asks_its_task",
        Tasks(|| Box::pin(or_panic(handlers::asks_its_task()))),
    ),
    #[cfg(unix)]
    (
        "handler_fills_a_queue",
        Tasks(|| Box::pin(or_panic(handlers::fills_a_queue()))),
    ),
    #[cfg(unix)]
    (
        "idle_asks_under_a_lock",
        Tasks(|| Box::pin(or_panic(handlers::asks_under_a_lock()))),
    ),
    #[cfg(unix)]
    (
        "handlers_with_a_limit",
        Tasks(|| Box::pin(or_panic(handlers::with_a_limit()))),
    ),
    #[cfg(unix)]
    (
        "handler_locks_twice_with_a_limit",
        Tasks(|| Box::pin(or_panic(handlers::twice_with_a_limit()))),
    ),
    #[cfg(unix)]
    (
        "idle_limit_is_reached",
        Tasks(|| Box::pin(or_panic(handlers::limit_is_reached()))),
    ),
    #[cfg(unix)]
    (
        "idle_permit_given_to_a_job",
        Tasks(|| Box::pin(or_panic(handlers::permit_given_to_a_job()))),
    ),
    #[cfg(unix)]
    (
        "idle_reads_under_own_lock",
        Tasks(|| Box::pin(or_panic(handlers::reads_under_own_lock()))),
    ),
    #[cfg(unix)]
    (
        "idle_handler_reads",
        Tasks(|| Box::pin(or_panic(handlers::holder_reads()))),
    ),
    ("root_blocks", Tasks(|| Box::pin(tasks::root_blocks()))),
    (
        "oneshot_in_a_shared_map",
        Tasks(|| Box::pin(ends::oneshot_in_a_shared_map())),
    ),
    (
        "notified_once_for_two",
        Tasks(|| Box::pin(ends::notified_once_for_two())),
    ),
    (
        "one_task_too_many",
        Tasks(|| Box::pin(ends::one_task_too_many())),
    ),
    (
        "watch_value_seen_before",
        Tasks(|| Box::pin(ends::watch_value_seen_before())),
    ),
    (
        "lagged_broadcast",
        Tasks(|| Box::pin(ends::lagged_broadcast())),
    ),
    ("arc_cycle", Tasks(|| Box::pin(ends::arc_cycle()))),
    (
        "cancelled_after_its_task",
        Tasks(|| Box::pin(ends::cancelled_after_its_task())),
    ),
    (
        "select_with_a_guard",
        Tasks(|| Box::pin(ends::select_with_a_guard())),
    ),
    (
        "stop_after_join",
        Tasks(|| Box::pin(ends::stop_after_join())),
    ),
    (
        "ring_of_oneshots",
        Tasks(|| Box::pin(ends::ring_of_oneshots())),
    ),
    (
        "answer_before_question",
        Tasks(|| Box::pin(ends::answer_before_question())),
    ),
    (
        "set_with_a_full_channel",
        Tasks(|| Box::pin(ends::set_with_a_full_channel())),
    ),
    (
        "send_under_a_lock",
        Tasks(|| Box::pin(ends::send_under_a_lock())),
    ),
    (
        "reserved_place_kept",
        Tasks(|| Box::pin(ends::reserved_place_kept())),
    ),
    (
        "actor_asks_itself",
        Tasks(|| Box::pin(ends::actor_asks_itself())),
    ),
    (
        "actors_ask_each_other",
        Tasks(|| Box::pin(ends::actors_ask_each_other())),
    ),
    (
        "write_while_reading",
        Tasks(|| Box::pin(owners::write_while_reading())),
    ),
    (
        "read_while_writing",
        Tasks(|| Box::pin(owners::read_while_writing())),
    ),
    ("two_tables", Tasks(|| Box::pin(owners::two_tables()))),
    (
        "cell_needs_itself",
        Tasks(|| Box::pin(owners::cell_needs_itself())),
    ),
    (
        "cells_need_each_other",
        Tasks(|| Box::pin(owners::cells_need_each_other())),
    ),
    (
        "cell_set_too_late",
        Tasks(|| Box::pin(owners::cell_set_too_late())),
    ),
    (
        "permits_collected",
        Tasks(|| Box::pin(owners::permits_collected())),
    ),
    (
        "one_permit_each",
        Tasks(|| Box::pin(owners::one_permit_each())),
    ),
    (
        "idle_permits_are_given",
        Tasks(|| Box::pin(owners::permits_are_given())),
    ),
    (
        "permits_leaked_one_by_one",
        Tasks(|| Box::pin(owners::permits_leaked_one_by_one())),
    ),
    (
        "unordered_holds_lock",
        Tasks(|| Box::pin(owners::unordered_holds_lock())),
    ),
    ("join_itself", Tasks(|| Box::pin(owners::join_itself()))),
    (
        "watch_borrow_kept",
        Tasks(|| Box::pin(owners::watch_borrow_kept())),
    ),
    (
        "biased_select_spins",
        Tasks(|| Box::pin(owners::biased_select_spins())),
    ),
    (
        "job_waits_for_value",
        Tasks(|| Box::pin(blocks::job_waits_for_value())),
    ),
    (
        "root_waits_for_a_channel",
        Threads(blocks::root_waits_for_a_channel),
    ),
    (
        "shutdown_waits_for_job",
        Threads(blocks::shutdown_waits_for_job),
    ),
    (
        "shutdown_waits_for_stdin",
        Threads(blocks::shutdown_waits_for_stdin),
    ),
    #[cfg(unix)]
    (
        "peer_never_answers",
        Tasks(|| Box::pin(or_panic(system::peer_never_answers()))),
    ),
    #[cfg(unix)]
    (
        "peer_never_accepts",
        Tasks(|| Box::pin(or_panic(system::peer_never_accepts()))),
    ),
    #[cfg(unix)]
    #[cfg(unix)]
    (
        "signal_that_never_comes",
        Tasks(|| Box::pin(or_panic(system::signal_that_never_comes()))),
    ),
    (
        "child_fills_its_pipe",
        Tasks(|| Box::pin(or_panic(system::child_fills_its_pipe()))),
    ),
    #[cfg(unix)]
    (
        "pipe_without_a_writer",
        Tasks(|| Box::pin(or_panic(system::pipe_without_a_writer()))),
    ),
    #[cfg(unix)]
    (
        "job_wants_lock",
        Tasks(|| Box::pin(or_panic(system::job_wants_lock()))),
    ),
    #[cfg(unix)]
    ("two_process_locks", Threads(processes::two_locks)),
    #[cfg(unix)]
    (
        "two_process_locks_tasks",
        Threads(processes::two_locks_of_tasks),
    ),
    #[cfg(unix)]
    ("crossed_routes", Threads(processes::crossed_routes)),
    #[cfg(unix)]
    (
        "crossed_routes_threads",
        Threads(processes::crossed_routes_of_threads),
    ),
    #[cfg(unix)]
    ("crossed_channels", Threads(processes::crossed_channels)),
    #[cfg(unix)]
    ("stopped_receiver", Threads(processes::stopped_receiver)),
    #[cfg(unix)]
    ("stopped_sender", Threads(processes::stopped_sender)),
    #[cfg(unix)]
    ("route_to_oneself", Threads(processes::route_to_oneself)),
    #[cfg(unix)]
    ("idle_slow_receiver", Threads(processes::slow_receiver)),
    #[cfg(unix)]
    ("idle_process_locks", Threads(processes::locks_with_timeout)),
    (
        "fiber_holds_lock",
        Tasks(|| Box::pin(fibers::fiber_holds_lock())),
    ),
    ("poll_sleeps", Tasks(|| Box::pin(fibers::poll_sleeps()))),
    (
        "idle_receives_later",
        Tasks(|| Box::pin(idle::receives_later())),
    ),
    (
        "idle_answers_later",
        Tasks(|| Box::pin(idle::answers_later())),
    ),
    (
        "idle_more_permits_than_there_are",
        Tasks(|| Box::pin(idle::more_permits_than_there_are())),
    ),
    (
        "idle_answers_of_a_dispatcher",
        Tasks(|| Box::pin(idle::answers_of_a_dispatcher())),
    ),
    ("idle_sleep", Tasks(|| Box::pin(idle::sleep()))),
    (
        "idle_lock_with_timeout",
        Tasks(|| Box::pin(idle::lock_with_timeout())),
    ),
    (
        "idle_holder_sleeps",
        Tasks(|| Box::pin(idle::holder_sleeps())),
    ),
    ("idle_queue_moves", Tasks(|| Box::pin(idle::queue_moves()))),
    (
        "idle_oneshot_later",
        Tasks(|| Box::pin(idle::oneshot_later())),
    ),
    ("idle_guard_moved", Tasks(|| Box::pin(idle::guard_moved()))),
    (
        "idle_select_of_locks",
        Tasks(|| Box::pin(idle::select_of_locks())),
    ),
    (
        "idle_join_sleeper",
        Tasks(|| Box::pin(idle::join_sleeper())),
    ),
    ("idle_fork_join", Threads(idle::fork_join)),
    (
        "idle_set_of_sleepers",
        Tasks(|| Box::pin(idle::set_of_sleepers())),
    ),
    ("idle_readers", Tasks(|| Box::pin(idle::readers()))),
    ("idle_semaphore", Tasks(|| Box::pin(idle::semaphore()))),
    (
        "idle_thread_holder_sleeps",
        Threads(idle::thread_holder_sleeps),
    ),
    ("idle_timed_writer", Threads(idle::timed_writer)),
    (
        "idle_job_holds_lock",
        Tasks(|| Box::pin(idle::job_holds_lock())),
    ),
    ("idle_queued_job", Threads(idle::queued_job)),
    ("idle_pipeline", Tasks(|| Box::pin(idle::pipeline()))),
    ("idle_thread_pipeline", Threads(idle::thread_pipeline)),
    (
        "idle_scope_of_sleepers",
        Tasks(|| Box::pin(idle::scope_of_sleepers())),
    ),
    (
        "idle_guard_of_child",
        Tasks(|| Box::pin(idle::guard_of_child())),
    ),
    (
        "idle_guard_of_task",
        Tasks(|| Box::pin(idle::guard_of_task())),
    ),
    (
        "idle_foreign_future",
        Tasks(|| Box::pin(idle::foreign_future())),
    ),
    ("idle_unordered", Tasks(|| Box::pin(idle::unordered()))),
    ("idle_abort", Tasks(|| Box::pin(idle::abort()))),
    ("idle_many", Tasks(|| Box::pin(idle::many()))),
    (
        "idle_read_under_own_lock",
        Tasks(|| Box::pin(idle::read_under_own_lock())),
    ),
    (
        "idle_cell_is_made",
        Tasks(|| Box::pin(idle::cell_is_made())),
    ),
    ("contended", Tasks(|| Box::pin(busy::contended()))),
    ("idle_pending", Tasks(|| Box::pin(std::future::pending()))),
];

fn main() -> ExitCode {
    blitz_io::inspect::serve_if_asked();
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let Some((_, program)) = PROGRAMS.iter().find(|(name, _)| *name == wanted) else {
        for (name, _) in PROGRAMS {
            println!("{name}");
        }
        return ExitCode::from(2);
    };
    #[cfg(unix)]
    if !is_simulated() {
        blitz_io::inspect::on_signal(libc::SIGQUIT).expect("a program can handle SIGQUIT");
    }
    #[cfg(unix)]
    if live::is_asked() {
        live::start();
    }
    match program {
        Tasks(tasks) => run(tasks()),
        Threads(program) => program(),
    }
    ExitCode::SUCCESS
}

/// `true` if a program is to take a schedule, or a branch, in which it ends: no two tasks or threads meet, and a future
/// that is left alone is not needed. For `blitz lint`.
fn is_apart() -> bool {
    std::env::var_os("BLITZ_HANGS_APART").is_some()
}

/// `true` if a program is to have no other threads than its own: none that handles signals. For `blitz sim`.
#[cfg(unix)]
fn is_simulated() -> bool {
    std::env::var_os("BLITZ_HANGS_SIMULATED").is_some()
}

/// `true` if a program is to end although its tasks do not: the main task does not wait for them. For `blitz lint`.
fn is_left() -> bool {
    std::env::var_os("BLITZ_HANGS_LEFT").is_some()
}

/// Returns the number of those that meet, of so many.
fn meeting(count: usize) -> usize {
    if is_apart() { 1 } else { count }
}

/// The polls of a main task that does not wait for its tasks. Each of these is polled as often.
const ROUNDS: usize = 20_000;

/// Polls a future once. Returns `true` if it is ready.
async fn poll_once(mut future: Pin<&mut impl Future<Output = ()>>) -> bool {
    std::future::poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_ready())).await
}

/// Runs the program on a runtime with two workers.
fn run(program: impl Future<Output = ()>) {
    if is_left() {
        // All run until all wait.
        let runtime = Builder::new_current_thread().enable_all().build();
        let both = async {
            let mut program = pin!(program);
            for _ in 0..ROUNDS {
                let is_over = poll_once(program.as_mut()).await;
                if is_over {
                    break;
                }
                task::yield_now().await;
            }
        };
        return runtime.expect("the system has threads").block_on(both);
    }
    if is_apart() {
        // A task runs up to its end: nothing that it wants is taken.
        let runtime = Builder::new_current_thread().enable_all().build();
        return runtime.expect("the system has threads").block_on(program);
    }
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = runtime.expect("the system has threads");
    #[cfg(unix)]
    if live::is_asked() {
        runtime.block_on(async { live::spawn_all() });
    }
    runtime.block_on(program);
}

/// Runs a program that cannot go on after an error of the system.
#[cfg(unix)]
async fn or_panic(program: impl Future<Output = std::io::Result<()>>) {
    program
        .await
        .expect("the system has what the program needs");
}

/// Spawns a task with a name.
#[track_caller]
fn spawn<F>(name: &'static str, future: F) -> task::JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    task::Builder::new()
        .name(name)
        .spawn(future)
        .expect("there is a runtime")
}
