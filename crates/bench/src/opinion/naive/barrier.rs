//! A futex barrier with a generation and a count of sleepers, announced before the
//! last check. It pauses ten times, each time twice as long as before, then yields ten
//! times, then sleeps.

use std::{hint, thread};

use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_futex::{wait, wake_all};

const PAUSES: u32 = 10;
const TURNS: u32 = 20;

pub struct Barrier {
    threads: u32,
    arrived: AtomicU32,
    generation: AtomicU32,
    sleepers: AtomicU32,
}

impl Barrier {
    pub fn new(threads: usize) -> Self {
        Self {
            threads: threads as u32,
            arrived: AtomicU32::new(0),
            generation: AtomicU32::new(0),
            sleepers: AtomicU32::new(0),
        }
    }

    /// Waits for the round. Returns whether the caller was the last to arrive.
    pub fn wait(&self) -> bool {
        let generation = self.generation.load(Ordering::SeqCst);
        if self.arrived.fetch_add(1, Ordering::SeqCst) + 1 == self.threads {
            self.arrived.store(0, Ordering::SeqCst);
            self.generation.fetch_add(1, Ordering::SeqCst);
            if self.sleepers.load(Ordering::SeqCst) != 0 {
                wake_all(&self.generation);
            }
            return true;
        }
        let is_over = || self.generation.load(Ordering::SeqCst) != generation;
        for turn in 0..TURNS {
            if is_over() {
                return false;
            }
            if turn < PAUSES {
                (0..1 << turn).for_each(|_| hint::spin_loop())
            } else {
                thread::yield_now()
            }
        }
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while !is_over() {
            wait(&self.generation, generation);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        false
    }
}
