//! The costs of the smallest steps on this processor, measured in a few milliseconds.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::Serialize;

/// Nanoseconds for one step.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Costs {
    /// A spin hint: `PAUSE` on x86, `YIELD` or `ISB` on Arm.
    pub spin_hint_ns: f64,
    /// An atomic read-modify-write on a cache line that no other thread uses.
    pub atomic_rmw_ns: f64,
    /// Reading the clock.
    pub clock_ns: f64,
    /// Entering the kernel and returning without work.
    pub yield_ns: f64,
}

impl Costs {
    /// Measures the costs. Takes a few milliseconds.
    pub fn measure() -> Costs {
        let word = AtomicU64::new(0);
        Costs {
            spin_hint_ns: fastest(spin_loop),
            atomic_rmw_ns: fastest(|| {
                black_box(&word).fetch_add(1, Ordering::SeqCst);
            }),
            clock_ns: fastest(|| {
                black_box(Instant::now());
            }),
            yield_ns: fastest(std::thread::yield_now),
        }
    }
}

/// Returns the fastest of several short rounds; the others were disturbed.
fn fastest(step: impl Fn()) -> f64 {
    const STEPS: u32 = 500;
    let round = || {
        let start = Instant::now();
        for _ in 0..STEPS {
            step();
        }
        start.elapsed().as_nanos() as f64 / f64::from(STEPS)
    };
    (0..10).map(|_| round()).fold(f64::INFINITY, f64::min)
}
