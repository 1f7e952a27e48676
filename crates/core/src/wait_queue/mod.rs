//! A queue of waiters, first come, first served: threads and tasks, on which
//! every primitive with more than one waiter is built.
//!
//! A waiter is a [`Node`]: on the stack of a thread that sleeps, or inside the
//! future of a task. It is linked into the list of a [`WaitQueue`], so nothing
//! is allocated. The list is guarded by a small lock that is held for a few
//! instructions, and never while a waker is called, cloned or dropped.
//!
//! # States of a node
//!
//! ```text
//!            push                    choose
//!   unlinked ------> linked, asleep --------> unlinked, signalled
//!      ^                   |
//!      +-------------------+
//!        remove: it gave up
//! ```
//!
//! Two facts describe a node: whether it is *linked*, which only the holder of the queue's lock
//! may change or ask, and its *signal*. All other fields (its links, its waker, its request)
//! belong to the holder of the lock while it is linked, and to its owner while it is not. The
//! signal alone may be read at any time, and an owner that sees it set has the node for itself.
//!
//! [`List::choose`] takes a node out, takes its waker out of it, sets its signal, and returns a
//! [`Wake`]. The caller performs it after it has released the lock. From the moment the signal is
//! set, the waiter may run on and free its node. So setting the signal is the last access to the
//! node. A task's waker has been taken before. For a thread, the system gets the signal's address
//! and never reads it.
//!
//! A waiter that gives up (it has timed out, or its future is dropped) removes its node under the
//! lock, or finds that it has been chosen. A chosen waiter either counts as served or passes its
//! resource on. So nothing is spent on a waiter that left, and no node is freed while another
//! thread holds a pointer to it.
//!
//! The thread's semaphore uses a second way, *signal in place*: the node stays
//! linked, and keeps its place, until its thread unlinks it. It is signalled under
//! the lock, and its thread does not leave without taking the lock.
//!
//! # No wake-up is lost
//!
//! *A thread* parks in the signal, a [`Parker`](crate::parker), which argues for it.
//!
//! *A task* leaves its waker in the node before it is linked, and a new waker only
//! under the lock and only while it is linked ([`WaitQueue::still_waits`]). So
//! `choose` takes either the newest waker, or one that a poll is about to replace;
//! that poll then finds the node chosen and does not go back to sleep.
//!
//! *All at once*: [`WaitQueue::notify_all`] releases the lock from time to time to wake those it
//! has chosen so far. Nodes carry the number of their arrival, so it does not choose waiters that
//! arrive after it began, and it ends.

mod list;
mod node;
mod wakes;

use std::task::Waker;
use std::time::Instant;

use blitz_io_futex::atomic::{AtomicBool, Ordering};

use crate::lock::Lock;
use crate::panics::Panics;
use crate::{const_unless_loom, default_is_new};

pub use list::List;
pub use node::Node;
pub use wakes::{Wake, Wakes};

/// A queue of waiters; see the module documentation. `T` is the request of a node, which is used
/// under the lock.
pub struct WaitQueue<T = ()> {
    list: Lock<List<T>>,
    /// `true` if a node is linked. Written under the lock, read without it.
    occupied: AtomicBool,
}

impl<T> WaitQueue<T> {
    const_unless_loom! {
        /// Creates an empty queue.
        pub const fn new() -> Self {
            Self {
                list: Lock::new(List::new()),
                occupied: AtomicBool::new(false),
            }
        }
    }

    /// Returns `true` if no waiter is queued. Sees every wait that happened before the call.
    #[inline]
    pub fn is_empty(&self) -> bool {
        !self.occupied.load(Ordering::Relaxed)
    }

    /// Counts the waiters.
    pub fn len(&self) -> usize {
        self.list.lock().iter().count()
    }

    /// Runs `with` on the list, under the lock. It must not panic, and must not
    /// call, clone or drop a waker.
    pub fn locked<R>(&self, with: impl FnOnce(&mut List<T>) -> R) -> R {
        let mut list = self.list.lock();
        let result = with(&mut list);
        self.occupied.store(!list.is_empty(), Ordering::Relaxed);
        result
    }

    /// Puts a node at the end of the queue.
    ///
    /// # Safety
    ///
    /// The node does not move as long as it is linked.
    pub unsafe fn join(&self, node: &Node<T>) {
        // SAFETY: by this function's contract, the node does not move while it is linked.
        unsafe { self.join_if(node, None, |_| true) };
    }

    /// Puts a node at the end of the queue if `joins` returns true under the lock. Returns
    /// whether it does. The node of a task gets the waker before that, and keeps it if it does
    /// not join.
    ///
    /// # Safety
    ///
    /// The node is not linked, and does not move while it is.
    pub unsafe fn join_if(
        &self,
        node: &Node<T>,
        waker: Option<&Waker>,
        joins: impl FnOnce(&mut List<T>) -> bool,
    ) -> bool {
        if let Some(waker) = waker {
            // SAFETY: it is not linked.
            unsafe { node.arm(waker) };
        }
        self.locked(|list| {
            let joins = joins(list);
            if joins {
                // SAFETY: by this function's contract, the node is not linked and stays where it
                // is.
                unsafe { list.push(node) };
            }
            joins
        })
    }

    /// Sleeps until the node is chosen, or takes it out at the deadline. Returns `true` if it was chosen.
    /// For a thread.
    pub fn sleep(&self, node: &Node<T>, deadline: Option<Instant>) -> bool {
        // A node that was not there to be taken out has been chosen in the last moment.
        node.sleep(deadline) || !self.leave(node)
    }

    /// Takes a node out, if it is linked. Returns `false` if it has been chosen, or was
    /// not there.
    pub fn leave(&self, node: &Node<T>) -> bool {
        if node.is_signalled() {
            node.touch();
            return false;
        }
        self.locked(|list| list.remove(node))
    }

    /// Returns `true` if a task's node has yet to be chosen. The choice will wake `waker`. For every poll
    /// but the first.
    pub fn still_waits(&self, node: &Node<T>, waker: &Waker) -> bool {
        if node.is_signalled() {
            node.touch();
            return false;
        }
        let same = self.locked(|list| list.will_wake(node, waker));
        match same {
            Some(true) => true,
            Some(false) => self.change_waker(node, waker.clone()),
            None => false,
        }
    }

    #[cold]
    fn change_waker(&self, node: &Node<T>, waker: Waker) -> bool {
        // The old or unused waker is dropped without the lock.
        let (waits, _unused) = self.locked(|list| list.change_waker(node, waker));
        waits
    }

    /// Chooses and wakes the first node. Returns `true` if there was one.
    pub fn notify_one(&self) -> bool {
        match self.locked(List::choose_first) {
            Some(wake) => {
                wake.wake();
                true
            }
            None => false,
        }
    }

    /// Chooses and wakes all that wait now. Returns their number.
    pub fn notify_all(&self) -> usize {
        self.notify_each(|_| {})
    }

    /// Chooses and wakes all that wait now, after passing each node's request to `tell` under the
    /// lock. Returns the number of the woken. If a waker panics, the others are still woken; the
    /// panic is resumed afterwards.
    pub fn notify_each(&self, tell: impl FnMut(&T)) -> usize {
        self.notify_each_after(|_| true, tell)
    }

    /// Like [`notify_each`](Self::notify_each), if `first` agrees under the lock: wakes the waiters that are
    /// in the queue at that moment.
    pub fn notify_each_after(
        &self,
        first: impl FnOnce(&mut List<T>) -> bool,
        mut tell: impl FnMut(&T),
    ) -> usize {
        let mut others = None;
        let wake = self.locked(|list| {
            if !first(list) {
                return None;
            }
            let latest = list.arrivals();
            let wake = Self::tell_and_choose(list, latest, &mut tell)?;
            others = (!list.is_empty()).then_some(latest);
            Some(wake)
        });
        match (wake, others) {
            (Some(wake), Some(latest)) => self.notify_others(wake, latest, tell),
            (Some(wake), None) => {
                wake.wake();
                1
            }
            (None, _) => 0,
        }
    }

    /// Wakes a chosen waiter, and all that came before arrival number `latest`.
    #[inline(never)]
    fn notify_others(&self, wake: Wake, latest: u64, mut tell: impl FnMut(&T)) -> usize {
        let mut wakes = Wakes::new();
        wakes.push(wake);
        let mut count = 0;
        let mut panics = Panics::new();
        loop {
            self.locked(|list| {
                while !wakes.is_full() {
                    match Self::tell_and_choose(list, latest, &mut tell) {
                        Some(wake) => wakes.push(wake),
                        None => break,
                    }
                }
            });
            count += wakes.len();
            let all = !wakes.is_full();
            wakes.wake_all(&mut panics);
            if all {
                panics.go_on();
                return count;
            }
        }
    }

    /// Chooses the first node, if it came before arrival number `latest`.
    #[inline]
    fn tell_and_choose(list: &mut List<T>, latest: u64, tell: &mut impl FnMut(&T)) -> Option<Wake> {
        let first = list.first_until(latest)?;
        tell(&first.request);
        // SAFETY: it is linked.
        Some(unsafe { list.choose(first) })
    }
}

default_is_new!(WaitQueue<T>);
