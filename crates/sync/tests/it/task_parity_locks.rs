//! `Semaphore`, `Mutex` and `RwLock` do what Tokio's do: the same scenarios are compiled with
//! both, and the logs are compared.

use blitz_io_testing::{implements, the_same, the_same_whatever_happens};

mod of_tokio {
    use tokio::sync;

    include!("parity/locks.rs");
    include!("parity/lock_traits.rs");
    include!("parity/locks_at_random.rs");
}

mod ours {
    use blitz_io_sync::task as sync;

    include!("parity/locks.rs");
    include!("parity/lock_traits.rs");
    include!("parity/locks_at_random.rs");
}

the_same! {
    traits
    traits_of_futures
    shown
    panics
    permits
    no_permits
    what_there_is_belongs_to_who_waits
    who_was_served_before_it_was_closed_is_told
    polled_after_the_end
    guards_of_mutexes
    panics_in_closures
    guards_of_rwlocks
}

the_same_whatever_happens! {
    random_semaphore
    random_rwlock
    random_mutex
}

/// The question is answered by more than one answer.
#[test]
fn a_trait_is_there_or_not() {
    assert!(implements!(u32: Send));
    assert!(!implements!(std::rc::Rc<u32>: Send));
    let traits = ours::traits().concat();
    assert!(traits.contains("true") && traits.contains("false"));
    let futures = ours::traits_of_futures().concat();
    assert!(futures.contains("true") && futures.contains("false"));
}
