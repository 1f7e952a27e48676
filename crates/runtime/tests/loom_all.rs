//! The models of this crate, in one program.

#![cfg(loom)]

#[path = "../../channel/tests/model/mod.rs"]
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

/// Tests that models find mistakes, and how, if it is always the same way. For a module
/// below that of the models.
macro_rules! mistakes {
    ($($name:ident: $mutant:ident in $model:ident $(= $how:tt)?;)*) => { $(
        #[test]
        #[should_panic $(= $how)?]
        fn $name() {
            mutant::with(Mutant::$mutant, super::$model);
        }
    )* };
}

#[path = "loom_cancellation_token.rs"]
mod loom_cancellation_token;
#[path = "loom_idle.rs"]
mod loom_idle;
#[path = "loom_inbox.rs"]
mod loom_inbox;
#[path = "loom_inject.rs"]
mod loom_inject;
#[path = "loom_join_set.rs"]
mod loom_join_set;
#[path = "loom_own_list.rs"]
mod loom_own_list;
#[path = "loom_pool.rs"]
mod loom_pool;
#[path = "loom_queue.rs"]
mod loom_queue;
#[path = "loom_task.rs"]
mod loom_task;
#[path = "loom_task_tracker.rs"]
mod loom_task_tracker;
#[path = "loom_turns.rs"]
mod loom_turns;
#[path = "loom_wheel.rs"]
mod loom_wheel;
