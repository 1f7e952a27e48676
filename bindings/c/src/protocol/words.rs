//! Tasks that sleep on a futex word of this process. The system cannot suspend a task, so tasks
//! wait in a table, which every wake consults. A fiber is a task.
//!
//! # Protocol
//!
//! A waiter W:
//!
//! 1. W raises `waiting` of the word's bucket, and links its entry under the bucket's lock.
//! 2. W fences.
//! 3. W reads the word. If it holds another value, W unlinks its entry and returns.
//! 4. W sleeps on its `Notify`, and unlinks its entry afterwards.
//!
//! A waker N, whose caller has changed the word before:
//!
//! 1. N fences.
//! 2. N reads `waiting`. If it is 0, N returns.
//! 3. Under the lock, N unlinks entries with this word whose waiter it can claim: it changes
//!    `claimed` from 0. Then N notifies those waiters.
//!
//! # No wake-up is lost
//!
//! 1. By the two fences, either W reads the new value in step 3, or N reads the raised `waiting`
//!    and takes the lock.
//! 2. In the second case N finds the entry, as W linked it before its fence; or another waker has
//!    claimed W, so N chooses another waiter.
//! 3. A notification is stored in the `Notify`, so it may come before W sleeps.
//! 4. W can wait on several words. One waker claims it, so a wake is not spent twice on it.
//! 5. A claimed waiter reports that it was woken, even if its deadline has passed. If it is
//!    cancelled or unwound, or has found a changed word, it passes the wake on.
//! 6. W reads `claimed` after it has unlinked its entries, so no waker claims it later.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use blitz_io_core::{Lock, const_unless_loom};
use blitz_io_futex::atomic::{AtomicU32, AtomicUsize, Ordering, fence};

use blitz_io_sync::task::{Notified, Notify};

/// How a wait ended. The number is the position of the word.
#[derive(Debug, PartialEq, Eq)]
pub enum Slept<E> {
    /// A waker woke this waiter.
    Woken(usize),
    /// The word held another value.
    Changed(usize),
    /// The deadline passed.
    TimedOut,
    /// The wait was cancelled.
    Cancelled(E),
}

/// How a wait for a notification ended.
#[derive(Debug)]
pub enum Waited<E> {
    /// The notification came.
    Notified,
    /// The deadline passed.
    TimedOut,
    /// The wait was cancelled.
    Cancelled(E),
}

struct Waiter {
    notify: Notify,
    /// The position of the word that was woken, plus one.
    claimed: AtomicUsize,
}

struct Entry {
    address: usize,
    position: usize,
    waiter: Arc<Waiter>,
}

struct Bucket {
    waiting: AtomicUsize,
    entries: Lock<Vec<Entry>>,
}

impl Bucket {
    const_unless_loom! {
        const fn new() -> Self {
            Self { waiting: AtomicUsize::new(0), entries: Lock::new(Vec::new()) }
        }
    }
}

/// The tasks that sleep on words, in `N` buckets. `N` is a power of two.
pub struct Words<const N: usize>([Bucket; N]);

impl<const N: usize> Words<N> {
    /// Creates a table in which no task sleeps.
    #[cfg(not(loom))]
    #[allow(clippy::new_without_default, reason = "it lives in a static")]
    pub const fn new() -> Self {
        Self([const { Bucket::new() }; N])
    }

    /// Creates a table in which no task sleeps.
    #[cfg(loom)]
    #[allow(clippy::new_without_default, reason = "as the other one")]
    pub fn new() -> Self {
        Self(std::array::from_fn(|_| Bucket::new()))
    }

    fn bucket(&self, address: usize) -> &Bucket {
        // Fibonacci hashing: words lie next to each other.
        let hash = (address as u64 >> 2).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        &self.0[(hash >> 57) as usize % N]
    }

    /// Calls `wait` while all words hold their expected values. `wait` waits for the notification,
    /// and its result counts if no waker wakes this waiter.
    pub fn sleep<E>(
        &self,
        words: &[(&AtomicU32, u32)],
        wait: impl FnOnce(Notified<'_>) -> Waited<E>,
    ) -> Slept<E> {
        let waiter = Arc::new(Waiter {
            notify: Notify::new(),
            claimed: AtomicUsize::new(0),
        });
        let linked = Linked::new(self, words, &waiter);
        fence(Ordering::SeqCst);
        let changed = words
            .iter()
            .position(|(word, expected)| word.load(Ordering::Relaxed) != *expected);
        let slept = match changed {
            Some(position) => Slept::Changed(position),
            None => match wait(waiter.notify.notified()) {
                Waited::Notified => Slept::Woken(0),
                Waited::TimedOut => Slept::TimedOut,
                Waited::Cancelled(error) => Slept::Cancelled(error),
            },
        };
        match slept {
            Slept::Woken(_) | Slept::TimedOut => linked.unlink().map_or(slept, Slept::Woken),
            // The drop of `linked` passes a wake on.
            Slept::Changed(_) | Slept::Cancelled(_) => slept,
        }
    }

    /// Wakes up to `n` tasks that sleep on a word, whose memory may be freed. Returns their number.
    #[inline]
    pub fn wake(&self, word: *const AtomicU32, n: usize) -> usize {
        fence(Ordering::SeqCst);
        let address = word.addr();
        let bucket = self.bucket(address);
        if bucket.waiting.load(Ordering::Relaxed) == 0 {
            0
        } else {
            wake_in(bucket, address, n)
        }
    }
}

/// The linked entries of a waiter.
struct Linked<'a, const N: usize> {
    table: &'a Words<N>,
    words: &'a [(&'a AtomicU32, u32)],
    waiter: &'a Arc<Waiter>,
}

impl<'a, const N: usize> Linked<'a, N> {
    fn new(
        table: &'a Words<N>,
        words: &'a [(&'a AtomicU32, u32)],
        waiter: &'a Arc<Waiter>,
    ) -> Self {
        for (position, (word, _)) in words.iter().enumerate() {
            let address = std::ptr::from_ref(*word).addr();
            let bucket = table.bucket(address);
            bucket.waiting.fetch_add(1, Ordering::Relaxed);
            bucket.entries.lock().push(Entry {
                address,
                position,
                waiter: waiter.clone(),
            });
        }
        Self {
            table,
            words,
            waiter,
        }
    }

    /// Unlinks the entries. Returns the position of the word whose waker has claimed the waiter.
    fn unlink(self) -> Option<usize> {
        ManuallyDrop::new(self).remove()
    }

    fn remove(&self) -> Option<usize> {
        for (word, _) in self.words {
            let bucket = self.table.bucket(std::ptr::from_ref(*word).addr());
            (bucket.entries.lock()).retain(|entry| !Arc::ptr_eq(&entry.waiter, self.waiter));
            bucket.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        // No waker claims it any more.
        self.waiter.claimed.load(Ordering::Acquire).checked_sub(1)
    }
}

/// The waiter has no use for a wake, or its task is unwound.
impl<const N: usize> Drop for Linked<'_, N> {
    fn drop(&mut self) {
        if let Some(position) = self.remove() {
            self.table.wake(self.words[position].0, 1);
        }
    }
}

#[cold]
fn wake_in(bucket: &Bucket, address: usize, n: usize) -> usize {
    let mut woken = Vec::new();
    bucket.entries.lock().retain(|entry| {
        if entry.address != address || woken.len() == n {
            return true;
        }
        if claim(entry) {
            woken.push(entry.waiter.clone());
        }
        false
    });
    for waiter in &woken {
        waiter.notify.notify_one();
    }
    woken.len()
}

/// Returns `true` if no other waker has claimed the waiter before.
fn claim(entry: &Entry) -> bool {
    let claimed = &entry.waiter.claimed;
    claimed
        .compare_exchange(0, entry.position + 1, Ordering::AcqRel, Ordering::Relaxed)
        .is_ok()
}
