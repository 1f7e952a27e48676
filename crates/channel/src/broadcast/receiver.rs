//! The end that receives.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use blitz_io_core::{WaitQueue, coop, deadline};
use blitz_io_futex::atomic::Ordering;
use blitz_io_observe::named;
use blitz_io_observe::{CalledAt, Kind};

use super::error::{RecvError, RecvTimeoutError, TryRecvError};
use super::{Shared, Tail};
use crate::events;
use crate::wait::{Event, Target, Wait, block_until, may_block};

/// The end of a broadcast channel that receives.
///
/// Each receiver gets every value that is sent while it exists, unless it is too slow. Then the
/// oldest values are overwritten, and the receiver gets an error with the number that it has
/// missed. It then continues with the oldest value that is left.
///
/// [`Sender::subscribe`](super::Sender::subscribe) and
/// [`resubscribe`](Receiver::resubscribe) make more receivers.
///
/// ```
/// use blitz_io::sync::broadcast::{self, error::RecvError};
///
/// # pollster::block_on(async {
/// let (tx, mut rx) = broadcast::channel(2);
/// tx.send(10).unwrap();
/// tx.send(20).unwrap();
/// tx.send(30).unwrap();
///
/// assert_eq!(rx.recv().await, Err(RecvError::Lagged(1)));
/// assert_eq!(rx.recv().await, Ok(20));
/// assert_eq!(rx.recv().await, Ok(30));
/// # });
/// ```
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// The position of the value to get next.
    next: u64,
}

impl<T> Receiver<T> {
    pub(super) fn new(shared: Arc<Shared<T>>, next: u64) -> Self {
        Self { shared, next }
    }

    /// Returns how many values were sent that this receiver has not got. More than
    /// the capacity if it lags.
    ///
    /// ```
    /// use blitz_io::sync::broadcast;
    ///
    /// let (tx, rx) = broadcast::channel(16);
    /// tx.send(10).unwrap();
    /// tx.send(20).unwrap();
    /// assert_eq!(rx.len(), 2);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        let behind = self.shared.tail().position() - self.next;
        usize::try_from(behind).unwrap_or(usize::MAX)
    }

    /// Returns `true` if this receiver has got all that was sent.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns `true` if both receive from the same channel.
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Returns how many senders there are.
    #[must_use]
    pub fn sender_strong_count(&self) -> usize {
        self.shared.senders.load(Ordering::Acquire)
    }

    /// Returns how many weak senders there are.
    #[must_use]
    pub fn sender_weak_count(&self) -> usize {
        self.shared.weak_senders.load(Ordering::Acquire)
    }

    /// Returns `true` if the last sender has been dropped. There may be values left to
    /// get.
    ///
    /// ```
    /// use blitz_io::sync::broadcast;
    ///
    /// let (tx, rx) = broadcast::channel::<()>(16);
    /// assert!(!rx.is_closed());
    /// drop(tx);
    /// assert!(rx.is_closed());
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.sender_strong_count() == 0
    }
}

impl<T: Clone> Receiver<T> {
    /// Returns another receiver, for the values that are sent after this call. It does not get
    /// the unread values of this one.
    ///
    /// ```
    /// use blitz_io::sync::broadcast;
    ///
    /// let (tx, mut rx) = broadcast::channel(16);
    /// tx.send(1).unwrap();
    /// let mut fresh = rx.resubscribe();
    /// tx.send(2).unwrap();
    /// assert_eq!(fresh.try_recv(), Ok(2));
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// ```
    ///
    /// # Panics
    ///
    /// If there are a billion receivers already.
    #[track_caller]
    #[must_use]
    pub fn resubscribe(&self) -> Self {
        let next = self.shared.subscribe();
        Self::new(self.shared.clone(), next)
    }

    /// Gets the next value; waits for it if need be.
    ///
    /// Cancel safe: when the future is dropped before it is ready, no value has
    /// been taken.
    ///
    /// # Errors
    ///
    /// [`RecvError::Closed`] if there are neither values nor senders left, and
    /// [`RecvError::Lagged`] if values have been overwritten; the next call continues
    /// with the oldest one that is left.
    ///
    /// ```
    /// use blitz_io::sync::broadcast;
    ///
    /// # pollster::block_on(async {
    /// let (tx, mut rx) = broadcast::channel(16);
    /// let thread = std::thread::spawn(move || tx.send(7));
    /// assert_eq!(rx.recv().await, Ok(7));
    /// # thread.join().unwrap().unwrap();
    /// # });
    /// ```
    #[track_caller]
    pub fn recv(&mut self) -> impl Future<Output = Result<T, RecvError>> {
        CalledAt::new(async move { coop::cooperative(Wait::new(self)).await })
    }

    /// Gets the next value if there is one.
    ///
    /// # Errors
    ///
    /// As for [`recv`](Receiver::recv); and [`TryRecvError::Empty`] if there is
    /// nothing to get at the moment.
    ///
    /// ```
    /// use blitz_io::sync::broadcast::{self, error::TryRecvError};
    ///
    /// let (tx, mut rx) = broadcast::channel(16);
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    /// tx.send(10).unwrap();
    /// drop(tx);
    /// assert_eq!(rx.try_recv(), Ok(10));
    /// assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    /// ```
    #[inline]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let received = self.take();
        if let Err(TryRecvError::Empty) = received {
            self.finds("empty");
        }
        received
    }

    /// Gets the next value. The report of a simulation has all but that there is none yet.
    #[inline]
    fn take(&mut self) -> Result<T, TryRecvError> {
        let received = self.shared.take(&mut self.next);
        let (object, kind) = (&self.shared.observed.object, Kind::BroadcastReceive);
        match &received {
            Ok(_) => events::received(object, kind, 1, || self.len()),
            Err(TryRecvError::Lagged(missed)) => events::missed(object, kind, *missed),
            Err(TryRecvError::Closed) => self.finds("closed"),
            Err(TryRecvError::Empty) => {}
        }
        received
    }

    /// Says, for the report of a simulation, that the current task has received nothing, as the channel is like this.
    #[inline(always)]
    fn finds(&self, state: &'static str) {
        let object = &self.shared.observed.object;
        events::refused(object, Kind::BroadcastReceive, state);
    }

    /// Gets the next value; blocks the thread until there is one. Not for tasks.
    ///
    /// # Errors
    ///
    /// As for [`recv`](Receiver::recv).
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::broadcast;
    ///
    /// let (tx, mut rx) = broadcast::channel(16);
    /// let thread = std::thread::spawn(move || rx.blocking_recv());
    /// tx.send(7).unwrap();
    /// assert_eq!(thread.join().unwrap(), Ok(7));
    /// ```
    #[track_caller]
    #[doc(alias = "recv_blocking")]
    pub fn blocking_recv(&mut self) -> Result<T, RecvError> {
        let _call = may_block();
        // Without a deadline, it is never given up.
        block_until(self, None).unwrap_or(Err(RecvError::Closed))
    }

    /// Receives as [`blocking_recv`](Self::blocking_recv) does, but waits no longer than
    /// `timeout`.
    ///
    /// For threads. A task awaits [`recv`](Receiver::recv) in a `timeout` of its runtime.
    ///
    /// # Errors
    ///
    /// As for [`recv`](Receiver::recv); and [`RecvTimeoutError::Timeout`] if nothing
    /// came in time.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::broadcast::{self, error::RecvTimeoutError};
    /// use std::time::Duration;
    ///
    /// let (tx, mut rx) = broadcast::channel::<u32>(16);
    /// let timeout = Duration::from_millis(5);
    /// assert_eq!(rx.blocking_recv_timeout(timeout), Err(RecvTimeoutError::Timeout));
    /// tx.send(7).unwrap();
    /// assert_eq!(rx.blocking_recv_timeout(timeout), Ok(7));
    /// ```
    #[track_caller]
    #[doc(alias = "recv_timeout")]
    pub fn blocking_recv_timeout(&mut self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        let _call = may_block();
        let mut this = self;
        let received = this.look();
        let received = received.or_else(|| block_until(this, deadline::after(timeout)));
        Ok(received.ok_or(RecvTimeoutError::Timeout)??)
    }

    /// Receives as [`blocking_recv`](Self::blocking_recv) does, but waits no longer than until
    /// `deadline`.
    ///
    /// # Errors
    ///
    /// As for [`recv`](Receiver::recv); and [`RecvTimeoutError::Timeout`] if nothing came in time.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::broadcast::{self, error::RecvTimeoutError};
    /// use std::time::Instant;
    ///
    /// let (tx, mut rx) = broadcast::channel(16);
    /// assert_eq!(rx.blocking_recv_deadline(Instant::now()), Err(RecvTimeoutError::Timeout));
    /// tx.send(7).unwrap();
    /// assert_eq!(rx.blocking_recv_deadline(Instant::now()), Ok(7));
    /// ```
    #[track_caller]
    #[doc(alias = "recv_deadline")]
    pub fn blocking_recv_deadline(&mut self, deadline: Instant) -> Result<T, RecvTimeoutError> {
        let _call = may_block();
        let received = block_until(self, Some(deadline));
        Ok(received.ok_or(RecvTimeoutError::Timeout)??)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.shared.unsubscribe(self.next);
    }
}

named!(Receiver<T>: shared.observed.object);

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("broadcast::Receiver")
    }
}

/// The next value, or that there will be none.
impl<T: Clone> Event for &mut Receiver<T> {
    type Output = Result<T, RecvError>;

    fn queue(&self) -> &WaitQueue {
        &self.shared.waiting
    }

    #[inline]
    fn look(&mut self) -> Option<Result<T, RecvError>> {
        match self.take() {
            Ok(value) => Some(Ok(value)),
            Err(TryRecvError::Closed) => Some(Err(RecvError::Closed)),
            Err(TryRecvError::Lagged(missed)) => Some(Err(RecvError::Lagged(missed))),
            Err(TryRecvError::Empty) => None,
        }
    }

    fn must_wait(&self) -> bool {
        self.shared.tail() == Tail::new(self.next, false)
    }

    fn target(&self) -> Target<'_> {
        Target {
            kind: Kind::BroadcastReceive,
            observed: &self.shared.observed,
        }
    }
}
