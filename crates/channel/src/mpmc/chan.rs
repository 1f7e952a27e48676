//! A channel: its state, the lock around it, and the atomics that are read without it.
//!
//! The lock is our mutex's core: one compare-and-swap to take it and a plain store to release it.
//! A step under it is a few dozen instructions (`state/mod.rs`), and never the user's code: values
//! are dropped and waiters are woken afterwards. A step that wakes no waiter costs this one
//! compare-and-swap.
//!
//! # No wake-up is lost
//!
//! A waiter looks at the state and joins a list in one critical section. A step that changes the
//! state looks at the lists in one critical section. So there is no moment between the look and
//! the announcement, and no order of memory accesses to think of. `blitz_io_core`'s wait queue
//! argues for the wake-up of the chosen waiter.
//!
//! # Without the lock
//!
//! The number of values and whether the channel is closed are kept in two atomics,
//! written under the lock. A thread that spins looks at them, and they answer
//! `len` and `is_closed`.
//!
//! The idea of one lock around a queue and the waiters of both sides, with values
//! handed from hand to hand, is that of Go's channels; flume and kanal have it too.

use std::cell::UnsafeCell;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::task::Waker;

use blitz_io_core::{ListLock, Node, Panics, Spin, Wake, Wakes, coop};
use blitz_io_futex::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use blitz_io_futex::{wait, wake_all};
use blitz_io_observe::{Fill, Filled, Kind, Object};

use super::error::{SendError, TryRecvError, TrySendError};
use super::request::{Outcome, Queue, Request};
use super::state::{State, UNLIMITED};
use super::woken::{Call, Woken};
use crate::events;

/// A channel with room for no more than this is full or empty most of the time.
const FEW: usize = 16;

/// A channel. The module documentation explains it. The fields that every step uses come first, in
/// one cache line.
#[repr(C, align(64))]
pub(super) struct Channel<T> {
    lock: ListLock,
    /// `true` if the channel is closed. Written under the lock, read without it, as is `len`.
    closed: AtomicBool,
    len: AtomicUsize,
    state: UnsafeCell<State<T>>,
    capacity: usize,
    pub(super) senders: AtomicUsize,
    pub(super) receivers: AtomicUsize,
    /// Counts the steps that may end a thread's wait for a reserved value.
    arrivals: AtomicU32,
    pub(super) object: Object,
}

// SAFETY: the state is used only under the lock, and values only pass through.
unsafe impl<T: Send> Send for Channel<T> {}
// SAFETY: all access to the state is under the lock.
unsafe impl<T: Send> Sync for Channel<T> {}

// No user's code runs under the lock, so a panic cannot leave the state half done.
impl<T> UnwindSafe for Channel<T> {}
impl<T> RefUnwindSafe for Channel<T> {}

impl<T> Filled for Channel<T> {
    fn fill(&self) -> Fill {
        Fill {
            used: self.len(),
            capacity: self.capacity(),
            senders: self.senders.load(Ordering::Relaxed),
            receivers: self.receivers.load(Ordering::Relaxed),
        }
    }
}

impl<T> Channel<T> {
    /// Creates a channel with one sender and one receiver.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            lock: ListLock::new(),
            closed: AtomicBool::new(false),
            len: AtomicUsize::new(0),
            state: UnsafeCell::new(State::new(capacity)),
            capacity,
            senders: AtomicUsize::new(1),
            receivers: AtomicUsize::new(1),
            arrivals: AtomicU32::new(0),
            object: Object::new(),
        }
    }

    /// Creates a channel with one sender and one receiver. Reports show its fill.
    pub(super) fn shown(capacity: usize) -> Arc<Self> {
        let channel = Arc::new(Self::new(capacity));
        // SAFETY: the fill is new. The last receiver, which keeps the channel alive, clears it.
        unsafe { channel.object.set_fill(Arc::as_ptr(&channel)) };
        channel.object.made_here();
        channel
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() >= self.capacity
    }

    pub(super) fn has_buffer(&self) -> bool {
        self.capacity != 0
    }

    /// Returns the number of senders and receivers.
    pub(super) fn ends(&self) -> usize {
        self.senders.load(Ordering::Relaxed) + self.receivers.load(Ordering::Relaxed)
    }

    /// Returns `true` if a thread that waits spins before it joins a list, `false` if it spins in it.
    pub(super) fn spins_outside(&self) -> bool {
        self.capacity > FEW
    }

    pub(super) fn capacity(&self) -> Option<usize> {
        (self.capacity != UNLIMITED).then_some(self.capacity)
    }

    /// Returns `true` if it is worthwhile to take the lock and try to receive.
    #[inline]
    pub(super) fn looks_receivable(&self) -> bool {
        self.len() != 0 || self.closed.load(Ordering::Relaxed)
    }

    /// Returns `true` if it is worthwhile to take the lock and try to send.
    #[inline]
    pub(super) fn looks_sendable(&self) -> bool {
        !self.is_full() || self.closed.load(Ordering::Relaxed)
    }

    /// Returns `true` if a sender that has found the channel full should try again.
    pub(super) fn has_much_room(&self) -> bool {
        self.len() <= self.capacity / 4 * 3 || self.closed.load(Ordering::Relaxed)
    }

    /// Runs one step, under the lock.
    pub(super) fn locked<R>(&self, step: impl FnOnce(&mut State<T>) -> R) -> R {
        coop::acted();
        self.lock.locked(|| {
            // SAFETY: this thread holds the lock.
            let state = unsafe { &mut *self.state.get() };
            let result = step(state);
            self.published(state);
            result
        })
    }

    fn published(&self, state: &mut State<T>) {
        state.update();
        self.len.store(state.len(), Ordering::Relaxed);
    }

    /// Runs a step, then wakes the waiter, or the streams, that it returns.
    pub(super) fn locked_then_call(&self, step: impl FnOnce(&mut State<T>) -> Wake) {
        let call = self.locked(|state| {
            let wake = step(state);
            state.call(wake)
        });
        self.call(call);
    }

    /// Wakes one waiter, or all streams.
    #[inline]
    pub(super) fn call(&self, call: Call) {
        match call {
            Call::One(wake) => wake.wake(),
            Call::Streams => {
                let mut panics = Panics::new();
                self.tell_streams(&mut panics);
                panics.go_on();
            }
        }
    }

    /// Tells the streams that there is something to receive, as long as there is.
    #[cold]
    pub(super) fn tell_streams(&self, panics: &mut Panics) {
        self.wake_in_rounds(panics, State::tell_streams);
    }

    /// Runs a step that chooses as many waiters as can be woken at once, and wakes them, until
    /// it has chosen fewer.
    fn wake_in_rounds(&self, panics: &mut Panics, mut step: impl FnMut(&mut State<T>, &mut Wakes)) {
        loop {
            let mut wakes = Wakes::new();
            self.locked(|state| step(state, &mut wakes));
            let all = !wakes.is_full();
            panics.put_off(|| wakes.wake());
            if all {
                return;
            }
        }
    }

    /// Runs a step that may choose several waiters. The second is for
    /// [`wake_chosen`](Self::wake_chosen).
    fn locked_and_chosen<R>(
        &self,
        step: impl FnOnce(&mut State<T>, &mut Woken) -> R,
    ) -> (R, Woken) {
        let mut woken = Woken::new();
        let result = self.locked(|state| {
            let result = step(state, &mut woken);
            woken.tells_streams |= state.must_tell_streams();
            result
        });
        (result, woken)
    }

    /// Wakes the waiters that a step has chosen, serves the remaining ones, and wakes the streams,
    /// also when a waker panics.
    fn wake_chosen(&self, mut woken: Woken) -> Panics {
        let mut panics = Panics::new();
        let mut tells_streams = woken.tells_streams;
        while woken.is_enough() {
            woken.wake(&mut panics);
            ((), woken) = self.locked_and_chosen(State::serve_waiters);
            tells_streams |= woken.tells_streams;
        }
        woken.wake(&mut panics);
        if tells_streams {
            self.tell_streams(&mut panics);
        }
        panics
    }

    /// Chooses an operation, and wakes the waiters that this has chosen. If a waker panics,
    /// the right goes back.
    pub(super) fn choose(
        &self,
        step: impl FnOnce(&mut State<T>, &mut Woken) -> Option<Outcome>,
    ) -> Option<Outcome> {
        let (outcome, woken) = self.locked_and_chosen(step);
        let panics = self.wake_chosen(woken);
        if let (true, Some(outcome)) = (panics.any(), outcome) {
            self.abandon(outcome);
        }
        panics.go_on();
        outcome
    }

    /// Sends if that is possible at once.
    #[inline(always)]
    pub(super) fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        let sent = self.lock.locked_among_many(|| {
            // SAFETY: this thread holds the lock.
            let state = unsafe { &mut *self.state.get() };
            match state.send_fast(value) {
                Ok(()) => {
                    self.len.store(state.buffer.len(), Ordering::Relaxed);
                    Ok(Call::One(Wake::Nobody))
                }
                Err(value) => self.send_slow(state, value),
            }
        });
        self.call(sent?);
        Ok(())
    }

    #[inline(never)]
    fn send_slow(&self, state: &mut State<T>, value: T) -> Result<Call, TrySendError<T>> {
        let sent = state.send(value).map(|wake| state.call(wake));
        self.published(state);
        sent
    }

    /// Receives if that is possible at once, without regard to selections whose promised values
    /// have not been sent.
    #[inline(always)]
    pub(super) fn receive(&self) -> Result<T, TryRecvError> {
        let received = self.lock.locked_among_many(|| {
            // SAFETY: this thread holds the lock.
            let state = unsafe { &mut *self.state.get() };
            match state.recv_fast() {
                Some(value) => {
                    self.len.store(state.buffer.len(), Ordering::Relaxed);
                    Ok((value, Wake::Nobody))
                }
                None => self.recv_slow(state),
            }
        });
        let (value, wake) = received?;
        // If the waker panics, the value is dropped like any other.
        wake.wake();
        Ok(value)
    }

    #[inline(never)]
    fn recv_slow(&self, state: &mut State<T>) -> Result<(T, Wake), TryRecvError> {
        let received = state.recv();
        self.published(state);
        received
    }

    /// Receives if that is possible at once.
    #[inline]
    pub(super) fn try_recv(&self) -> Result<T, TryRecvError> {
        if self.has_buffer() && !self.looks_receivable() {
            return Err(TryRecvError::Empty);
        }
        match self.receive() {
            Err(TryRecvError::Empty) if self.capacity == 0 => self.receive_from_selection(),
            received => received,
        }
    }

    /// Receives, in a channel without a buffer, from a thread that waits in several channels
    /// to send. That thread sends after it has been chosen, so this method waits for it.
    #[cold]
    fn receive_from_selection(&self) -> Result<T, TryRecvError> {
        match self.choose(State::select_recv) {
            Some(Outcome::Closed) => Err(TryRecvError::Closed),
            Some(_) => self.finish_recv().ok_or(TryRecvError::Empty),
            None => Err(TryRecvError::Empty),
        }
    }

    /// Says, for the report of a simulation, that the current task has sent.
    #[inline(always)]
    pub(super) fn sends(&self) {
        events::sent(&self.object, Kind::MpmcSend, || self.len());
    }

    /// Says, for the report of a simulation, that the current task has received.
    #[inline(always)]
    pub(super) fn receives(&self) {
        events::received(&self.object, Kind::MpmcReceive, 1, || self.len());
    }

    /// Says, for the report of a simulation, that the operation has failed, as the channel is like this.
    #[inline(always)]
    pub(super) fn refuses(&self, kind: Kind, state: &'static str) {
        events::refused(&self.object, kind, state);
    }

    /// Puts a value into the buffer in any case. Returns the value that it has replaced.
    pub(super) fn force_send(&self, value: T) -> Result<Option<T>, SendError<T>> {
        let (oldest, call) = self.locked(|state| {
            let (oldest, wake) = match state.send(value) {
                Ok(wake) => (None, wake),
                Err(TrySendError::Closed(value)) => return Err(SendError(value)),
                Err(TrySendError::Full(value)) if !state.has_buffer() => {
                    return Ok((Some(value), Call::One(Wake::Nobody)));
                }
                Err(TrySendError::Full(value)) => (state.force(value), Wake::Nobody),
            };
            Ok((oldest, state.call(wake)))
        })?;
        self.call(call);
        Ok(oldest)
    }

    /// Ends the channel. Returns `true` if it was open.
    pub(super) fn close(&self) -> bool {
        let (was_open, panics) = self.end();
        panics.go_on();
        was_open
    }

    /// Ends the channel, and wakes all waiters, also after one whose waker panics.
    fn end(&self) -> (bool, Panics) {
        coop::acted();
        let mut was_open = None;
        let mut panics = Panics::new();
        // No waiter joins any more, so this ends.
        self.wake_in_rounds(&mut panics, |state, wakes| {
            was_open.get_or_insert(!state.is_closed());
            self.closed.store(true, Ordering::Release);
            state.close(wakes);
        });
        (was_open == Some(true), panics)
    }

    /// Counts a sender out. The last one closes the channel.
    pub(super) fn drop_sender(&self) {
        if self.senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.close();
        }
    }

    /// Counts a receiver out. The last one closes the channel and drops the values.
    pub(super) fn drop_receiver(&self) {
        if self.receivers.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        // SAFETY: this was the last receiver, which owns the fill.
        unsafe { self.object.clear_fill() };
        let (_, mut panics) = self.end();
        let (returned, buffer) = self.locked(State::take_all);
        let returned = returned.into_iter().map(|(_, value)| value);
        for value in returned.chain(buffer) {
            panics.put_off(|| drop(value));
        }
        panics.go_on();
    }

    /// Returns `true` if this waiter has yet to be chosen. If so, `waker` will be woken.
    pub(super) fn still_waits(&self, node: &Node<Request>, waker: &Waker, queue: Queue) -> bool {
        if node.is_signalled() {
            return false;
        }
        match self.locked(|state| state.list(queue).will_wake(node, waker)) {
            Some(true) => true,
            Some(false) => {
                let waker = waker.clone();
                // The old or unused waker is dropped without the lock.
                let (waits, _unused) =
                    self.locked(|state| state.list(queue).change_waker(node, waker));
                waits
            }
            None => false,
        }
    }

    /// Takes a node out, if it is linked. `false` if it has been chosen.
    pub(super) fn leave(&self, node: &Node<Request>, queue: Queue) -> bool {
        !node.is_signalled() && self.locked(|state| state.list(queue).remove(node))
    }
}

/// The steps of selections: see `state/mod.rs`.
impl<T> Channel<T> {
    /// Uses the right to receive. `None` if the value does not come.
    pub(super) fn finish_recv(&self) -> Option<T> {
        let mut spin = Spin::handoff(self.ends());
        loop {
            let arrivals = self.arrivals.load(Ordering::Acquire);
            let (received, woken) = self.locked_and_chosen(State::finish_recv);
            let panics = self.wake_chosen(woken);
            if let Some(value) = received {
                // If a waker has panicked, the value is dropped like any other.
                panics.go_on();
                return value;
            }
            if !spin.turn() {
                wait(&self.arrivals, arrivals);
            }
        }
    }

    /// Uses the right to send.
    pub(super) fn finish_send(&self, outcome: Outcome, value: T) -> Result<(), SendError<T>> {
        if outcome == Outcome::Closed {
            return Err(SendError(value));
        }
        self.announce_then_wake(|state, woken| state.finish_send(outcome, value, woken))
            .map_err(SendError)
    }

    /// Gives a right back.
    pub(super) fn abandon(&self, outcome: Outcome) {
        self.announce_then_wake(|state, woken| state.abandon(outcome, woken));
    }

    /// Runs a step, tells the threads that wait for a reserved value, and then the waiters
    /// that it has chosen, whose wakers may panic.
    fn announce_then_wake<R>(&self, step: impl FnOnce(&mut State<T>, &mut Woken) -> R) -> R {
        let ((result, awaited), woken) = self.locked_and_chosen(|state, woken| {
            let result = step(state, woken);
            (result, std::mem::take(&mut state.is_awaited))
        });
        if awaited {
            self.arrivals.fetch_add(1, Ordering::Release);
            wake_all(&self.arrivals);
        }
        self.wake_chosen(woken).go_on();
        result
    }
}
