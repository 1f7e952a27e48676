//! `Notify`, `Barrier`, `OnceCell` and `SetOnce` do what Tokio's do: the same scenarios are
//! compiled with both, and the logs are compared.

use blitz_io_testing::{the_same, the_same_whatever_happens};

mod of_tokio {
    use tokio::sync;

    use tokio::sync::futures;

    include!("parity/notify.rs");
}

mod ours {
    use blitz_io_sync::task as sync;
    use blitz_io_sync::task::futures;

    include!("parity/notify.rs");
}

the_same! {
    traits
    traits_of_futures
    shown
    cells
    a_barrier_of_none
    wakers_that_do_things
}

the_same_whatever_happens! {
    random_notify
    random_once_cell
    random_set_once
    random_barrier
}

/// The question is answered by more than one answer.
#[test]
fn a_trait_is_there_or_not() {
    let traits = ours::traits().concat();
    assert!(traits.contains("true") && traits.contains("false"));
    let futures = ours::traits_of_futures().concat();
    assert!(futures.contains("true") && futures.contains("false"));
}
