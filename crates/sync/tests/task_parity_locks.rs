//! `Semaphore`, `Mutex` and `RwLock` do what Tokio's do: the same scenarios are
//! compiled with both, and what they saw is compared.
#![cfg(not(loom))]

mod of_tokio {
    use tokio::sync;

    include!("parity/locks.rs");
    include!("parity/lock_traits.rs");
    include!("parity/locks_at_random.rs");
}

mod ours {
    use blitz_sync::task as sync;

    include!("parity/locks.rs");
    include!("parity/lock_traits.rs");
    include!("parity/locks_at_random.rs");
}

/// Whether a type has a trait.
macro_rules! implements {
    ($t:ty: $($bound:tt)+) => {{
        #[allow(dead_code)]
        trait No {
            const IS: bool = false;
        }
        impl<T: ?Sized> No for T {}
        #[allow(dead_code)]
        struct Of<T: ?Sized>(std::marker::PhantomData<T>);
        #[allow(dead_code)]
        impl<T: ?Sized + $($bound)+> Of<T> {
            const IS: bool = true;
        }
        <Of<$t>>::IS
    }};
}

use implements;

/// Numbers that are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
}

#[track_caller]
fn assert_same(theirs: &[String], ours: &[String]) {
    assert!(!theirs.is_empty());
    for (line, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
        assert_eq!(theirs, ours, "Tokio's and ours, line {line}");
    }
    assert_eq!(theirs.len(), ours.len());
}

macro_rules! the_same {
    ($($scenario:ident)*) => { $(
        #[test]
        fn $scenario() {
            assert_same(&of_tokio::$scenario(), &ours::$scenario());
        }
    )* };
}

macro_rules! the_same_whatever_happens {
    ($($scenario:ident)*) => { $(
        #[test]
        fn $scenario() {
            for seed in 0..120 {
                assert_same(&of_tokio::$scenario(seed), &ours::$scenario(seed));
            }
        }
    )* };
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
