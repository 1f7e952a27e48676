//! Values whose `Drop` panics: the others are still dropped, once, and the first panic is propagated.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use blitz_io_channel::{broadcast, mpmc, mpsc};

/// Counts how often one of them has been dropped, and panics each time.
#[derive(Clone)]
struct Explosive(Arc<AtomicUsize>);

impl Drop for Explosive {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic!("dropped");
    }
}

/// Three are dropped by `run`.
fn all_are_dropped(run: impl FnOnce(&dyn Fn() -> Explosive)) {
    let count = Arc::new(AtomicUsize::new(0));
    let make = || Explosive(count.clone());
    let result = catch_unwind(AssertUnwindSafe(|| run(&make)));
    let payload = result.expect_err("the first panic goes on");
    assert_eq!(payload.downcast_ref(), Some(&"dropped"));
    assert_eq!(count.load(Ordering::Relaxed), 3);
}

#[test]
fn an_mpmc_receiver_with_values_whose_drops_panic_does_not_abort() {
    all_are_dropped(|make| {
        let (tx, rx) = mpmc::bounded(3);
        (0..3).for_each(|_| assert!(tx.try_send(make()).is_ok()));
        drop(rx);
    });
}

#[test]
fn an_mpsc_receiver_with_values_whose_drops_panic_does_not_abort() {
    all_are_dropped(|make| {
        let (tx, rx) = mpsc::channel(3);
        (0..3).for_each(|_| assert!(tx.try_send(make()).is_ok()));
        drop(rx);
    });
}

#[test]
fn an_mpsc_channel_with_late_values_whose_drops_panic_does_not_abort() {
    all_are_dropped(|make| {
        let (tx, rx) = mpsc::channel(3);
        let permits = tx.try_reserve_many(3).unwrap();
        drop(rx);
        permits.for_each(|permit| permit.send(make()));
        drop(tx);
    });
}

#[test]
fn a_broadcast_receiver_with_values_whose_drops_panic_does_not_abort() {
    all_are_dropped(|make| {
        let (tx, rx) = broadcast::channel(4);
        (0..3).for_each(|_| assert!(tx.send(make()).is_ok()));
        drop(rx);
    });
}
