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
//!
//! A thread that waits to send gives its value along. Who serves sends it, by the
//! permit that it took, before the thread is woken: the receiver has the next
//! message at once, and not only when the thread runs again. The slot is claimed
//! *before* the thread can see that it was chosen, which it may do without being
//! woken: what it sends next must come later. So the claim is made under the lock
//! of the queue. It runs no code of the user's; it may have to allocate a block, or
//! to wait for a sender that is linking one, who never takes this lock. The slot is
//! filled after the lock, as that may wake the receiver. Who looks for the message
//! meanwhile finds that it is being written.

use std::cell::Cell;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use blitz_futex::atomic::{Ordering, fence};
use blitz_sync::internals::{HandoffSpin, List, Node, Panics, Wakes, coop, deadline, fences};

use super::chan::{Chan, Claim, Refusal};
use super::mutant::{Mutant, active, model_failed};
use super::word::{CLOSED, MOST_MESSAGES, PERMIT, TX_WAITS, position, reserved, used};

/// No sender has waited for a while.
pub const CALM: u8 = 0;
/// Senders wait, or have done so lately.
pub const WAITING: u8 = 1;

/// With less room than this, a thread queues up without trying again.
const QUEUE_AT_ONCE: u32 = 16;

/// What a node in the queue wants, and gets.
pub struct Wish<T> {
    permits: u32,
    outcome: Cell<Outcome>,
    /// The value of a thread that wants to send it. Taken by the one who grants.
    value: Option<NonNull<T>>,
}

// SAFETY: the value is the waiting thread's, who does not touch it while its node
// is linked; it is taken under the queue's lock by another thread.
unsafe impl<T: Send> Send for Wish<T> {}

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

impl<T> Wish<T> {
    fn new(permits: u32) -> Self {
        Self {
            permits,
            outcome: Cell::new(Outcome::TurnedAway),
            value: None,
        }
    }
}

impl<T> Chan<T> {
    /// Takes permits if there is room after all, or queues up.
    ///
    /// # Safety
    ///
    /// The node is not linked, and stays where it is while it is.
    unsafe fn queue_up(&self, node: &Node<Wish<T>>) -> Queued {
        self.waiters.locked(|list| {
            self.tail.0.word.fetch_or(TX_WAITS, Ordering::SeqCst);
            // Nobody is granted a block from now on.
            let before = self.settled_word();
            if before & CLOSED != 0 {
                self.stop_waiting(list);
                return Queued::Closed;
            }
            self.begin_spell();
            let n = node.request.permits;
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
        // Where all who send wait before, nobody else would keep it up to date, and
        // positions can only be compared while they are less than 2^32 apart.
        self.tail.0.head_seen.store(head, Ordering::Relaxed);
        let used = used(position(word), reserved(word), head);
        let used = if used > MOST_MESSAGES { 0 } else { used };
        self.limit.saturating_sub(used) >= n && self.may_reserve(word, n)
    }

    fn take_permits(&self, n: u32) {
        let tail = &self.tail.0;
        let permits = u64::from(n) * PERMIT;
        let before = tail.word.fetch_add(permits, Ordering::AcqRel);
        tail.set_guess(before + permits);
    }

    fn stop_waiting(&self, list: &List<Wish<T>>) {
        if list.is_empty() {
            self.tail.0.word.fetch_and(!TX_WAITS, Ordering::AcqRel);
        }
    }

    /// Chooses and wakes those in the queue for whom there is room.
    /// A waker that panics keeps nobody from being served; the first panic goes on
    /// afterwards.
    #[cold]
    pub fn serve(&self) {
        let mut panics = Panics::default();
        loop {
            let mut wakes = Wakes::new();
            let sending = self.waiters.locked(|list| self.choose(list, &mut wakes));
            let all = sending.is_none() && !wakes.is_full();
            if let Some((claim, value)) = sending {
                let claim = claim.unwrap_or_else(|| self.claim_permitted());
                panics.put_off(|| self.fill(claim, value));
            }
            panics.put_off(|| wakes.wake());
            if all {
                return panics.go_on();
            }
        }
    }

    /// Gives permits to the first in the queue as long as there is room. Stops at
    /// one that has given its value along. That is returned, with the slot that was
    /// claimed for it, which is to be filled before its owner is woken.
    fn choose(&self, list: &mut List<Wish<T>>, wakes: &mut Wakes) -> Option<(Option<Claim>, T)> {
        while let Some(first) = list.first().filter(|_| !wakes.is_full()) {
            let wish = &first.request;
            if !self.fits(self.tail.0.word.load(Ordering::SeqCst), wish.permits) {
                return None;
            }
            self.take_permits(wish.permits);
            wish.outcome.set(Outcome::Granted);
            // SAFETY: the value is there as long as the node is linked; its owner
            // takes it for sent when it is granted.
            let value = wish.value.map(|value| unsafe { value.read() });
            // Before its owner can see that it was chosen, and send another one.
            let sending = value.map(|value| {
                let late = active(Mutant::ClaimsAfterSignal);
                ((!late).then(|| self.claim_permitted()), value)
            });
            list.choose_first()
                .into_iter()
                .for_each(|wake| wakes.push(wake));
            if sending.is_some() {
                self.stop_waiting(list);
                return sending;
            }
        }
        self.stop_waiting(list);
        None
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
    fn outcome(&self, wish: &Wish<T>) -> Result<(), Denial> {
        match wish.outcome.get() {
            Outcome::Granted if self.is_closed() => {
                self.give_back(wish.permits);
                Err(Denial::Closed)
            }
            Outcome::Granted => Ok(()),
            Outcome::TurnedAway => Err(Denial::Closed),
        }
    }

    /// Sends a value as a thread that waits for room.
    #[cold]
    pub fn send_blocking(&self, value: T, deadline: Option<Instant>) -> Result<(), (Denial, T)> {
        let mut value = value;
        let mut spin = HandoffSpin::new(self.strong_count() + 1);
        loop {
            value = match self.try_send(value) {
                Ok(()) => return Ok(()),
                Err((Refusal::Closed, value)) => return Err((Denial::Closed, value)),
                Err((Refusal::Full, value)) if deadline::is_past(deadline) => {
                    return Err((Denial::Timeout, value));
                }
                Err((Refusal::Full, value)) => value,
            };
            // To try again is in vain where others queue. And where there is little
            // room, whoever makes some should find as many values as possible to
            // fill it with, without having to wait for their threads to run.
            if self.limit < QUEUE_AT_ONCE || self.others_wait() || !spin.turn() {
                break;
            }
        }
        // Whoever makes room sends the value for us, and wakes us afterwards. So
        // the receiver need not wait until we run. A task's value is not sent in
        // this way: its future may be dropped, and then nothing must be sent.
        let mut value = ManuallyDrop::new(value);
        let node = Node::new(Wish {
            value: Some(NonNull::from(&mut *value)),
            ..Wish::new(1)
        });
        // SAFETY: the node stays where it is, and is not linked when this ends.
        let denial = match unsafe { self.queue_up(&node) } {
            Queued::Granted => {
                // SAFETY: it was not linked, so the value is still ours.
                self.send_permitted(unsafe { ManuallyDrop::take(&mut value) });
                return Ok(());
            }
            Queued::Closed => Denial::Closed,
            Queued::Waits => match self.sleep(&node, deadline) {
                true if node.request.outcome.get() == Outcome::Granted => return Ok(()),
                true => Denial::Closed,
                false => {
                    self.left_queue();
                    Denial::Timeout
                }
            },
        };
        // SAFETY: it was not granted, so nobody has taken the value.
        Err((denial, unsafe { ManuallyDrop::take(&mut value) }))
    }

    fn others_wait(&self) -> bool {
        self.tail.0.word.load(Ordering::Relaxed) & TX_WAITS != 0
    }

    /// Waits in the queue: awake for a while, as it may be a short one.
    fn sleep(&self, node: &Node<Wish<T>>, deadline: Option<Instant>) -> bool {
        let mut spin = HandoffSpin::new(self.strong_count() + 1);
        while !node.is_signalled() && spin.turn() {}
        self.waiters.sleep(node, deadline)
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
    node: Node<Wish<T>>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Queued,
    /// It owns the permits, and the task had no budget left to go on with them.
    Holds,
    Done,
}

impl<T> Future for Reserve<'_, T> {
    /// `Err`: the channel is closed.
    type Output = Result<(), Denial>;

    /// A task without budget takes its place in the queue all the same, or the permits:
    /// it must not lose its turn to one that came later. It may not go on with them yet.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the node is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        let result = ready!(this.poll_permits(cx));
        if result.is_ok() {
            this.state = State::Holds;
            ready!(coop::poll_proceed(cx)).made_progress();
            this.state = State::Done;
        }
        Poll::Ready(result)
    }
}

impl<T> Reserve<'_, T> {
    /// Gets the permits, whatever is left of the budget.
    fn poll_permits(&mut self, cx: &Context<'_>) -> Poll<Result<(), Denial>> {
        let (chan, node) = (self.chan, &self.node);
        let result = match self.state {
            // Nobody has tried before, for lack of budget.
            State::New
                if !coop::has_budget_remaining()
                    && chan.try_reserve(node.request.permits).is_ok() =>
            {
                Ok(())
            }
            State::New => {
                // SAFETY: the node has not been linked yet.
                unsafe { node.arm(cx.waker()) };
                // SAFETY: as above; it is pinned, and `drop` takes it out.
                match unsafe { chan.queue_up(node) } {
                    Queued::Granted => Ok(()),
                    Queued::Closed => Err(Denial::Closed),
                    Queued::Waits => {
                        self.state = State::Queued;
                        return Poll::Pending;
                    }
                }
            }
            State::Queued if chan.waiters.still_waits(node, cx.waker()) => return Poll::Pending,
            State::Queued => {
                self.state = State::Done;
                chan.outcome(&node.request)
            }
            State::Holds => self.still_holds(),
            State::Done => panic!("polled after it was ready"),
        };
        self.state = State::Done;
        Poll::Ready(result)
    }

    /// The channel may have been closed since the permits became ours.
    #[cold]
    fn still_holds(&self) -> Result<(), Denial> {
        if !self.chan.is_closed() {
            return Ok(());
        }
        self.chan.give_back(self.node.request.permits);
        Err(Denial::Closed)
    }
}

impl<T> Drop for Reserve<'_, T> {
    fn drop(&mut self) {
        let (chan, wish) = (self.chan, &self.node.request);
        match self.state {
            State::New | State::Done => return,
            _ if model_failed() => return,
            State::Queued if chan.waiters.leave(&self.node) => return chan.left_queue(),
            State::Queued if wish.outcome.get() == Outcome::TurnedAway => return,
            State::Queued if active(Mutant::ChosenKeepsPermit) => return,
            State::Queued | State::Holds => {}
        }
        chan.give_back(wish.permits);
    }
}
