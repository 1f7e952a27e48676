//! The models of this crate, in one program.

#![cfg(loom)]

mod model;

/// Tests that models hold.
macro_rules! models {
    ($($model:ident)*) => { $(
        mod $model {
            #[test]
            fn holds() {
                super::$model();
            }
        }
    )* };
}

mod cancellation_token;
mod idle;
mod inbox;
mod inject;
mod join_set;
mod own_list;
mod polling;
mod pool;
mod run_queue;
mod set_aside;
mod task;
mod task_tracker;
mod turns;
mod wheel;
