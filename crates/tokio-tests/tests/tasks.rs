//! Tokio's tests of tasks, timers and runtimes.
//!
//! Left out:
//!
//! | file or test | why |
//! |---|---|
//! | `coop_budget`, `rt_busy_tick`, `rt_common`, `rt_handle_block_on`, `rt_shutdown_err`, `rt_threaded`, `time_pause`, `async_send_sync` | they need sockets |
//! | `task_hooks`, `time_alt`, `rt_unstable_*` | they need unstable functions that are missing: see `docs/from-tokio.md` |
//! | `task_builder` | it needs the feature `tracing` |
//! | `no_rt`, `*_emscripten`, `time_wasm` | they need Tokio without a runtime, or other systems |
//! | `worker_park_unpark_count` | the checks of the monitor count as parks |
//! | `worker_park_count` | a worker that has never had work need not have parked when the runtime is dropped |

// The code is Tokio's, for Tokio's lints.
#![allow(clippy::all, dead_code, rust_2018_idioms, unused)]

macro_rules! tests_of_tokio {
    ($($file:ident),* $(,)?) => {$(
        mod $file {
            include!(concat!(env!("OUT_DIR"), "/", stringify!($file), ".rs"));
        }
    )*};
}

tests_of_tokio! {
    join_handle_panic,
    task_abort,
    task_blocking,
    task_id,
    task_join_set,
    task_local,
    task_local_set,
    task_panic,
    task_yield_now,
    test_clock,
    time_interval,
    time_panic,
    time_rt,
    time_sleep,
    time_timeout,
    unwindsafe,
    rt_basic,
    rt_handle,
    rt_local,
    rt_metrics,
    rt_panic,
    rt_poll_callbacks,
    rt_time_start_paused,
    rt_worker_index,
    rt_spawn_blocking,
    rt_blocking_thread_exhaust,
    rt_common_before_park,
}
