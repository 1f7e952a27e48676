//! The sending end of a channel on the heap.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use blitz_sync::internals::{coop, deadline};

use super::ends::RawSender;
use super::home::Heap;

/// The end that sends. Made by [`channel`](super::channel).
///
/// Dropping it without sending lets the receiver fail.
pub struct Sender<T>(RawSender<Heap<T>>);

impl<T> Sender<T> {
    #[inline]
    pub(super) fn new(home: Heap<T>) -> Self {
        Self(RawSender::new(home))
    }

    /// Sends a value. It does not wait, so it can be used anywhere.
    ///
    /// `Ok` means that the receiver can get the value, not that it will.
    ///
    /// # Errors
    ///
    /// Gives the value back if the receiver is closed or dropped.
    ///
    /// ```
    /// use blitz_io::sync::oneshot;
    ///
    /// let (tx, rx) = oneshot::channel();
    /// drop(rx);
    /// assert_eq!(tx.send(3), Err(3));
    /// ```
    #[inline]
    pub fn send(self, t: T) -> Result<(), T> {
        self.0.send(t)
    }

    /// Waits until the receiver is closed or dropped.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe.
    ///
    /// ```
    /// use blitz_io::sync::oneshot;
    ///
    /// # pollster::block_on(async {
    /// let (mut tx, rx) = oneshot::channel::<()>();
    /// std::thread::spawn(move || drop(rx));
    /// tx.closed().await;
    /// assert!(tx.is_closed());
    /// # });
    /// ```
    pub async fn closed(&mut self) {
        poll_fn(|context| self.poll_closed(context)).await;
    }

    /// Whether the receiver is closed or dropped. A value can be sent only if it
    /// is not.
    ///
    /// ```
    /// use blitz_io::sync::oneshot;
    ///
    /// let (tx, rx) = oneshot::channel::<()>();
    /// assert!(!tx.is_closed());
    /// drop(rx);
    /// assert!(tx.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// Whether the receiver is closed or dropped. If not, the task is woken when
    /// it is; only the one that polled last.
    ///
    /// ```
    /// use blitz_io::sync::oneshot;
    /// use std::future::poll_fn;
    ///
    /// # pollster::block_on(async {
    /// let (mut tx, mut rx) = oneshot::channel::<()>();
    /// rx.close();
    /// poll_fn(|context| tx.poll_closed(context)).await;
    /// # });
    /// ```
    pub fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        coop::poll_with(cx, |cx| self.0.poll_closed(cx.waker()))
    }

    /// Blocks the thread until the receiver is closed or dropped.
    ///
    /// ```
    /// use blitz_io::sync::oneshot;
    ///
    /// let (mut tx, rx) = oneshot::channel::<()>();
    /// let dropped = std::thread::spawn(move || drop(rx));
    /// tx.blocking_closed();
    /// # dropped.join().unwrap();
    /// ```
    pub fn blocking_closed(&mut self) {
        self.0.wait_closed(None);
    }

    /// Blocks the thread until the receiver is closed or dropped, but no longer than
    /// `timeout`. Whether it is.
    ///
    /// ```
    /// use blitz_io::sync::oneshot;
    /// use std::time::Duration;
    ///
    /// let (mut tx, _rx) = oneshot::channel::<()>();
    /// assert!(!tx.blocking_closed_timeout(Duration::from_millis(1)));
    /// ```
    pub fn blocking_closed_timeout(&mut self, timeout: Duration) -> bool {
        self.0.wait_closed(deadline::after(timeout))
    }
}

impl<T: fmt::Debug> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.show(f, "Sender")
    }
}
