//! The driver, in which threads wait for the operating system.
//!
//! # Waiting and polling
//!
//! Any thread may poll a driver at any time: [`poll`](Driver::poll) collects the events
//! that have happened, and [`wait`](Driver::wait) waits for some. On Linux any number of threads
//! may wait at the same time, and each event ends the wait of one of them. Elsewhere one
//! thread waits, and a poll during its wait finds nothing.
//!
//! There are two ways to use that:
//!
//! * *The workers of a runtime* wait together. A wake-up ([`wake`](Driver::wake)) ends the
//!   wait of any one of them, and so does the timer. [`Reports`] tells the thread that took
//!   one of these, and the runtime's own protocol says what that thread does for the others.
//! * *One owner* parks ([`park`](Driver::park)) and is unparked. The rest of this text is
//!   about it.
//!
//! # States of the owner
//!
//! ```text
//!             park                     unpark
//!    EMPTY ----------> POLLING, ASLEEP ------> NOTIFIED
//!      ^ ^                  |                     |
//!      | +------------------+                     |
//!      |   an event, the deadline                 |
//!      +------------------------------------------+
//!                        park
//! ```
//!
//! * `POLLING`: the owner waits in the system's poll, or is about to. An unpark triggers
//!   the poll's own wake-up, which is an event like others.
//! * `ASLEEP`: nothing is registered, so there is nothing to poll for. The owner sleeps on
//!   the word itself; ending that costs less than ending a poll.
//! * `NOTIFIED`: the owner was unparked. The next park finds that, and does not wait.
//!
//! # No wake-up is lost
//!
//! *An unpark, while the owner polls.*
//!
//! 1. The owner sets `POLLING`, and then polls.
//! 2. The unpark sets `NOTIFIED`, and then wakes the poll.
//! 3. If the owner takes the wake-up, its poll ends.
//! 4. If another thread takes it, that thread looks at the word afterwards. As long as the
//!    word is not `EMPTY`, the owner may still wait, and the thread wakes the poll again.
//!    The same goes for the timer, which ends the owner's poll at its deadline.
//! 5. If the word is `EMPTY`, the owner's poll has ended, and the owner has seen `NOTIFIED`
//!    or will see it in its next park.
//!
//! A wake-up that comes late only ends the next poll early.
//!
//! *An unpark, while the owner sleeps.* It changes the word on which the owner sleeps.
//!
//! *An event.* It ends the poll of the thread that takes it, and that thread delivers it.
//! Events that did not fit into one poll are reported by the next one.
//!
//! *An operation for the ring.* A thread that waits counts itself, then checks whether
//! something is queued, and submits it to the kernel. A thread that queues an operation
//! checks the count afterwards, and wakes the poll if another thread waits. All of this is
//! sequentially consistent, so one of them sees the other. A thread that takes a wake-up
//! checks the queue again. An awake worker submits its own operations when it polls or
//! waits next, so [`start`](Driver::start) wakes no worker. A completion ends the poll like
//! an event, since the poll includes the ring's descriptor. While an operation is under way,
//! the owner does not sleep on the word.
//!
//! *A registration while the owner sleeps on the word.* The owner sets `ASLEEP` and then
//! checks whether anything is registered; a registration is counted, and then checks
//! whether the owner is `ASLEEP`. Both are sequentially consistent, so one of them sees the
//! other: the owner polls instead, or it is unparked and comes back to poll.

use std::fmt;
use std::io;
use std::mem;
use std::sync::Arc;
use std::time::Instant;

use blitz_io_core::fences::after_rmw;
use blitz_io_core::{generation, watch_forks};
use blitz_io_futex::atomic::{AtomicU32, AtomicUsize, Ordering};
use blitz_io_futex::{WaitResult, wait_deadline, wake_one};
use blitz_io_observe as observe;

use crate::kernel::bits::Bits;
use crate::kernel::entries::Entries;
use crate::kernel::metrics::Metrics;
use crate::kernel::ring::{self, Ring};
use crate::kernel::selector::{Report, Selector, Wait};
use crate::kernel::wakers::Wakers;
use blitz_io_core::Lock;

const EMPTY: u32 = 0;
const POLLING: u32 = 1;
const ASLEEP: u32 = 2;
const NOTIFIED: u32 = 3;

/// A driver. The top of this file has the protocol.
pub struct Driver {
    /// The state of the owner, if there is one.
    state: AtomicU32,
    /// The number of threads that wait, or are about to.
    waiting: AtomicUsize,
    pub(crate) ring: Ring,
    /// Held by the thread that submits to the ring or takes completions from it.
    ring_turn: Lock<ring::Turn>,
    pub(crate) selector: Selector,
    pub(crate) entries: Entries,
    pub(crate) metrics: Metrics,
    /// The process that made it, and with it the system's end.
    generation: u32,
}

/// The wake-ups and timers that ended a poll, besides the events of sources.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Reports {
    /// The poll has taken a wake-up: see [`Driver::wake`].
    pub woken: bool,
    /// The poll has taken the event of the timer: see [`Driver::wake_by`].
    pub expired: bool,
}

impl Driver {
    /// `true` if several threads may wait in a driver at the same time.
    pub const IS_SHARED: bool = Selector::IS_SHARED;

    /// Creates a driver whose polls report up to `events` events each. Polls that do
    /// not wait report up to `events_busy`, if that is given.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, for example when no more descriptors may be opened.
    pub fn new(events: usize, events_busy: Option<usize>) -> io::Result<Arc<Self>> {
        watch_forks();
        Ok(Arc::new(Self {
            state: AtomicU32::new(EMPTY),
            waiting: AtomicUsize::new(0),
            ring: Ring::default(),
            ring_turn: Lock::new(ring::Turn::default()),
            selector: Selector::new(events, events_busy)?,
            entries: Entries::new(),
            metrics: Metrics::default(),
            generation: generation(),
        }))
    }

    /// Returns `true` in the child of a fork: the system's end is still its parent's.
    pub(crate) fn is_inherited(&self) -> bool {
        self.generation != generation()
    }

    /// Waits until there is an event, a wake-up, or until `deadline`; rarely, it returns
    /// spuriously. Any thread may call it.
    ///
    /// A deadline is kept to within a millisecond on systems other than Linux.
    pub fn wait(&self, deadline: Option<Instant>, wakers: &mut Wakers) -> Reports {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        after_rmw();
        let wait = if self.submit(wakers) {
            Wait::Until(deadline)
        } else {
            Wait::Not
        };
        let reports = self.select(wait, wakers);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        reports
    }

    /// Collects the pending events, without waiting. Any thread may call it.
    pub fn poll(&self, wakers: &mut Wakers) -> Reports {
        let reports = self.look(wakers);
        let passes_on = reports.woken || reports.expired;
        if passes_on && self.state.load(Ordering::SeqCst) != EMPTY {
            self.selector.wake();
        }
        reports
    }

    fn look(&self, wakers: &mut Wakers) -> Reports {
        self.submit(wakers);
        if self.entries.is_empty() {
            self.complete(wakers);
            return Reports::default();
        }
        self.select(Wait::Not, wakers)
    }

    /// Polls the system, and delivers the events.
    fn select(&self, wait: Wait, wakers: &mut Wakers) -> Reports {
        let mut memory = mem::take(&mut wakers.memory);
        let (mut reports, mut completions, mut count) = (Reports::default(), false, 0);
        self.selector
            .poll(wait, &mut memory, |report| match report {
                Report::Source(token, bits) => {
                    self.entries.acquire();
                    count += usize::from(self.entries.report(token, bits, wakers));
                }
                Report::Wake => reports.woken = true,
                Report::Expired => reports.expired = true,
                Report::Completions => completions = true,
            });
        wakers.memory = memory;
        self.metrics.count_ready(count);
        if completions || !self.ring.is_idle() {
            self.complete(wakers);
        }
        if reports.woken {
            // The wake-up may be for an operation that was queued since the submission.
            self.submit(wakers);
        }
        reports
    }

    /// Submits the queued operations. Returns `false` if something has completed already,
    /// or if the kernel refuses some for now: then the caller must not wait for long.
    #[inline]
    fn submit(&self, wakers: &mut Wakers) -> bool {
        !self.ring.has_queued() || self.ring_turn.lock().submit(&self.ring, wakers)
    }

    fn complete(&self, wakers: &mut Wakers) {
        if !self.ring.is_idle() {
            self.ring_turn.lock().complete(&self.ring, wakers);
        }
    }

    /// Handles bits of a source that only the caller knows: the system has nothing under this token. Does nothing if the
    /// source has been deregistered. This is how the sockets of a simulated network become ready.
    #[doc(hidden)]
    pub fn report(&self, token: usize, bits: Bits, wakers: &mut Wakers) {
        self.entries.report(token, bits, wakers);
    }

    /// Ends the wait of one thread, or the next wait if no thread waits. A thread that
    /// polls may take the wake-up before: its [`Reports`] say so.
    pub fn wake(&self) {
        self.selector.wake();
    }

    /// Ends the wait of one thread by `deadline`, or the next wait after it. Returns
    /// `false`, and does nothing, if the system has no timer for that.
    ///
    /// An earlier deadline that has not come yet stays, and replaces this one.
    pub fn wake_by(&self, deadline: Instant) -> bool {
        self.selector.set_timer(deadline)
    }

    /// Submits the operations that this thread has started, since it is not going to poll.
    pub fn flush(&self, wakers: &mut Wakers) {
        self.submit(wakers);
    }

    /// Returns `true` if something is registered or in the ring, so that events may happen.
    #[inline]
    #[must_use]
    pub fn has_sources(&self) -> bool {
        !self.entries.is_empty() || !self.ring.is_idle()
    }

    /// Waits until there is an event, until it is unparked (also since the last park), or
    /// until `deadline`; rarely, it returns spuriously. Returns `true` if it was unparked.
    /// Called by the owner.
    ///
    /// While something is registered, a deadline is kept to within a millisecond on systems
    /// other than Linux.
    pub fn park(&self, deadline: Option<Instant>, wakers: &mut Wakers) -> bool {
        if self.has_sources() || !self.sleep(deadline) {
            self.park_in_poll(deadline, wakers);
        }
        self.state.swap(EMPTY, Ordering::SeqCst) == NOTIFIED
    }

    /// Sleeps on the word. Returns `false` if something has been registered.
    fn sleep(&self, deadline: Option<Instant>) -> bool {
        let asleep =
            (self.state).compare_exchange(EMPTY, ASLEEP, Ordering::SeqCst, Ordering::Acquire);
        if asleep.is_err() {
            return true;
        }
        after_rmw();
        if self.has_sources() {
            return (self.state)
                .compare_exchange(ASLEEP, EMPTY, Ordering::Relaxed, Ordering::Relaxed)
                .is_err();
        }
        while self.state.load(Ordering::Relaxed) == ASLEEP {
            let _record = observe::sleeping(&self.state);
            if wait_deadline(&self.state, ASLEEP, deadline) == WaitResult::TimedOut {
                break;
            }
        }
        true
    }

    fn park_in_poll(&self, deadline: Option<Instant>, wakers: &mut Wakers) {
        let polls =
            (self.state).compare_exchange(EMPTY, POLLING, Ordering::SeqCst, Ordering::Relaxed);
        after_rmw();
        if polls.is_ok() {
            self.wait(deadline, wakers);
        } else {
            self.look(wakers);
        }
    }

    /// Ends the park of the owner, or the next one if it is not parked.
    pub fn unpark(&self) {
        match self.state.swap(NOTIFIED, Ordering::SeqCst) {
            POLLING => self.selector.wake(),
            ASLEEP => {
                wake_one(&raw const self.state);
            }
            _ => {}
        }
    }

    /// Records that an entry has been added.
    pub(crate) fn registered(&self) {
        if self.state.load(Ordering::SeqCst) == ASLEEP {
            self.unpark();
        }
    }

    /// Ends all waits in this driver with an error, and prevents further registrations.
    /// Waits until the kernel has released the buffers of operations that are under way.
    pub fn shut_down(&self, wakers: &mut Wakers) {
        self.entries.shut_down(wakers);
        self.end_ring(wakers);
    }

    fn end_ring(&self, wakers: &mut Wakers) {
        if self.ring.close() {
            self.ring_turn.lock().end(&self.ring, wakers);
        }
    }

    /// Sets whether a ring of completions (io_uring) may be used. By default it may, where
    /// there are rings. Has no effect on a ring that has already been set up.
    pub fn allow_ring(&self, is_allowed: bool) {
        self.ring.allow(is_allowed);
    }

    /// Returns the counters of this driver.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

#[cfg(io_uring)]
impl Driver {
    /// Returns `true` if there is a ring of completions. The first call sets it up, if it is
    /// allowed and the system permits it.
    pub fn has_ring(&self) -> bool {
        self.ring.is_set_up(&self.selector)
    }

    /// Records that a request to cancel has been queued for the ring.
    pub(crate) fn queued_to_cancel(&self) {
        if self.waiting.load(Ordering::SeqCst) != 0 {
            self.selector.wake();
        }
        self.queued();
    }

    /// Records that an operation has been queued for the ring.
    pub(crate) fn queued(&self) {
        if self.state.load(Ordering::SeqCst) != EMPTY {
            self.unpark();
        }
    }
}

/// Ends the ring. No reference is left, so no thread waits, but the kernel may still
/// have buffers of operations that were dropped.
impl Drop for Driver {
    fn drop(&mut self) {
        self.end_ring(&mut Wakers::new());
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("metrics", &self.metrics)
            .finish_non_exhaustive()
    }
}
