//! `JoinSet`, `TaskTracker`, `CancellationToken` and budgets behave as those of Tokio and
//! tokio-util do: the same scenarios are compiled with both.

mod of_tokio {
    use tokio::{runtime, task};
    use tokio_util::sync as token;
    use tokio_util::task::task_tracker as tracker;

    include!("parity/tasks_together.rs");
}

mod ours {
    use blitz_io_runtime::sync as token;
    use blitz_io_runtime::task::task_tracker as tracker;
    use blitz_io_runtime::{runtime, task};

    include!("parity/tasks_together.rs");
}

blitz_io_testing::the_same! {
    traits
    debug_texts
    a_set_joins_in_order
    a_set_tells_numbers
    a_set_of_panics
    a_set_is_aborted_detached_and_dropped
    a_set_wakes
    a_waker_of_a_set_that_ends_its_task
    a_set_and_a_budget
    budgets
    a_tracker
    a_tracker_of_tasks
    a_token
}

blitz_io_testing::the_same_whatever_happens! {
    random_tree
}
