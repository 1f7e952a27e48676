//! A worker's core: the state of the thread that is the worker, and the part that other threads
//! see of it.
//!
//! A thread acquires the core by setting [`taken`](Core::try_acquire), and releases it when a
//! task is about to block the thread (`hand_over.rs`); then another thread acquires it, with
//! all that is queued there. Setting and clearing publish the core from
//! one thread to the next.

use std::cell::Cell;

use blitz_io_core::Parker;
use blitz_io_futex::atomic::{AtomicBool, Ordering};

use super::progress::Progress;
use super::tuning::Tuning;
use crate::api::common::Common;
use crate::api::metrics::{Counters, Stopwatch};
use crate::kernel::run_queue::RunQueue;
use crate::kernel::task::Notified;

/// A worker's core; see the module documentation.
#[repr(align(128))]
pub(super) struct Core {
    pub(super) local: Local,
    /// Its owner is the thread that has the core.
    pub(super) queue: RunQueue<Notified>,
    taken: AtomicBool,
    pub(super) counters: Counters,
    /// The parker of its thread.
    pub(super) parker: Parker,
}

/// The part of a core that only the thread that has the core may use.
pub(super) struct Local {
    /// Number of tasks that may begin until the next checkpoint, besides those claimed.
    pub(super) until_checkpoint: Cell<u32>,
    /// Number of tasks between the next checkpoint and the former next one, if a
    /// yield has brought the next checkpoint forward. Otherwise 0.
    pub(super) after_round: Cell<u32>,
    pub(super) tuning: Tuning,
    /// The time since the last park or count.
    pub(super) busy: Cell<Stopwatch>,
    /// The worker counts as searching.
    pub(super) searching: Cell<bool>,
    /// It searches because others are stalled, so it may reclaim what they have claimed.
    pub(super) reclaims: Cell<bool>,
    /// The progress of each other worker, as this one saw it when it found no task.
    pub(super) progress: Box<[Progress]>,
    /// The last park was so short that spinning would have been better.
    pub(super) parked_briefly: Cell<bool>,
}

// SAFETY: `local` is used only by the thread that has the core, and `try_acquire` and
// `release` order those threads. What is in it may be sent.
unsafe impl Send for Core {}
// SAFETY: only the owner of the core uses `local`. The other fields are `Sync`.
unsafe impl Sync for Core {}

impl Core {
    pub(super) fn new(common: &Common) -> Self {
        let config = &common.config;
        let tuning = Tuning::new(config.event_interval, config.global_queue_interval);
        Self {
            local: Local {
                until_checkpoint: Cell::new(tuning.span()),
                after_round: Cell::new(0),
                tuning,
                busy: Cell::new(Stopwatch::start()),
                searching: Cell::new(false),
                reclaims: Cell::new(false),
                progress: Progress::of_all(config.worker_threads),
                parked_briefly: Cell::new(true),
            },
            queue: RunQueue::new(),
            taken: AtomicBool::new(false),
            counters: Counters::new(config),
            parker: Parker::new(),
        }
    }

    /// Makes the core this thread's, unless it is another's.
    pub(super) fn try_acquire(&self) -> bool {
        !self.taken.swap(true, Ordering::AcqRel)
    }

    /// Lets another thread have the core.
    pub(super) fn release(&self) {
        self.taken.store(false, Ordering::Release);
    }
}
