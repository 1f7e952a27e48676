//! The receiving end, wherever the cell lives.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use blitz_io_core::{coop, deadline};

use super::core::{CLOSED, RECEIVER, VALUE};
use super::error::{RecvError, TryRecvError};
use super::storage::{FROM_RECEIVER, Heap, Storage, happen, leave_after, show};
use crate::model::model_has_failed;

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
pub struct Receiver<T, S: Storage<Value = T> = Heap<T>> {
    /// `None` after the receiver has left the cell, with or without a value.
    storage: Option<S>,
    value: PhantomData<fn(T) -> T>,
}

impl<T, S: Storage<Value = T>> Receiver<T, S> {
    #[inline]
    pub(super) fn new(storage: S) -> Self {
        Self {
            storage: Some(storage),
            value: PhantomData,
        }
    }

    /// Keeps the sender from sending. A value that was sent before can still be received.
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
        if let Some(storage) = &self.storage {
            let seen = storage.core().state();
            // SAFETY: it does not leave.
            if let Ok(tasks) = unsafe { happen(storage, seen, CLOSED, FROM_RECEIVER, false) } {
                tasks.wake_other();
            }
        }
    }

    /// Returns whether it has been ready, or the value was taken by
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
        self.storage.is_none()
    }

    /// Returns whether there is no value to receive at this moment.
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
        let has_value = |storage: &S| storage.core().state() & VALUE != 0;
        !self.storage.as_ref().is_some_and(has_value)
    }

    /// Takes the value if it has been sent.
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
        let Some(storage) = &self.storage else {
            return Err(TryRecvError::Closed);
        };
        let seen = storage.core().state();
        if seen & RECEIVER.until == 0 {
            return Err(TryRecvError::Empty);
        }
        self.finish(seen).ok_or(TryRecvError::Closed)
    }

    /// Blocks the thread until the value comes.
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
        self.wait(None).map_err(|_| RecvError(()))
    }

    /// Blocks the thread until the value comes, but no longer than `timeout`.
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
        self.wait(deadline::after(timeout))
    }

    /// `Empty` when the deadline has come.
    fn wait(&mut self, deadline: Option<Instant>) -> Result<T, TryRecvError> {
        let Some(storage) = &self.storage else {
            return Err(TryRecvError::Closed);
        };
        match storage.core().wait(&RECEIVER, deadline) {
            Some(seen) => self.finish(seen).ok_or(TryRecvError::Closed),
            None => Err(TryRecvError::Empty),
        }
    }

    #[inline]
    fn poll_value(&mut self, waker: &Waker) -> Poll<Result<T, RecvError>> {
        let Some(storage) = &self.storage else {
            panic!("called after complete");
        };
        let mut seen = storage.core().state();
        if seen & RECEIVER.until == 0 {
            match storage.core().register(&RECEIVER, waker) {
                Ok(()) => return Poll::Pending,
                Err(done) => seen = done,
            }
        }
        Poll::Ready(self.finish(seen).ok_or(RecvError(())))
    }

    /// Takes the value, if there is one, and leaves. Either end has had its event.
    #[inline]
    fn finish(&mut self, seen: u32) -> Option<T> {
        let storage = self.storage.take()?;
        // SAFETY: with `VALUE` the sender has put it there and left it to us; it has not
        // been taken, since we leave whenever we take it.
        let value = (seen & VALUE != 0).then(|| unsafe { storage.core().value.take() });
        // SAFETY: this end has given up its way to the cell.
        unsafe { leave_after(&storage, seen, FROM_RECEIVER) };
        value
    }

    #[inline(never)]
    fn drop_slow(&mut self) {
        let Some(storage) = &self.storage else { return };
        let seen = storage.core().state();
        // SAFETY: if it happens, this end gives up its way to the cell.
        match unsafe { happen(storage, seen, CLOSED, FROM_RECEIVER, true) } {
            Ok(tasks) => {
                self.storage = None;
                tasks.wake_other();
            }
            Err(seen) => drop(self.finish(seen)),
        }
    }
}

impl<T, S: Storage<Value = T>> Future for Receiver<T, S> {
    type Output = Result<T, RecvError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        coop::poll_with(cx, |cx| self.get_mut().poll_value(cx.waker()))
    }
}

impl<T, S: Storage<Value = T>> Drop for Receiver<T, S> {
    #[inline]
    fn drop(&mut self) {
        if self.storage.is_some() && !model_has_failed() {
            self.drop_slow();
        }
    }
}

impl<T: fmt::Debug, S: Storage<Value = T>> fmt::Debug for Receiver<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, "Receiver", self.storage.as_ref())
    }
}
