//! Threads that start together.

use std::thread;
use std::time::Duration;

use blitz_io_bench::threads::start_all;

#[test]
fn preparation_is_not_measured() {
    let slow = Duration::from_millis(200);
    let measured = || {
        let (span, _) = start_all(2, |_| {
            thread::sleep(slow);
            || ()
        });
        span.elapsed
    };
    // A stranger may have the processor for as long, but not always.
    assert!((0..5).any(|_| measured() < slow));
}

#[test]
fn the_slowest_thread_ends_the_span() {
    let slow = Duration::from_millis(30);
    let (span, _) = start_all(3, |i| {
        move || {
            if i == 1 {
                thread::sleep(slow);
            }
        }
    });
    assert!(span.elapsed >= slow, "{:?}", span.elapsed);
}

#[test]
#[should_panic(expected = "from the second thread")]
fn a_panic_reaches_the_caller() {
    start_all(2, |i| move || assert_ne!(i, 1, "from the second thread"));
}
