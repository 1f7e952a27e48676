//! Fibers that sleep on a futex word of this process. The system cannot suspend a fiber, so they
//! wait in a table, which every wake consults.
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
//! 5. A claimed waiter reports that it was woken, even if its deadline has passed. If its fiber is
//!    cancelled, it passes the wake on.

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering, fence};

use blitz_io::sync::Notify;
use blitz_io::thread::Mutex;

use crate::error::BLITZ_ETIMEDOUT;
use crate::wait::{self, Limit};

const BUCKETS: usize = 128;

/// How a wait ended. The number is the position of the word.
pub(crate) enum Ended {
    Woken(usize),
    Changed(usize),
    Failed(c_int),
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
    entries: Mutex<Vec<Entry>>,
}

static TABLE: [Bucket; BUCKETS] = [const {
    Bucket {
        waiting: AtomicUsize::new(0),
        entries: Mutex::new(Vec::new()),
    }
}; BUCKETS];

fn bucket(address: usize) -> &'static Bucket {
    // Fibonacci hashing: words lie next to each other.
    let hash = (address as u64 >> 2).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    &TABLE[(hash >> 57) as usize % BUCKETS]
}

/// Unlinks the entries of a waiter, also when its fiber is unwound.
struct Linked<'a> {
    words: &'a [(&'a AtomicU32, u32)],
    waiter: Arc<Waiter>,
}

impl Drop for Linked<'_> {
    fn drop(&mut self) {
        for (word, _) in self.words {
            let bucket = bucket(word.as_ptr().addr());
            (bucket.entries.lock()).retain(|entry| !Arc::ptr_eq(&entry.waiter, &self.waiter));
            bucket.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Suspends the calling fiber while all words hold their expected values.
pub(crate) fn sleep(words: &[(&AtomicU32, u32)], limit: Limit) -> Ended {
    let waiter = Arc::new(Waiter {
        notify: Notify::new(),
        claimed: AtomicUsize::new(0),
    });
    for (position, (word, _)) in words.iter().enumerate() {
        let address = word.as_ptr().addr();
        let bucket = bucket(address);
        bucket.waiting.fetch_add(1, Ordering::SeqCst);
        bucket.entries.lock().push(Entry {
            address,
            position,
            waiter: waiter.clone(),
        });
    }
    let linked = Linked { words, waiter };
    fence(Ordering::SeqCst);
    let changed = words
        .iter()
        .position(|(word, expected)| word.load(Ordering::Relaxed) != *expected);
    let ended = match changed {
        Some(position) => Ended::Changed(position),
        None => match wait::on(linked.waiter.notify.notified(), limit) {
            Ok(()) => Ended::Woken(0),
            Err(error) => Ended::Failed(error),
        },
    };
    let waiter = linked.waiter.clone();
    // After this no waker claims it any more.
    let words = linked.words;
    drop(linked);
    let claimed = waiter.claimed.load(Ordering::Acquire).checked_sub(1);
    match (claimed, ended) {
        (Some(position), Ended::Woken(_) | Ended::Failed(BLITZ_ETIMEDOUT)) => {
            Ended::Woken(position)
        }
        (Some(position), ended) => {
            wake(words[position].0.as_ptr(), 1);
            ended
        }
        (None, ended) => ended,
    }
}

/// Wakes up to `n` fibers that sleep on a word, which may be gone. Returns how many.
#[inline]
pub(crate) fn wake(word: *const u32, n: usize) -> usize {
    fence(Ordering::SeqCst);
    let address = word.addr();
    let bucket = bucket(address);
    if bucket.waiting.load(Ordering::Relaxed) == 0 {
        0
    } else {
        wake_in(bucket, address, n)
    }
}

#[cold]
fn wake_in(bucket: &Bucket, address: usize, n: usize) -> usize {
    let mut woken = Vec::new();
    bucket.entries.lock().retain(|entry| {
        if entry.address != address || woken.len() == n {
            return true;
        }
        let claim = entry.position + 1;
        let order = (Ordering::AcqRel, Ordering::Relaxed);
        if entry
            .waiter
            .claimed
            .compare_exchange(0, claim, order.0, order.1)
            .is_ok()
        {
            woken.push(entry.waiter.clone());
        }
        false
    });
    for waiter in &woken {
        waiter.notify.notify_one();
    }
    woken.len()
}
