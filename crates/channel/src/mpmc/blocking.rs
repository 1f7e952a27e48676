//! Threads that send and receive: how they wait.
//!
//! A thread spins before it sleeps. With a buffer of some size it looks at the number of values
//! while it spins and is in no list. So the other side can do many steps before this one
//! interferes. A sender retries once a quarter of the buffer is free, or it has spun long enough.
//! Without a buffer, or with a small one, the other side has to find it: it is in the list and
//! looks at its signal. A thread that chooses it then makes no system call: a node knows whether
//! its thread sleeps.

use std::time::Instant;

use blitz_io_core::deadline::is_past;
use blitz_io_core::{Node, Panics, Spin};
use blitz_io_observe::{Blocking, Caller, Kind};

use super::chan::Channel;
use super::error::{TryRecvError, TrySendError};
use super::request::{Queue, Request};
use super::waiter::{Waiter, woken};

/// A thread's waiter, on its stack. Other threads write here to serve it, so it shares no cache
/// line with variables that the thread writes while it waits.
#[repr(align(128))]
struct OnStack<T>(Waiter<T>);

impl<T> Channel<T> {
    /// Receives; waits until `deadline` if need be, and then returns `Empty`.
    #[inline]
    #[track_caller]
    pub(super) fn recv_until(&self, deadline: Option<Instant>) -> Result<T, TryRecvError> {
        if self.looks_receivable() {
            match self.receive() {
                Err(TryRecvError::Empty) => {}
                received => return received,
            }
        }
        self.recv_slow_until(deadline, Caller::here())
    }

    #[cold]
    fn recv_slow_until(
        &self,
        deadline: Option<Instant>,
        caller: Caller,
    ) -> Result<T, TryRecvError> {
        if is_past(deadline) {
            // Looks again, also at selections.
            return self.try_recv();
        }
        if self.spins_outside() {
            let mut spin = Spin::handoff(self.ends());
            while spin.turn() {
                if self.looks_receivable() {
                    match self.receive() {
                        Err(TryRecvError::Empty) => {}
                        received => return received,
                    }
                }
            }
        }
        let OnStack(waiter) = &OnStack(Waiter::new(None));
        let node = waiter.prepare();
        // SAFETY: the waiter stays here until its node is taken out.
        match self.locked(|state| unsafe { state.recv_or_join(node, Queue::Receivers) }) {
            Ok(received) => return received.map(woken).ok_or(TryRecvError::Closed),
            Err(wake) => wake.wake(),
        }
        self.spin_in(node);
        let _waits = self.blocks(Kind::MpmcReceive, deadline, caller);
        if !node.sleep(deadline) {
            // If a receiver left although a value is promised to it, no receiver would get
            // the value. Such a one is overdue: it stays until the value comes, or is
            // chosen without one when the promise is broken.
            if self.locked(|state| state.leave_receivers(node)) {
                return Err(TryRecvError::Empty);
            }
            node.sleep(None);
            if node.request.overdue.get() {
                return waiter.take().map_or_else(|| self.try_recv(), Ok);
            }
        }
        waiter.take().ok_or(TryRecvError::Closed)
    }

    /// Sends; waits until `deadline` if need be, and then returns `Full`.
    #[inline]
    #[track_caller]
    pub(super) fn send_until(
        &self,
        mut value: T,
        deadline: Option<Instant>,
    ) -> Result<(), TrySendError<T>> {
        if self.looks_sendable() {
            match self.try_send(value) {
                Err(TrySendError::Full(full)) => value = full,
                sent => return sent,
            }
        }
        self.send_slow_until(value, deadline, Caller::here())
    }

    #[cold]
    fn send_slow_until(
        &self,
        mut value: T,
        deadline: Option<Instant>,
        caller: Caller,
    ) -> Result<(), TrySendError<T>> {
        if is_past(deadline) {
            return self.try_send(value);
        }
        if self.spins_outside() {
            let mut spin = Spin::handoff(self.ends());
            while spin.turn() {
                if self.has_much_room() {
                    match self.try_send(value) {
                        Err(TrySendError::Full(full)) => value = full,
                        sent => return sent,
                    }
                }
            }
        }
        let OnStack(waiter) = &OnStack(Waiter::new(Some(value)));
        let node = waiter.prepare();
        // SAFETY: the waiter stays here until its node is taken out.
        match self.locked(|state| unsafe { Self::send_or_join(state, waiter) }) {
            Ok(call) => self.call(call),
            Err(call) => {
                let mut panics = Panics::new();
                panics.put_off(|| self.call(call));
                if panics.any() {
                    // The node must not stay behind.
                    self.leave(node, Queue::Senders);
                    panics.go_on();
                }
                self.spin_in(node);
                let _waits = self.blocks(Kind::MpmcSend, deadline, caller);
                if !node.sleep(deadline) && self.leave(node, Queue::Senders) {
                    return waiter
                        .take()
                        .map_or(Ok(()), |value| Err(TrySendError::Full(value)));
                }
            }
        }
        Self::sent(waiter).map_err(TrySendError::from)
    }

    /// Records that this thread may sleep for the channel.
    pub(super) fn blocks(&self, kind: Kind, deadline: Option<Instant>, caller: Caller) -> Blocking {
        Blocking::new(kind, &self.object, caller, deadline.is_some())
    }

    /// Looks at the signal for a while, unless the thread has spun outside.
    fn spin_in(&self, node: &Node<Request>) {
        if self.spins_outside() {
            return;
        }
        let mut spin = Spin::handoff(self.ends());
        while spin.turn() && !node.is_signalled() {}
    }
}
