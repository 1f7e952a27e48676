//! The receiving end of a channel on the heap.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use blitz_sync::internals::{coop, deadline};

use super::ends::RawReceiver;
use super::error::{RecvError, TryRecvError};
use super::home::Heap;

/// The end that receives: a future of the value. Made by
/// [`channel`](super::channel).
///
/// It can be awaited by reference, to try it beside other futures and again; that
/// loses nothing.
///
/// # Errors
///
/// It fails if the sender is dropped without sending, or if the receiver was
/// [closed](Receiver::close) before anything was sent.
///
/// # Panics
///
/// A poll after it was ready panics, as does one after the value was taken by
/// [`try_recv`](Receiver::try_recv).
///
/// ```
/// use blitz_io::sync::oneshot;
///
/// # pollster::block_on(async {
/// let (tx, mut rx) = oneshot::channel();
/// tx.send(7).unwrap();
/// assert_eq!((&mut rx).await, Ok(7));
/// assert!(rx.is_terminated());
/// # });
/// ```
pub struct Receiver<T>(RawReceiver<Heap<T>>);

impl<T> Receiver<T> {
    #[inline]
    pub(super) fn new(home: Heap<T>) -> Self {
        Self(RawReceiver::new(home))
    }

    /// Keeps the sender from sending. What it has sent before can still be
    /// received.
    ///
    /// ```
    /// use blitz_io::sync::oneshot;
    ///
    /// let (tx, mut rx) = oneshot::channel();
    /// rx.close();
    /// assert_eq!(tx.send(1), Err(1));
    /// assert!(rx.try_recv().is_err());
    /// ```
    pub fn close(&mut self) {
        self.0.close();
    }

    /// Whether it has been ready, or the value was taken by
    /// [`try_recv`](Receiver::try_recv), or that has said `Closed`.
    ///
    /// ```
    /// use blitz_io::sync::oneshot;
    ///
    /// let (tx, mut rx) = oneshot::channel();
    /// tx.send(1).unwrap();
    /// assert!(!rx.is_terminated());
    /// rx.try_recv().unwrap();
    /// assert!(rx.is_terminated());
    /// ```
    pub fn is_terminated(&self) -> bool {
        self.0.is_terminated()
    }

    /// Whether there is no value to receive at this moment.
    ///
    /// ```
    /// use blitz_io::sync::oneshot;
    ///
    /// let (tx, rx) = oneshot::channel();
    /// assert!(rx.is_empty());
    /// tx.send(1).unwrap();
    /// assert!(!rx.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the value if it is there.
    ///
    /// # Errors
    ///
    /// `Empty` if it may still come; `Closed` if it will not, or has been taken.
    ///
    /// ```
    /// use blitz_io::sync::oneshot::{self, error::TryRecvError};
    ///
    /// let (tx, mut rx) = oneshot::channel();
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    /// tx.send(1).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    /// ```
    #[inline]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        self.0.try_recv()
    }

    /// Blocks the thread until the value is there.
    ///
    /// It must not be called where other tasks wait for the thread, that is, in an
    /// `async` block or function.
    ///
    /// # Errors
    ///
    /// If the sender is dropped without sending.
    ///
    /// # Panics
    ///
    /// If the value has been taken. In a task, if the runtime is that of this project: it
    /// must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::oneshot;
    ///
    /// let (tx, rx) = oneshot::channel();
    /// let sender = std::thread::spawn(move || tx.send("from afar"));
    /// assert_eq!(rx.blocking_recv(), Ok("from afar"));
    /// # sender.join().unwrap().unwrap();
    /// ```
    #[track_caller]
    pub fn blocking_recv(mut self) -> Result<T, RecvError> {
        coop::assert_may_block();
        assert!(!self.is_terminated(), "called after complete");
        self.0.wait(None).map_err(|_| RecvError(()))
    }

    /// Blocks the thread until the value is there, but no longer than `timeout`.
    /// The receiver can be used again after that.
    ///
    /// # Errors
    ///
    /// `Empty` when the time is up; `Closed` if the value will not come, or has been
    /// taken.
    ///
    /// ```
    /// use blitz_io::sync::oneshot::{self, error::TryRecvError};
    /// use std::time::Duration;
    ///
    /// let (tx, mut rx) = oneshot::channel();
    /// let soon = Duration::from_millis(1);
    /// assert_eq!(rx.blocking_recv_timeout(soon), Err(TryRecvError::Empty));
    /// tx.send(1).unwrap();
    /// assert_eq!(rx.blocking_recv_timeout(soon), Ok(1));
    /// ```
    pub fn blocking_recv_timeout(&mut self, timeout: Duration) -> Result<T, TryRecvError> {
        self.0.wait(deadline::after(timeout))
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        coop::poll_with(cx, |cx| self.get_mut().0.poll(cx.waker()))
    }
}

impl<T: fmt::Debug> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.show(f, "Receiver")
    }
}
