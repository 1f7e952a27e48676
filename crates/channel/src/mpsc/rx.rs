//! The receiver's share of the channel.

use std::fmt;
use std::hint;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use blitz_futex::atomic::{Ordering, fence};
use blitz_sync::internals::{HandoffSpin, coop, deadline, fences, yield_now};

use super::block::{Block, LEN, offset};
use super::chan::{Chan, Pause};
use super::error::{RecvTimeoutError, TryRecvError};
use super::mutant::{Mutant, active, model_failed};
use super::wait::{CALM, WAITING};
use super::word::{BIASED, CLOSED, RX_WAITS, TX_WAITS, position, reserved};

/// After how many looks in vain the receiver takes it that nobody waits for room.
const LOOKS_IN_VAIN: u32 = if cfg!(loom) { 2 } else { 256 };
/// How often a task looks for a message that is being written before it lets
/// other tasks run.
const LOOKS_BEFORE_YIELD: u32 = if cfg!(loom) { 0 } else { 100 };

/// The messages that have not been received.
pub struct Unread<T> {
    /// How many have been received.
    head: u32,
    /// The stamp of a filled slot of the block.
    turn: u8,
    /// Where the next message is.
    block: NonNull<Block<T>>,
}

/// The receiver.
pub struct Rx<T> {
    chan: Arc<Chan<T>>,
    unread: Unread<T>,
    /// How often in a row no sender was waiting, in a spell of waiting.
    in_vain: u32,
}

// SAFETY: the blocks belong to the channel, which it keeps alive; the messages
// in them go to the receiver's thread.
unsafe impl<T: Send> Send for Rx<T> {}
// SAFETY: a shared receiver only counts messages.
unsafe impl<T: Send> Sync for Rx<T> {}

// As for the channel: a panic of the user's code leaves nothing half done.
impl<T> UnwindSafe for Rx<T> {}
impl<T> RefUnwindSafe for Rx<T> {}

/// What the receiver found when it announced that it waits.
#[derive(PartialEq, Eq)]
enum Announced {
    /// Nothing: whoever sends next wakes it.
    Sleep,
    /// A message is there, or about to be.
    Message,
    /// There will be no more messages.
    End,
}

impl<T> Unread<T> {
    /// Takes the next message. What has been read of the queue goes to `used`.
    #[inline(always)]
    fn take(&mut self, used: impl FnOnce(NonNull<Block<T>>)) -> Option<T> {
        let at = offset(self.head);
        // SAFETY: the block of the head is in the queue until we leave it.
        let block = unsafe { self.block.as_ref() };
        if !block.is_filled(at, self.turn) {
            return None;
        }
        // SAFETY: it is filled, and the head moves on.
        let value = unsafe { block.take(at) };
        self.head = self.head.wrapping_add(1);
        if at == LEN - 1 {
            used(self.next_block());
        }
        Some(value)
    }

    /// Goes to the next block. Returns the one that has been read.
    fn next_block(&mut self) -> NonNull<Block<T>> {
        let read = self.block;
        // SAFETY: its last slot has been filled, so the next block is there.
        let next = unsafe { read.as_ref().next() };
        // SAFETY: we have not left it.
        self.turn = unsafe { next.as_ref().header() }.turn;
        self.block = next;
        read
    }

    /// Drops all messages, and frees the blocks. For the last user.
    pub fn drop_all(self) {
        /// Goes on where a message's drop has panicked.
        struct Rest<T>(Unread<T>);
        impl<T> Rest<T> {
            fn drop_messages(&mut self) {
                // SAFETY: nobody else uses a block that has been read.
                let free = |block| unsafe { Block::free(block) };
                while let Some(message) = self.0.take(free) {
                    drop(message);
                }
            }
        }
        impl<T> Drop for Rest<T> {
            fn drop(&mut self) {
                self.drop_messages();
                // The last block has not been read to its end, or it would have
                // a next one.
                // SAFETY: nobody uses it any more.
                unsafe { Block::free(self.0.block) };
            }
        }
        Rest(self).drop_messages();
    }
}

impl<T> Rx<T> {
    pub(super) fn new(chan: Arc<Chan<T>>, head: u32, block: NonNull<Block<T>>) -> Self {
        let unread = Unread {
            head,
            turn: 1,
            block,
        };
        Self {
            chan,
            unread,
            in_vain: 0,
        }
    }

    pub fn chan(&self) -> &Chan<T> {
        &self.chan
    }

    /// Takes the next message, if there is one; its room is not free yet.
    #[inline(always)]
    fn take(&mut self) -> Option<T> {
        let spares = &self.chan.spares;
        // SAFETY: we are the receiver; all slots have been filled and read, which
        // was the last that anybody does with a block.
        self.unread.take(|block| unsafe { spares.put(block) })
    }

    /// Lets senders have the room of what has been taken.
    #[inline(always)]
    fn publish(&mut self) {
        let (chan, head) = (&*self.chan, self.unread.head);
        chan.front.0.head.store(head, Ordering::Release);
        if fences::publish(&chan.front.0.taken, head as u8, &chan.spell) != CALM {
            self.look_for_waiters();
        }
    }

    /// In a spell of waiting; see `wait.rs`.
    #[inline(never)]
    fn look_for_waiters(&mut self) {
        let chan = &*self.chan;
        if !active(Mutant::NoFenceInSpell) {
            fence(Ordering::SeqCst);
        }
        if chan.tail.0.word.load(Ordering::SeqCst) & TX_WAITS != 0 {
            self.in_vain = 0;
            return chan.serve();
        }
        self.in_vain += 1;
        if self.in_vain < LOOKS_IN_VAIN {
            return;
        }
        self.in_vain = 0;
        chan.spell.store(CALM, Ordering::SeqCst);
        if active(Mutant::SpellEndsBlindly) {
            return;
        }
        fence(Ordering::SeqCst);
        if chan.tail.0.word.load(Ordering::SeqCst) & TX_WAITS != 0 {
            chan.spell.store(WAITING, Ordering::SeqCst);
            chan.serve();
        }
    }

    /// Receives a message if one is there.
    #[inline(always)]
    fn receive(&mut self) -> Option<T> {
        let value = self.take()?;
        // The room is free even if a waker panics; the message is not lost then,
        // but dropped.
        self.publish();
        Some(value)
    }

    /// Receives up to `limit` messages that are there.
    fn receive_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
        let before = buffer.len();
        while buffer.len() - before < limit {
            match self.take() {
                Some(value) => buffer.push(value),
                None => break,
            }
        }
        let received = buffer.len() - before;
        if received != 0 {
            self.publish();
        }
        received
    }

    #[inline]
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        coop::poll_with(cx, |cx| match self.receive() {
            Some(value) => Poll::Ready(Some(value)),
            None => self.poll_slowly(cx.waker(), Self::receive),
        })
    }

    pub fn poll_many(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut Vec<T>,
        limit: usize,
    ) -> Poll<usize> {
        if limit == 0 {
            return Poll::Ready(0);
        }
        let mut receive = |rx: &mut Self| match rx.receive_many(buffer, limit) {
            0 => None,
            received => Some(received),
        };
        coop::poll_with(cx, |cx| match receive(self) {
            Some(received) => Poll::Ready(received),
            None => self
                .poll_slowly(cx.waker(), receive)
                .map(Option::unwrap_or_default),
        })
    }

    #[cold]
    #[inline(never)]
    fn poll_slowly<R>(
        &mut self,
        waker: &Waker,
        mut receive: impl FnMut(&mut Self) -> Option<R>,
    ) -> Poll<Option<R>> {
        self.chan.seat.0.sit(waker);
        match self.announce() {
            Announced::Sleep => return Poll::Pending,
            Announced::End => {
                self.chan.seat.0.leave();
                return Poll::Ready(None);
            }
            Announced::Message => {}
        }
        for _ in 0..=LOOKS_BEFORE_YIELD {
            if let Some(result) = receive(self) {
                return Poll::Ready(Some(result));
            }
            hint::spin_loop();
        }
        // Its sender has been interrupted between claiming the slot and filling
        // it. It may have claimed before we announced ourselves, and owes us no
        // wake-up; so we stay awake.
        if cfg!(loom) {
            // The model checker knows no executor that runs others first.
            yield_now();
        }
        waker.wake_by_ref();
        Poll::Pending
    }

    /// Announces, after sitting down, that the receiver waits.
    fn announce(&self) -> Announced {
        let chan = &*self.chan;
        let late = active(Mutant::SendersAskedLate);
        // Before the look at the messages: who sees that no sender is left sees
        // all that they have sent.
        let mut alone = !late && chan.strong_count() == 0;
        let mut word = chan.tail.0.word.fetch_or(RX_WAITS, Ordering::AcqRel);
        while word & BIASED != 0 {
            // A thread claims without looking at the flag. From now on it will.
            chan.revoke();
            word = chan.tail.0.word.fetch_or(RX_WAITS, Ordering::AcqRel);
        }
        chan.tail.0.set_guess(word | RX_WAITS);
        if late {
            alone = chan.strong_count() == 0;
        }
        if position(word) != self.unread.head {
            return match active(Mutant::SleepsBesideClaim) {
                true => Announced::Sleep,
                false => Announced::Message,
            };
        }
        if alone || (word & CLOSED != 0 && reserved(word) == 0) {
            return Announced::End;
        }
        Announced::Sleep
    }

    pub fn try_receive(&mut self) -> Result<T, TryRecvError> {
        match self.receive() {
            Some(value) => Ok(value),
            None => self.try_receive_slowly(),
        }
    }

    #[cold]
    fn try_receive_slowly(&mut self) -> Result<T, TryRecvError> {
        let mut pause = Pause::new();
        loop {
            let alone = self.chan.strong_count() == 0;
            let word = self.chan.tail.0.word.load(Ordering::Acquire);
            if self.chan.ahead(word, self.unread.head) == 0 {
                let closed = word & CLOSED != 0 && reserved(word) == 0;
                return Err(match alone || closed {
                    true => TryRecvError::Disconnected,
                    false => TryRecvError::Empty,
                });
            }
            if let Some(value) = self.receive() {
                return Ok(value);
            }
            // It is being written.
            pause.turn();
        }
    }

    #[inline]
    pub fn blocking(&mut self, deadline: Option<Instant>) -> Result<T, RecvTimeoutError> {
        match self.receive() {
            Some(value) => Ok(value),
            None => self.block(deadline, Self::receive),
        }
    }

    pub fn blocking_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
        if limit == 0 {
            return 0;
        }
        self.block(None, |rx| match rx.receive_many(buffer, limit) {
            0 => None,
            received => Some(received),
        })
        .unwrap_or(0)
    }

    #[cold]
    #[inline(never)]
    fn block<R>(
        &mut self,
        deadline: Option<Instant>,
        mut receive: impl FnMut(&mut Self) -> Option<R>,
    ) -> Result<R, RecvTimeoutError> {
        loop {
            let mut spin = HandoffSpin::new(self.chan.strong_count() + 1);
            loop {
                if let Some(result) = receive(self) {
                    return Ok(result);
                }
                if deadline::is_past(deadline) {
                    return self.last_look(receive);
                }
                if !spin.turn() {
                    break;
                }
            }
            self.chan.seat.0.sit_thread();
            match self.announce() {
                Announced::Sleep => {
                    if !self.chan.seat.0.sleep(deadline) {
                        self.chan.seat.0.leave();
                        return self.last_look(receive);
                    }
                }
                Announced::Message => {
                    self.chan.seat.0.leave();
                    yield_now();
                }
                Announced::End => {
                    self.chan.seat.0.leave();
                    return Err(RecvTimeoutError::Disconnected);
                }
            }
        }
    }

    /// The time is up.
    fn last_look<R>(
        &mut self,
        mut receive: impl FnMut(&mut Self) -> Option<R>,
    ) -> Result<R, RecvTimeoutError> {
        let end = self.is_finished();
        receive(self).ok_or(match end {
            true => RecvTimeoutError::Disconnected,
            false => RecvTimeoutError::Timeout,
        })
    }

    /// Whether nothing can come any more.
    fn is_finished(&self) -> bool {
        let alone = self.chan.strong_count() == 0;
        let word = self.chan.tail.0.word.load(Ordering::Acquire);
        let closed = word & CLOSED != 0 && reserved(word) == 0;
        self.chan.ahead(word, self.unread.head) == 0 && (alone || closed)
    }

    pub fn is_closed(&self) -> bool {
        self.chan.is_closed() || self.chan.strong_count() == 0
    }

    pub fn len(&self) -> usize {
        self.chan.len(self.unread.head)
    }
}

impl<T> Drop for Rx<T> {
    fn drop(&mut self) {
        if model_failed() {
            return;
        }
        /// Leaves the rest to the one who drops the channel, also if a message's
        /// drop panics.
        struct Leave<'a, T>(&'a mut Rx<T>);
        impl<T> Drop for Leave<'_, T> {
            fn drop(&mut self) {
                self.0.drop_messages();
                let Unread { head, turn, block } = self.0.unread;
                let chan = &self.0.chan;
                chan.unread.set(Some(Unread { head, turn, block }));
                if cfg!(loom) {
                    // So that the model sees what the count of `Arc` orders.
                    chan.tail.0.word.fetch_add(0, Ordering::AcqRel);
                }
            }
        }
        let leave = Leave(self);
        leave.0.chan.close();
        leave.0.chan.seat.0.leave();
        leave.0.drop_messages();
    }
}

impl<T> Rx<T> {
    /// Drops what has been sent so far. What is being sent is dropped with the
    /// channel.
    fn drop_messages(&mut self) {
        while let Some(message) = self.take() {
            self.chan
                .front
                .0
                .head
                .store(self.unread.head, Ordering::Release);
            drop(message);
        }
    }
}

impl<T> fmt::Debug for Rx<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chan.fmt(f)
    }
}
