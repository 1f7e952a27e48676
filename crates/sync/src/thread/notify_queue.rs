//! The queue of a condition variable: the core of `Condvar`.
//!
//! A waiting thread joins the queue while it still holds the mutex, then releases the mutex and
//! sleeps until it is taken out and signalled. A notification therefore goes to the thread that
//! has waited longest at the time of the call. It is never lost on a thread that has timed out. A
//! wait does not end for no reason.
//!
//! A notification looks for waiters without a lock. It sees each waiter that it must notify: a
//! thread that has found the condition false joined the queue before it released the mutex. The
//! thread that made the condition true had the mutex after that.
//!
//! # All at once, one after the other
//!
//! Threads that are all woken at once meet at the mutex, and all but one go back to sleep
//! there. So [`notify_all`](NotifyQueue::notify_all) only *marks* the threads that wait as
//! notified, and takes out and wakes the first. A thread that was taken out, once it has
//! the mutex again, takes out and wakes the next one that is marked: it *passes on*.
//!
//! No wake-up is lost, because *while a marked thread is in the queue, some thread has been
//! taken out that has yet to pass on*. `notify_all` takes one out when it marks the first.
//! A thread that passes on takes out the next, under the queue's lock. A marked thread that times
//! out leaves the queue. It still counts as notified, and as it was not taken out, it has
//! nothing to pass on.
//!
//! To pass on, a thread needs the mutex, and the threads behind it need the same one: so it
//! delays only threads that could not have returned either. If the threads in the queue have
//! different mutexes, `notify_all` wakes all at once. All marked threads have the same mutex, as
//! they stand before all others in the queue, and a later `notify_all` compares with the first.

use std::cell::Cell;
use std::time::Instant;

use blitz_io_core::const_unless_loom;
use blitz_io_core::{List, Node, WaitQueue, Wake};

/// The queue of a condition variable; see the module documentation.
pub struct NotifyQueue {
    waiters: WaitQueue<Waiting>,
}

/// The request of a node in the queue.
pub struct Waiting {
    /// The address of its mutex.
    mutex: *const (),
    /// It has been notified, and is woken after those before it.
    marked: Cell<bool>,
}

// SAFETY: the address is only compared.
unsafe impl Send for Waiting {}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The deadline came first.
    TimedOut,
    /// The thread was notified, and has nothing to pass on.
    Notified,
    /// The thread was notified, and passes on when it has the mutex.
    PassesOn,
}

impl NotifyQueue {
    const_unless_loom! {
        /// Creates a queue in which no thread waits.
        pub const fn new() -> Self {
            Self { waiters: WaitQueue::new() }
        }
    }

    /// Creates the node of a thread that waits with the mutex at this address.
    pub fn node(mutex: *const ()) -> Node<Waiting> {
        Node::new(Waiting {
            mutex,
            marked: Cell::new(false),
        })
    }

    /// Puts a node at the end of the queue.
    ///
    /// # Safety
    ///
    /// The node does not move until [`sleep`](Self::sleep) returns.
    pub unsafe fn join(&self, node: &Node<Waiting>) {
        // SAFETY: a thread's node is new, so not linked; by this function's contract it stays in
        // place.
        unsafe { self.waiters.join(node) };
    }

    /// Sleeps until the thread is notified, or until the deadline.
    pub fn sleep(&self, node: &Node<Waiting>, deadline: Option<Instant>) -> Ended {
        if self.waiters.sleep(node, deadline) {
            Ended::PassesOn
        } else if node.request.marked.get() {
            Ended::Notified
        } else {
            Ended::TimedOut
        }
    }

    /// Wakes the next marked thread. To be called by a thread that was taken out.
    #[inline]
    pub fn pass_on(&self) {
        if !self.waiters.is_empty() {
            wake(self.waiters.locked(|list| take_out(list, true)));
        }
    }

    /// Notifies the thread that has waited longest. Returns whether there was one.
    #[inline]
    pub fn notify_one(&self) -> bool {
        !self.waiters.is_empty() && wake(self.waiters.locked(|list| take_out(list, false)))
    }

    /// Notifies all threads that wait, and returns how many there were.
    #[inline]
    pub fn notify_all(&self) -> usize {
        if self.waiters.is_empty() {
            0
        } else {
            self.notify_all_slow()
        }
    }

    #[cold]
    fn notify_all_slow(&self) -> usize {
        let marked = self.waiters.locked(|list| {
            let mutex = list.first().map(|first| first.request.mutex);
            if list.iter().any(|node| Some(node.request.mutex) != mutex) {
                return None;
            }
            let is_first = !list.first().is_some_and(|first| first.request.marked.get());
            let fresh = |node: &&Node<Waiting>| !node.request.marked.replace(true);
            let count = list.iter().filter(fresh).count();
            Some((count, is_first.then(|| take_out(list, true)).flatten()))
        });
        match marked {
            Some((count, first)) => {
                wake(first);
                count
            }
            None => self.waiters.notify_all(),
        }
    }
}

/// Takes out the first node that is marked, or that is not.
fn take_out(list: &mut List<Waiting>, marked: bool) -> Option<Wake> {
    let node: *const Node<Waiting> = list
        .iter()
        .find(|node| node.request.marked.get() == marked)?;
    // SAFETY: it is linked.
    Some(unsafe { list.choose(node) })
}

fn wake(wake: Option<Wake>) -> bool {
    wake.map(Wake::wake).is_some()
}
