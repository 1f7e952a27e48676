//! The receiver's side of the protocol.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use blitz_io_core::backoff::{step_is_done, wait_for_step};
use blitz_io_core::pause::pause_for;
use blitz_io_core::{Panics, Spin, coop, deadline, fences, processors};
use blitz_io_futex::atomic::{Ordering, fence};
use blitz_io_observe::{Kind, WaitKind, Waiting};

use super::block::Cursor;
use super::chan::{CONTENDED, Chan, QUIET};
use super::error::{RecvTimeoutError, TryRecvError};
use crate::events;
use crate::model::model_has_failed;

/// Number of receives without a waiting sender after which contended mode ends.
const QUIET_RECEIVES: u32 = if cfg!(loom) { 2 } else { 256 };

/// The time for which the receiver leaves its sender alone, for each value of a burst: about the
/// cost, for both sides, of a look that comes too early.
const PER_VALUE: Duration = Duration::from_nanos(50);
/// The longest pause after a burst: shorter than a sleep and its wake-up.
const LONGEST_PAUSE: Duration = Duration::from_micros(4);

/// The receiver.
pub struct Rx<T> {
    chan: Arc<Chan<T>>,
    cursor: Cursor<T>,
    /// Number of receives in a row that have found no waiting sender, in contended mode.
    quiet: u32,
    /// Number of values that had been received when a thread last waited.
    waited_at: u32,
    waiting: Waiting,
}

// SAFETY: the blocks belong to the channel, which it keeps alive; the values in
// them go to the receiver's thread.
unsafe impl<T: Send> Send for Rx<T> {}
// SAFETY: a shared receiver only counts values.
unsafe impl<T: Send> Sync for Rx<T> {}

// As for the channel: a panic of the user's code leaves nothing half done.
impl<T> UnwindSafe for Rx<T> {}
impl<T> RefUnwindSafe for Rx<T> {}

/// The result of the receiver's announcement that it waits.
#[derive(PartialEq, Eq)]
enum Announced {
    /// There is no value yet: the next sender to claim a slot wakes the receiver.
    Sleep,
    /// A value has been claimed or filled.
    Value,
    /// There will be no more values.
    End,
}

impl<T> Rx<T> {
    pub fn new(chan: Arc<Chan<T>>, cursor: Cursor<T>) -> Self {
        // SAFETY: this is the channel's only receiver, which owns the fill. The channel lives as long as
        // the receiver, and the receiver clears the fill when it is dropped.
        unsafe { chan.observed.object.set_fill(Arc::as_ptr(&chan)) };
        Self {
            waiting: chan.observed.waiting("Receiver::recv"),
            chan,
            waited_at: cursor.head,
            cursor,
            quiet: 0,
        }
    }

    pub fn chan(&self) -> &Chan<T> {
        &self.chan
    }

    /// Takes the next value, if there is one; its room is not free yet.
    #[inline(always)]
    fn take(&mut self) -> Option<T> {
        let free = &self.chan.free_blocks;
        // SAFETY: only the receiver calls this; all slots of the block have been filled and
        // read, which is its last use.
        self.cursor.take(|block| unsafe { free.push(block) })
    }

    /// Frees the room of the values that it has taken, of which there are so many.
    #[inline(always)]
    fn publish(&mut self, values: usize) {
        coop::acted();
        self.waiting.end();
        // SAFETY: `new` has set the fill.
        unsafe { self.chan.observed.object.used_by_receiver() };
        let (chan, head) = (&*self.chan, self.cursor.head);
        chan.front.0.head.store(head, Ordering::Release);
        let object = &chan.observed.object;
        events::received(object, Kind::MpscReceive, values, || self.len());
        if fences::publish(&chan.front.0.taken, head as u8, &chan.mode) != QUIET {
            self.look_for_waiters();
        }
    }

    /// Serves senders that wait, in contended mode; see `wait.rs`.
    #[inline(never)]
    fn look_for_waiters(&mut self) {
        let chan = &*self.chan;
        fence(Ordering::SeqCst);
        if chan.tail.0.word.load().senders_wait() {
            self.quiet = 0;
            return chan.serve();
        }
        self.quiet += 1;
        if self.quiet < QUIET_RECEIVES {
            return;
        }
        self.quiet = 0;
        chan.mode.store(QUIET, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if chan.tail.0.word.load().senders_wait() {
            chan.mode.store(CONTENDED, Ordering::SeqCst);
            chan.serve();
        }
    }

    /// Receives a value if the next slot is filled.
    #[inline(always)]
    fn receive(&mut self) -> Option<T> {
        let value = self.take()?;
        // If a waker panics, the room is still free, and the value is dropped.
        self.publish(1);
        Some(value)
    }

    /// Receives up to `limit` values from filled slots, if there are any.
    fn receive_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> Option<usize> {
        let before = buffer.len();
        while buffer.len() - before < limit {
            match self.take() {
                Some(value) => buffer.push(value),
                None => break,
            }
        }
        let received = buffer.len() - before;
        if received == 0 {
            return None;
        }
        self.publish(received);
        Some(received)
    }

    #[inline]
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.chan.observed.object.touch(Kind::MpscReceive);
        let polled = coop::poll_with(cx, |cx| match self.receive() {
            Some(value) => Poll::Ready(Some(value)),
            None => self.poll_operation(cx.waker(), Self::receive),
        });
        self.at_point(polled)
    }

    /// A future that receives is dropped.
    #[inline]
    pub fn future_dropped(&mut self) {
        self.waiting.future_dropped();
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
        self.chan.observed.object.touch(Kind::MpscReceive);
        let mut receive = |rx: &mut Self| rx.receive_many(buffer, limit);
        let polled = coop::poll_with(cx, |cx| match receive(self) {
            Some(received) => Poll::Ready(received),
            None => self
                .poll_operation(cx.waker(), receive)
                .map(Option::unwrap_or_default),
        });
        self.at_point(polled)
    }

    /// The operation has been polled, or the point before it; see [`Waiting::at_point`].
    #[inline(always)]
    fn at_point<R>(&mut self, polled: Poll<R>) -> Poll<R> {
        let kind = WaitKind::new(Kind::MpscReceive);
        (self.waiting).at_point_called(polled, kind, &self.chan.observed.object)
    }

    #[cold]
    fn poll_operation<R>(
        &mut self,
        waker: &Waker,
        receive: impl FnMut(&mut Self) -> Option<R>,
    ) -> Poll<Option<R>> {
        let poll = |rx: &mut Self| rx.poll_slowly(waker, receive);
        Waiting::poll(self, |rx| &mut rx.waiting, "poll_recv", poll)
    }

    #[cold]
    #[inline(never)]
    fn poll_slowly<R>(
        &mut self,
        waker: &Waker,
        mut receive: impl FnMut(&mut Self) -> Option<R>,
    ) -> Poll<Option<R>> {
        self.chan.rx_waiter.0.set_task(waker);
        match self.announce() {
            Announced::Sleep => {
                let kind = WaitKind::new(Kind::MpscReceive);
                self.waiting
                    .begin_called(kind, &self.chan.observed.object, waker);
                Poll::Pending
            }
            Announced::Value if step_is_done(|| self.cursor.is_filled()) => {
                Poll::Ready(receive(self))
            }
            Announced::Value => {
                // The sender did not see the announcement.
                waker.wake_by_ref();
                Poll::Pending
            }
            Announced::End => {
                self.waiting.end();
                self.finds("closed");
                self.chan.rx_waiter.0.clear();
                Poll::Ready(None)
            }
        }
    }

    /// Says, for the report of a simulation, that the current task has received nothing, as the channel is like this.
    #[inline(always)]
    fn finds(&self, state: &'static str) {
        events::refused(&self.chan.observed.object, Kind::MpscReceive, state);
    }

    /// Announces, after registering, that the receiver waits.
    fn announce(&self) -> Announced {
        let chan = &*self.chan;
        // Before the look at the word: if no sender is left, all that they have sent
        // is visible.
        let alone = chan.strong_count() == 0;
        let word = chan.tail.0.word.announce_receiver();
        if word.position() != self.cursor.head {
            return Announced::Value;
        }
        if alone || word.is_closed_but_for(0) {
            Announced::End
        } else {
            Announced::Sleep
        }
    }

    /// Blocks the thread until the next slot, which a sender has claimed, is filled.
    fn wait_for_fill(&self) {
        wait_for_step(|| self.cursor.is_filled());
    }

    pub fn try_receive(&mut self) -> Result<T, TryRecvError> {
        match self.receive() {
            Some(value) => Ok(value),
            None => self.try_receive_slowly(),
        }
    }

    #[cold]
    fn try_receive_slowly(&mut self) -> Result<T, TryRecvError> {
        let alone = self.chan.strong_count() == 0;
        let word = self.chan.tail.0.word.load();
        if word.position() == self.cursor.head {
            return Err(if alone || word.is_closed_but_for(0) {
                self.finds("closed");
                TryRecvError::Disconnected
            } else {
                self.finds("empty");
                TryRecvError::Empty
            });
        }
        self.wait_for_fill();
        self.receive().ok_or(TryRecvError::Empty)
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
        self.block(None, |rx| rx.receive_many(buffer, limit))
            .unwrap_or(0)
    }

    #[cold]
    #[inline(never)]
    fn block<R>(
        &mut self,
        deadline: Option<Instant>,
        mut receive: impl FnMut(&mut Self) -> Option<R>,
    ) -> Result<R, RecvTimeoutError> {
        self.pause_after_burst();
        loop {
            let mut spin = Spin::handoff(self.chan.strong_count() + 1);
            loop {
                if let Some(result) = receive(self) {
                    return Ok(result);
                }
                // A yield may take long: each is followed by a look at everything
                // that ends the wait.
                let ended = || self.chan.strong_count() == 0 && self.is_finished();
                if deadline::is_past(deadline) || ended() {
                    return self.last_look(receive);
                }
                if !spin.turn() {
                    break;
                }
            }
            let is_timed = deadline.is_some();
            let _waits = self.chan.observed.block(Kind::MpscReceive, is_timed);
            let waiter = &self.chan.rx_waiter.0;
            waiter.set_thread();
            match self.announce() {
                Announced::Sleep if waiter.sleep(deadline) => continue,
                Announced::Value => self.wait_for_fill(),
                Announced::Sleep | Announced::End => {
                    waiter.clear();
                    return self.last_look(receive);
                }
            }
            waiter.clear();
        }
    }

    /// A receiver is often faster than its sender. A receiver that looks again as soon as it can
    /// takes each value alone, and fetches the cache lines that the sender is about to write. So
    /// after several values it leaves the sender alone for a time in proportion to their number.
    /// If the sender continues, the receiver then finds more values, up to a limit. If not, the
    /// pauses end with this one.
    fn pause_after_burst(&mut self) {
        let burst = self.cursor.head.wrapping_sub(self.waited_at);
        self.waited_at = self.cursor.head;
        if burst <= 1 || self.chan.strong_count() + 1 > processors() || cfg!(loom) {
            return;
        }
        let time = PER_VALUE.saturating_mul(burst - 1).min(LONGEST_PAUSE);
        pause_for(time);
    }

    /// Makes the last attempt to receive, after the deadline or when no further value can come.
    fn last_look<R>(
        &mut self,
        mut receive: impl FnMut(&mut Self) -> Option<R>,
    ) -> Result<R, RecvTimeoutError> {
        let end = self.is_finished();
        receive(self).ok_or(if end {
            RecvTimeoutError::Closed
        } else {
            RecvTimeoutError::Timeout
        })
    }

    /// Returns `true` if all values have been received and no further one can come.
    fn is_finished(&self) -> bool {
        let alone = self.chan.strong_count() == 0;
        let word = self.chan.tail.0.word.load();
        word.position() == self.cursor.head && (alone || word.is_closed_but_for(0))
    }

    pub fn is_closed(&self) -> bool {
        self.chan.is_closed() || self.chan.strong_count() == 0
    }

    /// Returns the number of values, written or about to be.
    pub fn len(&self) -> usize {
        let word = self.chan.tail.0.word.load();
        word.position().wrapping_sub(self.cursor.head) as usize
    }
}

impl<T> Drop for Rx<T> {
    fn drop(&mut self) {
        if model_has_failed() {
            return;
        }
        // SAFETY: the receiver owns the fill.
        unsafe { self.chan.observed.object.clear_fill() };
        let mut panics = Panics::default();
        panics.put_off(|| self.chan.close());
        panics.put_off(|| self.chan.rx_waiter.0.clear());
        // A value that is being sent is dropped with the channel.
        while let Some(value) = self.take() {
            let head = &self.chan.front.0.head;
            head.store(self.cursor.head, Ordering::Release);
            panics.put_off(|| drop(value));
        }
        self.chan.unread.set(Some(self.cursor.leave()));
        self.chan.tail.0.word.touch();
        panics.go_on();
    }
}

impl<T> fmt::Debug for Rx<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chan.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Wake;

    use blitz_io_futex::atomic::AtomicUsize;

    use super::super::error::TrySendError;
    use super::super::tx::Tx;
    use super::*;

    /// Counts its wakes.
    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_poll_does_not_wait_for_a_sender_between_claim_and_fill() {
        let (chan, cursor) = Chan::new(Some(2), 0);
        let (tx, mut rx) = (Tx::new(chan.clone()), Rx::new(chan.clone(), cursor));
        tx.try_reserve(1).unwrap();
        let claim = chan.claim_permitted();
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(wakes.clone());
        let cx = &mut Context::from_waker(&waker);
        for polls in 1..=3 {
            assert_eq!(rx.poll(cx), Poll::Pending);
            assert_eq!(wakes.0.load(Ordering::Relaxed), polls);
        }
        assert_eq!(rx.poll_many(cx, &mut Vec::new(), 2), Poll::Pending);
        assert_eq!(wakes.0.load(Ordering::Relaxed), 4);
        chan.fill(claim, 7);
        assert_eq!(rx.poll(cx), Poll::Ready(Some(7)));
    }

    #[test]
    fn positions_wrap() {
        let (chan, cursor) = Chan::new(Some(70), u32::MAX - 100);
        let (tx, mut rx) = (Tx::new(chan.clone()), Rx::new(chan, cursor));
        for turn in 0..20 {
            for n in 0..70 {
                assert_eq!(tx.capacity(), 70 - n);
                tx.try_send((turn, n)).unwrap();
                assert_eq!(rx.len(), n + 1);
            }
            let refused = tx.try_send((7, 7)).unwrap_err();
            assert_eq!(refused, TrySendError::Full((7, 7)));
            (0..70).for_each(|n| assert_eq!(rx.try_receive(), Ok((turn, n))));
            assert_eq!(rx.len(), 0);
            tx.try_reserve(70).unwrap();
            assert_eq!(tx.try_reserve(1), Err(TrySendError::Full(())));
            tx.give_back(70);
        }
    }
}
