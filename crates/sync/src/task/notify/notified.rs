//! The futures of a [`Notify`], and the methods that create them.

use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

use blitz_io_futex::atomic::Ordering;

use super::{BITS, EMPTY, NOTIFIED, Notify, Ticket, WAITING, calls_in};
use blitz_io_core::Node;
use blitz_io_core::coop;
use blitz_io_core::deadline;
use blitz_io_core::spin::Spin;
use blitz_io_observe::{Blocking, Caller, Kind, Object, Wait, WaitKind};

/// The progress of a waiter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Progress {
    /// The waiter has not been polled.
    New,
    /// Its node is in the queue, or has been chosen.
    Waits,
    /// The waiter has been notified.
    Done,
}

/// The state that both futures share.
struct Waiter {
    progress: Progress,
    node: Node<Ticket>,
    /// There is a record only while `progress` is `Waits`. Then `cancel` ends it, and otherwise what it knows of a point: to drop
    /// the field would be one more call for each future.
    record: ManuallyDrop<Wait>,
}

impl Waiter {
    #[inline]
    fn new(calls: usize, caller: Caller) -> Self {
        Self {
            progress: Progress::New,
            node: Node::new(Ticket {
                calls,
                order: Cell::new(None),
            }),
            record: ManuallyDrop::new(Wait::new(caller)),
        }
    }

    #[inline]
    fn at_point(self: Pin<&mut Self>, point: Poll<()>, of: (WaitKind, &Object)) -> Poll<()> {
        // SAFETY: nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        this.record.at_point(point, of.0, of.1)
    }

    /// Polls the wait, as one of this kind for this object; without a waker it only enables.
    #[inline]
    fn poll(
        self: Pin<&mut Self>,
        notify: &Notify,
        waker: Option<&Waker>,
        (kind, object): (WaitKind, &Object),
    ) -> Poll<()> {
        // SAFETY: nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        match this.progress {
            Progress::New if this.try_take(notify) => this.progress = Progress::Done,
            Progress::New => {
                // SAFETY: it is pinned, and its future's `drop` unlinks it.
                unsafe { this.join(notify, Some(waker.unwrap_or(Waker::noop()))) };
            }
            Progress::Waits => {
                this.look_again(notify, waker);
                if this.progress == Progress::Done {
                    notify.object.hand_over_ended();
                }
            }
            Progress::Done => {}
        }
        if this.progress == Progress::Done {
            this.record.end();
            return Poll::Ready(());
        }
        if let Some(waker) = waker {
            this.record.begin(kind, object, waker);
        }
        Poll::Pending
    }

    /// Takes the notification that is stored, unless a call of `notify_waiters`
    /// has made that needless. Returns `true` if the wait is over.
    #[inline]
    fn try_take(&self, notify: &Notify) -> bool {
        let calls = self.calls();
        match notify.exchange(calls | NOTIFIED, calls | EMPTY) {
            Ok(_) => true,
            Err(state) => calls_in(state) != calls,
        }
    }

    /// Returns the number of calls that there had been when it was made.
    #[inline]
    fn calls(&self) -> usize {
        self.node.request.calls
    }

    /// Returns `true` if `notify_waiters` has been called since it was made.
    fn is_covered(&self, notify: &Notify) -> bool {
        calls_in(notify.state.load(Ordering::Acquire)) != self.calls()
    }

    /// Joins the queue, or finds that it need not: with this waker, or as a
    /// thread.
    ///
    /// # Safety
    ///
    /// The waiter does not move until it has been unlinked.
    #[inline(never)]
    unsafe fn join(&mut self, notify: &Notify, waker: Option<&Waker>) {
        // SAFETY: a future joins once, so its node is not linked; by this function's contract it
        // stays in place.
        let joins =
            unsafe { (notify.waiters).join_if(&self.node, waker, |_| self.announce(notify)) };
        self.progress = if joins {
            Progress::Waits
        } else {
            Progress::Done
        };
        if !joins {
            // SAFETY: it is not linked.
            unsafe { self.node.disarm() };
        }
    }

    /// Sets `WAITING`, or takes the stored notification. Returns `true` if the caller has to wait. Under
    /// the lock.
    fn announce(&self, notify: &Notify) -> bool {
        let mut state = notify.state.load(Ordering::Acquire);
        loop {
            let covered = calls_in(state) != self.calls();
            if covered {
                return false;
            }
            let to = match state & BITS {
                EMPTY => WAITING,
                NOTIFIED => EMPTY,
                _ => return true,
            };
            match notify.exchange(state, calls_in(state) | to) {
                Ok(_) => return to == WAITING,
                Err(now) => state = now,
            }
        }
    }

    /// Polls a waiter that is queued.
    fn look_again(&mut self, notify: &Notify, waker: Option<&Waker>) {
        if self.node.is_signalled() {
            self.progress = Progress::Done;
        } else if self.is_covered(notify) {
            // `notify_waiters` is about to choose it; there is no need to wait for
            // that.
            notify.waiters.leave(&self.node);
            self.progress = Progress::Done;
        } else if let Some(waker) = waker {
            if !notify.waiters.still_waits(&self.node, waker) {
                self.progress = Progress::Done;
            }
        }
    }

    /// Waits as a thread; it has not been polled. Returns `true` if it was notified before
    /// the deadline.
    fn wait(self: Pin<&mut Self>, notify: &Notify, deadline: Option<Instant>) -> bool {
        // SAFETY: nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        if this.spin(notify, deadline) {
            this.progress = Progress::Done;
            return true;
        }
        let is_timed = deadline.is_some();
        let _waits = Blocking::new(Kind::Notify, &notify.object, this.record.caller(), is_timed);
        // SAFETY: it is pinned, and its future's `drop` unlinks it.
        unsafe { this.join(notify, None) };
        if this.progress == Progress::Done {
            return true;
        }
        let notified = this.node.sleep(deadline) || !this.leave(notify);
        this.progress = Progress::Done;
        notified
    }

    /// Tries for a while to get by without the queue.
    fn spin(&self, notify: &Notify, deadline: Option<Instant>) -> bool {
        let mut spin = Spin::EVENT;
        loop {
            if self.try_take(notify) {
                return true;
            }
            // While others wait, nothing will be stored.
            let state = notify.state.load(Ordering::Relaxed);
            if state & BITS == WAITING || deadline::is_past(deadline) || !spin.turn() {
                return false;
            }
        }
    }

    /// Takes its node out of the queue. Returns `false` if it has been notified.
    fn leave(&self, notify: &Notify) -> bool {
        notify.waiters.locked(|list| {
            let removed = list.remove(&self.node);
            if removed {
                notify.clear_waiting(list);
            }
            removed && !self.is_covered(notify)
        })
    }

    /// Unlinks its node, and passes on a notification for which the node was chosen.
    #[inline]
    fn cancel(&mut self, notify: &Notify) {
        if self.progress == Progress::Waits {
            self.cancel_wait(notify);
        } else {
            self.record.cancel_point();
        }
    }

    #[cold]
    fn cancel_wait(&mut self, notify: &Notify) {
        self.record.cancel();
        notify.object.hand_over_ended();
        let wake = notify.waiters.locked(|list| {
            if list.remove(&self.node) {
                notify.clear_waiting(list);
                return None;
            }
            let order = self.node.request.order.get()?;
            notify.give(list, order)
        });
        if let Some(wake) = wake {
            wake.wake();
        }
    }
}

/// The future of [`Notify::notified`].
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct Notified<'a> {
    notify: &'a Notify,
    waiter: Waiter,
}

/// The future of [`Notify::notified_owned`].
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct OwnedNotified {
    notify: Arc<Notify>,
    waiter: Waiter,
}

impl Notify {
    /// Waits for a notification.
    ///
    /// A stored notification ends the wait at once. A call of
    /// [`notify_waiters`](Notify::notify_waiters) ends it if the call comes after that of
    /// `notified`, whether the future has been polled by then or not. A
    /// [`notify_one`](Notify::notify_one) reaches the future in the queue only once it has been
    /// polled or [enabled](Notified::enable).
    ///
    /// # Cancel safety
    ///
    /// A dropped future loses its place in the queue, and nothing else. If it was
    /// chosen by `notify_one` and did not know yet, the notification goes to the
    /// next.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use blitz_io::sync::Notify;
    ///
    /// let changed = Notify::new();
    /// changed.notify_one();
    /// changed.notified().await;
    /// # });
    /// ```
    #[inline]
    #[track_caller]
    pub fn notified(&self) -> Notified<'_> {
        self.notified_at(Caller::here())
    }

    /// Like [`notified`](Notify::notified), but the future keeps the `Notify` alive.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use blitz_io::sync::Notify;
    /// use std::sync::Arc;
    ///
    /// let changed = Arc::new(Notify::new());
    /// let next_change = changed.clone().notified_owned();
    /// changed.notify_waiters();
    /// next_change.await;
    /// # });
    /// ```
    #[inline]
    #[track_caller]
    pub fn notified_owned(self: Arc<Self>) -> OwnedNotified {
        OwnedNotified {
            waiter: self.new_waiter(Caller::here()),
            notify: self,
        }
    }

    /// Like [`notified`](Notify::notified), for a line of the program.
    #[doc(hidden)]
    #[inline]
    pub fn notified_at(&self, caller: Caller) -> Notified<'_> {
        Notified {
            notify: self,
            waiter: self.new_waiter(caller),
        }
    }

    /// Blocks the thread until a notification comes, as
    /// `notified().`[`blocking_wait`](Notified::blocking_wait)`()` does.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::Notify;
    ///
    /// let changed = Notify::new();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| changed.blocking_notified());
    ///     changed.notify_one();
    /// });
    /// ```
    #[track_caller]
    pub fn blocking_notified(&self) {
        self.notified().blocking_wait();
    }

    /// Blocks the thread until a notification comes, but no longer than `timeout`. Returns `true` if it
    /// came.
    ///
    /// For threads. A task awaits [`notified`](Notify::notified) in a `timeout` of its runtime.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::Notify;
    /// use std::time::Duration;
    ///
    /// let changed = Notify::new();
    /// assert!(!changed.blocking_notified_timeout(Duration::from_millis(1)));
    /// changed.notify_one();
    /// assert!(changed.blocking_notified_timeout(Duration::from_millis(1)));
    /// ```
    #[must_use = "the time may be up without a notification"]
    #[track_caller]
    #[doc(alias = "wait_timeout")]
    pub fn blocking_notified_timeout(&self, timeout: Duration) -> bool {
        self.notified().blocking_wait_timeout(timeout)
    }

    /// Blocks the thread until a notification comes, but no longer than until `deadline`. Returns `true`
    /// if it came.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::Notify;
    /// use std::time::Instant;
    ///
    /// let changed = Notify::new();
    /// changed.notify_one();
    /// assert!(changed.blocking_notified_deadline(Instant::now())); // it was stored
    /// ```
    #[must_use = "the time may be up without a notification"]
    #[track_caller]
    #[doc(alias = "wait_deadline")]
    pub fn blocking_notified_deadline(&self, deadline: Instant) -> bool {
        self.notified().blocking_wait_deadline(deadline)
    }

    #[inline]
    fn new_waiter(&self, caller: Caller) -> Waiter {
        let calls = calls_in(self.state.load(Ordering::Acquire));
        Waiter::new(calls, caller)
    }
}

impl Notified<'_> {
    /// Joins the queue without waiting, or takes a stored notification. Returns `true` if
    /// the wait is over; then polling it returns at once.
    ///
    /// A task that wants to look at something and then wait for a change of it enables
    /// the future before looking: a [`notify_one`](Notify::notify_one) after that
    /// reaches it.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use blitz_io::sync::Notify;
    /// use std::pin::pin;
    ///
    /// let changed = Notify::new();
    /// let mut one = pin!(changed.notified());
    /// let mut another = pin!(changed.notified());
    /// assert!(!one.as_mut().enable());
    /// assert!(!another.as_mut().enable());
    /// // Both are in the queue, so each gets one.
    /// changed.notify_one();
    /// changed.notify_one();
    /// one.await;
    /// another.await;
    /// # });
    /// ```
    pub fn enable(self: Pin<&mut Self>) -> bool {
        self.try_enable()
    }

    /// Blocks the thread until the notification comes.
    ///
    /// Not for tasks: it would block the executor's thread.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::Notify;
    ///
    /// let changed = Notify::new();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| changed.notified().blocking_wait());
    ///     changed.notify_one();
    /// });
    /// ```
    #[track_caller]
    pub fn blocking_wait(self) {
        coop::assert_may_block();
        pin!(self).wait(None);
    }

    /// Waits as [`blocking_wait`](Notified::blocking_wait) does, but not for longer
    /// than `timeout`. Returns whether the notification came.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::Notify;
    /// use std::time::Duration;
    ///
    /// let changed = Notify::new();
    /// assert!(!changed.notified().blocking_wait_timeout(Duration::from_millis(1)));
    /// changed.notify_one();
    /// assert!(changed.notified().blocking_wait_timeout(Duration::from_millis(1)));
    /// ```
    #[must_use = "the time may be up without a notification"]
    #[track_caller]
    pub fn blocking_wait_timeout(self, timeout: Duration) -> bool {
        coop::assert_may_block();
        pin!(self).wait(deadline::after(timeout))
    }

    /// Waits as [`blocking_wait`](Notified::blocking_wait) does, but not for longer than until
    /// `deadline`. Returns whether the notification came.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::Notify;
    /// use std::time::Instant;
    ///
    /// let changed = Notify::new();
    /// let notified = changed.notified();
    /// changed.notify_waiters();
    /// assert!(notified.blocking_wait_deadline(Instant::now()));
    /// ```
    #[must_use = "the time may be up without a notification"]
    #[track_caller]
    pub fn blocking_wait_deadline(self, deadline: Instant) -> bool {
        coop::assert_may_block();
        pin!(self).wait(Some(deadline))
    }
}

impl OwnedNotified {
    /// Joins the queue without waiting. See [`Notified::enable`].
    pub fn enable(self: Pin<&mut Self>) -> bool {
        self.try_enable()
    }

    /// Blocks the thread until the notification comes. See
    /// [`Notified::blocking_wait`].
    #[track_caller]
    pub fn blocking_wait(self) {
        coop::assert_may_block();
        pin!(self).wait(None);
    }

    /// Blocks the thread for no longer than `timeout`. Returns whether the notification came. See
    /// [`Notified::blocking_wait_timeout`].
    #[must_use = "the time may be up without a notification"]
    #[track_caller]
    pub fn blocking_wait_timeout(self, timeout: Duration) -> bool {
        coop::assert_may_block();
        pin!(self).wait(deadline::after(timeout))
    }

    /// Blocks the thread for no longer than until `deadline`. Returns whether the notification came. See
    /// [`Notified::blocking_wait_deadline`].
    #[must_use = "the time may be up without a notification"]
    #[track_caller]
    pub fn blocking_wait_deadline(self, deadline: Instant) -> bool {
        coop::assert_may_block();
        pin!(self).wait(Some(deadline))
    }
}

/// Implements for a future the methods that both share.
macro_rules! notified {
    ($notified:ident $(<$lifetime:lifetime>)?) => {
        impl $notified $(<$lifetime>)? {
            fn wait(self: Pin<&mut Self>, deadline: Option<Instant>) -> bool {
                let (notify, waiter) = self.project();
                waiter.wait(notify, deadline)
            }

            #[inline]
            fn try_enable(self: Pin<&mut Self>) -> bool {
                let (notify, waiter) = self.project();
                let of = (WaitKind::new(Kind::Notify), &notify.object);
                waiter.poll(notify, None, of).is_ready()
            }

            /// Polls the future of a `Notify` in another primitive: records name it as a wait of this kind, for this
            /// object or else for the `Notify`.
            #[doc(hidden)]
            #[inline]
            pub fn poll_as(
                mut self: Pin<&mut Self>,
                context: &mut Context<'_>,
                kind: WaitKind,
                object: Option<&Object>,
            ) -> Poll<()> {
                match object {
                    Some(_) => self.notify.object.touch_part(),
                    None => self.notify.object.touch(Kind::Notify),
                }
                ready!(self.as_mut().at_point(coop::point(context), kind, object));
                let (notify, waiter) = self.project();
                let object = object.unwrap_or(&notify.object);
                let polled = waiter.poll(notify, Some(context.waker()), (kind, object));
                if polled.is_ready() {
                    coop::acted();
                }
                polled
            }

            /// The point before the wait has been polled; see [`Wait::at_point`]. Arguments as those of `poll_as`.
            #[doc(hidden)]
            #[inline]
            pub fn at_point(
                self: Pin<&mut Self>,
                point: Poll<()>,
                kind: WaitKind,
                object: Option<&Object>,
            ) -> Poll<()> {
                let (notify, waiter) = self.project();
                waiter.at_point(point, (kind, object.unwrap_or(&notify.object)))
            }

            #[inline]
            fn project(self: Pin<&mut Self>) -> (&Notify, Pin<&mut Waiter>) {
                // SAFETY: the waiter does not move, and nothing else is pinned.
                let this = unsafe { self.get_unchecked_mut() };
                // SAFETY: it is as pinned as the future, whose `drop` does not move it.
                let waiter = unsafe { Pin::new_unchecked(&mut this.waiter) };
                (&*this.notify, waiter)
            }
        }

        impl Future for $notified $(<$lifetime>)? {
            type Output = ();

            #[inline]
            fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
                self.poll_as(context, WaitKind::new(Kind::Notify), None)
            }
        }

        impl Drop for $notified $(<$lifetime>)? {
            #[inline]
            fn drop(&mut self) {
                self.waiter.cancel(&self.notify);
            }
        }

        impl fmt::Debug for $notified $(<$lifetime>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($notified))
                    .field("notify", &self.notify)
                    .field("state", &self.waiter.progress)
                    .finish_non_exhaustive()
            }
        }
    };
}

notified!(Notified<'_>);
notified!(OwnedNotified);
