//! The two ends, in whatever memory the cell is.

use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use blitz_io_core::{coop, deadline};
use blitz_io_observe::decisions::{self, IS_DECIDED};
use blitz_io_observe::{Blocking, Caller, Kind, Origin, Wait, WaitKind};
use blitz_io_observe::{Operation, Resource, Sort};

use super::cell::{
    CLOSED, COMPLETE, FROM_RECEIVER, FROM_SENDER, RECEIVER, RX_TASK, SENDER, Storage, TX_TASK,
    VALUE, happen, leave_after,
};
use super::error::{RecvError, RecvTimeoutError, TryRecvError};
use super::heap::Heap;
use crate::events;
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
    #[track_caller]
    pub fn send(self, t: T) -> Result<(), T> {
        // Read first: sending may free the cell.
        let origin = decisions::explains().then(|| origin_of(&self.storage));
        let sent = self.send_as_part(t);
        if let Some(origin) = origin {
            events::sent_one(origin, Caller::here(), sent.is_ok());
        }
        sent
    }

    /// Sends as [`send`](Sender::send) does. It is a part of another operation: the report of a simulation does not name it.
    #[doc(hidden)]
    #[inline]
    pub fn send_as_part(self, t: T) -> Result<(), T> {
        coop::acted();
        let this = ManuallyDrop::new(self);
        // SAFETY: it is read once, and `this` is not dropped.
        let storage = unsafe { ptr::read(&this.storage) };
        // SAFETY: until the sender completes, the place of the value is its own.
        unsafe { storage.cell().value.put(t) };
        match storage.cell().send_and_leave() {
            Ok(()) => Ok(()),
            Err(seen) => Self::send_slow(&storage, seen),
        }
    }

    #[inline(never)]
    fn send_slow(storage: &S, seen: u32) -> Result<(), T> {
        // SAFETY: the caller gives the cell up.
        match unsafe { happen(storage, seen, COMPLETE | VALUE, FROM_SENDER, true) } {
            Ok(()) => Ok(()),
            Err(closed) => {
                // SAFETY: the receiver was first, so the value still belongs to the sender,
                // which leaves the cell after that.
                unsafe {
                    let value = storage.cell().value.take();
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
    #[track_caller]
    pub fn closed(&mut self) -> impl Future<Output = ()> {
        let caller = Caller::here();
        async move {
            let mut record = Wait::new(caller);
            poll_fn(|cx| {
                let polled = self.poll_closed(cx);
                if polled.is_pending() {
                    let kind = WaitKind::new(Kind::OneshotClosed);
                    record.begin_made(kind, origin_of(&self.storage), cx.waker());
                } else {
                    record.end();
                }
                polled
            })
            .await;
        }
    }

    /// Returns `true` if the receiver is closed or dropped. A value can be sent only
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
        self.storage.cell().state() & CLOSED != 0
    }

    /// Returns `true` if the receiver is closed or dropped. If not, wakes the task when it is; only
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
            match self.storage.cell().register(&SENDER, cx.waker()) {
                Ok(()) => Poll::Pending,
                Err(_) => Poll::Ready(()),
            }
        })
    }

    /// Blocks the thread until the receiver is closed or dropped.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::oneshot;
    ///
    /// let (mut tx, rx) = oneshot::channel::<()>();
    /// let dropped = std::thread::spawn(move || drop(rx));
    /// tx.blocking_closed();
    /// # dropped.join().unwrap();
    /// ```
    #[track_caller]
    pub fn blocking_closed(&mut self) {
        coop::assert_may_block();
        self.wait(None, Caller::here());
    }

    /// Blocks the thread until the receiver is closed or dropped, but no longer than
    /// `timeout`. Returns `true` if it is.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::oneshot;
    /// use std::time::Duration;
    ///
    /// let (mut tx, _rx) = oneshot::channel::<()>();
    /// assert!(!tx.blocking_closed_timeout(Duration::from_millis(1)));
    /// ```
    #[track_caller]
    pub fn blocking_closed_timeout(&mut self, timeout: Duration) -> bool {
        coop::assert_may_block();
        self.wait(deadline::after(timeout), Caller::here())
    }

    /// Blocks the thread until the receiver is closed or dropped, but no longer than until
    /// `deadline`. Returns `true` if it is.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::oneshot;
    /// use std::time::Instant;
    ///
    /// let (mut tx, rx) = oneshot::channel::<()>();
    /// drop(rx);
    /// assert!(tx.blocking_closed_deadline(Instant::now()));
    /// ```
    #[track_caller]
    pub fn blocking_closed_deadline(&mut self, deadline: Instant) -> bool {
        coop::assert_may_block();
        self.wait(Some(deadline), Caller::here())
    }

    /// Waits until `deadline` at the latest. Returns `true` if the receiver is closed or dropped.
    fn wait(&self, deadline: Option<Instant>, caller: Caller) -> bool {
        let _waits = Blocking::without_object(Kind::OneshotClosed, caller, deadline.is_some());
        self.storage.cell().wait(&SENDER, deadline).is_some()
    }
}

impl<T, S: Storage<Value = T>> Drop for Sender<T, S> {
    fn drop(&mut self) {
        if model_has_failed() {
            return;
        }
        coop::acted();
        let seen = self.storage.cell().state();
        // SAFETY: this end is not used after its drop.
        if let Err(closed) = unsafe { happen(&self.storage, seen, COMPLETE, FROM_SENDER, true) } {
            // SAFETY: this end is not used after its drop.
            unsafe { leave_after(&self.storage, closed, FROM_SENDER) };
        }
    }
}

impl<T: fmt::Debug, S: Storage<Value = T>> fmt::Debug for Sender<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(f, "Sender", Some(&self.storage))
    }
}

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
    resource: Resource,
    operation: Operation,
}

impl<T, S: Storage<Value = T>> Receiver<T, S> {
    #[inline]
    #[track_caller]
    pub(super) fn new(storage: S) -> Self {
        let resource = Resource::new(Sort::Oneshot);
        // SAFETY: the record is the receiver's. No other code has the sender yet, so it does not look at the
        // origin yet.
        unsafe {
            storage.cell().record.put(Wait::new(Caller::UNKNOWN));
            storage.cell().origin.put(Origin::of_object());
        };
        Self {
            storage: Some(storage),
            value: PhantomData,
            operation: Operation::new(&resource, "Receiver::await"),
            resource,
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
        coop::acted();
        if let Some(storage) = &self.storage {
            let seen = storage.cell().state();
            // SAFETY: it does not leave. An event of the sender's makes the close superfluous.
            _ = unsafe { happen(storage, seen, CLOSED, FROM_RECEIVER, false) };
        }
    }

    /// Returns `true` if the future has been ready, or [`try_recv`](Receiver::try_recv) has
    /// taken the value or returned `Closed`.
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

    /// Returns `true` if there is no value to receive at this moment.
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
        let has_value = |storage: &S| storage.cell().state() & VALUE != 0;
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
        let seen = storage.cell().state();
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
    #[doc(alias = "recv_blocking")]
    pub fn blocking_recv(mut self) -> Result<T, RecvError> {
        coop::assert_may_block();
        assert!(!self.is_terminated(), "called after complete");
        self.wait(None, Caller::here()).map_err(|_| RecvError(()))
    }

    /// Blocks the thread until the value comes, but no longer than `timeout`.
    /// The receiver can be used again after that.
    ///
    /// For threads. A task awaits the receiver, by reference, in a `timeout` of its runtime.
    ///
    /// # Errors
    ///
    /// [`Timeout`](RecvTimeoutError::Timeout) if `timeout` elapses;
    /// [`Closed`](RecvTimeoutError::Closed) if the value will not come, or has been taken.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::oneshot::{self, error::RecvTimeoutError};
    /// use std::time::Duration;
    ///
    /// let (tx, mut rx) = oneshot::channel();
    /// let soon = Duration::from_millis(1);
    /// assert_eq!(rx.blocking_recv_timeout(soon), Err(RecvTimeoutError::Timeout));
    /// tx.send(1).unwrap();
    /// assert_eq!(rx.blocking_recv_timeout(soon), Ok(1));
    /// ```
    #[track_caller]
    #[doc(alias = "recv_timeout")]
    pub fn blocking_recv_timeout(&mut self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        coop::assert_may_block();
        let received = self.wait(deadline::after(timeout), Caller::here());
        received.map_err(in_time)
    }

    /// Blocks the thread until the value comes, but no longer than until `deadline`. The receiver can
    /// be used again after that.
    ///
    /// # Errors
    ///
    /// As [`blocking_recv_timeout`](Self::blocking_recv_timeout).
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::oneshot;
    /// use std::time::Instant;
    ///
    /// let (tx, mut rx) = oneshot::channel();
    /// assert!(rx.blocking_recv_deadline(Instant::now()).unwrap_err().is_timeout());
    /// tx.send(1).unwrap();
    /// assert_eq!(rx.blocking_recv_deadline(Instant::now()), Ok(1));
    /// ```
    #[track_caller]
    #[doc(alias = "recv_deadline")]
    pub fn blocking_recv_deadline(&mut self, deadline: Instant) -> Result<T, RecvTimeoutError> {
        coop::assert_may_block();
        let received = self.wait(Some(deadline), Caller::here());
        received.map_err(in_time)
    }

    /// Waits for the value. Returns `Empty` when the deadline has passed.
    fn wait(&mut self, deadline: Option<Instant>, caller: Caller) -> Result<T, TryRecvError> {
        let Some(storage) = &self.storage else {
            return Err(TryRecvError::Closed);
        };
        // An earlier poll's, whose waker is not used any more.
        end_record(storage);
        let _waits = Blocking::without_object(Kind::OneshotReceive, caller, deadline.is_some());
        match storage.cell().wait(&RECEIVER, deadline) {
            Some(seen) => self.finish(seen).ok_or(TryRecvError::Closed),
            None => Err(TryRecvError::Empty),
        }
    }

    #[inline]
    fn poll_value(&mut self, waker: &Waker) -> Poll<Result<T, RecvError>> {
        let Some(storage) = &self.storage else {
            panic!("called after complete");
        };
        let mut seen = storage.cell().state();
        if seen & RECEIVER.until == 0 {
            match storage.cell().register(&RECEIVER, waker) {
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
        end_record(&storage);
        // SAFETY: with `VALUE` the sender has stored the value and left it to the receiver. It has
        // not been taken, since the receiver leaves when it takes the value.
        let value = (seen & VALUE != 0).then(|| unsafe { storage.cell().value.take() });
        if value.is_some() {
            self.resource.value_received();
        }
        // SAFETY: this end has given up its way to the cell.
        unsafe { leave_after(&storage, seen, FROM_RECEIVER) };
        value
    }

    #[inline(never)]
    fn drop_slow(&mut self) {
        let Some(storage) = &self.storage else { return };
        coop::acted();
        // SAFETY: the record is the receiver's, which has put it there.
        unsafe { storage.cell().record.change(Wait::cancel) };
        let seen = storage.cell().state();
        // SAFETY: if it happens, this end gives up its way to the cell.
        if let Err(seen) = unsafe { happen(storage, seen, CLOSED, FROM_RECEIVER, true) } {
            drop(self.finish(seen));
        }
    }
}

/// Returns the error of a wait with a time limit.
fn in_time(error: TryRecvError) -> RecvTimeoutError {
    match error {
        TryRecvError::Empty => RecvTimeoutError::Timeout,
        TryRecvError::Closed => RecvTimeoutError::Closed,
    }
}

/// Returns the origin of the channel.
#[inline]
fn origin_of(storage: &impl Storage) -> Origin {
    // SAFETY: it was put there before there were two ends, and is never changed while there are.
    unsafe { storage.cell().origin.look(|origin| *origin) }
}

/// Ends the record of the receiver's wait. Called by the receiver before it leaves the cell.
#[inline]
fn end_record(storage: &impl Storage) {
    // SAFETY: the record is the receiver's, which has put it there.
    unsafe { storage.cell().record.change(Wait::end) };
}

/// The thing for which a receiver waits, for its record.
#[derive(Clone, Copy)]
enum Awaited {
    /// The task with this number.
    Task(u64),
    /// The sender. The location is that of the `.await`.
    Sender(Caller),
}

impl Awaited {
    #[inline(always)]
    fn begin(self, record: &mut Wait, kind: WaitKind, origin: Origin, waker: &Waker) {
        match self {
            Self::Task(task) => record.begin_with(kind, task, waker),
            Self::Sender(caller) => record.begin_made_awaited(kind, origin, caller, waker),
        }
    }

    #[inline(always)]
    fn at_point(self, record: &mut Wait, kind: WaitKind, origin: Origin) -> Poll<()> {
        match self {
            Self::Task(task) => record.at_point_awaited(Poll::Pending, kind, task, Caller::UNKNOWN),
            Self::Sender(at) => record.at_point_made_awaited(Poll::Pending, kind, origin, at),
        }
    }
}

impl<T, S: Storage<Value = T>> Receiver<T, S> {
    /// Polls the receiver in another primitive: records name it as a wait of this kind, for the task with this number.
    #[doc(hidden)]
    #[inline]
    pub fn poll_as(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        kind: WaitKind,
        task: u64,
    ) -> Poll<Result<T, RecvError>> {
        self.poll_recorded(cx, kind, Awaited::Task(task))
    }

    /// Polls the receiver. The record of its wait has this kind.
    #[inline]
    fn poll_recorded(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        kind: WaitKind,
        of: Awaited,
    ) -> Poll<Result<T, RecvError>> {
        let this = self.get_mut();
        let polled = coop::poll_with(cx, |cx| {
            let poll = |this: &mut Self| this.poll_value(cx.waker());
            let polled = Operation::poll(this, |this| &mut this.operation, "poll_recv", poll);
            if let Some(storage) = this.storage.as_ref().filter(|_| polled.is_pending()) {
                let origin = origin_of(storage);
                let begin = |record: &mut Wait| of.begin(record, kind, origin, cx.waker());
                // SAFETY: the record is the receiver's, which has put it there.
                unsafe { storage.cell().record.change(begin) };
            }
            polled
        });
        let is_pending = IS_DECIDED && polled.is_pending();
        let Some(storage) = this.storage.as_ref().filter(|_| is_pending) else {
            return polled;
        };
        let origin = origin_of(storage);
        let at_point = |record: &mut Wait| _ = of.at_point(record, kind, origin);
        // SAFETY: the record is the receiver's, which has put it there.
        unsafe { storage.cell().record.change(at_point) };
        polled
    }
}

impl<T, S: Storage<Value = T>> Future for Receiver<T, S> {
    type Output = Result<T, RecvError>;

    // The caller is the `.await`, for the record.
    #[inline]
    #[track_caller]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let kind = WaitKind::new(Kind::OneshotReceive);
        self.poll_recorded(cx, kind, Awaited::Sender(Caller::here()))
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

/// The visible state of a cell, for `Debug`.
#[derive(Debug)]
#[allow(dead_code, reason = "they are shown")]
struct Inner {
    state: State,
}

#[derive(Debug)]
#[allow(dead_code, reason = "they are shown")]
struct State {
    is_complete: bool,
    is_closed: bool,
    is_rx_task_set: bool,
    is_tx_task_set: bool,
}

/// Shows an end under this name.
fn show(f: &mut fmt::Formatter<'_>, name: &str, storage: Option<&impl Storage>) -> fmt::Result {
    let inner = storage.map(|storage| {
        let seen = storage.cell().state();
        let is_set = |bit| seen & bit != 0;
        let state = State {
            is_complete: is_set(COMPLETE),
            is_closed: is_set(CLOSED),
            is_rx_task_set: is_set(RX_TASK),
            is_tx_task_set: is_set(TX_TASK),
        };
        Inner { state }
    });
    f.debug_struct(name).field("inner", &inner).finish()
}
