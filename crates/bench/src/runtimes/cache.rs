//! Started runtimes, kept for the whole process.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Runtimes of one kind, by the number of their workers and a number that distinguishes runtimes
/// with as many workers.
#[derive(Debug)]
pub struct Cache<R>(Mutex<BTreeMap<(usize, usize), R>>);

impl<R: Copy> Cache<R> {
    /// Creates an empty cache.
    pub const fn new() -> Cache<R> {
        Cache(Mutex::new(BTreeMap::new()))
    }

    /// Returns the `which`th runtime with `workers` workers, made by `start` if it does not
    /// exist yet.
    pub(crate) fn get(&self, workers: usize, which: usize, start: fn(usize) -> R) -> R {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *kept
            .entry((workers, which))
            .or_insert_with(|| start(workers))
    }
}

impl<R: Copy> Default for Cache<R> {
    fn default() -> Cache<R> {
        Cache::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_started_is_kept() {
        let cache = Cache::new();
        assert_eq!(cache.get(2, 0, |workers| workers * 10), 20);
        assert_eq!(cache.get(2, 0, |_| panic!("it is there")), 20);
        assert_eq!(cache.get(2, 1, |_| 21), 21);
        assert_eq!(cache.get(3, 0, |_| 30), 30);
    }
}
