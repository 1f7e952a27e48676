//! Threads that send and receive: how they wait.
//!
//! A thread spins before it sleeps. With a buffer of some size it looks at the number
//! of values meanwhile and is in no list, so the other side can do many steps before
//! this one interferes; a sender does not before a quarter of the buffer is free, or it
//! has spun long enough. Without a buffer, or with a small one, the other side has to
//! find it: it is in the list and looks at its signal. The node says so (`spins`), and
//! a thread that chooses it makes no system call. Before the thread goes to sleep it
//! changes that under the lock.

use std::panic::resume_unwind;
use std::time::Instant;

use blitz_sync::internals::deadline::is_past;
use blitz_sync::internals::{HandoffSpin, List, Node};

use super::channel::Channel;
use super::error::{RecvTimeoutError, SendTimeoutError, TryRecvError, TrySendError};
use super::mutant::{Mutant, active};
use super::request::Request;
use super::state::State;
use super::waiter::{Waiter, receivers, senders, wake};
use super::woken::caught;

/// A thread's waiter, on its stack: in other lines of the cache than what else the
/// thread writes while it waits, as others write here to serve it.
#[repr(align(128))]
struct OnStack<T>(Waiter<T>);

impl<T> Channel<T> {
    /// Receives; waits until `deadline` if need be.
    #[inline]
    pub(super) fn recv_until(&self, deadline: Option<Instant>) -> Result<T, RecvTimeoutError> {
        if self.looks_receivable() {
            match self.receive() {
                Ok(value) => return Ok(value),
                Err(TryRecvError::Closed) => return Err(RecvTimeoutError::Closed),
                Err(TryRecvError::Empty) => {}
            }
        }
        self.recv_slow_until(deadline)
    }

    #[cold]
    fn recv_slow_until(&self, deadline: Option<Instant>) -> Result<T, RecvTimeoutError> {
        if is_past(deadline) {
            return self.recv_too_late();
        }
        if self.spins_outside() {
            let mut spin = HandoffSpin::new(self.ends());
            while spin.turn() {
                if self.looks_receivable() {
                    match self.receive() {
                        Ok(value) => return Ok(value),
                        Err(TryRecvError::Closed) => return Err(RecvTimeoutError::Closed),
                        Err(TryRecvError::Empty) => {}
                    }
                }
            }
        }
        let OnStack(waiter) = &OnStack(Waiter::new(None));
        waiter.prepare(!self.spins_outside());
        // SAFETY: the waiter stays here until its node is taken out.
        let joined = self.locked(|state| unsafe { state.recv_or_join(waiter.node(), receivers) });
        match joined {
            Ok(received) => return self.received(received).map_err(RecvTimeoutError::from),
            Err(woken) => wake(woken),
        }
        self.spin_in(waiter.node(), receivers);
        self.sleep_to_recv(waiter, deadline)
    }

    /// Looks once more, also at selections.
    fn recv_too_late(&self) -> Result<T, RecvTimeoutError> {
        self.try_recv().map_err(|error| match error {
            TryRecvError::Empty => RecvTimeoutError::Timeout,
            TryRecvError::Closed => RecvTimeoutError::Closed,
        })
    }

    fn sleep_to_recv(
        &self,
        waiter: &Waiter<T>,
        deadline: Option<Instant>,
    ) -> Result<T, RecvTimeoutError> {
        if !waiter.node().sleep(deadline) {
            // A receiver that leaves although a value is promised to it would let it be
            // sent to nobody. Such a one is overdue: it stays until the value comes, or is
            // chosen without one when the promise is broken.
            let left = self.locked(|state| state.leave_receivers(waiter.node()));
            if left {
                return Err(RecvTimeoutError::Timeout);
            }
            waiter.node().sleep(None);
            if waiter.node().request.overdue.get() {
                return waiter.take().map_or_else(|| self.recv_too_late(), Ok);
            }
        }
        waiter.take().ok_or(RecvTimeoutError::Closed)
    }

    /// Sends; waits until `deadline` if need be.
    #[inline]
    pub(super) fn send_until(
        &self,
        mut value: T,
        deadline: Option<Instant>,
    ) -> Result<(), SendTimeoutError<T>> {
        if self.looks_sendable() {
            match self.try_send(value) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Closed(value)) => return Err(SendTimeoutError::Closed(value)),
                Err(TrySendError::Full(full)) => value = full,
            }
        }
        self.send_slow_until(value, deadline)
    }

    #[cold]
    fn send_slow_until(
        &self,
        mut value: T,
        deadline: Option<Instant>,
    ) -> Result<(), SendTimeoutError<T>> {
        if is_past(deadline) {
            return self.try_send(value).map_err(|error| match error {
                TrySendError::Full(value) => SendTimeoutError::Timeout(value),
                TrySendError::Closed(value) => SendTimeoutError::Closed(value),
            });
        }
        if self.spins_outside() {
            let mut spin = HandoffSpin::new(self.ends());
            while spin.turn() {
                if self.has_much_room() {
                    match self.try_send(value) {
                        Ok(()) => return Ok(()),
                        Err(TrySendError::Full(full)) => value = full,
                        Err(TrySendError::Closed(value)) => {
                            return Err(SendTimeoutError::Closed(value));
                        }
                    }
                }
            }
        }
        let OnStack(waiter) = &OnStack(Waiter::new(Some(value)));
        waiter.prepare(!self.spins_outside());
        // SAFETY: the waiter stays here until its node is taken out.
        let joined = self.locked(|state| unsafe { Self::send_or_join(state, waiter) });
        match joined {
            Ok(call) => self.call(call),
            Err(call) => {
                if let Err(payload) = caught(|| self.call(call)) {
                    // The node must not stay behind.
                    self.leave(waiter.node(), senders);
                    resume_unwind(payload);
                }
                self.spin_in(waiter.node(), senders);
                if !waiter.node().sleep(deadline) && self.leave(waiter.node(), senders) {
                    return match waiter.take() {
                        Some(value) => Err(SendTimeoutError::Timeout(value)),
                        None => Ok(()),
                    };
                }
            }
        }
        Self::sent(waiter).map_err(SendTimeoutError::from)
    }

    /// Looks at the signal for a while, unless the thread has spun outside, then says
    /// that the thread sleeps.
    fn spin_in(&self, node: &Node<Request>, list: fn(&mut State<T>) -> &mut List<Request>) {
        if self.spins_outside() {
            return;
        }
        let mut spin = HandoffSpin::new(self.ends());
        while spin.turn() {
            if node.is_signalled() {
                return;
            }
        }
        if active(Mutant::SleepsSilently) {
            return;
        }
        self.locked(|state| {
            if list(state).holds(node) {
                node.request.spins.set(false);
            }
        });
    }
}
