//! The steps of selections: to be given a right, and to use it or give it back.

use blitz_sync::internals::{List, Node, Wake};

use super::super::mutant::{Mutant, active};
use super::super::request::{Outcome, Request, Role, Selection, selection_of};
use super::super::woken::Woken;
use super::{Recipient, State, Supplier, first_of};

impl<T> State<T> {
    /// Chooses to receive, if that is possible now.
    pub(in crate::mpmc) fn select_recv(&mut self, woken: &mut Woken) -> Option<Outcome> {
        if self.is_available() {
            self.reserved += 1;
            return Some(Outcome::Reserved);
        }
        if self.capacity == 0 {
            let wake = match self.find_sender(Some(Outcome::Paired)) {
                Some(Supplier::Plain(node)) => {
                    // SAFETY: it is linked.
                    let (value, wake) = unsafe { self.take_over(node) };
                    self.buffer.push_back(value);
                    Some(wake)
                }
                Some(Supplier::Case(wake)) => {
                    self.paired += 1;
                    Some(wake)
                }
                None => None,
            };
            if let Some(wake) = wake {
                self.reserved += 1;
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
                Recipient::Plain(_) => {
                    self.promised += 1;
                    Some(Outcome::Slot)
                }
                Recipient::Case(wake) => {
                    self.reserved += 1;
                    self.paired += 1;
                    woken.add(wake);
                    Some(Outcome::Paired)
                }
            };
        }
        self.has_room().then(|| {
            self.promised += 1;
            Outcome::Slot
        })
    }

    /// Uses the right to receive. `None` if the value is not there yet.
    pub(in crate::mpmc) fn finish_recv(&mut self, woken: &mut Woken) -> Option<Option<T>> {
        let value = match self.take() {
            Some((_, value)) => Some(value),
            // Somebody's value will not come: let it be this one's.
            None if self.paired < self.reserved => None,
            None => {
                self.is_awaited = true;
                return None;
            }
        };
        self.reserved -= 1;
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
            self.paired -= 1;
            self.buffer.push_back(value);
        } else {
            self.promised -= 1;
            if self.is_closed() {
                return Err(value);
            }
            // One that came back goes first: `serve_waiters` takes the oldest.
            match self.is_available() {
                true => self.buffer.push_back(value),
                false => match self.deliver(value) {
                    Ok(wake) => woken.add(wake),
                    Err(value) => self.buffer.push_back(value),
                },
            }
        }
        self.serve_waiters(woken);
        Ok(())
    }

    /// Gives a right back that was not used.
    pub(in crate::mpmc) fn abandon(&mut self, outcome: Outcome, woken: &mut Woken) {
        match outcome {
            Outcome::Slot => self.promised -= 1,
            Outcome::Paired => self.paired -= 1,
            Outcome::Reserved => self.reserved -= 1,
            Outcome::Closed | Outcome::Ready => return,
        }
        self.serve_waiters(woken);
    }

    /// Whether one more could receive. Cases of `but` do not count as senders.
    pub(in crate::mpmc) fn may_recv(&self, but: *const Selection) -> bool {
        self.is_available()
            || self.is_closed()
            || self.capacity == 0 && self.senders.iter().any(|node| Self::counts(node, but))
    }

    /// Whether one more could send. Cases of `but` do not count as receivers.
    pub(in crate::mpmc) fn may_send(&self, but: *const Selection) -> bool {
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
        plain > self.promised || cases > 0
    }

    fn counts(node: &Node<Request>, but: *const Selection) -> bool {
        match node.request.role {
            Role::Plain => true,
            // SAFETY: it is a selection's, and linked.
            Role::Case => !node.request.is_of(but) && unsafe { selection_of(node) }.is_open(),
            Role::Observer => false,
        }
    }

    /// Tells those who observe a list that somebody waits on the other side.
    pub(in crate::mpmc) fn tell_observers(list: &mut List<Request>, but: *const Selection) {
        let mut next = first_of(list);
        while !next.is_null() {
            // SAFETY: it is linked, and we hold the lock.
            let node = unsafe { &*next };
            // SAFETY: as above.
            next = unsafe { node.next() };
            if node.request.role == Role::Observer && !node.request.is_of(but) {
                // SAFETY: it is a selection's, and linked.
                unsafe { Self::choose_case(list, node, Outcome::Ready) };
            }
        }
    }

    /// Restores what holds between two steps, after one with more than one effect.
    /// To be called again if it has chosen enough for one time. Even then, no
    /// receiver is left waiting for a value that is there.
    pub(in crate::mpmc) fn serve_waiters(&mut self, woken: &mut Woken) {
        let mut wake = None;
        while self.feed(&mut wake)
            || !woken.is_enough()
                && (self.admit(&mut wake)
                    || self.pair(&mut wake)
                    || self.release_overdue(&mut wake))
        {
            woken.add(wake.take());
        }
    }

    /// Gives a value from the buffer to a receiver that waits.
    fn feed(&mut self, wake: &mut Option<Wake>) -> bool {
        if !self.is_available() {
            return false;
        }
        match self.find_receiver() {
            Some(Recipient::Plain(node)) => {
                if let Some((ticket, value)) = self.take() {
                    let ticket = ticket.unwrap_or_else(|| self.next_ticket());
                    // SAFETY: it is linked.
                    *wake = unsafe { self.hand_over(node, value, ticket) };
                }
            }
            Some(Recipient::Case(woken)) => {
                self.reserved += 1;
                *wake = woken;
            }
            None => return false,
        }
        true
    }

    /// Without a buffer: lets a waiting sender serve a receiver that waits.
    fn pair(&mut self, wake: &mut Option<Wake>) -> bool {
        let plain = |node: &&Node<Request>| node.request.role == Role::Plain;
        if self.capacity != 0 || self.receivers.iter().filter(plain).count() <= self.promised {
            return false;
        }
        match self.find_sender(Some(Outcome::Slot)) {
            Some(Supplier::Plain(node)) => {
                // SAFETY: it is linked. The value goes through the buffer, from
                // where `feed` takes it in the next round.
                let (value, woken) = unsafe { self.take_over(node) };
                self.buffer.push_back(value);
                *wake = woken;
            }
            Some(Supplier::Case(woken)) => {
                self.promised += 1;
                *wake = woken;
            }
            None => return false,
        }
        true
    }

    /// Takes a receiver out whose time is up. `false` if it has been chosen already, or
    /// has to stay: a value is promised to it, by a selection that is about to send it.
    pub(in crate::mpmc) fn leave_receivers(&mut self, node: &Node<Request>) -> bool {
        if self.all_are_promised() && self.receivers.holds(node) {
            node.request.overdue.set(true);
            self.has_overdue = true;
            return false;
        }
        self.receivers.remove(node)
    }

    /// Whether each receiver that waits for itself is promised a value.
    fn all_are_promised(&self) -> bool {
        let plain = |node: &&Node<Request>| node.request.role == Role::Plain;
        self.capacity == 0 && self.receivers.iter().filter(plain).count() <= self.promised
    }

    /// Chooses, without a value, a receiver that is overdue, if there is one to which no
    /// value is promised any more. To be called when there are fewer promises than before,
    /// or more receivers.
    pub(super) fn release_overdue(&mut self, wake: &mut Option<Wake>) -> bool {
        if !self.has_overdue || active(Mutant::KeepsOverdue) {
            return false;
        }
        let is_overdue = |node: &&Node<Request>| node.request.overdue.get();
        let first = self.receivers.iter().find(is_overdue);
        let first = first.map(|node| -> *const Node<Request> { node });
        self.has_overdue = first.is_some();
        match first.filter(|_| !self.all_are_promised()) {
            // SAFETY: it is linked.
            Some(node) => *wake = Some(unsafe { self.receivers.choose(node) }),
            None => return false,
        }
        true
    }
}
