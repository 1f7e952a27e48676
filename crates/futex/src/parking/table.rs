//! The buckets of the parking table, and their locks.

#[cfg_attr(loom, path = "table/of_model.rs")]
mod of_process;

use std::time::{Duration, Instant};

use super::queue::{Node, Queue};
use crate::atomic::Ordering;
use crate::sys::{Mutex, MutexGuard, bucket_of, lock};

use of_process::{BUCKETS, table};

type Table = [Bucket; BUCKETS];

/// Each bucket has cache lines of its own.
#[repr(align(64))]
struct Bucket(Mutex<Content>);

/// The data that the lock of a bucket guards.
pub(super) struct Content {
    pub(super) queue: Queue,
    pub(super) fairness: Fairness,
}

impl Content {
    const fn new() -> Self {
        Self {
            queue: Queue::new(),
            fairness: Fairness::new(),
        }
    }
}

fn index_of(key: usize) -> usize {
    bucket_of(key, BUCKETS)
}

/// Locks the bucket of `key`.
pub(super) fn lock_bucket(key: usize) -> MutexGuard<'static, Content> {
    lock(&table()[index_of(key)].0)
}

/// Locks the bucket of the key that the node has now.
pub(super) fn lock_bucket_of(node: &Node) -> MutexGuard<'static, Content> {
    loop {
        let key = node.key.load(Ordering::Relaxed);
        let content = lock_bucket(key);
        // The key cannot change under the lock of its bucket. Another thread may have moved the node
        // before this thread had the lock.
        if node.key.load(Ordering::Relaxed) == key {
            return content;
        }
    }
}

/// The locked buckets of two keys, which may be one bucket.
pub(super) struct Pair {
    from: MutexGuard<'static, Content>,
    to: Option<MutexGuard<'static, Content>>,
}

impl Pair {
    pub(super) fn lock(from: usize, to: usize) -> Self {
        let table = table();
        let (from, to) = (index_of(from), index_of(to));
        let content = |index: usize| lock(&table[index].0);
        // All threads lock in the order of the table, so no two wait for each other.
        if from < to {
            let from = content(from);
            let to = Some(content(to));
            return Self { from, to };
        }
        let to = (to < from).then(|| content(to));
        let from = content(from);
        Self { from, to }
    }

    pub(super) fn from(&mut self) -> &mut Content {
        &mut self.from
    }

    pub(super) fn to(&mut self) -> &mut Content {
        self.to.as_mut().unwrap_or(&mut self.from)
    }
}

/// The clock by which unparks are fair at random moments, 0.5 ms apart on average.
///
/// A fixed distance would favour one of several threads that take turns.
pub(super) struct Fairness {
    due: Option<Instant>,
    random: u32,
}

impl Fairness {
    const LONGEST: u32 = 1_000_000;

    const fn new() -> Self {
        Self {
            due: None,
            random: 0x9E37_79B9,
        }
    }

    /// Returns `true` if the unpark that takes place now is to be fair.
    pub(super) fn is_due(&mut self) -> bool {
        let now = Instant::now();
        if self.due.is_some_and(|due| now <= due) {
            return false;
        }
        // Xorshift (Marsaglia).
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        let nanos = u64::from(self.random % Self::LONGEST);
        self.due
            .replace(now + Duration::from_nanos(nanos))
            .is_some()
    }
}
