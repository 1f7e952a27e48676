//! The same scenarios on Tokio's runtimes and on ours: texts, traits, panics, orders.

mod of_tokio {
    use tokio::sync::oneshot;
    use tokio::{runtime, task};

    include!("parity/runtime.rs");
}

mod ours {
    use blitz_io_runtime::{runtime, task};
    use tokio::sync::oneshot;

    include!("parity/runtime.rs");
}

blitz_io_testing::the_same! {
    traits
    debug_texts
    builders
    builder_panics
    outside
    nested
    dropped_inside
    guards
    guards_that_escape
    guards_that_move_in
    order_of_tasks
    tasks_wait_for_block_on
    intervals
    panics_pass
    numbers
    drops_at_the_end
    spawned_after_the_end
    spawned_during_the_end
    future_of_block_on_is_dropped_inside
    several_threads_block
    blocking_on_a_handle
    while_a_thread_ends
    worker_numbers
}
