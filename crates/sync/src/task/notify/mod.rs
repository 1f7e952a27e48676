//! `Notify`: tells one waiting task, or all, that something has happened.
//!
//! # States
//!
//! `state` holds the number of calls of `notify_waiters`, and in its low bits
//! one of
//!
//! * [`EMPTY`]: no waiter is queued, and no notification is stored;
//! * [`NOTIFIED`]: no waiter is queued, and a notification is stored for the next that comes;
//! * [`WAITING`]: waiters are in the queue.
//!
//! A waiter knows how many calls there had been when it was made. It is
//! *covered* if there have been more since: then it need not wait.
//!
//! # Moves
//!
//! | from | to | by |
//! |---|---|---|
//! | `EMPTY`, `NOTIFIED` | `NOTIFIED` | `notify_one`, by one compare-exchange |
//! | `NOTIFIED` | `EMPTY` | a waiter, at its first poll, likewise |
//! | `EMPTY` | `WAITING` | a waiter that joins the queue, under its lock |
//! | `WAITING` | `EMPTY` | the thread that takes the last uncovered waiter out, under the lock |
//! | `EMPTY`, `NOTIFIED` | the same, one call more | `notify_waiters`, by one compare-exchange |
//! | `WAITING` | `EMPTY`, one call more | `notify_waiters`, under the lock |
//!
//! As the calls are part of the word, each of these also fails when one of them has come between.
//! So a covered waiter neither takes a stored notification, which it does not need, nor joins the
//! queue.
//!
//! `WAITING` is entered and left only under the lock, and while the lock is held it is set
//! exactly if the queue holds a waiter that is not covered. Covered ones stand
//! before all others: they came before the call, the others after it.
//! `notify_one` does not choose them, as they are about to be woken anyway, and
//! the notification would be lost.
//!
//! # No notification is lost
//!
//! *Stored.* A waiter joins only by an exchange of `EMPTY` for `WAITING`, or when it finds
//! `WAITING` under the lock. So either it sees the stored notification, and takes it, or the
//! notifier sees `WAITING`, and looks into the queue.
//!
//! *Given to a waiter that leaves.* The node says in which order it was chosen. A future that was
//! chosen alone, and is dropped before it knew, gives the notification to the next in the same
//! order, or stores it.
//!
//! *To all.* A waiter that was made before the call knows a smaller number.
//!
//! 1. If it was in the queue, the state was `WAITING`. So the call took the lock, and finds the
//!    waiter in the queue. The call covers the arrivals up to the moment at which it raised the number.
//! 2. Otherwise the waiter finds the greater number when it is polled, at the latest under the
//!    lock. It joins only by an exchange of a state with its own number, or under `WAITING`, which
//!    no call leaves without the lock.
//!
//! A call that finds no waiter takes no lock. So calls in a loop delay no waiter that joins.
//!
//! # Memory ordering
//!
//! A notification that finds one stored still writes. So the waiter that takes it sees the work
//! of both notifiers. The waiter that set `WAITING` acquired the calls before it, which took no
//! lock. So a thread that stores the state under the lock publishes their work, too.
//!
//! The semantics are those of Tokio's `Notify`.

mod events;
mod notified;

use std::cell::Cell;
use std::ptr;

use blitz_io_futex::atomic::{AtomicUsize, Ordering};

use blitz_io_core::{List, WaitQueue, Wake, coop};
use blitz_io_core::{const_unless_loom, debug_fields, default_is_new};
use blitz_io_observe::Object;
use blitz_io_observe::named;
pub use notified::{Notified, OwnedNotified};

/// No waiter is queued, and nothing is stored.
const EMPTY: usize = 0;
/// A waiter is queued that is not covered.
const WAITING: usize = 1;
/// A notification is stored.
const NOTIFIED: usize = 2;

/// The bits of these.
const BITS: usize = 3;
/// One call of `notify_waiters`.
const CALL: usize = 4;

/// Returns the calls in a state.
const fn calls_in(state: usize) -> usize {
    state & !BITS
}

/// Which waiter is notified.
#[derive(Clone, Copy)]
enum Order {
    /// The waiter that came first.
    First,
    /// The waiter that came last.
    Last,
}

/// The request of a node.
struct Ticket {
    /// Number of calls that there had been when it was made.
    calls: usize,
    /// The order in which it was chosen, if it was chosen alone.
    order: Cell<Option<Order>>,
}

/// Tells one waiting task, or all waiting tasks, that something has happened.
///
/// It carries no data. It is a stored permission to proceed, at most one:
/// [`notified().await`](Notify::notified) waits for the permission and takes it,
/// [`notify_one`](Notify::notify_one) gives it to the task that has waited longest,
/// or stores it. [`notify_waiters`](Notify::notify_waiters) releases all that wait
/// now, and stores nothing.
///
/// It takes the place of `tokio::sync::Notify`, works with any executor, and
/// [threads](Notified::blocking_wait) may wait too. Waiting allocates nothing.
///
/// # Examples
///
/// A task that hands over values, and one that waits for them:
///
/// ```
/// use blitz_io::sync::Notify;
/// use std::collections::VecDeque;
/// use std::sync::Mutex;
///
/// struct Queue {
///     values: Mutex<VecDeque<u32>>,
///     added: Notify,
/// }
///
/// impl Queue {
///     fn add(&self, value: u32) {
///         self.values.lock().unwrap().push_back(value);
///         self.added.notify_one();
///     }
///
///     // For one consumer: two values added at once are one notification.
///     async fn take(&self) -> u32 {
///         loop {
///             if let Some(value) = self.values.lock().unwrap().pop_front() {
///                 return value;
///             }
///             self.added.notified().await;
///         }
///     }
/// }
///
/// let queue = Queue { values: Mutex::default(), added: Notify::new() };
/// std::thread::scope(|scope| {
///     scope.spawn(|| (0..3).for_each(|value| queue.add(value)));
///     pollster::block_on(async { // the crate pollster
///         assert_eq!([queue.take().await, queue.take().await], [0, 1]);
///     });
/// });
/// ```
// `repr(C)` puts the state first, and is here because a parker of the C interface is this type, in the program's memory:
// its inline functions store and take a notification, and call the library if there is more to do. See `Permits`.
#[repr(C)]
pub struct Notify {
    state: AtomicUsize,
    waiters: WaitQueue<Ticket>,
    object: Object,
}

impl Notify {
    const_unless_loom! {
        /// Creates a `Notify` without waiters and without a stored notification.
        ///
        /// ```
        /// use blitz_io::sync::Notify;
        ///
        /// static CHANGED: Notify = Notify::new();
        /// CHANGED.notify_one();
        /// ```
        #[must_use]
        pub const fn new() -> Self {
            Self {
                state: AtomicUsize::new(EMPTY),
                waiters: WaitQueue::new(),
                object: Object::new(),
            }
        }
    }

    const_unless_loom! {
        /// Creates the same as [`new`](Notify::new), which is `const` here too.
        #[must_use]
        pub const fn const_new() -> Self {
            Self::new()
        }
    }

    /// Notifies the task that has waited longest, or stores the notification for the next that
    /// comes. At most one is stored.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use blitz_io::sync::Notify;
    ///
    /// let changed = Notify::new();
    /// changed.notify_one();
    /// changed.notify_one();
    /// changed.notified().await;
    /// // One was stored, not two.
    /// assert!(!std::pin::pin!(changed.notified()).enable());
    /// # });
    /// ```
    #[inline]
    #[track_caller]
    pub fn notify_one(&self) {
        self.notes_one();
        self.notify(Order::First);
    }

    /// Notifies as [`notify_one`](Notify::notify_one) does. It is a part of another operation: the report of a simulation does not
    /// name it.
    #[doc(hidden)]
    #[inline]
    pub fn notify_one_as_part(&self) {
        self.notify(Order::First);
    }

    /// Notifies the task that came last, or stores the notification.
    ///
    /// ```
    /// use blitz_io::sync::Notify;
    /// use std::pin::pin;
    ///
    /// let changed = Notify::new();
    /// let (mut first, mut last) = (pin!(changed.notified()), pin!(changed.notified()));
    /// assert!(!first.as_mut().enable() && !last.as_mut().enable());
    /// changed.notify_last();
    /// assert!(last.as_mut().enable() && !first.as_mut().enable());
    /// ```
    #[inline]
    #[track_caller]
    pub fn notify_last(&self) {
        self.notes_one();
        self.notify(Order::Last);
    }

    #[inline]
    fn notify(&self, order: Order) {
        coop::acted();
        // Mostly nothing is stored, and no waiter is queued.
        let calls = calls_in(self.state.load(Ordering::Relaxed));
        if self.exchange(calls | EMPTY, calls | NOTIFIED).is_err() {
            self.notify_slow(order);
        }
    }

    /// The slow path of [`notify`](Notify::notify): a notification is stored or a waiter is queued.
    #[inline(never)]
    fn notify_slow(&self, order: Order) {
        let mut state = self.state.load(Ordering::Relaxed);
        while state & BITS != WAITING {
            match self.exchange(state, calls_in(state) | NOTIFIED) {
                Ok(_) => return,
                Err(now) => state = now,
            }
        }
        if let Some(wake) = self.waiters.locked(|list| self.give(list, order)) {
            wake.wake();
        }
    }

    /// Notifies all current waiters, including futures that exist and have not been polled yet.
    /// Nothing is stored for later waiters.
    ///
    /// All of them are woken, even if one of the wakers panics; the panic is resumed
    /// after that.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use blitz_io::sync::Notify;
    ///
    /// let changed = Notify::new();
    /// let (one, another) = (changed.notified(), changed.notified());
    /// changed.notify_waiters();
    /// one.await;
    /// another.await;
    /// # });
    /// ```
    #[inline]
    #[track_caller]
    pub fn notify_waiters(&self) {
        self.notes_all();
        self.notify_waiters_as_part();
    }

    /// Notifies as [`notify_waiters`](Notify::notify_waiters) does. It is a part of another operation: the report of a simulation
    /// does not name it.
    #[doc(hidden)]
    pub fn notify_waiters_as_part(&self) {
        coop::acted();
        let mut state = self.state.load(Ordering::Relaxed);
        while state & BITS != WAITING {
            match self.exchange(state, state.wrapping_add(CALL)) {
                Ok(_) => return,
                Err(now) => state = now,
            }
        }
        self.notify_queued();
    }

    /// The slow path of [`notify_waiters`](Notify::notify_waiters): a waiter is queued.
    #[inline(never)]
    fn notify_queued(&self) {
        self.waiters
            .notify_each_after(|_| self.count_call(), |_| {});
    }

    /// Covers the waiters in the queue. Under the lock. Returns `true` if there are any.
    fn count_call(&self) -> bool {
        let state = self.state.load(Ordering::Relaxed);
        if state & BITS != WAITING {
            // The last waiter has left, and none joins while the lock is held.
            self.state.fetch_add(CALL, Ordering::AcqRel);
            return false;
        }
        // No other thread changes the state while the lock is held.
        let covered = calls_in(state).wrapping_add(CALL);
        self.state.store(covered | EMPTY, Ordering::Release);
        true
    }

    /// Chooses a waiter that is not covered, or stores the notification. Under the lock.
    fn give(&self, list: &mut List<Ticket>, order: Order) -> Option<Wake> {
        let calls = calls_in(self.state.load(Ordering::Relaxed));
        let wants = |ticket: &Ticket| ticket.calls == calls;
        let chosen = match order {
            Order::First => list.iter().find(|node| wants(&node.request)),
            Order::Last => list.last().filter(|node| wants(&node.request)),
        };
        let Some(node) = chosen.map(ptr::from_ref) else {
            // No waiter is left, so this is `EMPTY` or `NOTIFIED`.
            self.state.fetch_or(NOTIFIED, Ordering::AcqRel);
            return None;
        };
        // SAFETY: it is linked, and the lock is held.
        unsafe { (*node).request.order.set(Some(order)) };
        // SAFETY: it is linked.
        if let Some(waker) = unsafe { list.waker_of(node) } {
            self.object.handed_over(waker);
        }
        // SAFETY: it is linked.
        let wake = unsafe { list.choose(node) };
        self.clear_waiting(list);
        Some(wake)
    }

    /// Takes `WAITING` back if that was the last. Under the lock, after a node has
    /// been taken out.
    fn clear_waiting(&self, list: &List<Ticket>) {
        let state = self.state.load(Ordering::Relaxed);
        let calls = calls_in(state);
        let waits = list.last().is_some_and(|last| last.request.calls == calls);
        if state & BITS == WAITING && !waits {
            self.state.store(calls | EMPTY, Ordering::Release);
        }
    }

    #[inline]
    fn exchange(&self, from: usize, to: usize) -> Result<usize, usize> {
        self.state
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
    }
}

default_is_new!(Notify);

debug_fields! {
    impl Notify, |this| {
        notified: this.state.load(Ordering::Relaxed) & BITS == NOTIFIED,
        waiters: this.waiters.len(),
        ..
    }
}

named!(Notify: object);
