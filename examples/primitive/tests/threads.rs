//! The same on threads: `cargo test`.
#![cfg(not(loom))]

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use blitz_io_primitive::EventCount;

#[test]
fn a_waiter_sees_the_condition() {
    let (ready, changed) = (AtomicBool::new(false), EventCount::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            loop {
                let announced = changed.announce();
                if ready.load(Ordering::Acquire) {
                    return changed.cancel(announced);
                }
                changed.wait(announced);
            }
        });
        ready.store(true, Ordering::Release);
        changed.notify_all();
    });
    assert!(ready.load(Ordering::Relaxed));
}
