//! Blocking work, local tasks and task-local values behave as Tokio's do: the same
//! scenarios are compiled with both, and their logs are compared.

mod of_tokio {
    use tokio::{runtime, task, task_local};

    pub mod blocking {
        use super::{runtime, task};
        include!("parity/blocking.rs");
    }
    pub mod local_set {
        use super::{runtime, task};
        include!("parity/local_set.rs");
    }
    pub mod local_runtime {
        use super::{runtime, task};
        include!("parity/local_runtime.rs");
    }
    pub mod values {
        use super::{runtime, task, task_local};
        include!("parity/task_local.rs");
    }
}

mod ours {
    use blitz_io_runtime::{runtime, task, task_local};

    pub mod blocking {
        use super::{runtime, task};
        include!("parity/blocking.rs");
    }
    pub mod local_set {
        use super::{runtime, task};
        include!("parity/local_set.rs");
    }
    pub mod local_runtime {
        use super::{runtime, task};
        include!("parity/local_runtime.rs");
    }
    pub mod values {
        use super::{runtime, task, task_local};
        include!("parity/task_local.rs");
    }
}

mod blocking {
    use super::{of_tokio::blocking as of_tokio, ours::blocking as ours};

    blitz_io_testing::the_same! {
        results
        panics
        outside
        in_place
        in_place_refused
        in_place_hands_over
        names_and_hooks
        jobs_wait_when_the_pool_is_full
        queued_jobs_and_the_end
        queued_jobs_and_a_hasty_end
        submitted_after_the_end
        time_outs
        aborts
        ids
        inside_of_jobs
        jobs_need_each_other
        threads_end
        counts
    }
}

mod local_set {
    use super::{of_tokio::local_set as of_tokio, ours::local_set as ours};

    blitz_io_testing::the_same! {
        traits
        shown
        order
        woken_from_elsewhere
        outside
        entered
        guards_out_of_order
        dropped
        dropped_in_its_own_task
        spawned_after_the_end
        panics
        aborts
        many_tasks
        hosts_have_their_turn
        without_a_runtime
        in_place_refused
        sets_in_sets
    }
}

mod local_runtime {
    use super::{of_tokio::local_runtime as of_tokio, ours::local_runtime as ours};

    blitz_io_testing::the_same! {
        traits
        tasks
        refused
        ends
    }
}

mod values {
    use super::{of_tokio::values as of_tokio, ours::values as ours};

    blitz_io_testing::the_same! {
        traits
        shown
        scopes
        borrowed
        taken
        dropped
        panics
        in_tasks
    }
}
