//! A value that its owner drops on another thread than that of the fiber with a reference.

use std::sync::Arc;

use blitz_io_core::Lease;
use loom::cell::UnsafeCell;
use loom::thread;

struct Owner {
    lease: Lease,
    value: UnsafeCell<u32>,
}

// SAFETY: the model checks each access.
unsafe impl Sync for Owner {}
// SAFETY: the model checks each access.
unsafe impl Send for Owner {}

#[test]
fn a_value_is_not_taken_while_a_fiber_of_another_thread_uses_it() {
    loom::model(|| {
        let owner = Arc::new(Owner {
            lease: Lease::new(),
            value: UnsafeCell::new(7),
        });
        // The fiber suspends, and the owner goes to another thread.
        owner.lease.hold();
        let elsewhere = {
            let owner = owner.clone();
            thread::spawn(move || {
                if !owner.lease.is_held() {
                    owner.value.with_mut(|value| {
                        // SAFETY: the model checks it.
                        unsafe { *value = 0 }
                    });
                }
            })
        };
        owner.value.with(|value| {
            // SAFETY: the model checks it.
            assert_eq!(unsafe { *value }, 7);
        });
        // SAFETY: it is held.
        unsafe { Lease::give_back(&raw const owner.lease) };
        elsewhere.join().unwrap();
    });
}
