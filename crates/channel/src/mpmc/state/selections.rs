//! The steps of selections: to be given a right, and to use it or give it back.

use std::ptr;

use blitz_io_core::{List, Node, Wake};

use super::super::request::{Outcome, Queue, Request, Role, Selection, selection_of};
use super::super::woken::Woken;
use super::{Found, State, nodes};

impl<T> State<T> {
    /// Chooses to receive, if that is possible now.
    pub(in crate::mpmc) fn select_recv(&mut self, woken: &mut Woken) -> Option<Outcome> {
        if self.is_available() {
            self.rights.reserve();
            return Some(Outcome::Reserved);
        }
        if self.capacity == 0 {
            if let Some(wake) = self.let_in(Outcome::Paired) {
                self.rights.reserve();
                woken.add(wake);
                return Some(Outcome::Reserved);
            }
        }
        self.is_closed().then_some(Outcome::Closed)
    }

    /// Chooses to send, if that is possible now.
    pub(in crate::mpmc) fn select_send(&mut self, woken: &mut Woken) -> Option<Outcome> {
        if self.is_closed() {
            return Some(Outcome::Closed);
        }
        if self.capacity == 0 {
            return match self.find_receiver()? {
                Found::Plain(_) => {
                    self.rights.promise();
                    Some(Outcome::Slot)
                }
                Found::Case(wake) => {
                    self.rights.reserve();
                    self.rights.pair();
                    woken.add(wake);
                    Some(Outcome::Paired)
                }
            };
        }
        self.has_room().then(|| {
            self.rights.promise();
            Outcome::Slot
        })
    }

    /// Uses the right to receive. `None` if the value is not there yet.
    pub(in crate::mpmc) fn finish_recv(&mut self, woken: &mut Woken) -> Option<Option<T>> {
        let value = match self.take() {
            Some((_, value)) => Some(value),
            // A promised value was withdrawn; cancel this reservation.
            None if self.rights.one_was_withdrawn() => None,
            None => {
                self.is_awaited = true;
                return None;
            }
        };
        self.rights.give_back(Outcome::Reserved);
        self.serve_waiters(woken);
        Some(value)
    }

    /// Uses the right to send. An error if the channel was closed in between,
    /// unless a receiver relies on it.
    pub(in crate::mpmc) fn finish_send(
        &mut self,
        outcome: Outcome,
        value: T,
        woken: &mut Woken,
    ) -> Result<(), T> {
        if outcome == Outcome::Paired {
            self.rights.give_back(Outcome::Paired);
            self.buffer.push_back(value);
        } else {
            self.rights.give_back(Outcome::Slot);
            if self.is_closed() {
                return Err(value);
            }
            // A value that came back goes first: `serve_waiters` takes the oldest.
            if self.is_available() {
                self.buffer.push_back(value);
            } else {
                match self.deliver(value, None) {
                    Ok(wake) => woken.add(wake),
                    Err(value) => self.buffer.push_back(value),
                }
            }
        }
        self.serve_waiters(woken);
        Ok(())
    }

    /// Gives a right back that was not used.
    pub(in crate::mpmc) fn abandon(&mut self, outcome: Outcome, woken: &mut Woken) {
        if self.rights.give_back(outcome) {
            self.serve_waiters(woken);
        }
    }

    /// Returns `true` if an operation that would wait in this list is possible. Cases of `but` do
    /// not count. For an observer, a stream that would come for its value counts as well.
    pub(in crate::mpmc) fn is_possible(
        &self,
        queue: Queue,
        role: Role,
        but: *const Selection,
    ) -> bool {
        match queue {
            Queue::Senders if role == Role::Observer && self.may_reach_stream() => true,
            Queue::Senders => self.may_send(but),
            _ => self.may_recv(but),
        }
    }

    /// Returns `true` if one more could receive. Cases of `but` do not count as senders.
    pub(in crate::mpmc) fn may_recv(&self, but: *const Selection) -> bool {
        self.is_available()
            || self.is_closed()
            || self.capacity == 0 && self.senders.iter().any(|node| Self::counts(node, but))
    }

    /// Returns `true` if one more could send. Cases of `but` do not count as receivers.
    fn may_send(&self, but: *const Selection) -> bool {
        if self.is_closed() || self.capacity != 0 {
            return self.is_closed() || self.has_room();
        }
        let (mut plain, mut cases) = (0, 0);
        for node in self.receivers.iter().filter(|node| Self::counts(node, but)) {
            match node.request.role {
                Role::Plain => plain += 1,
                _ => cases += 1,
            }
        }
        plain > self.rights.promised() || cases > 0
    }

    fn counts(node: &Node<Request>, but: *const Selection) -> bool {
        match node.request.role {
            Role::Plain => true,
            // SAFETY: it is a selection's, and linked.
            Role::Case => !node.request.is_of(but) && unsafe { selection_of(node) }.is_open(),
            Role::Observer => false,
        }
    }

    /// Tells the observers in a list that there is a waiter on the other side.
    pub(in crate::mpmc) fn tell_observers(list: &mut List<Request>, but: *const Selection) {
        for node in nodes(list) {
            // SAFETY: it is linked, and this thread holds the lock.
            let request = unsafe { &(*node).request };
            if request.role == Role::Observer && !request.is_of(but) {
                // SAFETY: it is a selection's, and linked.
                unsafe { Self::choose_case(list, node, Outcome::Ready) };
            }
        }
    }

    /// Restores the invariants between two steps, after a step with more than one effect. To be
    /// called again if it has chosen enough for one round. Even then, no receiver waits beside a
    /// value.
    pub(in crate::mpmc) fn serve_waiters(&mut self, woken: &mut Woken) {
        while let Some(wake) = self.serve_one(woken.is_enough()) {
            woken.add(wake);
        }
    }

    fn serve_one(&mut self, is_enough: bool) -> Option<Wake> {
        let fed = self.feed();
        if fed.is_some() || is_enough {
            return fed;
        }
        self.admit()
            .or_else(|| self.pair())
            .or_else(|| self.release_overdue())
    }

    /// Gives a value from the buffer to a receiver that waits.
    fn feed(&mut self) -> Option<Wake> {
        if !self.is_available() {
            return None;
        }
        match self.find_receiver()? {
            Found::Plain(node) => {
                let (ticket, value) = self.take()?;
                let ticket = ticket.unwrap_or_else(|| self.next_ticket());
                // SAFETY: it is linked.
                Some(unsafe { self.hand_over(node, value, ticket) })
            }
            Found::Case(wake) => {
                self.rights.reserve();
                Some(wake)
            }
        }
    }

    /// Lets a waiting sender serve a receiver that waits, in a channel without a buffer. A value
    /// goes through the buffer, from where `feed` takes it in the next round.
    fn pair(&mut self) -> Option<Wake> {
        if self.has_buffer() || self.all_are_promised() {
            return None;
        }
        self.let_in(Outcome::Slot)
    }

    /// Removes a receiver that has timed out. Returns `false` if it has been chosen already, or has
    /// to stay because a value is promised to it, by a selection that is about to send it.
    pub(in crate::mpmc) fn leave_receivers(&mut self, node: &Node<Request>) -> bool {
        if self.all_are_promised() && self.receivers.holds(node) {
            node.request.overdue.set(true);
            self.has_overdue = true;
            return false;
        }
        self.receivers.remove(node)
    }

    /// Returns `true` if each receiver that waits for itself is promised a value.
    fn all_are_promised(&self) -> bool {
        let plain = |node: &&Node<Request>| node.request.role == Role::Plain;
        self.capacity == 0 && self.receivers.iter().filter(plain).count() <= self.rights.promised()
    }

    /// Chooses, without a value, a receiver that is overdue, if there is one to which no
    /// value is promised any more. To be called when there are fewer promises than before,
    /// or more receivers.
    pub(super) fn release_overdue(&mut self) -> Option<Wake> {
        if !self.has_overdue {
            return None;
        }
        let is_overdue = |node: &&Node<Request>| node.request.overdue.get();
        let first = self.receivers.iter().find(is_overdue);
        let first = first.map(ptr::from_ref);
        self.has_overdue = first.is_some();
        let node = first.filter(|_| !self.all_are_promised())?;
        // SAFETY: it is linked.
        Some(unsafe { self.receivers.choose(node) })
    }
}
