//! A channel in memory of the caller.
//!
//! Both ends borrow the slot, and reach the cell only in their own methods. So it
//! does not matter whether an end is dropped or forgotten: while it can be used, it
//! keeps the slot where it is, and when it cannot, nobody touches the slot on
//! its behalf. Wakers in the cell do not point to it. What forgotten ends
//! leave behind is dropped when the slot is used again or dropped itself.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use blitz_sync::internals::{coop, deadline};

use super::core::Core;
use super::ends::{RawReceiver, RawSender};
use super::error::{RecvError, TryRecvError};

/// Memory for a channel for one value, for one use after another. Nothing is
/// allocated.
///
/// The ends borrow the slot. So this is for scoped threads, and for futures that
/// are joined, not for tasks that are spawned.
///
/// ```
/// use blitz_io::sync::oneshot::Slot;
///
/// let mut slot = Slot::new();
/// for round in 0..3 {
///     let (tx, rx) = slot.channel();
///     std::thread::scope(|scope| {
///         scope.spawn(move || tx.send(round));
///         assert_eq!(rx.blocking_recv(), Ok(round));
///     });
/// }
/// ```
///
/// While an end can still be used, the slot can be neither used again nor moved nor
/// dropped:
///
/// ```compile_fail,E0499
/// # use blitz_io::sync::oneshot::Slot;
/// let mut slot = Slot::new();
/// let (tx, _rx) = slot.channel();
/// let (_tx, rx) = slot.channel();
/// tx.send(1).unwrap();
/// ```
pub struct Slot<T>(Core<T>);

/// The end of a [`Slot`] that sends. The same as [`Sender`](super::Sender).
pub struct SlotSender<'a, T>(RawSender<&'a Core<T>>);

/// The end of a [`Slot`] that receives: a future of the value. The same as
/// [`Receiver`](super::Receiver).
pub struct SlotReceiver<'a, T>(RawReceiver<&'a Core<T>>);

impl<T> Slot<T> {
    blitz_sync::const_unless_loom! {
        /// An empty slot.
        #[must_use]
        pub const fn new() -> Self {
            Self(Core::new())
        }
    }

    /// Makes a channel here. It can be called again when both ends are gone.
    ///
    /// ```
    /// use blitz_io::sync::oneshot::Slot;
    ///
    /// # async fn double(x: u32) -> u32 { 2 * x }
    /// # pollster::block_on(async {
    /// let mut slot = Slot::new();
    /// let (tx, rx) = slot.channel();
    /// let (answer, ()) = futures_util::join!(rx, async { tx.send(double(21).await).unwrap() });
    /// assert_eq!(answer, Ok(42));
    /// # });
    /// ```
    pub fn channel(&mut self) -> (SlotSender<'_, T>, SlotReceiver<'_, T>) {
        self.0.clear();
        let core = &self.0;
        (
            SlotSender(RawSender::new(core)),
            SlotReceiver(RawReceiver::new(core)),
        )
    }
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Slot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").finish_non_exhaustive()
    }
}

impl<T> SlotSender<'_, T> {
    /// Sends a value, without waiting.
    ///
    /// # Errors
    ///
    /// Gives the value back if the receiver is closed or dropped.
    #[inline]
    pub fn send(self, t: T) -> Result<(), T> {
        self.0.send(t)
    }

    /// Waits until the receiver is closed or dropped. Cancel safe.
    pub async fn closed(&mut self) {
        poll_fn(|context| self.poll_closed(context)).await;
    }

    /// Whether the receiver is closed or dropped.
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// Whether the receiver is closed or dropped. If not, the task is woken when
    /// it is; only the one that polled last.
    pub fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        coop::poll_with(cx, |cx| self.0.poll_closed(cx.waker()))
    }

    /// Blocks the thread until the receiver is closed or dropped.
    pub fn blocking_closed(&mut self) {
        self.0.wait_closed(None);
    }

    /// Blocks the thread until the receiver is closed or dropped, but no longer than
    /// `timeout`. Whether it is.
    pub fn blocking_closed_timeout(&mut self, timeout: Duration) -> bool {
        self.0.wait_closed(deadline::after(timeout))
    }
}

impl<T> SlotReceiver<'_, T> {
    /// Keeps the sender from sending. What it has sent before can still be
    /// received.
    pub fn close(&mut self) {
        self.0.close();
    }

    /// Whether it has been ready, or has given out the value.
    pub fn is_terminated(&self) -> bool {
        self.0.is_terminated()
    }

    /// Whether there is no value to receive at this moment.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the value if it is there.
    ///
    /// # Errors
    ///
    /// `Empty` if it may still come; `Closed` if it will not, or has been taken.
    #[inline]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        self.0.try_recv()
    }

    /// Blocks the thread until the value is there.
    ///
    /// # Errors
    ///
    /// If the sender is dropped without sending.
    ///
    /// # Panics
    ///
    /// If the value has been taken.
    #[track_caller]
    pub fn blocking_recv(mut self) -> Result<T, RecvError> {
        assert!(!self.is_terminated(), "called after complete");
        self.0.wait(None).map_err(|_| RecvError(()))
    }

    /// Blocks the thread until the value is there, but no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// `Empty` when the time is up; `Closed` if the value will not come, or has been
    /// taken.
    pub fn blocking_recv_timeout(&mut self, timeout: Duration) -> Result<T, TryRecvError> {
        self.0.wait(deadline::after(timeout))
    }
}

impl<T> Future for SlotReceiver<'_, T> {
    type Output = Result<T, RecvError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        coop::poll_with(cx, |cx| self.get_mut().0.poll(cx.waker()))
    }
}

impl<T: fmt::Debug> fmt::Debug for SlotSender<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.show(f, "SlotSender")
    }
}

impl<T: fmt::Debug> fmt::Debug for SlotReceiver<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.show(f, "SlotReceiver")
    }
}
