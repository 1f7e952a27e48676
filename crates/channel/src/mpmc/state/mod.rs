//! The state of a channel, and every step that changes it, under the channel's lock.
//!
//! There are values in the buffer, receivers that wait, and senders that wait,
//! each with a value in its hands. Between two steps
//!
//! * no receiver waits while there is a value for it,
//! * no sender waits while there is room, or, without a buffer, a receiver.
//!
//! A step that adds a value gives it to the first receiver that waits, and only
//! if there is none to the buffer. A step that takes one out of the buffer lets
//! the first sender in. So values leave in the order of their arrival, waiters are
//! served in theirs, and none overtakes another.
//!
//! A waiter is *chosen* by the step that serves it. When it is unlinked and signalled, its value
//! is in its slot, or out of it, and the waiter does not touch the channel again.
//!
//! # Streams
//!
//! A receiver that waits as a stream may never be polled again, so no value is assigned to it. It
//! waits in a list of its own. A sender wakes all streams if it adds a value that no other
//! receiver takes, or waits with one in a channel without a buffer. Streams that are polled come
//! for it. So while there is a value, each waiting stream has been woken, or is about to be.
//!
//! # A value that comes back
//!
//! A future that is dropped may have been given a value. That value goes to the next receiver, or
//! is `returned`: it is older than all in the buffer. Several such values go by the order in
//! which they had been handed out, so the values of each sender stay in order. If the channel was
//! closed in between, the waiting receivers have seen the end; the next receive gets the value.
//!
//! # Selections
//!
//! A thread that waits in several channels (`select/mod.rs`) is chosen before it names its value or
//! the place to receive it. So it gets a right, and uses it later:
//!
//! * *Reserved* values are set aside for selections that may receive (R1). Others leave as
//!   many in the buffer.
//! * *Promised* values will be sent (R2). They have a place in the buffer or, without a
//!   buffer, a receiver that waits for itself; others leave as many places, and as
//!   many receivers. Such a receiver does not leave after its deadline: it is *overdue*.
//!   It gets the value when the promise is kept. When the promise is broken (R5), the step
//!   that takes it back chooses the receiver without a value (`serve_waiters`).
//! * If both sides are selections, the value is reserved before it arrives (R1 and R3).
//!
//! `rights.rs` has the table of these counts, whose rows are R1 to R6.
//!
//! # The steps
//!
//! Each step does what its first column with a true condition says. An empty cell is no condition of
//! the step, and `·` does not occur. Receivers to which a value is promised do not count. Steps that
//! send look for receivers, and keep a value in the buffer. A channel without a buffer has no room,
//! and keeps only what is for a selection.
//!
//! | step | the first receiver waits for itself | the first receiver is a selection | there is room | else |
//! |---|---|---|---|---|
//! | [`send`](State::send), if not closed | gives it the value | keeps the value, R1 | keeps the value | full |
//! | [`select_send`](State::select_send) without a buffer, if not closed | R2 | R1 and R3 | · | no |
//! | `select_send` with a buffer, if not closed | | | R2 | no |
//! | [`finish_send`](State::finish_send) of a promise, R5, if not closed and no older value is available | gives it the value | keeps the value, R1 | keeps the value | keeps the value |
//!
//! `finish_send` of a promise (R5) gives the value back if the channel is closed, and keeps it behind an
//! older one, which it then gives to the receiver. `finish_send` of a pair (R6) keeps the value.
//!
//! | step | a value is available | the first sender waits for itself | the first sender is a selection | else, closed | else |
//! |---|---|---|---|---|---|
//! | [`recv`](State::recv) with a buffer | takes it, then `admit` | · | · | the end | empty |
//! | `recv` without a buffer | takes it | takes its value | empty | the end | empty |
//! | [`recv_or_join`](State::recv_or_join) | as `recv` | as `recv` | R2, and waits | the end | waits |
//! | [`select_recv`](State::select_recv) without a buffer | R1 | keeps its value, R1 | R1 and R3 | the end | no |
//! | `select_recv` with a buffer | R1 | · | · | the end | no |
//! | `admit`, if there is room | | keeps its value | R2 | nothing | nothing |

use std::collections::VecDeque;
use std::{iter, ptr};

use blitz_io_core::{List, Node, Wake, Wakes};

use super::error::{TryRecvError, TrySendError};
use super::request::{Outcome, Queue, Request, Role, selection_of};

mod rights;
mod selections;
mod streams;

use rights::Rights;

/// The capacity of a channel that has no limit.
pub(super) const UNLIMITED: usize = usize::MAX;
/// Maximum number of values for which room is allocated in advance.
const AT_FIRST: usize = 32;

/// The flag of a closed channel: no more values come.
const CLOSED: u16 = 1;
/// The flag of a channel with waiters, or with values or places that are set aside.
const BUSY: u16 = 2;

/// The state of a channel. The module documentation explains it. The fields that change with every
/// hand-over of a value come first. With the lock they take two cache lines. Moving one from
/// processor to processor costs as much as the rest of a step.
#[repr(C)]
pub(super) struct State<T> {
    /// `CLOSED` and `BUSY`: zero when a step need only look at the buffer.
    flags: u16,
    /// Number of values that have been handed to a waiting receiver.
    tickets: u64,
    pub(super) buffer: VecDeque<T>,
    receivers: List<Request>,
    senders: List<Request>,
    /// Streams: a value wakes them, and they come for it.
    streams: List<Request>,
    /// Waiters for the end.
    close_waiters: List<Request>,
    /// Values that came back, the oldest last, with their tickets.
    returned: Vec<(u64, T)>,
    pub(super) capacity: usize,
    /// The rights of selections. If there are more rights to receive than values here and to
    /// come, a thread that was to send one panicked.
    rights: Rights,
    /// A thread waits for a reserved value to come.
    pub(super) is_awaited: bool,
    /// `true` if a receiver may be waiting, after its deadline, for a promised value.
    has_overdue: bool,
}

/// A waiter that can be served.
enum Found {
    /// It waits for itself, and is still linked.
    Plain(*const Node<Request>),
    /// It was a selection's: it has been chosen, and is to be woken.
    Case(Wake),
}

/// Returns the nodes of a list whose lock is held. The caller may unlink each before it takes the next.
fn nodes(list: &List<Request>) -> impl Iterator<Item = *const Node<Request>> + use<> {
    let first = list.first().map(ptr::from_ref);
    iter::successors(first, |&node| {
        // SAFETY: it is linked: its successor is looked up before it is returned.
        let next = unsafe { (*node).next() };
        (!next.is_null()).then_some(next)
    })
}

impl<T> State<T> {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            flags: if capacity == 0 { BUSY } else { 0 },
            tickets: 0,
            buffer: VecDeque::with_capacity(match capacity {
                UNLIMITED => 0,
                _ => capacity.min(AT_FIRST),
            }),
            receivers: List::new(),
            senders: List::new(),
            streams: List::new(),
            close_waiters: List::new(),
            returned: Vec::new(),
            capacity,
            rights: Rights::NONE,
            is_awaited: false,
            has_overdue: false,
        }
    }

    /// Returns the number of values.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.buffer.len() + self.returned.len()
    }

    pub(super) fn has_buffer(&self) -> bool {
        self.capacity != 0
    }

    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        self.flags & CLOSED != 0
    }

    pub(super) fn list(&mut self, queue: Queue) -> &mut List<Request> {
        match queue {
            Queue::Receivers => &mut self.receivers,
            Queue::Senders => &mut self.senders,
            #[cfg(feature = "stream")]
            Queue::Streams => &mut self.streams,
            Queue::CloseWaiters => &mut self.close_waiters,
        }
    }

    /// Updates the flags. Called after each step that is not one of the fast ones.
    pub(super) fn update(&mut self) {
        let rare = self.rights.set_aside() || !self.returned.is_empty();
        let idle = self.receivers.is_empty() && self.senders.is_empty() && self.streams.is_empty();
        let busy = self.capacity == 0 || rare || !idle;
        self.flags = self.flags & CLOSED | if busy { BUSY } else { 0 };
    }

    /// Puts a value into the buffer, if that is all there is to do.
    #[inline]
    pub(super) fn send_fast(&mut self, value: T) -> Result<(), T> {
        if self.flags != 0 || self.buffer.len() >= self.capacity {
            return Err(value);
        }
        self.buffer.push_back(value);
        Ok(())
    }

    /// Takes a value out of the buffer, if that is all there is to do.
    #[inline]
    pub(super) fn recv_fast(&mut self) -> Option<T> {
        if self.flags & BUSY != 0 {
            return None;
        }
        self.buffer.pop_front()
    }

    /// Gives a value to a waiting receiver, or to the buffer.
    pub(super) fn send(&mut self, value: T) -> Result<Wake, TrySendError<T>> {
        if self.is_closed() {
            return Err(TrySendError::Closed(value));
        }
        let value = match self.deliver(value, None) {
            Ok(wake) => return Ok(wake),
            Err(value) => value,
        };
        if !self.has_room() {
            return Err(TrySendError::Full(value));
        }
        self.buffer.push_back(value);
        Ok(Wake::Nobody)
    }

    /// Takes the oldest value, and lets a sender in.
    pub(super) fn recv(&mut self) -> Result<(T, Wake), TryRecvError> {
        if self.is_available() {
            if let Some((_, value)) = self.take() {
                return Ok((value, self.admit().unwrap_or(Wake::Nobody)));
            }
        }
        if self.capacity == 0 {
            if let Some(Found::Plain(node)) = self.find_sender(None) {
                // SAFETY: it is linked.
                return Ok(unsafe { self.take_over(node) });
            }
        }
        Err(if self.is_closed() {
            TryRecvError::Closed
        } else {
            TryRecvError::Empty
        })
    }

    /// Takes the oldest value, or `None` at the end of the channel. If there is neither, lets the
    /// receiver wait, in this list. The error then is the wake to perform: in a channel without a
    /// buffer, of a selection that can send now.
    ///
    /// # Safety
    ///
    /// As for [`List::push`].
    pub(super) unsafe fn recv_or_join(
        &mut self,
        node: &Node<Request>,
        queue: Queue,
    ) -> Result<Option<(T, Wake)>, Wake> {
        match self.recv() {
            Ok(received) => return Ok(Some(received)),
            Err(TryRecvError::Closed) => return Ok(None),
            Err(TryRecvError::Empty) => {}
        }
        let mut wake = Wake::Nobody;
        if self.capacity == 0 {
            match self.find_sender(Some(Outcome::Slot)) {
                // SAFETY: it is linked.
                Some(Found::Plain(node)) => return Ok(Some(unsafe { self.take_over(node) })),
                Some(Found::Case(woken)) => {
                    self.rights.promise();
                    wake = woken;
                }
                None => {}
            }
        }
        // SAFETY: the contract of `List::push` is this function's contract.
        unsafe { self.list(queue).push(node) };
        Err(match wake {
            Wake::Nobody => self.release_overdue().unwrap_or(Wake::Nobody),
            wake => wake,
        })
    }

    /// Sends the value in this slot; if that is not possible, lets the sender wait. `Err` if it
    /// waits, else the wake to perform. A value that is still in the slot was not sent, because
    /// the channel is closed.
    ///
    /// # Safety
    ///
    /// As for [`List::push`], and the slot belongs to the node.
    pub(super) unsafe fn send_or_join(
        &mut self,
        node: &Node<Request>,
        slot: &mut Option<T>,
    ) -> Result<Wake, ()> {
        let Some(value) = slot.take() else {
            return Ok(Wake::Nobody);
        };
        match self.send(value) {
            Ok(wake) => return Ok(wake),
            Err(TrySendError::Closed(value)) => {
                *slot = Some(value);
                return Ok(Wake::Nobody);
            }
            Err(TrySendError::Full(value)) => *slot = Some(value),
        }
        // SAFETY: the contract of `List::push` is this function's contract.
        unsafe { self.senders.push(node) };
        Err(())
    }

    /// Takes a value back that had been handed out.
    pub(super) fn put_back(&mut self, value: T, ticket: u64) -> Wake {
        match self.deliver(value, Some(ticket)) {
            Ok(wake) => wake,
            Err(value) => {
                self.store(value, Some(ticket));
                Wake::Nobody
            }
        }
    }

    /// Keeps a value. A value that came back has a ticket.
    fn store(&mut self, value: T, ticket: Option<u64>) {
        let Some(ticket) = ticket else {
            return self.buffer.push_back(value);
        };
        let place = self.returned.partition_point(|(other, _)| *other > ticket);
        self.returned.insert(place, (ticket, value));
    }

    /// Puts a value into the buffer, room or not. Returns the value that it has replaced.
    pub(super) fn force(&mut self, value: T) -> Option<T> {
        let is_full = !self.has_room() && self.is_available();
        let oldest = is_full.then(|| self.take()).flatten();
        self.buffer.push_back(value);
        oldest.map(|(_, value)| value)
    }

    /// Ends the channel. Chooses waiters, as many as can be woken at once.
    pub(super) fn close(&mut self, wakes: &mut Wakes) {
        self.flags |= CLOSED;
        Self::dismiss(&mut self.receivers, wakes);
        Self::dismiss(&mut self.senders, wakes);
        Self::dismiss(&mut self.streams, wakes);
        Self::dismiss(&mut self.close_waiters, wakes);
    }

    fn dismiss(list: &mut List<Request>, wakes: &mut Wakes) {
        for node in nodes(list) {
            if wakes.is_full() {
                return;
            }
            // SAFETY: it is linked.
            let wake = match unsafe { (*node).request.role } {
                // SAFETY: it is linked in this list.
                Role::Plain => Some(unsafe { list.choose(node) }),
                // SAFETY: it is linked in this list, and a selection's.
                _ => unsafe { Self::choose_case(list, node, Outcome::Closed) },
            };
            if let Some(wake) = wake {
                wakes.push(wake);
            }
        }
    }

    /// Returns all values, to be dropped without the lock.
    pub(super) fn take_all(&mut self) -> (Vec<(u64, T)>, VecDeque<T>) {
        (
            std::mem::take(&mut self.returned),
            std::mem::take(&mut self.buffer),
        )
    }

    /// Returns `true` if there is a value that is not set aside.
    #[inline]
    fn is_available(&self) -> bool {
        self.rights.leave_one_of(self.len())
    }

    /// Returns `true` if there is room that is not promised.
    #[inline]
    fn has_room(&self) -> bool {
        self.rights.leave_room(self.len(), self.capacity)
    }

    /// Takes the oldest value. A value that came back keeps its ticket.
    #[inline]
    fn take(&mut self) -> Option<(Option<u64>, T)> {
        match self.returned.pop() {
            Some((ticket, value)) => Some((Some(ticket), value)),
            None => self.buffer.pop_front().map(|value| (None, value)),
        }
    }

    /// Gives a value to the first receiver that waits for one.
    fn deliver(&mut self, value: T, ticket: Option<u64>) -> Result<Wake, T> {
        match self.find_receiver() {
            Some(Found::Plain(node)) => {
                let ticket = ticket.unwrap_or_else(|| self.next_ticket());
                // SAFETY: it is linked.
                Ok(unsafe { self.hand_over(node, value, ticket) })
            }
            Some(Found::Case(wake)) => {
                self.store(value, ticket);
                self.rights.reserve();
                Ok(wake)
            }
            None => Err(value),
        }
    }

    fn next_ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }

    /// Lets the first sender in that waits, if there is room.
    fn admit(&mut self) -> Option<Wake> {
        if !self.has_room() {
            return None;
        }
        self.let_in(Outcome::Slot)
    }

    /// Puts the value of the first sender that waits into the buffer, or gives a selection
    /// the right to send one.
    fn let_in(&mut self, right: Outcome) -> Option<Wake> {
        Some(match self.find_sender(Some(right))? {
            Found::Plain(node) => {
                // SAFETY: it is linked.
                let (value, wake) = unsafe { self.take_over(node) };
                self.buffer.push_back(value);
                wake
            }
            Found::Case(wake) => {
                match right {
                    Outcome::Paired => self.rights.pair(),
                    _ => self.rights.promise(),
                }
                wake
            }
        })
    }

    /// Returns the first receiver that waits and is not promised a value.
    fn find_receiver(&mut self) -> Option<Found> {
        let mut promised = match self.capacity {
            0 => self.rights.promised(),
            _ => 0,
        };
        for node in nodes(&self.receivers) {
            // SAFETY: it is linked, and this thread holds the lock.
            if unsafe { (*node).request.role } != Role::Plain {
                let list = &mut self.receivers;
                // SAFETY: it is a selection's, and linked.
                let chosen = unsafe { Self::choose_case(list, node, Outcome::Reserved) };
                if let Some(wake) = chosen {
                    return Some(Found::Case(wake));
                }
            } else if promised == 0 {
                return Some(Found::Plain(node));
            } else {
                promised -= 1;
            }
        }
        None
    }

    /// Returns the first sender that waits. A selection gets `outcome`; without an outcome, a selection
    /// stands in the way of those behind it.
    fn find_sender(&mut self, outcome: Option<Outcome>) -> Option<Found> {
        for node in nodes(&self.senders) {
            // SAFETY: it is linked, and this thread holds the lock.
            let role = unsafe { (*node).request.role };
            if role == Role::Plain {
                return Some(Found::Plain(node));
            }
            // SAFETY: it is a selection's, and linked.
            if outcome.is_none() && role == Role::Case && unsafe { selection_of(node) }.is_open() {
                return None;
            }
            let outcome = outcome.unwrap_or(Outcome::Ready);
            // SAFETY: it is a selection's, and linked.
            let chosen = unsafe { Self::choose_case(&mut self.senders, node, outcome) };
            if let Some(wake) = chosen {
                return Some(Found::Case(wake));
            }
        }
        None
    }

    /// Takes a selection's node out. `None` if it has another case, or only observes. An observer
    /// is woken at once, by a system call and not by the user's code.
    ///
    /// # Safety
    ///
    /// The node is a selection's, and linked in this list.
    unsafe fn choose_case(
        list: &mut List<Request>,
        node: *const Node<Request>,
        outcome: Outcome,
    ) -> Option<Wake> {
        // SAFETY: by this function's contract, the node is linked, and it is until `remove`
        // below.
        let node = unsafe { &*node };
        let observes = node.request.role == Role::Observer;
        let outcome = if observes { Outcome::Ready } else { outcome };
        // SAFETY: by this function's contract, the node is a selection's, and linked.
        let chosen = unsafe { selection_of(node) }.claim(node.request.case, outcome);
        list.remove(node);
        if !observes {
            return chosen;
        }
        if let Some(wake) = chosen {
            wake.wake();
        }
        None
    }

    /// Puts a value into a receiver's slot, and chooses it.
    ///
    /// # Safety
    ///
    /// The node is linked among the receivers, and waits for itself.
    unsafe fn hand_over(&mut self, node: *const Node<Request>, value: T, ticket: u64) -> Wake {
        // SAFETY: it is alive while it is linked.
        let request = unsafe { &(*node).request };
        // SAFETY: the slot of a waiting receiver is an empty `Option<T>`, and is
        // ours while the node is linked.
        unsafe { request.slot::<T>().write(Some(value)) };
        request.ticket.set(ticket);
        // SAFETY: it is linked.
        unsafe { self.receivers.choose(node) }
    }

    /// Takes the value out of a sender's slot, and chooses it.
    ///
    /// # Safety
    ///
    /// The node is linked among the senders, and waits for itself.
    unsafe fn take_over(&mut self, node: *const Node<Request>) -> (T, Wake) {
        // SAFETY: it is alive while it is linked.
        let request = unsafe { &(*node).request };
        // SAFETY: the slot of a waiting sender is an `Option<T>` with a value in
        // it, and belongs to the holder of the lock while the node is linked.
        let value = unsafe { (*request.slot::<T>()).take().unwrap_unchecked() };
        // SAFETY: it is linked.
        (value, unsafe { self.senders.choose(node) })
    }
}

#[cfg(test)]
mod tests {
    use super::{State, UNLIMITED, Wake};

    #[test]
    fn little_room_is_made_in_advance() {
        assert_eq!(State::<u64>::new(UNLIMITED).buffer.capacity(), 0);
        assert!(State::<u64>::new(1_000_000).buffer.capacity() < 100);
    }

    #[test]
    fn what_comes_back_keeps_its_order() {
        let mut state = State::new(UNLIMITED);
        state.store(4, None);
        for value in [2, 1, 3] {
            assert!(matches!(state.put_back(value, value), Wake::Nobody));
        }
        let order: Vec<_> = std::iter::from_fn(|| state.take())
            .map(|(_, n)| n)
            .collect();
        assert_eq!(order, [1, 2, 3, 4]);
    }
}
