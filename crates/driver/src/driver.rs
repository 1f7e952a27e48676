//! The driver: the object that a worker parks in.
//!
//! # The right to poll
//!
//! The right to poll is a lock, `turn`. The thread that has it polls and delivers the
//! events to the entries, and only then releases it. The owner takes it to park, and keeps
//! it while it waits. Other threads only try to take it ([`Driver::try_poll`]), and do not
//! wait while they have it: if it is taken, another thread is already doing the work. So
//! the owner never waits long for the right, and no two threads have events at the same
//! time.
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
//! *An unpark, while the owner polls.* The system's wake-up can be consumed by any thread
//! that polls. So the owner sets `POLLING` only once it has the right to poll. A wake-up
//! that is sent because of it comes after that, and no other thread can consume it before
//! the owner releases the right; and by then the owner is awake. (If the owner set it
//! earlier, a thief could take the wake-up, and the owner would wait for it forever.) A
//! wake-up that comes late only ends the next poll early.
//!
//! *An unpark, while the owner sleeps.* The word that it sleeps on is the one that is
//! changed.
//!
//! *An unpark by a deadline.* Only an owner that polls is left to the timer; all others are
//! unparked. The thread that unparks sees `POLLING` by exchanging the word for the same
//! value, which comes before the owner's change to `EMPTY`; so the owner, when that poll
//! ends, sees everything that was done before. The head of `timer.rs` shows that the poll
//! ends in time.
//!
//! *An event.* It ends the poll of the thread that polls, and that thread delivers it.
//! Events that did not fit into one poll are reported by the next one.
//!
//! *An operation for the ring.* A thread queues it, then checks whether the owner is
//! `POLLING` or `ASLEEP`, and unparks it if so. The owner sets the state, then checks
//! whether something is queued, and submits it to the kernel. All of this is sequentially
//! consistent, so one of them sees the other. A completion ends the poll like an event,
//! since the poll includes the ring's descriptor; other threads that poll take completions
//! too. While an operation is under way, the owner does not sleep on the word.
//!
//! *A registration while the owner sleeps on the word.* The owner sets `ASLEEP` and then
//! checks whether anything is registered; a registration is counted, and then checks
//! whether the owner is `ASLEEP`. Both are sequentially consistent, so one of them sees the
//! other: the owner polls instead, or it is unparked and comes back to poll.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use blitz_futex::atomic::{AtomicU32, Ordering};
use blitz_futex::{WaitResult, wait_until, wake_one};
use blitz_sync::internals::fences::after_rmw;

use crate::entries::Entries;
use crate::entry::Entry;
use crate::lock::Mutex;
use crate::metrics::Metrics;
use crate::mutant::{Mutant, active};
use crate::ring::{self, Ring};
use crate::selector::{Registry, Report, Selector};
use crate::wakers::Wakers;

const EMPTY: u32 = 0;
const POLLING: u32 = 1;
const ASLEEP: u32 = 2;
const NOTIFIED: u32 = 3;

/// The driver of one worker. One thread at a time, the owner, parks in it; any thread may
/// unpark it, register sources with it, or poll it.
pub struct Driver {
    state: AtomicU32,
    turn: Mutex<Turn>,
    pub(crate) ring: Ring,
    pub(crate) registry: Registry,
    pub(crate) entries: Entries,
    pub(crate) metrics: Metrics,
}

/// The state that the right to poll gives access to.
struct Turn {
    selector: Selector,
    ring: ring::Turn,
}

impl Driver {
    /// Creates a driver whose polls report up to `events` events at a time; polls that do
    /// not wait report up to `events_busy`, if that is given.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, for example when no more descriptors may be opened.
    pub fn new(events: usize, events_busy: Option<usize>) -> io::Result<Arc<Self>> {
        let (selector, registry) = Selector::new(events, events_busy)?;
        Ok(Arc::new(Self {
            state: AtomicU32::new(EMPTY),
            turn: Mutex::new(Turn {
                selector,
                ring: ring::Turn::default(),
            }),
            ring: Ring::default(),
            registry,
            entries: Entries::new(),
            metrics: Metrics::default(),
        }))
    }

    /// Waits until there is an event, until it is unparked (also since the last park), or
    /// until `deadline`; rarely, it returns spuriously. Returns whether it was unparked.
    /// Called by the owner.
    ///
    /// While something is registered, a deadline is kept to within a millisecond on systems
    /// other than Linux.
    pub fn park(&self, deadline: Option<Instant>, wakers: &mut Wakers) -> bool {
        match !self.has_sources() && self.sleep(deadline) {
            true => self.state.swap(EMPTY, Ordering::Acquire) == NOTIFIED,
            false => self.poll(deadline, wakers),
        }
    }

    /// Works like [`park`](Self::park), but waits in the system's poll even if nothing is
    /// registered. There a deadline costs less, and one that [`unpark_by`](Self::unpark_by)
    /// sets does not wake the owner early.
    pub fn park_in_poll(&self, deadline: Option<Instant>, wakers: &mut Wakers) -> bool {
        self.poll(deadline, wakers)
    }

    /// Sleeps on the word. Returns `false` if something has been registered.
    fn sleep(&self, deadline: Option<Instant>) -> bool {
        if let Some(_turn) = self.turn.try_lock() {
            self.entries.release();
        }
        let asleep =
            (self.state).compare_exchange(EMPTY, ASLEEP, Ordering::SeqCst, Ordering::Acquire);
        if asleep.is_err() {
            return true;
        }
        after_rmw();
        if self.has_sources() && !active(Mutant::SleepsBlindly) {
            return (self.state)
                .compare_exchange(ASLEEP, EMPTY, Ordering::Relaxed, Ordering::Relaxed)
                .is_err();
        }
        while self.state.load(Ordering::Relaxed) == ASLEEP {
            if wait_until(&self.state, ASLEEP, deadline) == WaitResult::TimedOut {
                break;
            }
        }
        true
    }

    fn poll(&self, deadline: Option<Instant>, wakers: &mut Wakers) -> bool {
        let say =
            || (self.state).compare_exchange(EMPTY, POLLING, Ordering::SeqCst, Ordering::Relaxed);
        let too_early = active(Mutant::ParksBeforeItPolls).then(say);
        let mut turn = self.turn.lock();
        self.entries.release();
        let may_wait = too_early.unwrap_or_else(say).is_ok();
        after_rmw();
        match turn.ring.submit(&self.ring, wakers) && may_wait {
            true => turn.selector.wait(deadline),
            false => turn.selector.look(),
        }
        let unparked = self.state.swap(EMPTY, Ordering::Acquire) == NOTIFIED;
        self.deliver(&mut turn, wakers);
        unparked
    }

    /// Returns whether something is registered or in the ring, so that events may happen.
    #[inline]
    #[must_use]
    pub fn has_sources(&self) -> bool {
        !self.entries.is_empty() || !self.ring.is_idle()
    }

    /// Polls without waiting, unless another thread polls. Returns whether it has polled.
    /// Any thread may call it.
    pub fn try_poll(&self, wakers: &mut Wakers) -> bool {
        if !self.has_sources() {
            return true;
        }
        let Some(mut turn) = self.turn.try_lock() else {
            return false;
        };
        self.entries.release();
        turn.ring.submit(&self.ring, wakers);
        if self.entries.is_empty() {
            turn.ring.complete(&self.ring, wakers);
        } else {
            turn.selector.look();
            self.deliver(&mut turn, wakers);
        }
        true
    }

    /// Delivers the events that the caller, which has the right to poll, has found.
    fn deliver(&self, turn: &mut Turn, wakers: &mut Wakers) {
        let mut count = 0;
        self.entries.acquire();
        for report in turn.selector.reports() {
            if let Report::Source(token, bits) = report {
                // SAFETY: the token is the address of an entry that was registered when the
                // event was reported. This thread has had the right to poll since before
                // that, so the entry has not been released: see `entries.rs`.
                let entry = unsafe { &*std::ptr::with_exposed_provenance::<Entry>(token) };
                entry.report(bits, wakers);
                count += 1;
            }
        }
        self.metrics.count_ready(count);
        turn.ring.complete(&self.ring, wakers);
    }

    /// Ends the park of the owner, or the next one if it is not parked.
    pub fn unpark(&self) {
        match self.state.swap(NOTIFIED, Ordering::Release) {
            POLLING => self.registry.wake(),
            ASLEEP => {
                wake_one(&raw const self.state);
            }
            _ => {}
        }
    }

    /// Ends the park of the owner, or the next one if it is not parked, by `deadline`. If
    /// the driver has a timer for that, an owner that polls is not woken earlier.
    pub fn unpark_by(&self, deadline: Instant) {
        // The owner's next change of the word sees what happened before this one.
        let polls = (self.state)
            .compare_exchange(POLLING, POLLING, Ordering::Release, Ordering::Relaxed)
            .is_ok()
            || active(Mutant::TimesBlindly);
        if !(polls && self.registry.wake_by(deadline)) {
            self.unpark();
        }
    }

    /// Records that an entry has been added.
    pub(crate) fn registered(&self) {
        if active(Mutant::RegistersSilently) {
            return;
        }
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
            self.unpark();
            let mut turn = self.turn.lock();
            turn.ring.end(&self.ring, wakers);
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
    /// Returns whether there is a ring of completions. The first call sets it up, if it is
    /// allowed and the system permits it.
    pub fn has_ring(&self) -> bool {
        self.ring.is_set_up(&self.registry)
    }

    /// Records that something has been queued for the ring.
    pub(crate) fn queued(&self) {
        if matches!(self.state.load(Ordering::SeqCst), POLLING | ASLEEP) {
            self.unpark();
        }
    }
}

/// All references are gone, so no thread waits; but the kernel may still have buffers of
/// operations that were dropped.
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
