//! The ends that send.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use blitz_io_core::{WaitQueue, coop, deadline};
use blitz_io_futex::atomic::Ordering;
use blitz_io_observe::named;
use blitz_io_observe::{CalledAt, Kind};

use super::Shared;
use super::error::SendError;
use super::receiver::Receiver;
use crate::events;
use crate::wait::{Event, Target, Wait, block_until, may_block};

/// The end of a broadcast channel that sends. It can be cloned and shared.
///
/// [`channel`](super::channel) makes the first one. When the last one is dropped, the channel is
/// closed: the receivers get the remaining values, and then
/// [`RecvError::Closed`](super::error::RecvError::Closed).
///
/// ```
/// use blitz_io::sync::broadcast;
///
/// let (tx, mut first) = broadcast::channel(16);
/// let mut second = tx.subscribe();
///
/// assert_eq!(tx.send("news")?, 2);
/// assert_eq!(first.blocking_recv(), Ok("news"));
/// assert_eq!(second.blocking_recv(), Ok("news"));
/// # Ok::<(), broadcast::error::SendError<&str>>(())
/// ```
pub struct Sender<T> {
    pub(super) shared: Arc<Shared<T>>,
}

impl<T> Sender<T> {
    /// Creates a channel without receivers; see [`subscribe`](Sender::subscribe).
    ///
    /// ```
    /// use blitz_io::sync::broadcast;
    ///
    /// let tx = broadcast::Sender::new(16);
    /// assert!(tx.send(1).is_err());
    ///
    /// let mut rx = tx.subscribe();
    /// tx.send(2).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(2));
    /// ```
    ///
    /// # Panics
    ///
    /// If the capacity is zero or exceeds `usize::MAX / 2`.
    #[track_caller]
    pub fn new(capacity: usize) -> Self {
        Self::with_receivers(capacity, 0)
    }

    #[track_caller]
    pub(super) fn with_receivers(capacity: usize, receivers: u32) -> Self {
        let shared = Arc::new(Shared::new(capacity, receivers));
        // SAFETY: the fill is new. The last sender, which keeps the channel alive, clears it.
        unsafe { shared.observed.object.set_fill(Arc::as_ptr(&shared)) };
        Self { shared }
    }

    /// Sends a value to all receivers, and returns how many there are. Never waits
    /// for one of them to receive, or to clone a value: where the ring is full, the oldest
    /// value is overwritten.
    ///
    /// That some receivers are counted does not mean that they will get the value:
    /// they may be dropped before, or be too slow.
    ///
    /// # Errors
    ///
    /// Gives the value back if there are no receivers. There may be some later.
    ///
    /// ```
    /// use blitz_io::sync::broadcast;
    ///
    /// let (tx, rx) = broadcast::channel(16);
    /// drop(rx);
    /// assert_eq!(tx.send("lost").unwrap_err().0, "lost");
    /// ```
    #[inline]
    pub fn send(&self, value: T) -> Result<usize, SendError<T>> {
        coop::acted();
        let sent = self.shared.send(value);
        let object = &self.shared.observed.object;
        match &sent {
            // It has the same family of a name as the receiver's.
            Ok(receivers) => events::sent_to(object, Kind::BroadcastReceive, || *receivers),
            Err(_) => events::refused(object, Kind::BroadcastReceive, "closed"),
        }
        sent
    }

    /// Returns a new receiver. It gets the values that are sent after this call.
    ///
    /// ```
    /// use blitz_io::sync::broadcast;
    ///
    /// let (tx, _rx) = broadcast::channel(16);
    /// tx.send(1).unwrap();
    /// let mut rx = tx.subscribe();
    /// tx.send(2).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(2));
    /// ```
    ///
    /// # Panics
    ///
    /// If there are a billion receivers already.
    #[track_caller]
    pub fn subscribe(&self) -> Receiver<T> {
        let next = self.shared.subscribe();
        Receiver::new(self.shared.clone(), next)
    }

    /// Returns a [`WeakSender`], which does not keep the channel open.
    #[must_use = "a weak sender does not keep the channel open; dropping it at once is of no use"]
    pub fn downgrade(&self) -> WeakSender<T> {
        self.shared.weak_senders.fetch_add(1, Ordering::Relaxed);
        WeakSender {
            shared: self.shared.clone(),
        }
    }

    /// Returns how many values are kept because some receiver has yet to get them.
    ///
    /// ```
    /// use blitz_io::sync::broadcast;
    ///
    /// let (tx, mut first) = broadcast::channel(16);
    /// let mut second = tx.subscribe();
    /// tx.send(1).unwrap();
    /// tx.send(2).unwrap();
    /// tx.send(3).unwrap();
    /// assert_eq!(tx.len(), 3);
    ///
    /// first.try_recv().unwrap();
    /// assert_eq!(tx.len(), 3);
    /// second.try_recv().unwrap();
    /// assert_eq!(tx.len(), 2);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.len()
    }

    /// Returns `true` if every receiver has got every value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shared.is_empty()
    }

    /// Returns how many receivers there are.
    #[must_use]
    pub fn receiver_count(&self) -> usize {
        self.shared.receivers() as usize
    }

    /// Returns `true` if both send into the same channel.
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Waits until there are no receivers.
    ///
    /// Cancel safe: nothing is lost when the future is dropped.
    ///
    /// ```
    /// use blitz_io::sync::broadcast;
    ///
    /// let (tx, rx) = broadcast::channel::<u32>(16);
    /// let thread = std::thread::spawn(move || drop(rx));
    /// pollster::block_on(tx.closed()); // the crate pollster
    /// assert_eq!(tx.receiver_count(), 0);
    /// # thread.join().unwrap();
    /// ```
    #[track_caller]
    pub fn closed(&self) -> impl Future<Output = ()> {
        CalledAt::new(async move {
            Wait::new(Closed(&self.shared)).await;
        })
    }

    /// Waits as [`closed`](Self::closed) does, for a thread: blocks it until there are no
    /// receivers.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    #[track_caller]
    pub fn blocking_closed(&self) {
        let _call = may_block();
        block_until(Closed(&self.shared), None);
    }

    /// Waits as [`blocking_closed`](Self::blocking_closed) does, but no longer than
    /// `timeout`. Returns `true` if there are no receivers.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::broadcast;
    /// use std::time::Duration;
    ///
    /// let (tx, rx) = broadcast::channel::<u32>(16);
    /// assert!(!tx.blocking_closed_timeout(Duration::from_millis(5)));
    /// drop(rx);
    /// assert!(tx.blocking_closed_timeout(Duration::from_millis(5)));
    /// ```
    #[track_caller]
    pub fn blocking_closed_timeout(&self, timeout: Duration) -> bool {
        let _call = may_block();
        block_until(Closed(&self.shared), deadline::after(timeout)).is_some()
    }

    /// Waits as [`blocking_closed`](Self::blocking_closed) does, but no longer than until `deadline`.
    /// Returns `true` if there are no receivers.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::broadcast;
    /// use std::time::Instant;
    ///
    /// let (tx, rx) = broadcast::channel::<u32>(16);
    /// assert!(!tx.blocking_closed_deadline(Instant::now()));
    /// drop(rx);
    /// assert!(tx.blocking_closed_deadline(Instant::now()));
    /// ```
    #[track_caller]
    pub fn blocking_closed_deadline(&self, deadline: Instant) -> bool {
        let _call = may_block();
        block_until(Closed(&self.shared), Some(deadline)).is_some()
    }
}

/// The methods that senders and weak senders share.
macro_rules! counted {
    ($name:ident, $count:ident) => {
        impl<T> $name<T> {
            /// Returns how many senders there are.
            #[must_use]
            pub fn strong_count(&self) -> usize {
                self.shared.senders.load(Ordering::Acquire)
            }

            /// Returns how many weak senders there are.
            #[must_use]
            pub fn weak_count(&self) -> usize {
                self.shared.weak_senders.load(Ordering::Acquire)
            }
        }

        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                self.shared.$count.fetch_add(1, Ordering::Relaxed);
                let shared = self.shared.clone();
                Self { shared }
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!("broadcast::", stringify!($name)))
            }
        }
    };
}

counted!(Sender, senders);
counted!(WeakSender, weak_senders);

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if self.shared.senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: this was the last sender, which owns the fill.
            unsafe { self.shared.observed.object.clear_fill() };
            self.shared.close();
        }
    }
}

named!(Sender<T>: shared.observed.object);

/// A sender that does not keep the channel open.
///
/// To send, [`upgrade`](WeakSender::upgrade) it.
///
/// ```
/// use blitz_io::sync::broadcast;
///
/// let (tx, mut rx) = broadcast::channel(16);
/// let weak = tx.downgrade();
///
/// weak.upgrade().unwrap().send("still here").unwrap();
/// drop(tx);
/// assert!(weak.upgrade().is_none());
///
/// assert_eq!(rx.try_recv(), Ok("still here"));
/// assert!(rx.try_recv().is_err());
/// ```
pub struct WeakSender<T> {
    shared: Arc<Shared<T>>,
}

impl<T> WeakSender<T> {
    /// Returns a sender, unless the last one has been dropped.
    #[must_use]
    pub fn upgrade(&self) -> Option<Sender<T>> {
        let more = |senders: usize| (senders != 0).then(|| senders + 1);
        let senders = &self.shared.senders;
        senders
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .ok()?;
        Some(Sender {
            shared: self.shared.clone(),
        })
    }
}

impl<T> Drop for WeakSender<T> {
    fn drop(&mut self) {
        self.shared.weak_senders.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The last receiver's end, as senders wait for it.
struct Closed<'a, T>(&'a Shared<T>);

impl<T> Event for Closed<'_, T> {
    type Output = ();

    fn queue(&self) -> &WaitQueue {
        &self.0.close_waiters
    }

    fn look(&mut self) -> Option<()> {
        (self.0.receivers() == 0).then_some(())
    }

    fn must_wait(&self) -> bool {
        self.0.receivers() != 0
    }

    fn target(&self) -> Target<'_> {
        Target {
            kind: Kind::BroadcastClosed,
            observed: &self.0.observed,
        }
    }
}
