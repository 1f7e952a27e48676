//! A batch of permits with a queue, first come, first served: the core of the
//! task family's `Semaphore`, `Mutex` (one permit) and `RwLock` (a reader takes
//! one permit, the writer all).
//!
//! # States
//!
//! One word holds the number of free permits, and two flags:
//!
//! * [`QUEUED`]: waiters are in the queue. All permits belong to the queue then: none is taken
//!   past it, and a release has to serve it.
//! * [`CLOSED`]: permits are given out no more.
//!
//! A waiter, task or thread, is a node of the queue ([`WaitQueue`]) and says
//! there how many permits it needs. It leaves the queue in one of three ways:
//! *served*, with its permits taken out of the word on its behalf; told that all
//! is *closed*; or because it *gave up*.
//!
//! # Moves
//!
//! *Taking* is a load and one compare-and-swap that demands that neither flag is set. For all
//! permits that there are, it is one compare-and-swap with a predicted value. *Giving back* is
//! one addition. If the word had `QUEUED` before it, the queue is served.
//!
//! *Waiting*, under the queue's lock: if the queue is empty, look again, and either take the
//! permits after all, or set `QUEUED`, by a compare-and-swap that fails if the word has changed
//! since the look. Then join the queue.
//!
//! *Serving*, under the queue's lock, as long as the permits in the word are enough for the first
//! node: subtract its need from the word (and `QUEUED` with it, if no other is left), and choose
//! it. Chosen waiters are woken without the lock.
//!
//! *Giving up*, under the queue's lock: leave the queue, then serve it, for the
//! next may need less. A waiter that finds that it has been served gives back as usual; a thread
//! that gives up at its deadline keeps what it has been served.
//!
//! *Closing*, under the queue's lock: set `CLOSED`, clear `QUEUED`; then wake all waiters. None
//! joins or is served afterwards. A waiter that was served and has not been polled since also
//! fails, and its permits go back.
//!
//! Permits that do not suffice for the first waiter stay in the word, where the flag keeps other
//! threads from taking them. So a waiter has all of its permits or none, and one that gives up
//! has little to clean up. (Tokio assigns them to that waiter one by one. Users see no
//! difference, since no permit is available while a waiter is queued. Only after closing do they
//! become available at once, and not when the waiter leaves.)
//!
//! # No wake-up is lost
//!
//! `QUEUED` is set and cleared only under the lock. Until all is closed, it is set, while the
//! lock is free, exactly if a node is linked. Flag and permits are one word, so there is no
//! second word to look at. Let W be the first waiter, and say that the permits in the word are
//! enough for it:
//!
//! * The word had them when W came. If W was alone, it set the flag on the very value that it had
//!   found to be too small. If not, they were too few for the waiter that was first then.
//! * Some came back later. Their addition saw the flag, so the thread that gave them back serves
//!   the queue, under the lock, after the addition.
//! * W became the first because the one before it was served or gave up. Both
//!   serve until the first one's need does not fit.
//!
//! So whenever the lock is free, and no thread is on the way to take it and serve, the first
//! one's need does not fit. With the flag set, only the holder of the lock takes permits from the
//! word, so the permits that it has seen there are still there when it subtracts.
//!
//! # Memory ordering
//!
//! Only read-modify-writes change the word. So a thread that takes permits with `Acquire` sees
//! the work before all releases until then, not only before the last. A waiter sees that work
//! through the thread that served it: this thread took the permits and then signalled.
//!
//! # Sources
//!
//! Dijkstra's semaphore; a queue that no waiter overtakes as in Tokio's.

use std::cell::Cell;
use std::task::Waker;
use std::time::Instant;

use blitz_io_futex::atomic::{AtomicUsize, Ordering};

use blitz_io_core::Panics;
use blitz_io_core::const_unless_loom;
use blitz_io_core::coop;
use blitz_io_core::deadline::is_past;
use blitz_io_core::pause::AdaptiveSpin;
use blitz_io_core::spin::Spin;
use blitz_io_core::{List, Node, WaitQueue, Wake, Wakes};
use blitz_io_observe::{Blocking, Caller, Kind, Observed, Sort, decisions};

mod acquire;
mod hold;

pub use acquire::Acquire;
pub use hold::{All, One};

/// Permits are given out no more.
const CLOSED: usize = 1;
/// Waiters are queued, and the permits belong to the queue.
const QUEUED: usize = 2;
const PERMIT: usize = 4;

/// The greatest number of permits. The word has room for twice as many: a thread may add permits before
/// it checks whether they are too many.
pub const MAX_PERMITS: usize = usize::MAX >> 3;

/// Fewer permits than this come back by an addition that is checked afterwards.
/// It takes tens of thousands of threads, all doing wrong at the same moment, to
/// overflow the word with them.
const FEW: usize = MAX_PERMITS >> 16;

/// A batch of permits; see the module documentation.
// `repr(C)` puts the word first, and is here because the mutexes, rwlocks and semaphores of the C interface are
// this type, in the program's memory: its inline functions exchange the word, and call the library if that fails.
// A type with this layout beside the C interface would be a second copy of the algorithm and of its models.
#[repr(C)]
pub struct Permits {
    word: AtomicUsize,
    queue: WaitQueue<Request>,
    /// The task that holds permits, the name and the state, for reports and tokio-console.
    pub observed: Observed,
}

/// The request of a node: its need, and whether it has been served.
struct Request {
    need: usize,
    /// `true` if it has been served. If it is chosen unserved, all is closed.
    served: Cell<bool>,
}

/// How an attempt to take permits ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// The permits are the caller's now.
    Yes,
    /// There are too few, or others wait for them.
    No,
    /// The semaphore is closed: there will be no more permits.
    Closed,
}

/// The semaphore is closed.
#[derive(Debug)]
pub struct AcquireError(pub(super) ());

/// Returns the result of waiting, without a limit, for permits that are never closed.
#[inline]
pub fn never_closed<R, E>(waited: Result<R, E>) -> R {
    match waited {
        Ok(result) => result,
        Err(_) => unreachable!("a lock is never closed"),
    }
}

impl Permits {
    const_unless_loom! {
        /// Creates this many permits, at most [`MAX_PERMITS`].
        pub const fn new(permits: usize) -> Self {
            debug_assert!(permits <= MAX_PERMITS);
            Self { word: AtomicUsize::new(permits * PERMIT), queue: WaitQueue::new(), observed: Observed::new() }
        }
    }

    /// Gives the permits, which are new and all free, a span.
    #[track_caller]
    #[inline]
    #[must_use]
    pub fn with_resource(mut self, sort: Sort) -> Self {
        self.observed.add_span(sort);
        self.observed.resource.has_permits(self.available());
        self
    }

    /// Returns the number of free permits: 0 while a waiter is queued.
    #[inline]
    pub fn available(&self) -> usize {
        let state = self.word.load(Ordering::Acquire);
        if state & QUEUED == 0 {
            state / PERMIT
        } else {
            0
        }
    }

    /// Returns `true` if [`close`](Permits::close) has been called.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.word.load(Ordering::Acquire) & CLOSED != 0
    }

    /// Takes `n` if that many are available and no waiter is queued. None can always be taken.
    #[inline]
    pub fn take(&self, n: usize) -> Taken {
        let state = self.word.load(Ordering::Relaxed);
        // The flags are below the permits, so this compares the permits.
        let enough = state >= n * PERMIT && state & (QUEUED | CLOSED) == 0;
        if enough && self.exchange(state, state - n * PERMIT).is_ok() {
            self.observed.resource.taken(n);
            return Taken::Yes;
        }
        self.take_again(n)
    }

    /// Like [`take`](Self::take), but for a task, which has a budget. Also fails if that is spent, or all is
    /// closed.
    #[inline]
    pub fn take_in_budget(&self, n: usize) -> bool {
        coop::attempt(|| (self.take(n) == Taken::Yes).then_some(())).is_some()
    }

    #[cold]
    fn take_again(&self, n: usize) -> Taken {
        let taken = self.change(|state| {
            let barred = state & (CLOSED | QUEUED) != 0;
            (!barred && state / PERMIT >= n).then(|| state - n * PERMIT)
        });
        match taken {
            Ok(_) => {
                self.observed.resource.taken(n);
                Taken::Yes
            }
            Err(state) if state & CLOSED != 0 => Taken::Closed,
            Err(_) if n == 0 => Taken::Yes,
            Err(_) => Taken::No,
        }
    }

    #[inline]
    fn exchange(&self, from: usize, to: usize) -> Result<usize, usize> {
        self.word
            .compare_exchange_weak(from, to, Ordering::Acquire, Ordering::Acquire)
    }

    /// Changes the word to `next` of it, if that is `Some`. Returns the word before.
    fn change(&self, next: impl Fn(usize) -> Option<usize>) -> Result<usize, usize> {
        self.word
            .fetch_update(Ordering::Acquire, Ordering::Acquire, next)
    }

    /// Takes all permits, of which there are `all`, if all are free. For batches that are never
    /// closed.
    #[inline]
    pub fn take_all(&self, all: usize) -> bool {
        let taken = self
            .word
            .compare_exchange(all * PERMIT, 0, Ordering::Acquire, Ordering::Relaxed)
            .is_ok();
        if taken {
            self.observed.resource.taken(all);
        }
        taken
    }

    /// Like [`take_all`](Self::take_all), for a task, which has a budget. Also fails if that is spent.
    #[inline]
    pub fn take_all_in_budget(&self, all: usize) -> bool {
        coop::attempt(|| self.take_all(all).then_some(())).is_some()
    }

    /// Tries for a moment before a task waits. Returns `true` if `n` permits are its own now.
    #[cold]
    fn spin_for(&self, n: usize) -> bool {
        // While others wait, trying cannot succeed.
        let waits_alone = |state: usize| state & (QUEUED | CLOSED) == 0;
        if !waits_alone(self.word.load(Ordering::Relaxed)) {
            return false;
        }
        if decisions::is_on() {
            // A simulation has one thread, so the first attempt is as good as the last.
            return self.take(n) == Taken::Yes;
        }
        let mut spin = AdaptiveSpin::new();
        while spin.turn() {
            let state = self.word.load(Ordering::Relaxed);
            if !waits_alone(state) {
                break;
            }
            if state / PERMIT >= n && self.take(n) == Taken::Yes {
                return true;
            }
        }
        false
    }

    /// Waits until the caller has `n` permits. For a task that has found too few.
    #[inline]
    pub fn wait(&self, n: usize, kind: Kind, caller: Caller) -> Acquire<'_> {
        Acquire::new(self, n, kind, caller)
    }

    /// Like [`wait`](Self::wait), but for a thread. Returns `No` if the deadline has passed.
    #[cold]
    pub fn wait_blocking(
        &self,
        n: usize,
        deadline: Option<Instant>,
        kind: Kind,
        caller: Caller,
    ) -> Taken {
        let _waits = Blocking::new(kind, &self.observed.object, caller, deadline.is_some());
        let mut spin = Spin::EVENT;
        // While others wait, trying cannot succeed.
        while self.word.load(Ordering::Relaxed) & QUEUED == 0 && spin.turn() {
            match self.take(n) {
                Taken::No if is_past(deadline) => return Taken::No,
                Taken::No => {}
                taken => return taken,
            }
        }
        let node = Node::new(Request::new(n));
        // SAFETY: the node does not move, and it is unlinked below: it has been chosen, or `remove` takes it
        // out.
        match unsafe { self.join(&node, None) } {
            Taken::No => {}
            taken => return taken,
        }
        while !node.is_signalled() && !is_past(deadline) && spin.turn() {}
        if !node.sleep(deadline) && self.remove(&node) {
            return Taken::No;
        }
        match self.finish(&node.request) {
            Ok(()) => Taken::Yes,
            Err(AcquireError(())) => Taken::Closed,
        }
    }

    /// Joins the queue, as a task with this waker or as a thread, unless the permits can be
    /// taken or all is closed.
    ///
    /// # Safety
    ///
    /// The node is not linked, and does not move while it is.
    unsafe fn join(&self, node: &Node<Request>, waker: Option<&Waker>) -> Taken {
        let mut taken = Taken::No;
        let joins = |_: &mut List<Request>| {
            taken = self.take_or_announce(node.request.need);
            taken == Taken::No
        };
        // SAFETY: by this function's contract, the node is not linked and does not move while it is.
        unsafe { self.queue.join_if(node, waker, joins) };
        if taken == Taken::Yes {
            self.observed.resource.taken(node.request.need);
        }
        taken
    }

    /// Takes the permits, or says that a waiter is queued. Under the lock.
    fn take_or_announce(&self, need: usize) -> Taken {
        let mut state = self.word.load(Ordering::Acquire);
        // Where the flag is set, others wait.
        while state & QUEUED == 0 {
            if state & CLOSED != 0 {
                return Taken::Closed;
            }
            let enough = state / PERMIT >= need;
            let next = if enough {
                state - need * PERMIT
            } else {
                state | QUEUED
            };
            match self.exchange(state, next) {
                Ok(_) if enough => return Taken::Yes,
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        Taken::No
    }

    /// Returns the result of a wait whose node has been chosen.
    fn finish(&self, request: &Request) -> Result<(), AcquireError> {
        if !request.served.get() {
            return Err(AcquireError(()));
        }
        // The second look acquires the work of the thread that closed it.
        if self.word.load(Ordering::Relaxed) & CLOSED != 0 && self.is_closed() {
            self.return_unused(request.need);
            return Err(AcquireError(()));
        }
        self.observed.resource.taken(request.need);
        Ok(())
    }

    /// Gives up the wait of a node that has been in the queue.
    fn leave(&self, node: &Node<Request>) {
        if !node.is_signalled() && self.remove(node) {
            return;
        }
        if node.request.served.get() {
            self.observed.object.hand_over_ended();
            self.return_unused(node.request.need);
        }
    }

    /// Takes a node out of the queue, and serves those behind it. Returns `false` if the node has been
    /// chosen.
    fn remove(&self, node: &Node<Request>) -> bool {
        let left = self
            .queue
            .locked(|list| list.remove(node).then(|| self.serve_first(list)));
        let Some((wake, more)) = left else {
            return false;
        };
        self.wake(wake, more);
        true
    }

    /// Gives back permits that were taken from here, so there is room for them.
    #[inline]
    pub fn give_back(&self, n: usize) {
        self.observed.resource.given_back(n);
        self.return_unused(n);
    }

    /// Like [`give_back`](Self::give_back), but for permits that a waiter had been given without its knowing.
    #[inline]
    fn return_unused(&self, n: usize) {
        coop::acted();
        let before = self.word.fetch_add(n * PERMIT, Ordering::Release);
        if before & QUEUED != 0 {
            self.serve();
        }
    }

    /// Gives back permits for which there may be no room.
    ///
    /// # Panics
    ///
    /// If there are more than [`MAX_PERMITS`] then.
    #[inline]
    pub fn give_back_checked(&self, n: usize) {
        if n == 0 {
            return;
        }
        if n > FEW {
            return self.add(n);
        }
        self.observed.resource.given_back(n);
        coop::acted();
        let before = self.word.fetch_add(n * PERMIT, Ordering::Release);
        // With no flag set, this compares the permits.
        if before & QUEUED != 0 || before > (MAX_PERMITS - n) * PERMIT {
            self.gave_back(n);
        }
    }

    #[cold]
    fn gave_back(&self, n: usize) {
        self.serve();
        let too_many = |state| state & QUEUED == 0 && state / PERMIT > MAX_PERMITS;
        let most = |state| too_many(state).then(|| MAX_PERMITS * PERMIT + state % PERMIT);
        if self.change(most).is_ok() {
            would_overflow(n);
        }
    }

    /// Adds new permits.
    ///
    /// # Panics
    ///
    /// If there would be more than [`MAX_PERMITS`]. Nothing has changed then.
    #[track_caller]
    pub fn add(&self, n: usize) {
        if !self.add_within(n, MAX_PERMITS) {
            would_overflow(n);
        }
    }

    /// Adds new permits, if no more than `bound` are free then, and returns `true` if so.
    pub fn add_within(&self, n: usize, bound: usize) -> bool {
        if n == 0 {
            return true;
        }
        coop::acted();
        // Waiting requests use up permits before the limit applies to the rest.
        let need_of_all = |list: &List<Request>| {
            list.iter()
                .fold(0, |sum: usize, node| sum.saturating_add(node.request.need))
        };
        let bound = bound.min(MAX_PERMITS);
        let fits = |there: usize, list: Option<&List<Request>>| {
            n <= MAX_PERMITS && (there + n).saturating_sub(list.map_or(0, need_of_all)) <= bound
        };
        self.add_if_fits(n, fits)
    }

    /// Adds new permits if `fits` agrees to the number that is free, or is kept for waiters. Returns
    /// whether it did.
    #[inline]
    pub fn add_if(&self, n: usize, fits: impl Fn(usize) -> bool) -> bool {
        self.add_if_fits(n, |there, _| fits(there))
    }

    /// Adds permits if `fits` agrees to the number in the word, with the queue if there is one.
    #[inline]
    fn add_if_fits(&self, n: usize, fits: impl Fn(usize, Option<&List<Request>>) -> bool) -> bool {
        let add = |state| {
            let fits = state & QUEUED == 0 && fits(state / PERMIT, None);
            fits.then(|| state + n * PERMIT)
        };
        loop {
            let added = match (self.word).fetch_update(Ordering::Release, Ordering::Relaxed, add) {
                Ok(_) => true,
                Err(state) if state & QUEUED == 0 => return false,
                Err(_) => match self.add_to_queue(n, &fits) {
                    Some(added) => added,
                    None => continue,
                },
            };
            if added {
                self.observed.resource.given_back(n);
            }
            return added;
        }
    }

    /// Adds permits while waiters are queued, if `fits` agrees. Returns `None` if none is queued any more.
    #[cold]
    fn add_to_queue(
        &self,
        n: usize,
        fits: impl Fn(usize, Option<&List<Request>>) -> bool,
    ) -> Option<bool> {
        let added = self.queue.locked(|list| {
            let state = self.word.load(Ordering::Acquire);
            if state & QUEUED == 0 {
                return None;
            }
            if !fits(state / PERMIT, Some(list)) {
                return Some(None);
            }
            self.word.fetch_add(n * PERMIT, Ordering::Release);
            Some(Some(self.serve_first(list)))
        })?;
        let Some((wake, more)) = added else {
            return Some(false);
        };
        self.wake(wake, more);
        Some(true)
    }

    /// Removes up to `n` permits, and returns how many it has removed.
    pub fn forget(&self, n: usize) -> usize {
        // While waiters are queued, all permits belong to the queue.
        let barred = |state| state & QUEUED != 0;
        let taken = |state| (!barred(state)).then(|| n.min(state / PERMIT));
        let forgotten = self.change(|state| Some(state - taken(state)? * PERMIT));
        let forgotten = forgotten.ok().and_then(taken).unwrap_or(0);
        self.observed.resource.taken(forgotten);
        forgotten
    }

    /// Ends all waiting, now and in future. Permits that are out stay valid, and
    /// may come back.
    pub fn close(&self) {
        self.queue.locked(|_| {
            let before = self.word.fetch_or(CLOSED, Ordering::AcqRel);
            if before & QUEUED != 0 {
                self.word.fetch_sub(QUEUED, Ordering::Relaxed);
            }
        });
        self.queue.notify_all();
    }

    #[cold]
    fn serve(&self) {
        let (wake, more) = self.queue.locked(|list| self.serve_first(list));
        self.wake(wake, more);
    }

    /// Serves the first in the queue, if the permits are enough. Its wake is left
    /// to do; and whether they are enough for another one.
    fn serve_first(&self, list: &mut List<Request>) -> (Option<Wake>, bool) {
        let state = self.word.load(Ordering::Relaxed);
        if state & CLOSED != 0 {
            return (None, false);
        }
        let there = state / PERMIT;
        let need = list.first().map_or(0, |first| first.request.need);
        if need > there {
            return (None, false);
        }
        let mut paid = need * PERMIT;
        if !list.has_several() {
            paid += state & QUEUED;
        }
        self.word.fetch_sub(paid, Ordering::Acquire);
        if let Some(first) = list.first() {
            first.request.served.set(true);
        }
        if let Some(waker) = list.first_waker() {
            self.observed.object.handed_over(waker);
        }
        let wake = list.choose_first();
        let left = there - need;
        let more = list.first().is_some_and(|next| next.request.need <= left);
        (wake, more)
    }

    /// Wakes a served waiter, and serves more if there are permits left for them.
    #[inline]
    fn wake(&self, wake: Option<Wake>, more: bool) {
        match wake {
            Some(wake) if more => self.serve_many(wake),
            Some(wake) => wake.wake(),
            None => {}
        }
    }

    /// Serves as many waiters as there are permits for, and wakes them in order. If a waker
    /// panics, the others are still served; the panic is resumed afterwards.
    fn serve_many(&self, first: Wake) {
        let mut panics = Panics::new();
        let mut first = Some(first);
        let mut more = true;
        while more {
            let mut wakes = Wakes::new();
            first.take().into_iter().for_each(|wake| wakes.push(wake));
            more = self.queue.locked(|list| {
                let mut more = true;
                while more && !wakes.is_full() {
                    let (wake, others) = self.serve_first(list);
                    wake.into_iter().for_each(|wake| wakes.push(wake));
                    more = others;
                }
                more
            });
            wakes.wake_all(&mut panics);
        }
        panics.go_on();
    }
}

impl Request {
    fn new(need: usize) -> Self {
        Self {
            need,
            served: Cell::new(false),
        }
    }
}

#[cold]
#[track_caller]
fn would_overflow(n: usize) -> ! {
    assert!(
        n <= MAX_PERMITS,
        "cannot add more than MAX_PERMITS permits ({MAX_PERMITS})"
    );
    panic!("number of added permits ({n}) would overflow MAX_PERMITS ({MAX_PERMITS})")
}
