//! The inject queue: tasks that become ready on threads that run no tasks, and tasks that
//! do not fit into a worker's ring.
//!
//! A list under a lock, and beside it the length, which is read without the lock: a thread
//! that finds 0 continues with its own work.
//!
//! The length is written last, under the lock, with a sequentially consistent
//! read-modify-write. It is also what a pusher publishes before it checks whether a
//! worker has to be woken (`idle.rs`), or unparks the only thread
//! (`current_thread/shared.rs`).

#![allow(
    clippy::new_without_default,
    reason = "it is public for the models only"
)]

use std::collections::VecDeque;
use std::mem;

use blitz_io_core::Lock;
use blitz_io_futex::atomic::{AtomicUsize, Ordering};

/// A list that has held more than this gives its memory back when it is empty.
const KEEP: usize = 4096;

/// The inject queue; see the module documentation.
#[repr(align(128))]
pub struct Inject<K> {
    length: AtomicUsize,
    /// Number of tasks that have been taken, ever. Written under the lock.
    taken: AtomicUsize,
    list: Lock<VecDeque<K>>,
}

impl<K> Inject<K> {
    /// Creates an empty queue.
    pub fn new() -> Self {
        Self {
            length: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            list: Lock::new(VecDeque::new()),
        }
    }

    /// Returns the number of tasks that wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.length.load(Ordering::SeqCst)
    }

    /// Returns `true` if no task waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of tasks that have been taken so far: it changes as long as tasks are taken.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Puts one at the end.
    pub fn push(&self, item: K) {
        self.push_all([item]);
    }

    /// Puts all of `items` at the end.
    pub fn push_all(&self, items: impl IntoIterator<Item = K, IntoIter: ExactSizeIterator>) {
        let items = items.into_iter();
        let count = items.len();
        let mut list = self.list.lock();
        list.extend(items);
        self.length.fetch_add(count, Ordering::SeqCst);
    }

    /// Takes the first.
    #[inline]
    pub fn pop(&self) -> Option<K> {
        if self.is_empty() {
            None
        } else {
            self.pop_share(1, 0, drop)
        }
    }

    /// Takes a share: as many as there are for each of `sharers`, one at least, and
    /// `most` besides the first at most. The first is returned; each other is handed
    /// to `rest`, in order, which must not panic.
    pub fn pop_share(&self, sharers: usize, most: usize, mut rest: impl FnMut(K)) -> Option<K> {
        let mut list = self.list.lock();
        let first = list.pop_front()?;
        let more = (list.len() / sharers).min(most);
        list.drain(..more).for_each(&mut rest);
        self.have_taken(more + 1, &mut list);
        Some(first)
    }

    /// Takes all there are, which go to the end of `queue`.
    #[cold]
    pub fn drain_into(&self, queue: &mut VecDeque<K>) {
        let mut list = self.list.lock();
        let count = list.len();
        if queue.is_empty() {
            mem::swap(&mut *list, queue);
        } else {
            queue.append(&mut list);
        }
        self.have_taken(count, &mut list);
    }

    /// Counts `count` tasks as taken, under the lock.
    #[inline]
    fn have_taken(&self, count: usize, list: &mut VecDeque<K>) {
        if list.is_empty() && list.capacity() > KEEP {
            *list = VecDeque::new();
        }
        let taken = self.taken.load(Ordering::Relaxed);
        self.taken
            .store(taken.wrapping_add(count), Ordering::Relaxed);
        self.length.fetch_sub(count, Ordering::SeqCst);
    }
}
