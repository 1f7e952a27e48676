//! The processor time of a thread, and of the others.

use std::time::{Duration, Instant};

use blitz_io_bench::cpu::{of_others, of_thread};

fn work() {
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(20) {
        std::hint::spin_loop();
    }
}

#[cfg(unix)]
#[test]
fn time_is_counted_for_who_uses_it() {
    let before = of_thread().unwrap();
    work();
    let mine = of_thread().unwrap() - before;
    assert!(mine > Duration::ZERO);
    // Other tests run at the same time, so there is no upper limit to check.
    let ((), others) = of_others(|| std::thread::spawn(work).join().unwrap());
    assert!(others.unwrap() > Duration::ZERO);
}
