//! `Select`: one thread waits in several channels at once, and does one thing.
//!
//! # How it waits
//!
//! First it tries every case, in random order, so that of several that are possible
//! each is as likely as the others. If none is possible, it joins the list of each
//! channel with a node. All nodes point to one word, the [`Selection`]; a thread that
//! finds such a node in its channel, and could serve it, *claims* the word by a
//! compare-and-swap. That succeeds once: a second thread removes the node and tries the
//! next waiter, as if the node had not been there. So a selection gets exactly one case,
//! and no value is spent on another.
//!
//! An attempt that must not block, or has timed out, also joins all lists before it gives up.
//! Otherwise it could miss a value that moves from a channel that it has yet to look at to one
//! that it has looked at, though there was one at every moment. When the last node has been
//! linked and the word is still unclaimed, no case was possible at that moment. Each was
//! impossible when its node was linked, and a step that has made it possible since would have
//! claimed the word.
//!
//! The claim does not do the operation. It gives a right (see `state/mod.rs`), which
//! [`SelectedOperation`] carries: a value is set aside, or room is promised. It is
//! used by [`send`](SelectedOperation::send) or [`recv`](SelectedOperation::recv).
//!
//! # No wake-up is lost
//!
//! A case is looked at and linked in one critical section of its channel. A later step that makes
//! it possible finds the node there. If the case is possible already, the node is not linked: a
//! waiter must not wait beside a value, or the end of the channel would overtake it. The thread
//! then gives up waiting, by a compare-and-swap on the word, and tries again. If the
//! compare-and-swap fails, another thread has claimed the word in between, and the thread has its
//! case.
//!
//! Two selections that meet in a channel without a buffer: the second to link its
//! node sees the first one's, gives up waiting, and claims it when it tries again.
//!
//! The thread leaves only after it has taken the lock of each channel in which it has a node. So
//! no other thread uses a node or the word after that.
//!
//! *Readiness* works the same way, with nodes that only observe: a step wakes them, and passes
//! its value or room on to the next waiter.
//!
//! # Sources
//!
//! The names and the semantics are those of crossbeam-channel, the claim of one word
//! by the first is the idea of Go's and crossbeam's selection.

use std::cell::Cell;
use std::time::{Duration, Instant};
use std::{ptr, thread};

use blitz_io_core::deadline::after;
use blitz_io_core::{Node, Panics, Random, coop};
use blitz_io_observe::{self as observe, Caller, Kind, Wait, WaitKind};

use super::chan::Channel;
use super::error::{ReadyTimeoutError, SelectTimeoutError, TryReadyError, TrySelectError};
use super::receiver::Receiver;
use super::request::{Outcome, Queue, Request, Role, Selection};
use super::sender::Sender;
use super::state::State;
use blitz_io_core::debug_is_name;

mod operation;

pub use operation::SelectedOperation;

/// A channel with values of any type. The list in which an operation on it waits identifies the
/// operation.
trait AnyChannel {
    /// Chooses the operation, if it is possible now; an observer only looks.
    fn choose(&self, queue: Queue, role: Role) -> Option<Outcome>;
    /// Links a node. Returns `false`, without linking it, if the operation is possible already.
    ///
    /// # Safety
    ///
    /// The node must not be moved or dropped until it has left.
    unsafe fn join(&self, queue: Queue, node: &Node<Request>, selection: &Selection) -> bool;
    /// Unlinks the node, if it is linked.
    fn leave(&self, queue: Queue, node: &Node<Request>);
    /// Records that this thread waits for the operation.
    fn record(&self, queue: Queue, caller: Caller, is_timed: bool) -> Wait;
    /// Gives a right back that was not used.
    fn abandon(&self, outcome: Outcome);
}

impl<T> AnyChannel for Channel<T> {
    fn choose(&self, queue: Queue, role: Role) -> Option<Outcome> {
        match queue {
            _ if role == Role::Observer => self
                .locked(|state| state.is_possible(queue, role, ptr::null()))
                .then_some(Outcome::Ready),
            Queue::Senders => self.choose(State::select_send),
            _ => self.choose(State::select_recv),
        }
    }

    unsafe fn join(&self, queue: Queue, node: &Node<Request>, selection: &Selection) -> bool {
        let sends = queue == Queue::Senders;
        let (waits, tells_streams) = self.locked(|state| {
            let waits = !state.is_possible(queue, node.request.role, selection);
            if waits {
                // SAFETY: by this function's contract, the node is not linked and stays where it
                // is.
                unsafe { state.list(queue).push(node) };
                if !state.has_buffer() {
                    let other = if sends {
                        Queue::Receivers
                    } else {
                        Queue::Senders
                    };
                    State::<T>::tell_observers(state.list(other), selection);
                }
            }
            let tells_streams = sends && !state.has_buffer() && state.must_tell_streams();
            (waits, tells_streams)
        });
        if tells_streams {
            // The node is linked: a waker's panic must not be propagated from here.
            let mut panics = Panics::new();
            self.tell_streams(&mut panics);
            std::mem::forget(panics);
        }
        waits
    }

    fn leave(&self, queue: Queue, node: &Node<Request>) {
        // A selection's node is never signalled, so this takes the lock in any case.
        self.leave(node, queue);
    }

    fn record(&self, queue: Queue, caller: Caller, is_timed: bool) -> Wait {
        let kind = match queue {
            Queue::Senders => Kind::MpmcSend,
            _ => Kind::MpmcReceive,
        };
        let mut record = Wait::new(caller);
        record.begin_blocking(WaitKind::new(kind), &self.object, is_timed);
        record
    }

    fn abandon(&self, outcome: Outcome) {
        self.abandon(outcome);
    }
}

/// A choice among operations on several channels: the thread waits until one of
/// them is possible, and does that one.
///
/// An operation is *possible* also when it would fail, because the channel is
/// closed. If several are possible, one is chosen at random, unless the selection is
/// [biased](Select::new_biased). A selection can be used many times, and allocates
/// only when it grows.
///
/// It is for threads. A task uses the `select!` of its runtime on
/// [`Sender::send`] and [`Receiver::recv`].
///
/// ```
/// use blitz_io::sync::mpmc::{self, Select};
///
/// let (sender, receiver) = mpmc::unbounded();
/// let (_quit_sender, quit) = mpmc::bounded::<()>(0);
/// sender.try_send(7).unwrap();
///
/// let mut select = Select::new();
/// let work = select.recv(&receiver);
/// let end = select.recv(&quit);
/// let operation = select.select();
/// match operation.index() {
///     i if i == work => assert_eq!(operation.recv(&receiver), Ok(7)),
///     i if i == end => assert!(operation.recv(&quit).is_err()),
///     _ => unreachable!(),
/// }
/// ```
#[derive(Default)]
pub struct Select<'a> {
    cases: Vec<Case<'a>>,
    /// The index of the next case to be added.
    next: usize,
    is_biased: bool,
    /// The nodes, while it waits.
    nodes: Vec<Node<Request>>,
}

#[derive(Clone, Copy)]
struct Case<'a> {
    channel: &'a dyn AnyChannel,
    /// The list in which it waits: that of senders, or that of receivers.
    queue: Queue,
    index: usize,
}

impl Case<'_> {
    /// Returns `true` if it is an operation of this kind on this channel.
    fn is_of<T>(&self, channel: &Channel<T>, queue: Queue) -> bool {
        ptr::addr_eq(self.channel, channel) && self.queue == queue
    }
}

// SAFETY: a selection only counts rights of the ends, links nodes, and moves values between
// senders' slots and the buffer, under the channel's lock. It neither makes nor drops a value; a
// call of `send` or `recv` on the selected operation needs the end itself.
unsafe impl Send for Select<'_> {}
// SAFETY: for the same reason; everything but cloning takes an exclusive borrow.
unsafe impl Sync for Select<'_> {}

/// The message of a broken invariant of a wait without a limit.
const WITHOUT_END: &str = "a wait without a deadline does not time out";

/// The limit of a wait.
#[derive(Clone, Copy)]
enum Limit {
    /// Does not wait.
    Now,
    /// Waits until the deadline, if there is one. Holds the location of the wait.
    Until(Option<Instant>, Caller),
}

impl<'a> Select<'a> {
    /// Creates a selection among no operations yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates the same, but if several operations are possible, the first of them in the order
    /// of addition is chosen.
    #[must_use]
    pub fn new_biased() -> Self {
        Self {
            is_biased: true,
            ..Self::new()
        }
    }

    /// Adds the operation to send into this channel, and returns its index.
    pub fn send<T>(&mut self, sender: &'a Sender<T>) -> usize {
        self.add(&*sender.channel, Queue::Senders)
    }

    /// Adds the operation to receive from this channel, and returns its index.
    pub fn recv<T>(&mut self, receiver: &'a Receiver<T>) -> usize {
        self.add(&*receiver.channel, Queue::Receivers)
    }

    fn add(&mut self, channel: &'a dyn AnyChannel, queue: Queue) -> usize {
        let index = self.next;
        self.cases.push(Case {
            channel,
            queue,
            index,
        });
        self.next += 1;
        index
    }

    /// Removes the operation with this index. The others keep theirs.
    ///
    /// # Panics
    ///
    /// If there is none with this index.
    ///
    /// ```
    /// use blitz_io::sync::mpmc::{self, Select};
    ///
    /// let (_sender, first) = mpmc::unbounded::<i32>();
    /// let (_, second) = mpmc::unbounded::<i32>();
    /// let mut select = Select::new();
    /// let (one, two) = (select.recv(&first), select.recv(&second));
    /// let operation = select.select();
    /// assert_eq!(operation.index(), two);
    /// assert!(operation.recv(&second).is_err());
    /// select.remove(two);
    /// assert!(select.try_select().is_err());
    /// # _ = one;
    /// ```
    #[track_caller]
    pub fn remove(&mut self, index: usize) {
        let position = self.cases.iter().position(|case| case.index == index);
        let position = position.expect("no operation with this index");
        self.cases.remove(position);
    }

    /// Chooses an operation if one is possible now.
    ///
    /// # Errors
    ///
    /// If none is.
    pub fn try_select(&mut self) -> Result<SelectedOperation<'a>, TrySelectError> {
        self.run(Limit::Now).ok_or(TrySelectError)
    }

    /// Chooses an operation; waits until one is possible.
    ///
    /// # Panics
    ///
    /// If no operation has been added. In a task, if the runtime is that of this project: it must not
    /// be blocked.
    #[track_caller]
    pub fn select(&mut self) -> SelectedOperation<'a> {
        coop::assert_may_block();
        self.assert_not_empty();
        self.run(Limit::Until(None, Caller::here()))
            .expect(WITHOUT_END)
    }

    /// Chooses an operation; waits until one is possible, but no longer than
    /// `timeout`.
    ///
    /// # Errors
    ///
    /// If no operation becomes possible within `timeout`.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::mpmc::{self, Select};
    /// use std::time::Duration;
    ///
    /// let (_sender, receiver) = mpmc::unbounded::<()>();
    /// let mut select = Select::new();
    /// select.recv(&receiver);
    /// assert!(select.select_timeout(Duration::from_millis(1)).is_err());
    /// ```
    #[track_caller]
    pub fn select_timeout(
        &mut self,
        timeout: Duration,
    ) -> Result<SelectedOperation<'a>, SelectTimeoutError> {
        coop::assert_may_block();
        self.run(Limit::Until(after(timeout), Caller::here()))
            .ok_or(SelectTimeoutError)
    }

    /// Chooses an operation; waits until one is possible, but no longer than until
    /// `deadline`.
    ///
    /// # Errors
    ///
    /// If no operation becomes possible before `deadline`.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    #[track_caller]
    pub fn select_deadline(
        &mut self,
        deadline: Instant,
    ) -> Result<SelectedOperation<'a>, SelectTimeoutError> {
        coop::assert_may_block();
        self.run(Limit::Until(Some(deadline), Caller::here()))
            .ok_or(SelectTimeoutError)
    }

    /// Returns the index of an operation that is possible now. It is not done, and
    /// others may be quicker.
    ///
    /// # Errors
    ///
    /// If none is.
    pub fn try_ready(&mut self) -> Result<usize, TryReadyError> {
        self.run_ready(Limit::Now).ok_or(TryReadyError)
    }

    /// Returns the index of an operation that is possible; waits until one is. It is
    /// not done, and others may be quicker.
    ///
    /// # Panics
    ///
    /// If no operation has been added. In a task, if the runtime is that of this project: it must not
    /// be blocked.
    ///
    /// ```
    /// use blitz_io::sync::mpmc::{self, Select};
    ///
    /// let (sender, receiver) = mpmc::unbounded();
    /// sender.try_send(7).unwrap();
    /// let mut select = Select::new();
    /// let work = select.recv(&receiver);
    /// assert_eq!(select.ready(), work);
    /// assert_eq!(receiver.try_recv(), Ok(7));
    /// ```
    #[track_caller]
    pub fn ready(&mut self) -> usize {
        coop::assert_may_block();
        self.assert_not_empty();
        self.run_ready(Limit::Until(None, Caller::here()))
            .expect(WITHOUT_END)
    }

    /// Returns the index of an operation that is possible; waits until one is, but no
    /// longer than `timeout`.
    ///
    /// # Errors
    ///
    /// If no operation becomes ready within `timeout`.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    #[track_caller]
    pub fn ready_timeout(&mut self, timeout: Duration) -> Result<usize, ReadyTimeoutError> {
        coop::assert_may_block();
        self.run_ready(Limit::Until(after(timeout), Caller::here()))
            .ok_or(ReadyTimeoutError)
    }

    /// Returns the index of an operation that is possible; waits until one is, but no
    /// longer than until `deadline`.
    ///
    /// # Errors
    ///
    /// If no operation becomes ready before `deadline`.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    #[track_caller]
    pub fn ready_deadline(&mut self, deadline: Instant) -> Result<usize, ReadyTimeoutError> {
        coop::assert_may_block();
        self.run_ready(Limit::Until(Some(deadline), Caller::here()))
            .ok_or(ReadyTimeoutError)
    }

    #[track_caller]
    fn assert_not_empty(&self) {
        assert!(
            !self.cases.is_empty(),
            "no operations have been added to `Select`"
        );
    }

    /// Chooses an operation. Returns `None` after `limit`.
    fn run(&mut self, limit: Limit) -> Option<SelectedOperation<'a>> {
        let (case, outcome) = self.choose(Role::Case, limit)?;
        Some(SelectedOperation::new(case, outcome))
    }

    /// Returns the index of an operation that is ready, or `None` after `limit`.
    fn run_ready(&mut self, limit: Limit) -> Option<usize> {
        let (case, _) = self.choose(Role::Observer, limit)?;
        Some(case.index)
    }

    /// Chooses a case, or finds a case that is ready. Returns `None` after `limit`.
    fn choose(&mut self, role: Role, limit: Limit) -> Option<(Case<'a>, Outcome)> {
        if self.cases.is_empty() {
            sleep(limit);
            return None;
        }
        self.shuffle();
        loop {
            let possible = |&case: &Case<'a>| Some((case, case.channel.choose(case.queue, role)?));
            if let Some(chosen) = self.cases.iter().find_map(possible) {
                return Some(chosen);
            }
            let decided = self.wait(role, limit)?;
            // An observer looks again.
            if let Some((case, outcome)) = decided.filter(|_| role == Role::Case) {
                return Some((self.cases[case], outcome));
            }
        }
    }

    /// Waits in all lists. Returns `None` after `limit`, `Some(Some(_))` with the chosen case, or
    /// `Some(None)` if it is worth trying again.
    fn wait(&mut self, role: Role, limit: Limit) -> Option<Option<(usize, Outcome)>> {
        let selection = Selection::new();
        let mut nodes = std::mem::take(&mut self.nodes);
        nodes.extend(
            (0..self.cases.len() as u32)
                .map(|position| Node::new(Request::case(role, &raw const selection, position))),
        );
        let mut joined = 0;
        let mut is_possible = false;
        for (case, node) in self.cases.iter().zip(&nodes) {
            // SAFETY: the nodes are not moved until they have left, below; nothing
            // in between panics.
            is_possible = !unsafe { case.channel.join(case.queue, node, &selection) };
            joined += 1;
            if is_possible || !selection.is_open() {
                break;
            }
        }
        let in_time = is_possible
            || match limit {
                Limit::Now => false,
                Limit::Until(deadline, caller) => {
                    selection.wait(deadline, || self.records(caller, deadline.is_some()))
                }
            };
        let decided = selection.abort();
        for (case, node) in self.cases.iter().zip(&nodes).take(joined) {
            case.channel.leave(case.queue, node);
        }
        nodes.clear();
        self.nodes = nodes;
        (in_time || decided.is_some()).then_some(decided)
    }

    /// Records that this thread waits for all cases.
    fn records(&self, caller: Caller, is_timed: bool) -> Vec<Wait> {
        let record = |case: &Case<'_>| case.channel.record(case.queue, caller, is_timed);
        let cases = self.cases.iter().filter(|_| observe::IS_ENABLED);
        cases.map(record).collect()
    }

    /// Puts the cases into a random order, unless the selection is biased.
    fn shuffle(&mut self) {
        if self.is_biased || cfg!(loom) {
            return;
        }
        for last in (1..self.cases.len()).rev() {
            self.cases.swap(last, random() % (last + 1));
        }
    }
}

/// Sleeps until `limit` if there is no case to wait for.
fn sleep(limit: Limit) {
    if let Limit::Until(deadline, _) = limit {
        // Not `thread::park`: an `unpark` of the program's would end it.
        let time = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        thread::sleep(time.unwrap_or(Duration::MAX));
    }
}

/// Returns a random number, for a fair choice.
fn random() -> usize {
    thread_local! {
        static RANDOM: Cell<Random> = const { Cell::new(Random::unseeded()) };
    }
    let mut random = RANDOM.get();
    let number = random.next_u64();
    RANDOM.set(random);
    number as usize
}

impl Clone for Select<'_> {
    fn clone(&self) -> Self {
        Self {
            cases: self.cases.clone(),
            nodes: Vec::new(),
            ..*self
        }
    }
}

debug_is_name!(impl Select<'_>);
