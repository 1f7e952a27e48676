//! The end that changes the value.

use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use blitz_io_core::{coop, deadline};
use blitz_io_futex::atomic::Ordering;
use blitz_io_observe::named;
use blitz_io_observe::{CalledAt, Kind};

use super::error::SendError;
use super::receiver::{Receiver, Ref};
use super::{Closed, Shared, channel, lock};
use crate::events;
use crate::model::model_has_failed;
use crate::wait::{Wait, block_until, may_block};

/// The end that changes the value. There can be several: it can be cloned.
#[derive(Debug)]
pub struct Sender<T> {
    pub(super) shared: Arc<Shared<T>>,
}

impl<T> Sender<T> {
    /// Creates a channel without receivers. [`subscribe`](Sender::subscribe) makes
    /// one.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// let tx = watch::Sender::new(1);
    /// assert_eq!(tx.receiver_count(), 0);
    /// assert_eq!(*tx.subscribe().borrow(), 1);
    /// ```
    #[track_caller]
    pub fn new(init: T) -> Self {
        channel(init).0
    }

    /// Replaces the value, and wakes the receivers. The old value is dropped.
    ///
    /// # Errors
    ///
    /// If there is no receiver, the value comes back and nothing has changed.
    /// [`send_replace`](Sender::send_replace) changes the value in any case.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// let (tx, rx) = watch::channel(1);
    /// tx.send(2)?;
    /// assert_eq!(*rx.borrow(), 2);
    /// drop(rx);
    /// assert_eq!(tx.send(3).unwrap_err().0, 3);
    /// # Ok::<(), watch::error::SendError<u32>>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        if self.receiver_count() == 0 {
            let object = &self.shared.observed.object;
            events::refused(object, Kind::WatchReceive, "closed");
            return Err(SendError(value));
        }
        drop(self.send_replace(value));
        Ok(())
    }

    /// Changes the value in place, and wakes the receivers. It does so also when there
    /// is none.
    ///
    /// # Panics
    ///
    /// If `modify` does. Then the receivers are not woken. The changes that `modify` made before
    /// the panic stay, and the channel can be used as before.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// let (tx, rx) = watch::channel(vec![1]);
    /// tx.send_modify(|list| list.push(2));
    /// assert_eq!(*rx.borrow(), [1, 2]);
    /// ```
    #[track_caller]
    pub fn send_modify<F>(&self, modify: F)
    where
        F: FnOnce(&mut T),
    {
        self.shared.modify(|value| {
            modify(value);
            true
        });
    }

    /// Changes the value in place, and wakes the receivers only if `modify` returns true. Returns
    /// the result of `modify`.
    ///
    /// # Panics
    ///
    /// As [`send_modify`](Sender::send_modify).
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// let (tx, rx) = watch::channel(5);
    /// let raise_to = |least: i32| tx.send_if_modified(|value| {
    ///     let raises = *value < least;
    ///     *value = least.max(*value);
    ///     raises
    /// });
    /// assert!(!raise_to(4));
    /// assert!(!rx.has_changed().unwrap());
    /// assert!(raise_to(6));
    /// assert!(rx.has_changed().unwrap());
    /// ```
    #[track_caller]
    pub fn send_if_modified<F>(&self, modify: F) -> bool
    where
        F: FnOnce(&mut T) -> bool,
    {
        self.shared.modify(modify)
    }

    /// Replaces the value, wakes the receivers, and returns the old value. It does so
    /// also when there is no receiver.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// let tx = watch::Sender::new(1);
    /// assert_eq!(tx.send_replace(2), 1);
    /// assert_eq!(tx.send_replace(3), 2);
    /// ```
    #[inline]
    #[track_caller]
    pub fn send_replace(&self, mut value: T) -> T {
        self.shared.modify(|old| {
            mem::swap(old, &mut value);
            true
        });
        value
    }

    /// Returns the value as it is. No sender can send while this is held: see [`Ref`].
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// let tx = watch::Sender::new(1);
    /// assert_eq!(*tx.borrow(), 1);
    /// ```
    #[track_caller]
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref::new(lock::read(&self.shared.value), false)
    }

    /// Returns `true` if there is no receiver. There can be one again:
    /// [`subscribe`](Sender::subscribe).
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// let (tx, rx) = watch::channel(());
    /// assert!(!tx.is_closed());
    /// drop(rx);
    /// assert!(tx.is_closed());
    /// ```
    pub fn is_closed(&self) -> bool {
        self.receiver_count() == 0
    }

    /// Waits until there is no receiver.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// # pollster::block_on(async {
    /// let (tx, rx) = watch::channel(());
    /// std::thread::spawn(move || drop(rx));
    /// tx.closed().await;
    /// # });
    /// ```
    #[track_caller]
    pub fn closed(&self) -> impl Future<Output = ()> {
        CalledAt::new(async move {
            coop::cooperative(Wait::new(Closed(&self.shared))).await;
        })
    }

    /// Blocks the thread until there is no receiver.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// let (tx, rx) = watch::channel(());
    /// std::thread::spawn(move || drop(rx));
    /// tx.blocking_closed();
    /// ```
    #[track_caller]
    pub fn blocking_closed(&self) {
        let _call = may_block();
        block_until(Closed(&self.shared), None);
    }

    /// Blocks the thread until there is no receiver, but no longer than `timeout`.
    /// Returns `true` if there was none.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    /// use std::time::Duration;
    ///
    /// let (tx, _rx) = watch::channel(());
    /// assert!(!tx.blocking_closed_timeout(Duration::from_millis(1)));
    /// ```
    #[track_caller]
    pub fn blocking_closed_timeout(&self, timeout: Duration) -> bool {
        let _call = may_block();
        block_until(Closed(&self.shared), deadline::after(timeout)).is_some()
    }

    /// Waits as [`blocking_closed`](Self::blocking_closed) does, but no longer than until `deadline`.
    /// Returns `true` if there is no receiver.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    /// use std::time::Instant;
    ///
    /// let (tx, rx) = watch::channel(16);
    /// assert!(!tx.blocking_closed_deadline(Instant::now()));
    /// drop(rx);
    /// assert!(tx.blocking_closed_deadline(Instant::now()));
    /// ```
    #[track_caller]
    pub fn blocking_closed_deadline(&self, deadline: Instant) -> bool {
        let _call = may_block();
        block_until(Closed(&self.shared), Some(deadline)).is_some()
    }

    /// Returns a new receiver, which has seen the value as it is now.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// let (tx, first) = watch::channel(1);
    /// tx.send(2).unwrap();
    /// let second = tx.subscribe();
    /// assert!(first.has_changed().unwrap());
    /// assert!(!second.has_changed().unwrap());
    /// ```
    pub fn subscribe(&self) -> Receiver<T> {
        let shared = self.shared.clone();
        let version = shared.current();
        shared.receivers.fetch_add(1, Ordering::Relaxed);
        Receiver::new(shared, version)
    }

    /// Returns how many receivers there are.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// let (tx, rx) = watch::channel(());
    /// let _other = rx.clone();
    /// assert_eq!(tx.receiver_count(), 2);
    /// ```
    #[inline]
    pub fn receiver_count(&self) -> usize {
        self.shared.receivers.load(Ordering::Acquire)
    }

    /// Returns how many senders there are.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// let tx = watch::Sender::new(());
    /// let _other = tx.clone();
    /// assert_eq!(tx.sender_count(), 2);
    /// ```
    pub fn sender_count(&self) -> usize {
        self.shared.senders.load(Ordering::Relaxed)
    }

    /// Returns `true` if both are senders of the same channel.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// let (one, other) = (watch::Sender::new(1), watch::Sender::new(1));
    /// assert!(one.same_channel(&one.clone()));
    /// assert!(!one.same_channel(&other));
    /// ```
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.shared.senders.fetch_add(1, Ordering::Relaxed);
        Self {
            shared: self.shared.clone(),
        }
    }
}

impl<T: Default> Default for Sender<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if !model_has_failed() {
            self.shared.remove_sender();
        }
    }
}

named!(Sender<T>: shared.observed.object);
