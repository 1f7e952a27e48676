//! The sending end, wherever the cell lives.

use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr;
use std::task::{Context, Poll};
use std::time::Duration;

use blitz_io_core::{coop, deadline};

use super::core::{CLOSED, COMPLETE, SENDER, VALUE};
use super::storage::{FROM_SENDER, Heap, Storage, happen, leave_after, show};
use crate::model::model_has_failed;

/// The end that sends. Made by [`channel`](super::channel).
///
/// Dropping it without sending lets the receiver fail.
pub struct Sender<T, S: Storage<Value = T> = Heap<T>> {
    storage: S,
    value: PhantomData<fn(T) -> T>,
}

impl<T, S: Storage<Value = T>> Sender<T, S> {
    #[inline]
    pub(super) fn new(storage: S) -> Self {
        Self {
            storage,
            value: PhantomData,
        }
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
        let this = ManuallyDrop::new(self);
        // SAFETY: it is read once, and `this` is not dropped.
        let storage = unsafe { ptr::read(&this.storage) };
        // SAFETY: until the sender completes, the place of the value is its own.
        unsafe { storage.core().value.put(t) };
        match storage.core().send_and_leave() {
            Ok(()) => Ok(()),
            Err(seen) => Self::send_slow(&storage, seen),
        }
    }

    #[inline(never)]
    fn send_slow(storage: &S, seen: u32) -> Result<(), T> {
        // SAFETY: the caller gives the cell up.
        match unsafe { happen(storage, seen, COMPLETE | VALUE, FROM_SENDER, true) } {
            Ok(tasks) => {
                tasks.wake_other();
                Ok(())
            }
            Err(closed) => {
                // SAFETY: the receiver was first, so the value is still ours, and
                // the cell is left after that.
                unsafe {
                    let value = storage.core().value.take();
                    leave_after(storage, closed, FROM_SENDER);
                    Err(value)
                }
            }
        }
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
        poll_fn(|cx| self.poll_closed(cx)).await;
    }

    /// Returns whether the receiver is closed or dropped. A value can be sent only
    /// if it is not.
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
        self.storage.core().state() & CLOSED != 0
    }

    /// Returns whether the receiver is closed or dropped. If not, wakes the task when it is; only
    /// the task that polled last.
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
        coop::poll_with(cx, |cx| {
            match self.storage.core().register(&SENDER, cx.waker()) {
                Ok(()) => Poll::Pending,
                Err(_) => Poll::Ready(()),
            }
        })
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
        self.storage.core().wait(&SENDER, None);
    }

    /// Blocks the thread until the receiver is closed or dropped, but no longer than
    /// `timeout`. Returns whether it is.
    ///
    /// ```
    /// use blitz_io::sync::oneshot;
    /// use std::time::Duration;
    ///
    /// let (mut tx, _rx) = oneshot::channel::<()>();
    /// assert!(!tx.blocking_closed_timeout(Duration::from_millis(1)));
    /// ```
    pub fn blocking_closed_timeout(&mut self, timeout: Duration) -> bool {
        let deadline = deadline::after(timeout);
        self.storage.core().wait(&SENDER, deadline).is_some()
    }
}

impl<T, S: Storage<Value = T>> Drop for Sender<T, S> {
    fn drop(&mut self) {
        if model_has_failed() {
            return;
        }
        let seen = self.storage.core().state();
        // SAFETY: this end is not used after its drop.
        match unsafe { happen(&self.storage, seen, COMPLETE, FROM_SENDER, true) } {
            Ok(tasks) => tasks.wake_other(),
            // SAFETY: this end is not used after its drop.
            Err(closed) => unsafe { leave_after(&self.storage, closed, FROM_SENDER) },
        }
    }
}

impl<T: fmt::Debug, S: Storage<Value = T>> fmt::Debug for Sender<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, "Sender", Some(&self.storage))
    }
}
