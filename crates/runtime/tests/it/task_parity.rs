//! The same scenarios on Tokio's tasks and on ours: handles, errors, aborts, panics.

mod of_tokio {
    use tokio::{runtime, task};

    include!("parity/task.rs");
}

mod ours {
    use blitz_io_runtime::{runtime, task};

    include!("parity/task.rs");
}

blitz_io_testing::the_same! {
    traits
    texts
    errors
    polled_after_the_end
    ids
    order_of_drops
    aborts
    drops_while_panicking
    panics_in_drops
    wakers
    selected
    at_the_end_of_the_runtime
}
