//! `Sleeper`: the word on which one worker sleeps.
//!
//! A worker that is listed as a sleeper is woken exactly once, since the waker takes it off
//! the list. The wake-up changes the word whether the worker sleeps or not:
//!
//! ```text
//! AWAKE ──sleep──▶ ASLEEP ──wake──▶ WOKEN ──the worker goes on──▶ AWAKE
//!   └──────────────wake─────────────▶┘
//! ```
//!
//! The step from `AWAKE` to `ASLEEP` is a compare-and-swap, which fails if the wake-up came
//! first. Only a waker that finds `ASLEEP` makes a system call.

use std::time::{Duration, Instant};

use blitz_io_futex::atomic::AtomicU32;
use blitz_io_futex::atomic::Ordering::{AcqRel, Acquire, Relaxed};

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;
const WOKEN: u32 = 2;

/// About the cost of a sleep and a wake-up: spinning for this long before a sleep costs at
/// most twice as much as the better choice would have.
const SPIN_FOR: Duration = Duration::from_micros(8);
/// Pauses between two looks at the clock.
const PAUSES: u32 = 16;

#[derive(Debug)]
pub struct Sleeper(AtomicU32);

impl Default for Sleeper {
    fn default() -> Self {
        Self(AtomicU32::new(AWAKE))
    }
}

impl Sleeper {
    /// Waits for the wake-up. `spin` means that there is a processor for each worker.
    pub fn sleep(&self, spin: bool) {
        if !(spin && self.spin()) && self.falls_asleep() {
            while self.0.load(Acquire) == ASLEEP {
                blitz_io_futex::wait(&self.0, ASLEEP);
            }
        }
        // A worker that is not listed is not woken.
        self.0.store(AWAKE, Relaxed);
    }

    /// Wakes the worker, which is no longer listed.
    pub fn wake(&self) {
        if self.0.swap(WOKEN, AcqRel) == ASLEEP {
            blitz_io_futex::wake_one(&self.0);
        }
    }

    fn falls_asleep(&self) -> bool {
        let step = self.0.compare_exchange(AWAKE, ASLEEP, AcqRel, Acquire);
        step.is_ok()
    }

    /// Whether the wake-up came within the time of a sleep.
    fn spin(&self) -> bool {
        if cfg!(loom) || blitz_io_core::processors() == 1 {
            return false;
        }
        let began = Instant::now();
        loop {
            for _ in 0..PAUSES {
                if self.0.load(Acquire) == WOKEN {
                    return true;
                }
                std::hint::spin_loop();
            }
            if began.elapsed() > SPIN_FOR {
                return false;
            }
        }
    }
}
