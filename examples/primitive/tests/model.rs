//! The model: `RUSTFLAGS="--cfg loom" cargo test --release --test model`.
#![cfg(loom)]

// ANCHOR: model
use std::sync::Arc;

use blitz_io::futex::atomic::{AtomicBool, Ordering};
use blitz_io_primitive::EventCount;

#[test]
#[cfg_attr(feature = "without-fence", should_panic(expected = "deadlock"))]
fn no_wake_up_is_lost() {
    loom::model(|| {
        let shared = Arc::new((AtomicBool::new(false), EventCount::new()));
        let of_waiter = Arc::clone(&shared);
        let waiter = loom::thread::spawn(move || {
            let (ready, changed) = &*of_waiter;
            loop {
                let announced = changed.announce();
                if ready.load(Ordering::Acquire) {
                    return changed.cancel(announced);
                }
                changed.wait(announced);
            }
        });
        let (ready, changed) = &*shared;
        ready.store(true, Ordering::Release);
        changed.notify_all();
        waiter.join().unwrap();
    });
}
// ANCHOR_END: model
