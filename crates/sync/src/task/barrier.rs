//! `Barrier`: tasks wait until enough of them have arrived.
//!
//! # States
//!
//! `arrived` is the number of arrivals in this round; the lock of the queue guards it. A task
//! that arrives counts itself and joins the queue in one critical section. The last task of the
//! round does not join: it sets the count back to zero. In the same critical section it begins to
//! choose the waiters that are in the queue at that moment.
//!
//! No wake-up is lost. A task that has been counted in a round is in the queue when the lock is
//! released, and all tasks in the queue are of the round that ends. Tasks that arrive afterwards,
//! among them faster ones of the round that has just ended, have later numbers and are not chosen
//! (see `wait_queue`).
//!
//! A future that is dropped leaves the queue; its arrival still counts.
//!
//! A barrier of one lets every task pass, and touches nothing.

use std::cell::Cell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker, ready};

use blitz_io_core::coop;
use blitz_io_core::spin::Spin;
use blitz_io_core::{Node, WaitQueue};
use blitz_io_core::{const_unless_loom, debug_fields};
use blitz_io_observe::named;
use blitz_io_observe::{Blocking, Caller, Kind, Late, Object, Sort, WaitKind, Waiting};

/// A place where tasks wait for each other.
///
/// It takes the place of `tokio::sync::Barrier`, and works with any executor;
/// [threads](Barrier::blocking_wait) may take part. It can be used again and
/// again, also by more tasks than its number, which then take turns. Waiting
/// allocates nothing.
///
/// # Examples
///
/// ```
/// use blitz_io::sync::Barrier;
/// use pollster::block_on; // the crate pollster
///
/// let barrier = Barrier::new(4);
/// let leaders = std::thread::scope(|scope| {
///     let tasks: Vec<_> = (0..4)
///         .map(|_| scope.spawn(|| block_on(barrier.wait()).is_leader()))
///         .collect();
///     tasks.into_iter().map(|task| task.join().unwrap()).filter(|leads| *leads).count()
/// });
/// assert_eq!(leaders, 1);
/// ```
pub struct Barrier {
    n: usize,
    /// Number of participants that have arrived in this round. Belongs to the holder of the queue's
    /// lock.
    arrived: Cell<usize>,
    waiters: WaitQueue,
    object: Object,
    resource: Late,
    made_at: Caller,
}

// SAFETY: the count is used under the lock only.
unsafe impl Sync for Barrier {}

// No user's code runs while the count is being changed.
impl std::panic::RefUnwindSafe for Barrier {}

/// The result of [`Barrier::wait`].
#[derive(Debug, Clone)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Returns `true` for exactly one arrival of a round: the last.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    const_unless_loom! {
        /// Creates a barrier that lets `n` go when the last of them arrives. With 0 or 1, no task
        /// waits.
        ///
        /// ```
        /// # pollster::block_on(async {
        /// use blitz_io::sync::Barrier;
        ///
        /// static ALONE: Barrier = Barrier::new(0);
        /// assert!(ALONE.wait().await.is_leader());
        /// # });
        /// ```
        #[must_use]
        #[track_caller]
        pub const fn new(n: usize) -> Self {
            Self {
                n: if n == 0 { 1 } else { n },
                arrived: Cell::new(0),
                waiters: WaitQueue::new(),
                object: Object::new(),
                resource: Late::new(),
                made_at: Caller::here(),
            }
        }
    }

    /// Waits until all participants of the round have arrived. The last one becomes the leader.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: the first poll arrives, and dropping the future then does not undo the
    /// arrival. A round is over when all its participants have arrived, whether they still wait or not.
    ///
    /// ```
    /// # pollster::block_on(async {
    /// use blitz_io::sync::Barrier;
    ///
    /// let barrier = Barrier::new(2);
    /// std::thread::scope(|scope| {
    ///     let other = scope.spawn(|| barrier.blocking_wait());
    ///     let here = pollster::block_on(barrier.wait()); // the crate pollster
    ///     assert!(here.is_leader() != other.join().unwrap().is_leader());
    /// });
    /// # });
    /// ```
    #[inline]
    #[track_caller]
    pub fn wait(&self) -> impl Future<Output = BarrierWaitResult> {
        Arrival::new(self, Caller::here())
    }

    /// Waits as [`wait`](Barrier::wait) does, for a thread, which it blocks.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::Barrier;
    ///
    /// let barrier = Barrier::new(2);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| barrier.blocking_wait());
    ///     barrier.blocking_wait();
    /// });
    /// ```
    #[inline]
    #[track_caller]
    pub fn blocking_wait(&self) -> BarrierWaitResult {
        coop::assert_may_block();
        if self.n == 1 {
            return BarrierWaitResult(true);
        }
        pin!(Arrival::new(self, Caller::here())).block()
    }

    /// Records what reports show of the barrier.
    fn describe(&self) {
        self.object.created_at(self.made_at);
        self.object.set_parties(self.n);
    }

    /// Counts an arrival. Returns `true` if it is the last of the round. Under the lock.
    fn count(&self) -> bool {
        let arrived = self.arrived.get() + 1;
        let last = arrived == self.n;
        self.arrived.set(if last { 0 } else { arrived });
        last
    }

    /// Counts an arrival, and puts its node into the queue unless it is the last of the
    /// round. Then it wakes the others.
    ///
    /// # Safety
    ///
    /// The node does not move as long as it is linked.
    unsafe fn arrive(&self, node: &Node) -> bool {
        let (mut last, mut arrived) = (false, 0);
        self.waiters.notify_each_after(
            |list| {
                last = self.count();
                arrived = self.arrived.get();
                if !last {
                    // SAFETY: by this function's contract, the node does not move while it is
                    // linked.
                    unsafe { list.push(node) };
                }
                last
            },
            |()| {},
        );
        self.resource.arrived(arrived);
        last
    }
}

named!(Barrier: object);

debug_fields!(impl Barrier, |this| { n: this.n, waiting: this.waiters.len(), .. });

/// One task or thread that arrives.
struct Arrival<'a> {
    barrier: &'a Barrier,
    progress: Progress,
    node: Node,
    waiting: Waiting,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// The participant has not arrived.
    New,
    /// Its node is in the queue, or has been chosen.
    Waits,
    /// The participant may go.
    Done,
}

impl<'a> Arrival<'a> {
    #[inline]
    #[track_caller]
    fn new(barrier: &'a Barrier, caller: Caller) -> Self {
        let resource = barrier.resource.get(Sort::Barrier, barrier.n);
        Self {
            waiting: Waiting::new(caller, resource, "Barrier::wait"),
            barrier,
            progress: Progress::New,
            node: Node::new(()),
        }
    }

    /// Arrives, with this waker or as a thread. Returns `true` if it is the last.
    fn arrive(self: Pin<&mut Self>, waker: Option<&Waker>) -> bool {
        // SAFETY: nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        if let Some(waker) = waker {
            // SAFETY: it is not linked.
            unsafe { this.node.arm(waker) };
        }
        // Before it arrives: a waker that panics must not keep it in the queue.
        this.progress = Progress::Waits;
        // SAFETY: it is pinned, and `drop` unlinks it.
        let last = unsafe { this.barrier.arrive(&this.node) };
        if last {
            this.progress = Progress::Done;
            // SAFETY: the node of the last is not linked.
            unsafe { this.node.disarm() };
        }
        last
    }

    /// Waits as a thread.
    fn block(mut self: Pin<&mut Self>) -> BarrierWaitResult {
        if self.as_mut().arrive(None) {
            return BarrierWaitResult(true);
        }
        let mut spin = Spin::EVENT.among(self.barrier.n);
        while !self.node.is_signalled() && spin.turn() {}
        let object = &self.barrier.object;
        self.barrier.describe();
        let _waits = Blocking::new(Kind::ThreadBarrier, object, self.waiting.caller(), false);
        self.barrier.waiters.sleep(&self.node, None);
        BarrierWaitResult(false)
    }
}

impl Future for Arrival<'_> {
    type Output = BarrierWaitResult;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<BarrierWaitResult> {
        if self.progress == Progress::New {
            ready!(self.as_mut().at_point(coop::point(context)));
        }
        if self.barrier.n == 1 {
            coop::acted();
            return Poll::Ready(BarrierWaitResult(true));
        }
        let polled = Waiting::poll(
            &mut self,
            |arrival| arrival.as_mut().waiting(),
            "poll",
            |arrival| arrival.as_mut().poll_wait(context),
        );
        // SAFETY: nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        if polled.is_pending() {
            this.barrier.describe();
            let kind = WaitKind::new(Kind::Barrier);
            this.waiting
                .begin(kind, &this.barrier.object, context.waker());
        } else {
            this.waiting.end();
        }
        polled
    }
}

impl Arrival<'_> {
    /// The point before the arrival has been polled; see [`Waiting::at_point`].
    fn at_point(self: Pin<&mut Self>, point: Poll<()>) -> Poll<()> {
        let barrier = self.barrier;
        if point.is_pending() {
            barrier.describe();
        }
        let kind = WaitKind::new(Kind::Barrier);
        self.waiting().at_point(point, kind, &barrier.object)
    }

    fn waiting(self: Pin<&mut Self>) -> &mut Waiting {
        // SAFETY: nothing is moved out of it, and the field is not pinned.
        unsafe { &mut self.get_unchecked_mut().waiting }
    }

    fn poll_wait(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<BarrierWaitResult> {
        match self.progress {
            Progress::New => {
                let last = self.as_mut().arrive(Some(context.waker()));
                return if last {
                    coop::acted();
                    Poll::Ready(BarrierWaitResult(true))
                } else {
                    Poll::Pending
                };
            }
            Progress::Waits => {
                let waiters = &self.barrier.waiters;
                let gone = coop::poll_with(context, |context| {
                    if waiters.still_waits(&self.node, context.waker()) {
                        Poll::Pending
                    } else {
                        Poll::Ready(())
                    }
                });
                ready!(gone);
            }
            Progress::Done => {}
        }
        // SAFETY: nothing is moved out of it.
        unsafe { self.get_unchecked_mut() }.progress = Progress::Done;
        Poll::Ready(BarrierWaitResult(false))
    }
}

impl Drop for Arrival<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.progress == Progress::Waits {
            self.barrier.waiters.leave(&self.node);
        }
    }
}
