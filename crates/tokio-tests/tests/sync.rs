//! Tokio's tests of the primitives and channels for tasks.
//!
//! Left out, and explained in `docs/from-tokio.md`:
//!
//! | test | why |
//! |---|---|
//! | `panic_in_clone` | the last receiver of a broadcast value gets the value, not a clone |
//! | `exhaust_reading` | outside of a runtime an operation yields after many that did not wait |
//! | `cancelled_reserve_many_wakes_closed_receiver`, `failed_reserve_many_…` | a closed channel wakes its receiver as soon as no permit is out, which is earlier |

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
    sync_barrier,
    sync_broadcast,
    sync_broadcast_weak,
    sync_errors,
    sync_mpsc,
    sync_mpsc_weak,
    sync_mutex,
    sync_mutex_owned,
    sync_notify,
    sync_notify_owned,
    sync_once_cell,
    sync_oneshot,
    sync_panic,
    sync_rwlock,
    sync_semaphore,
    sync_semaphore_owned,
    sync_set_once,
    sync_watch,
}
