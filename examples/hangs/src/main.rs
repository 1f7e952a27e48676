//! Programs that hang, each after a public report, and programs that are only slow or idle.
//! `blitz-io-hangs NAME` runs one; with `BLITZ_INSPECT=1`, `blitz why blitz-io-hangs` says why it hangs.

mod blocks;
mod busy;
mod channels;
mod ends;
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
#[cfg(unix)]
mod system;
mod tasks;

use std::future::Future;
use std::pin::{Pin, pin};
use std::process::ExitCode;
use std::task::Poll;

use blitz_io::runtime::Builder;
use blitz_io::task;

/// A program by its name.
const PROGRAMS: &[(&str, fn())] = &[
    ("two_mutexes", || run(locks::two_mutexes())),
    ("three_locks", || run(locks::three_locks())),
    ("self_lock", || run(locks::self_lock())),
    ("block_on_self_lock", || run(locks::block_on_self_lock())),
    ("read_twice", || run(locks::read_twice())),
    ("futurelock_select", || run(locks::futurelock_select())),
    (
        "futurelock_unordered",
        || run(locks::futurelock_unordered()),
    ),
    ("futurelock_of_connection", || {
        run(locks::futurelock_of_connection())
    }),
    (
        "futurelock_semaphore",
        || run(locks::futurelock_semaphore()),
    ),
    ("futurelock_rwlock", || run(locks::futurelock_rwlock())),
    ("futurelock_notify", || run(locks::futurelock_notify())),
    ("futurelock_reserve", || run(locks::futurelock_reserve())),
    ("futurelock_block_on", || run(locks::futurelock_block_on())),
    ("guard_over_await", || run(locks::guard_over_await())),
    ("leaked_permit", || run(locks::leaked_permit())),
    ("thread_leaked_permit", locks::thread_leaked_permit),
    ("two_thread_semaphores", locks::two_thread_semaphores),
    ("two_thread_mutexes", locks::two_thread_mutexes),
    ("thread_self_lock", locks::thread_self_lock),
    ("thread_read_twice", locks::thread_read_twice),
    (
        "thread_upgrade_beside_reader",
        locks::thread_upgrade_beside_reader,
    ),
    (
        "thread_write_beside_upgradable",
        locks::thread_write_beside_upgradable,
    ),
    ("thread_read_in_write", locks::thread_read_in_write),
    ("thread_and_task", locks::thread_and_task),
    ("join_each_other", || run(tasks::join_each_other())),
    ("local_tasks_lock", || run(tasks::local_tasks_lock())),
    ("join_holds_lock", || run(tasks::join_holds_lock())),
    ("bounded_to_oneself", || run(channels::bounded_to_oneself())),
    ("bounded_both_ways", || run(channels::bounded_both_ways())),
    ("sender_in_a_map", || run(channels::sender_in_a_map())),
    ("threads_sender_in_a_map", channels::threads_sender_in_a_map),
    ("sender_stops", || run(channels::sender_stops())),
    ("select_of_threads", channels::select_of_threads),
    ("last_sender_waits", || run(channels::last_sender_waits())),
    (
        "threads_bounded_both_ways",
        channels::threads_bounded_both_ways,
    ),
    ("missing_party", || run(tasks::missing_party())),
    ("thread_missing_party", tasks::thread_missing_party),
    ("latch_counts_too_few", tasks::latch_counts_too_few),
    ("group_keeps_a_member", tasks::group_keeps_a_member),
    ("event_reset_too_early", tasks::event_reset_too_early),
    ("parked_twice", tasks::parked_twice),
    ("strict_turns", futexes::strict_turns),
    ("flag_read_too_early", futexes::flag_read_too_early),
    ("end_in_another_word", futexes::end_in_another_word),
    ("counter_stays", futexes::counter_stays),
    ("two_std_mutexes", futexes::two_std_mutexes),
    (
        "std_mutex_in_a_task",
        || run(futexes::std_mutex_in_a_task()),
    ),
    ("values_need_each_other", locks::values_need_each_other),
    ("two_readers_upgrade", || run(locks::two_readers_upgrade())),
    ("two_semaphores", || run(locks::two_semaphores())),
    ("block_on_in_worker", || run(tasks::block_on_in_worker())),
    ("blocked_worker", || run(tasks::blocked_worker())),
    (
        "jobs_wait_for_queued_jobs",
        tasks::jobs_wait_for_queued_jobs,
    ),
    ("fork_join_holds_lock", tasks::fork_join_holds_lock),
    ("install_wants_lock", tasks::install_wants_lock),
    ("loop_wants_lock", tasks::loop_wants_lock),
    ("executor_stops", tasks::executor_stops),
    ("timer_not_driven", tasks::timer_not_driven),
    ("pipeline_holds_lock", tasks::pipeline_holds_lock),
    ("pipeline_tasks_hold_lock", || {
        run(tasks::pipeline_tasks_hold_lock())
    }),
    ("scope_holds_lock", || run(tasks::scope_holds_lock())),
    (
        "scope_without_an_end",
        || run(tasks::scope_without_an_end()),
    ),
    ("busy_first_poll", || run(tasks::busy_first_poll())),
    ("set_waits_for_owner", || run(tasks::set_waits_for_owner())),
    ("notified_too_early", || run(tasks::notified_too_early())),
    ("condvar_signalled_before", tasks::condvar_signalled_before),
    ("crossed_queues", || run(channels::crossed_queues())),
    ("watch_that_never_changes", || {
        run(channels::watch_that_never_changes())
    }),
    ("broadcast_sender_kept", || {
        run(channels::broadcast_sender_kept())
    }),
    ("receivers_in_a_registry", || {
        run(channels::receivers_in_a_registry())
    }),
    ("threads_crossed_queues", channels::threads_crossed_queues),
    #[cfg(unix)]
    ("handlers_two_mutexes", || {
        run_system(handlers::two_mutexes())
    }),
    #[cfg(unix)]
    ("handlers_two_semaphores", || {
        run_system(handlers::two_semaphores())
    }),
    #[cfg(unix)]
    ("handler_awaits_its_task", || {
        run_system(handlers::awaits_its_task())
    }),
    #[cfg(unix)]
    ("idle_limit_is_reached", || {
        run_system(handlers::limit_is_reached())
    }),
    #[cfg(unix)]
    ("idle_permit_given_to_a_job", || {
        run_system(handlers::permit_given_to_a_job())
    }),
    #[cfg(unix)]
    ("idle_reads_under_own_lock", || {
        run_system(handlers::reads_under_own_lock())
    }),
    #[cfg(unix)]
    (
        "idle_handler_reads",
        || run_system(handlers::holder_reads()),
    ),
    ("root_blocks", || run(tasks::root_blocks())),
    ("oneshot_in_a_shared_map", || {
        run(ends::oneshot_in_a_shared_map())
    }),
    ("notified_once_for_two", || {
        run(ends::notified_once_for_two())
    }),
    ("one_task_too_many", || run(ends::one_task_too_many())),
    ("watch_value_seen_before", || {
        run(ends::watch_value_seen_before())
    }),
    ("lagged_broadcast", || run(ends::lagged_broadcast())),
    ("arc_cycle", || run(ends::arc_cycle())),
    ("cancelled_after_its_task", || {
        run(ends::cancelled_after_its_task())
    }),
    ("select_with_a_guard", || run(ends::select_with_a_guard())),
    ("stop_after_join", || run(ends::stop_after_join())),
    ("ring_of_oneshots", || run(ends::ring_of_oneshots())),
    ("answer_before_question", || {
        run(ends::answer_before_question())
    }),
    ("set_with_a_full_channel", || {
        run(ends::set_with_a_full_channel())
    }),
    ("send_under_a_lock", || run(ends::send_under_a_lock())),
    ("reserved_place_kept", || run(ends::reserved_place_kept())),
    ("actor_asks_itself", || run(ends::actor_asks_itself())),
    ("actors_ask_each_other", || {
        run(ends::actors_ask_each_other())
    }),
    ("write_while_reading", || run(owners::write_while_reading())),
    ("read_while_writing", || run(owners::read_while_writing())),
    ("two_tables", || run(owners::two_tables())),
    ("cell_needs_itself", || run(owners::cell_needs_itself())),
    ("cells_need_each_other", || {
        run(owners::cells_need_each_other())
    }),
    ("cell_set_too_late", || run(owners::cell_set_too_late())),
    ("permits_collected", || run(owners::permits_collected())),
    ("two_permits_each", || run(owners::two_permits_each())),
    ("permits_leaked_one_by_one", || {
        run(owners::permits_leaked_one_by_one())
    }),
    ("unordered_holds_lock", || {
        run(owners::unordered_holds_lock())
    }),
    ("join_itself", || run(owners::join_itself())),
    ("watch_borrow_kept", || run(owners::watch_borrow_kept())),
    ("biased_select_spins", || run(owners::biased_select_spins())),
    ("job_waits_for_value", || run(blocks::job_waits_for_value())),
    ("root_waits_for_a_channel", blocks::root_waits_for_a_channel),
    ("shutdown_waits_for_job", blocks::shutdown_waits_for_job),
    ("shutdown_waits_for_stdin", blocks::shutdown_waits_for_stdin),
    #[cfg(unix)]
    ("peer_never_answers", || {
        run_system(system::peer_never_answers())
    }),
    #[cfg(unix)]
    ("peer_never_accepts", || {
        run_system(system::peer_never_accepts())
    }),
    #[cfg(unix)]
    ("child_fills_its_pipe", || {
        run_system(system::child_fills_its_pipe())
    }),
    #[cfg(unix)]
    ("pipe_without_a_writer", || {
        run_system(system::pipe_without_a_writer())
    }),
    #[cfg(unix)]
    ("job_wants_lock", || run_system(system::job_wants_lock())),
    #[cfg(unix)]
    ("two_process_locks", processes::two_locks),
    #[cfg(unix)]
    ("two_process_locks_tasks", processes::two_locks_of_tasks),
    #[cfg(unix)]
    ("crossed_routes", processes::crossed_routes),
    #[cfg(unix)]
    (
        "crossed_routes_threads",
        processes::crossed_routes_of_threads,
    ),
    #[cfg(unix)]
    ("crossed_channels", processes::crossed_channels),
    #[cfg(unix)]
    ("stopped_receiver", processes::stopped_receiver),
    #[cfg(unix)]
    ("stopped_sender", processes::stopped_sender),
    #[cfg(unix)]
    ("route_to_oneself", processes::route_to_oneself),
    #[cfg(unix)]
    ("idle_slow_receiver", processes::slow_receiver),
    #[cfg(unix)]
    ("idle_process_locks", processes::locks_with_timeout),
    ("idle_sleep", || run(idle::sleep())),
    ("idle_lock_with_timeout", || run(idle::lock_with_timeout())),
    ("idle_holder_sleeps", || run(idle::holder_sleeps())),
    ("idle_queue_moves", || run(idle::queue_moves())),
    ("idle_oneshot_later", || run(idle::oneshot_later())),
    ("idle_guard_moved", || run(idle::guard_moved())),
    ("idle_select_of_locks", || run(idle::select_of_locks())),
    ("idle_join_sleeper", || run(idle::join_sleeper())),
    ("idle_fork_join", idle::fork_join),
    ("idle_set_of_sleepers", || run(idle::set_of_sleepers())),
    ("idle_readers", || run(idle::readers())),
    ("idle_semaphore", || run(idle::semaphore())),
    ("idle_thread_holder_sleeps", idle::thread_holder_sleeps),
    ("idle_timed_writer", idle::timed_writer),
    ("idle_job_holds_lock", || run(idle::job_holds_lock())),
    ("idle_queued_job", idle::queued_job),
    ("idle_pipeline", || run(idle::pipeline())),
    ("idle_thread_pipeline", idle::thread_pipeline),
    ("idle_scope_of_sleepers", || run(idle::scope_of_sleepers())),
    ("idle_foreign_future", || run(idle::foreign_future())),
    ("idle_unordered", || run(idle::unordered())),
    ("idle_abort", || run(idle::abort())),
    ("idle_many", || run(idle::many())),
    ("idle_read_under_own_lock", || {
        run(idle::read_under_own_lock())
    }),
    ("idle_cell_is_made", || run(idle::cell_is_made())),
    ("contended", || run(busy::contended())),
    ("idle_pending", || run(std::future::pending())),
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
    blitz_io::inspect::on_signal(libc::SIGQUIT).expect("a program can handle SIGQUIT");
    #[cfg(unix)]
    if live::is_asked() {
        live::start();
    }
    program();
    ExitCode::SUCCESS
}

/// `true` if a program is to take a schedule, or a branch, in which it ends: no two tasks or threads meet, and a future
/// that is left alone is not needed. For `blitz lint`.
fn is_apart() -> bool {
    std::env::var_os("BLITZ_HANGS_APART").is_some()
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

/// The same for a program that cannot go on after an error of the system.
#[cfg(unix)]
fn run_system(program: impl Future<Output = std::io::Result<()>>) {
    run(async {
        program
            .await
            .expect("the system has what the program needs")
    });
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
