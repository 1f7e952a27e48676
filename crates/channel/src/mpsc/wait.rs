//! Senders that wait for room, first come, first served.
//!
//! # The announcement
//!
//! A sender that finds no room takes the lock of the queue and sets `TX_WAITS`
//! in the channel's word. From then on nobody claims or reserves without being
//! chosen, so the room can only grow: by messages that are received, and by
//! permits that come back. Both look at `TX_WAITS` afterwards and serve the
//! queue. Under the same lock, the sender looks at the room once more, and takes
//! it or joins the queue. `TX_WAITS` is cleared, under the lock, when the queue
//! is empty.
//!
//! *A permit that comes back* changes the word that holds `TX_WAITS`, so one of
//! the two sees the other.
//!
//! *A message that is received* changes another word, `head`: the receiver
//! stores `head` and looks at the announcement, the sender announces and looks at
//! `head`. That is Dekker's pattern, and the receiver is to pay nothing for it
//! while nobody waits. So there are spells:
//!
//! * [`CALM`]: the receiver makes a light publication (`fences::publish`): a
//!   store, and a look at the spell that may overtake it.
//! * [`WAITING`]: the receiver makes a full fence and looks at `TX_WAITS`.
//!
//! A sender that has announced itself, and passed a full fence, reads the spell.
//! In a calm one it begins one of waiting and makes every thread pass a fence
//! (`fences::heavy`), all under the lock. After that a publication either is
//! visible to it, or its look comes late enough to see the spell. If it reads
//! `WAITING`, then whoever wrote that has finished with its heavy fence (it did
//! so under the lock), or it was the receiver itself, which had passed a fence.
//! So every publication that it cannot see is followed by a full fence and a look
//! at `TX_WAITS`, which comes after the announcement.
//!
//! The receiver ends a spell when it has looked in vain for some time: it writes
//! `CALM`, passes a full fence and looks once more. Either it sees the
//! announcement, and goes on as before, or the sender that made it will read
//! `CALM`. Only the receiver writes `CALM`, so nobody else's `WAITING` is lost.
//!
//! # Being chosen
//!
//! Who serves takes permits for the first in the queue, if there is room for as
//! many as it wants, and chooses it. If the first wants more than there is, all
//! wait: so many cannot be starved by few. Who is chosen and gives up hands its
//! permits on; who gives up before that serves the queue, because the one behind
//! it may want less.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use blitz_futex::atomic::{Ordering, fence};
use blitz_sync::internals::{List, Node, Spin, Wakes, deadline, fences};

use super::chan::{Chan, Refusal};
use super::mutant::{Mutant, active, model_failed};
use super::word::{CLOSED, MOST_MESSAGES, PERMIT, TX_WAITS, position, reserved, used};

/// No sender has waited for a while.
pub const CALM: u8 = 0;
/// Senders wait, or have done so lately.
pub const WAITING: u8 = 1;

/// What a node in the queue wants, and gets.
pub struct Wish {
    permits: u32,
    outcome: Cell<Outcome>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    /// It has its permits.
    Granted,
    /// The channel is closed.
    TurnedAway,
}

/// How a sender came out of the queue's lock.
#[derive(PartialEq, Eq)]
enum Queued {
    Granted,
    Closed,
    Waits,
}

/// Why a thread got nothing.
pub enum Denial {
    Closed,
    Timeout,
}

impl Wish {
    fn new(permits: u32) -> Self {
        Self {
            permits,
            outcome: Cell::new(Outcome::TurnedAway),
        }
    }
}

impl<T> Chan<T> {
    /// Takes permits if there is room after all, or queues up.
    ///
    /// # Safety
    ///
    /// The node is not linked, and stays where it is while it is.
    unsafe fn queue_up(&self, node: &Node<Wish>) -> Queued {
        self.waiters.locked(|list| {
            self.tail.0.word.fetch_or(TX_WAITS, Ordering::SeqCst);
            // Nobody is granted a block from now on.
            let before = self.settled_word();
            if before & CLOSED != 0 {
                self.stop_waiting(list);
                return Queued::Closed;
            }
            self.begin_spell();
            let n = node.wish.permits;
            if list.is_empty() && self.fits(before, n) {
                self.take_permits(n);
                self.stop_waiting(list);
                return Queued::Granted;
            }
            // SAFETY: the caller says so.
            unsafe { list.push(node) };
            Queued::Waits
        })
    }

    /// After an announcement, under the lock: what the receiver does from now on
    /// without looking is visible, the rest is not done without looking.
    fn begin_spell(&self) {
        fence(Ordering::SeqCst);
        if self.spell.load(Ordering::SeqCst) != WAITING {
            self.spell.store(WAITING, Ordering::SeqCst);
            if !active(Mutant::NoFenceBeforeWait) {
                fences::heavy();
            }
        }
        // What belongs to the light publication; the head came before it.
        self.front.0.taken.load(Ordering::Acquire);
    }

    /// Whether there is room for `n` permits. While `TX_WAITS` is set that can
    /// only become truer.
    fn fits(&self, word: u64, n: u32) -> bool {
        let head = self.front.0.head.load(Ordering::SeqCst);
        let used = used(position(word), reserved(word), head);
        let used = if used > MOST_MESSAGES { 0 } else { used };
        self.limit.saturating_sub(used) >= n && self.may_reserve(word, n)
    }

    fn take_permits(&self, n: u32) {
        let permits = u64::from(n) * PERMIT;
        self.tail.0.word.fetch_add(permits, Ordering::AcqRel);
    }

    fn stop_waiting(&self, list: &List<Wish>) {
        if list.is_empty() {
            self.tail.0.word.fetch_and(!TX_WAITS, Ordering::AcqRel);
        }
    }

    /// Chooses and wakes those in the queue for whom there is room.
    #[cold]
    pub fn serve(&self) {
        loop {
            let mut wakes = Wakes::new();
            self.waiters.locked(|list| {
                while let Some(first) = list.first().filter(|_| !wakes.is_full()) {
                    let n = first.wish.permits;
                    if !self.fits(self.tail.0.word.load(Ordering::SeqCst), n) {
                        return;
                    }
                    self.take_permits(n);
                    first.wish.outcome.set(Outcome::Granted);
                    list.choose_first()
                        .into_iter()
                        .for_each(|wake| wakes.push(wake));
                }
                self.stop_waiting(list);
            });
            let all = !wakes.is_full();
            wakes.wake();
            if all {
                return;
            }
        }
    }

    /// Tells all who wait that the channel is closed. Nobody can join them.
    pub fn turn_away(&self) {
        // In case a waker panics.
        struct Stop<'a, T>(&'a Chan<T>);
        impl<T> Drop for Stop<'_, T> {
            fn drop(&mut self) {
                self.0.waiters.locked(|list| self.0.stop_waiting(list));
            }
        }
        let _stop = Stop(self);
        self.waiters
            .notify_each(|wish| wish.outcome.set(Outcome::TurnedAway));
    }

    /// What a chosen node got. As in Tokio, a closed channel counts more than a
    /// permit that was granted before.
    fn outcome(&self, wish: &Wish) -> Result<(), Denial> {
        match wish.outcome.get() {
            Outcome::Granted if self.is_closed() => {
                self.give_back(wish.permits);
                Err(Denial::Closed)
            }
            Outcome::Granted => Ok(()),
            Outcome::TurnedAway => Err(Denial::Closed),
        }
    }

    /// Waits for `n` permits as a thread.
    #[cold]
    pub fn reserve_blocking(&self, n: u32, deadline: Option<Instant>) -> Result<(), Denial> {
        let mut spin = Spin::new();
        loop {
            match self.try_reserve(n) {
                Ok(()) => return Ok(()),
                Err(Refusal::Closed) => return Err(Denial::Closed),
                Err(Refusal::Full) if deadline::is_past(deadline) => return Err(Denial::Timeout),
                Err(Refusal::Full) => {}
            }
            if !spin.turn() {
                break;
            }
        }
        let node = Node::new(Wish::new(n));
        // SAFETY: the node stays where it is, and is not linked when this ends.
        match unsafe { self.queue_up(&node) } {
            Queued::Granted => Ok(()),
            Queued::Closed => Err(Denial::Closed),
            Queued::Waits if self.waiters.sleep(&node, deadline) => self.outcome(&node.wish),
            Queued::Waits => {
                self.left_queue();
                Err(Denial::Timeout)
            }
        }
    }

    /// Waits for `n` permits as a task.
    pub fn reserve(&self, n: u32) -> Reserve<'_, T> {
        Reserve {
            chan: self,
            node: Node::new(Wish::new(n)),
            state: State::New,
        }
    }

    /// Somebody has given up waiting: those behind it may want less.
    fn left_queue(&self) {
        if !active(Mutant::LeavesWithoutServing) {
            self.serve();
        }
    }
}

/// Waits for permits. Whoever it is ready for owns them.
pub struct Reserve<'a, T> {
    chan: &'a Chan<T>,
    node: Node<Wish>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Queued,
    Done,
}

impl<T> Future for Reserve<'_, T> {
    /// `Err`: the channel is closed.
    type Output = Result<(), Denial>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the node is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        let (chan, node) = (this.chan, &this.node);
        let result = match this.state {
            State::New => {
                // SAFETY: the node has not been linked yet.
                unsafe { node.arm(cx.waker()) };
                // SAFETY: as above; it is pinned, and `drop` takes it out.
                match unsafe { chan.queue_up(node) } {
                    Queued::Granted => Ok(()),
                    Queued::Closed => Err(Denial::Closed),
                    Queued::Waits => {
                        this.state = State::Queued;
                        return Poll::Pending;
                    }
                }
            }
            State::Queued if chan.waiters.still_waits(node, cx.waker()) => return Poll::Pending,
            State::Queued => {
                this.state = State::Done;
                chan.outcome(&node.wish)
            }
            State::Done => panic!("polled after it was ready"),
        };
        this.state = State::Done;
        Poll::Ready(result)
    }
}

impl<T> Drop for Reserve<'_, T> {
    fn drop(&mut self) {
        if self.state != State::Queued || model_failed() {
            return;
        }
        let (chan, wish) = (self.chan, &self.node.wish);
        if chan.waiters.leave(&self.node) {
            chan.left_queue();
        } else if wish.outcome.get() == Outcome::Granted && !active(Mutant::ChosenKeepsPermit) {
            chan.give_back(wish.permits);
        }
    }
}
