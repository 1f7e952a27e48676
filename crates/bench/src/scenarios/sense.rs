//! An experiment: the sense-reversing barrier (Mellor-Crummey and Scott, 1991) beside ours.
//!
//! Threads count down. The last one restores the count and reverses the *sense*, a word that the others wait
//! for. There is no generation: a thread of round `r` must have returned before round `r + 1` can end, so the
//! sense does not come back while a thread waits for it.
//!
//! The contenders differ in how they wait. One spins, and yields now and then. The other spins as our locks do
//! (`SpinWait`), and then sleeps. It announces itself before that, so that a round without sleepers makes no
//! system call. Our barriers yield sooner where there are more threads than processors, so with more of them
//! the rows compare the waits more than the words.

use blitz_io_futex::{wait, wake_all};
use blitz_io_sync::thread::{Barrier, SpinBarrier, SpinWait};
use std::sync::atomic::{AtomicU32, fence};

use super::barrier::rounds;
use crate::scenarios::prelude::*;

struct Sense {
    threads: u32,
    left: AtomicU32,
    sense: CachePadded<AtomicU32>,
    sleepers: AtomicU32,
}

impl Sense {
    fn new(threads: usize) -> Sense {
        let threads = threads as u32;
        Sense {
            threads,
            left: AtomicU32::new(threads),
            sense: CachePadded::new(AtomicU32::new(0)),
            sleepers: AtomicU32::new(0),
        }
    }

    /// Returns `true` in the last thread of a round. The others wait with `until_reversed`, which gets the
    /// sense that they arrived with.
    fn arrive(&self, until_reversed: impl Fn(u32)) -> bool {
        // It cannot change before this thread has arrived.
        let sense = self.sense.load(Relaxed);
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.left.store(self.threads, Relaxed);
            self.sense.store(sense ^ 1, Ordering::Release);
            return true;
        }
        until_reversed(sense);
        false
    }

    fn is_reversed(&self, sense: u32) -> bool {
        self.sense.load(Ordering::Acquire) != sense
    }

    fn spin(&self) -> bool {
        self.arrive(|sense| {
            let mut looks = 0u32;
            while !self.is_reversed(sense) {
                looks += 1;
                if looks.is_multiple_of(64) {
                    std::thread::yield_now();
                } else {
                    std::hint::spin_loop();
                }
            }
        })
    }

    fn sleep(&self) -> bool {
        let is_last = self.arrive(|sense| {
            let mut spin = SpinWait::new();
            while !self.is_reversed(sense) {
                if spin.spin() {
                    continue;
                }
                // Announce, then check: the system compares the word.
                self.sleepers.fetch_add(1, Ordering::SeqCst);
                fence(Ordering::SeqCst);
                wait(&self.sense, sense);
                self.sleepers.fetch_sub(1, Relaxed);
            }
        });
        if is_last {
            fence(Ordering::SeqCst);
            if self.sleepers.load(Relaxed) > 0 {
                wake_all(&raw const *self.sense);
            }
        }
        is_last
    }
}

const SLEEPING: [(&str, BodyOf<usize>); 2] = [
    (OURS, |cx, n| {
        rounds(cx, n, Barrier::new(n), |b| b.wait().is_leader())
    }),
    ("sense-sleeping", |cx, n| {
        rounds(cx, n, Sense::new(n), Sense::sleep)
    }),
];

const SPINNING: [(&str, BodyOf<usize>); 2] = [
    (OURS, |cx, n| {
        rounds(cx, n, SpinBarrier::new(n), |b| b.wait().is_leader())
    }),
    ("sense-spinning", |cx, n| {
        rounds(cx, n, Sense::new(n), Sense::spin)
    }),
];

pub(super) fn scenarios() -> Vec<Scenario> {
    let row = |id: &str, title: &str, contenders, (threads, ops)| {
        let scenario = Scenario::new(4, format!("{id}_{threads}"), title, ops).threads(threads);
        scenario.with_each(threads, contenders)
    };
    let sizes = [(2, 10_000), (4, 4_000), (8, 2_000)];
    let title = "Barrier round beside a sense-reversing one";
    let sleeping = sizes.map(|size| row("barrier_sense", title, SLEEPING, size));
    let title = "SpinBarrier round beside a sense-reversing one";
    let spinning = sizes.map(|size| row("barrier_sense_spin", title, SPINNING, size));
    sleeping.into_iter().chain(spinning).collect()
}
