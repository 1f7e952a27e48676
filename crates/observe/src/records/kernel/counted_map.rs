//! `CountedMap`: a map behind a lock, and the number of its entries, so that a look into an empty map takes no lock.
//! The recorder of `blitz lint` has one for the locks that a suspended task keeps, and one for the locks that were
//! handed to a future. Most polls have neither.
//!
//! # Moves
//!
//! 1. A thread adds the entry of a key: it ends the poll of a task, or gives a lock to a future.
//! 2. A thread looks for the entry: it polls the task next. It reads the count. Unless that is 0, it takes the lock and
//!    looks.
//!
//! Each change of the entries is under the lock, and so is the store of their number into the count.
//!
//! # No entry is missed
//!
//! 1. Move 1 happens before move 2: the state of the task, or the wake-up, orders them. So the store of move 1
//!    happens before the load of move 2.
//! 2. The load reads that store, or a later one of the count.
//! 3. The stores are in the order of the lock, as each is under it. So each later one, until the entry is removed, has
//!    a number that counts the entry, and is not 0.
//!
//! A store after the lock is released would break 3: it could write the number of a moment before the entry came.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::PoisonError;

use blitz_io_futex::atomic::{AtomicUsize, Ordering};
use blitz_io_futex::source::{Mutex, MutexGuard};

/// Without random keys: see `collections.rs`.
type Entries<T> = HashMap<u64, T, BuildHasherDefault<DefaultHasher>>;

/// A map with a count; see the module documentation.
pub struct CountedMap<T> {
    entries: Mutex<Entries<T>>,
    count: AtomicUsize,
}

impl<T> Default for CountedMap<T> {
    fn default() -> Self {
        Self {
            entries: Mutex::new(Entries::default()),
            count: AtomicUsize::new(0),
        }
    }
}

impl<T> CountedMap<T> {
    /// Adds the entry of a key that has none.
    ///
    /// # Errors
    ///
    /// Returns the entry if there are `most` entries already.
    pub fn add(&self, key: u64, entry: T, most: usize) -> Result<(), T> {
        let mut entries = self.entries();
        if entries.len() >= most {
            return Err(entry);
        }
        entries.insert(key, entry);
        self.count.store(entries.len(), Ordering::Relaxed);
        Ok(())
    }

    /// Takes the entry of a key.
    pub fn take(&self, key: u64) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut entries = self.entries();
        let entry = entries.remove(&key);
        self.count.store(entries.len(), Ordering::Relaxed);
        entry
    }

    /// Changes the entry of a key, if there is one, and removes it unless `change` returns `true`.
    pub fn change(&self, key: u64, change: impl FnOnce(&mut T) -> bool) {
        if self.is_empty() {
            return;
        }
        let mut entries = self.entries();
        if entries.get_mut(&key).is_some_and(|entry| !change(entry)) {
            entries.remove(&key);
            self.count.store(entries.len(), Ordering::Relaxed);
        }
    }

    /// Returns `true` if there is no entry. The answer may be a moment old.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    fn entries(&self) -> MutexGuard<'_, Entries<T>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
