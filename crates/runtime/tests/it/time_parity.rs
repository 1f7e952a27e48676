//! The same scenarios with Tokio's timers and with ours: texts, traits, panics, and the
//! times at which timers fire while the clock is paused.

mod of_tokio {
    use tokio::sync::mpsc;
    use tokio::{runtime, task, time};

    include!("parity/time.rs");
}

mod ours {
    use blitz_io_channel::mpsc;
    use blitz_io_runtime::{runtime, task, time};

    include!("parity/time.rs");
}

blitz_io_testing::the_same! {
    traits
    texts
    panics
    clock
    sleeps
    intervals
    late_intervals
    timeouts
    fresh
    yields
    budgets
    sends_in_time
    sends_in_time_without_timers
    the_end
    far_away
    order
}

blitz_io_testing::the_same_whatever_happens! {
    one_task
    many_tasks
    ticks
}
