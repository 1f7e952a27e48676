//! `Semaphore`: a number of permits that threads take and give back.
//!
//! # States
//!
//! One word holds the number of permits and three flags:
//!
//! * [`WAKE_NEEDED`]: threads sleep in the queue, and none of them has been woken: a release has
//!   to look for a thread whose request fits.
//! * [`FAIR`]: some thread has waited for too long; only the first in the queue
//!   may take permits.
//! * [`CLOSED`]: permits are given out no more.
//!
//! A thread that waits is a node in the queue (`wait_queue/`) and stays there,
//! signalled or not, until it has its permits or gives up.
//!
//! # Moves
//!
//! Taking and giving back are one compare-and-swap each. A thread that finds too few permits:
//!
//! 1. It spins for a while (`spin/`).
//! 2. It takes the queue's lock and sets `WAKE_NEEDED` *in the same word*. It looks at the word's
//!    old value.
//! 3. With enough permits, it goes back and tries again. Otherwise it joins the queue and sleeps.
//!
//! A release that sees `WAKE_NEEDED` takes the lock, clears the flag, and signals threads in the
//! order of the queue ([`Semaphore::serve`]). It signals each thread whose request fits into the
//! permits that those before it leave over. If there is none, it sets the flag again, and looks
//! again at the word as it was at that moment. If there is one, that thread is now responsible:
//!
//! - When it has its permits, it serves the others.
//! - When it finds too few after all, it sets `WAKE_NEEDED`, looks, and sleeps again in its old
//!   place.
//! - When it gives up, it serves the others.
//!
//! # No wake-up is lost
//!
//! Flag and permits are one word, so a thread that sets `WAKE_NEEDED` sees all releases that will
//! not see it, and there is no second word to look at. While threads sleep, `WAKE_NEEDED` is
//! clear only if a signalled thread is on its way. All changes of the queue and all signals happen
//! under the lock.
//!
//! Threads that want different amounts do not stand in each other's way: a release wakes each
//! thread that it can satisfy, not just the first. So no permit lies idle beside a thread that
//! could use it. That alone would starve threads that want much. So a thread that has waited for
//! [`FAIR_AFTER`] sets `FAIR`. From then on permits add up until the first thread in the queue
//! has enough. The flag goes when no thread is left that has waited too long.
//!
//! # Sources
//!
//! Dijkstra's semaphore; names as in Tokio's `Semaphore`.

use blitz_io_core::debug_fields;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use blitz_io_futex::atomic::{AtomicU64, Ordering, fence};

pub use crate::semaphores::OverRelease;
use crate::semaphores::errors;
use blitz_io_core::const_unless_loom;
use blitz_io_core::deadline;
use blitz_io_core::exclusive::FAIR_AFTER;
use blitz_io_core::spin::Spin;
use blitz_io_core::{List, Node, WaitQueue};
use blitz_io_observe::named;
use blitz_io_observe::{Acquirer, Blocking, Caller, Kind, Object};

mod permit;

pub use permit::{OwnedSemaphorePermit, SemaphorePermit};

const WAKE_NEEDED: u64 = 1;
const FAIR: u64 = 2;
const CLOSED: u64 = 4;
const PERMIT: u64 = 8;

/// A number of permits. A thread that finds too few waits until others have
/// given theirs back.
///
/// Permits can be taken several at once, with a deadline, and as owned permits
/// that keep the semaphore alive. [`close`](Semaphore::close) ends all waiting.
/// It allocates nothing.
///
/// **Fairness.** A thread that arrives may overtake waiting threads, and a request that fits may
/// overtake one that does not. After two milliseconds of waiting, a thread is no longer
/// overtaken. So a thread that waits for more permits than there will ever be keeps all others
/// waiting: give it a deadline.
///
/// ```
/// use blitz_io::thread::Semaphore;
///
/// static CONNECTIONS: Semaphore = Semaphore::new(2);
///
/// let first = CONNECTIONS.acquire()?;
/// let second = CONNECTIONS.acquire()?;
/// assert!(CONNECTIONS.try_acquire().is_err());
/// drop(first);
/// assert!(CONNECTIONS.try_acquire().is_ok());
/// # drop(second);
/// # Ok::<(), blitz_io::thread::AcquireError>(())
/// ```
pub struct Semaphore {
    state: AtomicU64,
    queue: WaitQueue<Request>,
    object: Object,
}

/// The semaphore is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AcquireError(());

/// The reason why an attempt to take permits failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TryAcquireError {
    /// The semaphore is closed.
    Closed,
    /// There are too few permits, or there were too few until the timeout.
    NoPermits,
}

errors!(AcquireError, TryAcquireError);

/// The request of a node in the queue.
struct Request {
    permits: u32,
    /// It has waited for too long.
    is_late: Cell<bool>,
}

impl Semaphore {
    /// The greatest number of permits that a semaphore can be given. Permits that come back
    /// always fit: there is room for as many again, and it takes a quarter of a
    /// billion guards to hold them.
    pub const MAX_PERMITS: usize = usize::MAX >> 4;

    const_unless_loom! {
        /// Creates a semaphore with this many permits.
        ///
        /// # Panics
        ///
        /// If `permits` exceeds [`MAX_PERMITS`](Semaphore::MAX_PERMITS).
        #[must_use]
        #[track_caller]
        pub const fn new(permits: usize) -> Self {
            assert!(
                permits <= Self::MAX_PERMITS,
                "a semaphore may not have more than MAX_PERMITS permits"
            );
            Self { state: AtomicU64::new(permits as u64 * PERMIT), queue: WaitQueue::new(), object: Object::new() }
        }
    }

    /// Returns how many permits there are to take at this moment.
    #[must_use]
    pub fn available_permits(&self) -> usize {
        usize::try_from(self.state.load(Ordering::Acquire) / PERMIT).unwrap_or(usize::MAX)
    }

    /// Takes one permit; waits for it if need be.
    ///
    /// # Errors
    ///
    /// If the semaphore is closed, now or while waiting.
    #[inline]
    #[track_caller]
    pub fn acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        self.acquire_many(1)
    }

    /// Takes `n` permits at once; waits until that many are available.
    ///
    /// # Errors
    ///
    /// If the semaphore is closed, now or while waiting.
    #[inline]
    #[track_caller]
    pub fn acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        let caller = Caller::here();
        self.take_until(n, None)
            .map(|()| self.permit(n, caller))
            .map_err(|_| AcquireError(()))
    }

    /// Takes one permit if there is one.
    ///
    /// # Errors
    ///
    /// If there is none, if others have waited too long for one, or if the
    /// semaphore is closed.
    #[inline]
    #[track_caller]
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.try_acquire_many(1)
    }

    /// Takes `n` permits if that many are available.
    ///
    /// # Errors
    ///
    /// See [`try_acquire`](Semaphore::try_acquire).
    #[inline]
    #[track_caller]
    pub fn try_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.take(n, FAIR)?;
        Ok(self.permit(n, Caller::here()))
    }

    /// Takes one permit; waits for it no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// `NoPermits` after the timeout, `Closed` if the semaphore is closed.
    ///
    /// ```
    /// use blitz_io::thread::{Semaphore, TryAcquireError};
    /// use std::time::Duration;
    ///
    /// let none = Semaphore::new(0);
    /// let result = none.acquire_timeout(Duration::from_millis(1));
    /// assert_eq!(result.unwrap_err(), TryAcquireError::NoPermits);
    /// ```
    #[track_caller]
    #[doc(alias = "try_acquire_for")]
    pub fn acquire_timeout(
        &self,
        timeout: Duration,
    ) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.acquire_many_timeout(1, timeout)
    }

    /// Takes one permit; waits for it no longer than until `deadline`.
    ///
    /// # Errors
    ///
    /// See [`acquire_timeout`](Semaphore::acquire_timeout).
    #[track_caller]
    #[doc(alias = "try_acquire_until")]
    pub fn acquire_deadline(
        &self,
        deadline: Instant,
    ) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.acquire_many_deadline(1, deadline)
    }

    /// Takes `n` permits at once; waits for them no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// See [`acquire_timeout`](Semaphore::acquire_timeout).
    #[track_caller]
    #[doc(alias = "try_acquire_many_for")]
    pub fn acquire_many_timeout(
        &self,
        n: u32,
        timeout: Duration,
    ) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        let caller = Caller::here();
        self.take_until(n, deadline::after(timeout))
            .map(|()| self.permit(n, caller))
    }

    /// Takes `n` permits at once; waits for them no longer than until
    /// `deadline`.
    ///
    /// # Errors
    ///
    /// See [`acquire_timeout`](Semaphore::acquire_timeout).
    #[track_caller]
    #[doc(alias = "try_acquire_many_until")]
    pub fn acquire_many_deadline(
        &self,
        n: u32,
        deadline: Instant,
    ) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        let caller = Caller::here();
        self.take_until(n, Some(deadline))
            .map(|()| self.permit(n, caller))
    }

    /// Takes one permit that keeps the semaphore alive.
    ///
    /// # Errors
    ///
    /// See [`acquire`](Semaphore::acquire).
    #[track_caller]
    pub fn acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.acquire_many_owned(1)
    }

    /// Takes `n` permits that keep the semaphore alive.
    ///
    /// # Errors
    ///
    /// See [`acquire`](Semaphore::acquire).
    ///
    /// ```
    /// use blitz_io::thread::Semaphore;
    /// use std::sync::Arc;
    ///
    /// let slots = Arc::new(Semaphore::new(3));
    /// let permit = slots.clone().acquire_many_owned(2)?;
    /// let worker = std::thread::spawn(move || drop(permit));
    /// worker.join().unwrap();
    /// assert_eq!(slots.available_permits(), 3);
    /// # Ok::<(), blitz_io::thread::AcquireError>(())
    /// ```
    #[track_caller]
    pub fn acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        std::mem::forget(self.acquire_many(n)?);
        Ok(self.owned_permit(n))
    }

    /// Takes one permit that keeps the semaphore alive, if there is one.
    ///
    /// # Errors
    ///
    /// See [`try_acquire`](Semaphore::try_acquire).
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.try_acquire_many_owned(1)
    }

    /// Takes `n` permits that keep the semaphore alive, if that many are available.
    ///
    /// # Errors
    ///
    /// See [`try_acquire`](Semaphore::try_acquire).
    pub fn try_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        std::mem::forget(self.try_acquire_many(n)?);
        Ok(self.owned_permit(n))
    }

    /// Adds `n` permits.
    ///
    /// # Panics
    ///
    /// If there would be more than [`MAX_PERMITS`](Semaphore::MAX_PERMITS). The
    /// semaphore is as it was then.
    #[track_caller]
    pub fn add_permits(&self, n: usize) {
        if let Err(error) = self.try_add_permits(n) {
            panic!("{error}");
        }
    }

    /// Adds `n` permits, if the semaphore can hold that many.
    ///
    /// # Errors
    ///
    /// If there would be more than [`MAX_PERMITS`](Semaphore::MAX_PERMITS). The
    /// semaphore is as it was then.
    ///
    /// ```
    /// use blitz_io::thread::Semaphore;
    ///
    /// let full = Semaphore::new(Semaphore::MAX_PERMITS);
    /// assert!(full.try_add_permits(1).is_err());
    /// assert_eq!(full.available_permits(), Semaphore::MAX_PERMITS);
    /// ```
    #[inline]
    pub fn try_add_permits(&self, n: usize) -> Result<(), OverRelease> {
        self.add_permits_within(n, Self::MAX_PERMITS)
    }

    /// Adds `n` permits, if there are then no more than `bound` that no thread has taken. With the number that the
    /// semaphore started with as the bound, this refuses a release without an acquire.
    ///
    /// # Errors
    ///
    /// If there would be more. The semaphore is as it was then.
    ///
    /// ```
    /// use blitz_io::thread::Semaphore;
    ///
    /// let places = Semaphore::new(4);
    /// places.acquire().unwrap().forget();
    /// assert!(places.add_permits_within(1, 4).is_ok());
    /// assert!(places.add_permits_within(1, 4).is_err());
    /// assert_eq!(places.available_permits(), 4);
    /// ```
    #[doc(alias = "max_permits")]
    #[inline]
    pub fn add_permits_within(&self, n: usize, bound: usize) -> Result<(), OverRelease> {
        self.object
            .added_permits(n, Kind::ThreadSemaphore, Caller::UNKNOWN);
        let bound = bound.min(Self::MAX_PERMITS) as u64;
        let added = self.change(|state| {
            let fits = n as u64 <= bound.saturating_sub(state / PERMIT);
            (n == 0 || fits).then(|| state + n as u64 * PERMIT)
        });
        if added.map_err(|_| OverRelease(()))? & WAKE_NEEDED != 0 {
            self.serve_queue();
        }
        Ok(())
    }

    /// Removes up to `n` permits, and returns how many it has removed.
    pub fn forget_permits(&self, n: usize) -> usize {
        let taken = |state| (n as u64).min(state / PERMIT);
        let (Ok(before) | Err(before)) = self.change(|state| Some(state - taken(state) * PERMIT));
        taken(before) as usize
    }

    /// Ends all waiting, now and in future, with an error. Permits that are out
    /// stay valid.
    pub fn close(&self) {
        self.queue.locked(|list| {
            self.state.fetch_or(CLOSED, Ordering::AcqRel);
            for node in list.iter() {
                // SAFETY: it is linked, and cannot leave while the lock is held.
                unsafe { Node::signal(node) };
            }
        });
    }

    /// Returns whether [`close`](Semaphore::close) has been called.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state.load(Ordering::Acquire) & CLOSED != 0
    }

    /// Changes the state to `next` of it, if that is `Some`. Returns the state before.
    #[inline]
    fn change(&self, next: impl Fn(u64) -> Option<u64>) -> Result<u64, u64> {
        self.state
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, next)
    }

    /// Takes `n` permits if that many are available and none of the flags `unless` is
    /// set.
    #[inline]
    fn take(&self, n: u32, unless: u64) -> Result<(), TryAcquireError> {
        // The flags are below the permits, so this compares the permits.
        let need = u64::from(n) * PERMIT;
        let allowed = |state| state >= need && state & (CLOSED | unless) == 0;
        self.change(|state| allowed(state).then(|| state - need))
            .map(drop)
            .map_err(Self::refusal)
    }

    /// Returns the reason why permits could not be taken from this state.
    #[cold]
    fn refusal(state: u64) -> TryAcquireError {
        if state & CLOSED == 0 {
            return TryAcquireError::NoPermits;
        }
        // A thread that finds the semaphore closed sees the closing thread's work.
        fence(Ordering::Acquire);
        TryAcquireError::Closed
    }

    /// Returns the guard that takes over the permits of one that borrows the semaphore.
    #[inline]
    fn owned_permit(self: Arc<Self>, n: u32) -> OwnedSemaphorePermit {
        self.note_no_guard(false);
        self.note_guard(Acquirer::current(), true);
        OwnedSemaphorePermit::new(self, n as usize)
    }

    /// The acquirer has one more guard of permits. `may_move`: it may move to another task.
    #[inline]
    fn note_guard(&self, by: Acquirer, may_move: bool) {
        self.object.permits_acquired(by, may_move);
    }

    /// The current task or thread drops or forgets a guard of permits.
    #[inline]
    fn note_no_guard(&self, may_move: bool) {
        self.object.permits_released(may_move);
    }

    /// Takes permits back that were taken from here, so there is room for them.
    #[inline]
    fn give_back(&self, n: usize, may_move: bool) {
        self.object.permits_returned(n);
        self.note_no_guard(may_move);
        let before = self.state.fetch_add(n as u64 * PERMIT, Ordering::AcqRel);
        if before & WAKE_NEEDED != 0 {
            self.serve_queue();
        }
    }

    /// Returns the guard of permits that have been taken.
    #[inline]
    fn permit(&self, n: u32, caller: Caller) -> SemaphorePermit<'_> {
        self.object
            .permits_taken(n as usize, caller, Acquirer::current());
        self.note_guard(Acquirer::current(), false);
        self.object.took_permits();
        SemaphorePermit::new(self, n as usize)
    }

    /// Tells the recorders that the program has forgotten permits.
    #[inline]
    fn forgot(&self, n: usize, caller: Caller) {
        if n != 0 {
            let kind = Kind::ThreadSemaphore;
            self.object.forgot_permits(n, kind, Caller::UNKNOWN, caller);
        }
    }

    #[inline]
    #[track_caller]
    fn take_until(&self, n: u32, deadline: Option<Instant>) -> Result<(), TryAcquireError> {
        match self.take(n, FAIR) {
            Err(TryAcquireError::NoPermits) => self.take_slow(n, deadline, Caller::here()),
            taken => taken,
        }
    }

    #[cold]
    fn take_slow(
        &self,
        n: u32,
        deadline: Option<Instant>,
        caller: Caller,
    ) -> Result<(), TryAcquireError> {
        if deadline::is_past(deadline) {
            return Err(TryAcquireError::NoPermits);
        }
        let mut spin = Spin::EVENT;
        while spin.turn() {
            match self.take(n, FAIR) {
                Err(TryAcquireError::NoPermits) => {}
                taken => return taken,
            }
        }
        let node = Node::new(Request {
            permits: n,
            is_late: Cell::new(false),
        });
        // SAFETY: the node is on this thread's stack, and `leave` unlinks it.
        self.queue.locked(|list| unsafe { list.push(&node) });
        let is_timed = deadline.is_some();
        let _waits = Blocking::new(Kind::ThreadSemaphore, &self.object, caller, is_timed);
        let taken = self.wait(&node, deadline);
        self.leave(&node);
        taken
    }

    /// Waits in the queue.
    fn wait(&self, node: &Node<Request>, deadline: Option<Instant>) -> Result<(), TryAcquireError> {
        let fair_at = deadline::now() + FAIR_AFTER;
        loop {
            if self.may_sleep(node) {
                let fair_at = (!node.request.is_late.get()).then_some(fair_at);
                let until = deadline::earlier(deadline, fair_at);
                if !node.sleep(until) {
                    if until == deadline {
                        return Err(TryAcquireError::NoPermits);
                    }
                    self.demand(node);
                }
            }
            match self.take_in_turn(node) {
                Err(TryAcquireError::NoPermits) => {}
                taken => return taken,
            }
        }
    }

    /// Tries to take the permits that the node requests, for a while.
    fn take_in_turn(&self, node: &Node<Request>) -> Result<(), TryAcquireError> {
        let mut spin = Spin::EVENT;
        loop {
            let unless = if self.is_preferred(node) { 0 } else { FAIR };
            let taken = self.take(node.request.permits, unless);
            let failed = taken == Err(TryAcquireError::NoPermits);
            if !failed || !node.is_signalled() || !spin.turn() {
                return taken;
            }
        }
    }

    /// Returns `true` if the node may take permits that others must leave alone.
    fn is_preferred(&self, node: &Node<Request>) -> bool {
        self.state.load(Ordering::Relaxed) & FAIR != 0
            && self.queue.locked(|list| list.is_first(node))
    }

    /// Announces that the node's thread is about to sleep. Returns `false` if there is
    /// no need to.
    fn may_sleep(&self, node: &Node<Request>) -> bool {
        self.queue.locked(|list| {
            node.reset();
            let state = self.announce();
            let allowed = state & FAIR == 0 || list.is_first(node);
            state & CLOSED == 0 && !(allowed && state / PERMIT >= u64::from(node.request.permits))
        })
    }

    /// Makes the next release look for waiters. Returns the state before.
    fn announce(&self) -> u64 {
        self.state.fetch_or(WAKE_NEEDED, Ordering::AcqRel)
    }

    /// Marks the node late: it has waited for too long.
    fn demand(&self, node: &Node<Request>) {
        self.queue.locked(|list| {
            node.request.is_late.set(true);
            self.state.fetch_or(FAIR, Ordering::AcqRel);
            self.serve(list);
        });
    }

    /// Takes the node out and looks after the others.
    fn leave(&self, node: &Node<Request>) {
        self.queue.locked(|list| {
            list.remove(node);
            if node.request.is_late.get() && !list.iter().any(|node| node.request.is_late.get()) {
                self.state.fetch_and(!FAIR, Ordering::AcqRel);
            }
            self.serve(list);
        });
    }

    #[cold]
    fn serve_queue(&self) {
        self.queue.locked(|list| self.serve(list));
    }

    /// Signals the threads whose requests fit; see the module documentation.
    fn serve(&self, list: &mut List<Request>) {
        let mut state = self.state.fetch_and(!WAKE_NEEDED, Ordering::AcqRel);
        while !self.signal_those_that_fit(list, state) && !list.is_empty() {
            let now = self.state.fetch_or(WAKE_NEEDED, Ordering::AcqRel);
            if now / PERMIT <= state / PERMIT {
                return;
            }
            self.state.fetch_and(!WAKE_NEEDED, Ordering::AcqRel);
            state = now;
        }
    }

    /// Signals the threads whose requests fit. Returns `true` if a signalled thread is on its way now.
    fn signal_those_that_fit(&self, list: &List<Request>, state: u64) -> bool {
        let mut left = state / PERMIT;
        let mut on_the_way = false;
        for node in list.iter() {
            let need = u64::from(node.request.permits);
            if need <= left {
                left -= need;
                on_the_way = true;
                if !node.is_signalled() {
                    // SAFETY: it is linked, and cannot leave while the lock is held.
                    unsafe { Node::signal(node) };
                }
            } else if state & FAIR != 0 {
                break;
            }
        }
        on_the_way
    }
}

named!(Semaphore: object);

debug_fields! {
    impl Semaphore, |this| {
        permits: this.available_permits(),
        closed: this.is_closed(),
    }
}
