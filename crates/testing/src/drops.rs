//! Values that are counted when they are dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the drops of the values it creates.
#[derive(Clone, Default, Debug)]
pub struct Drops(Arc<AtomicUsize>);

/// A value whose drop is counted.
#[derive(Debug)]
pub struct Counted<T = ()> {
    /// The value itself.
    pub value: T,
    drops: Drops,
}

impl Drops {
    /// Creates a counter at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a value whose drop is counted here.
    pub fn counted<T>(&self, value: T) -> Counted<T> {
        Counted {
            value,
            drops: self.clone(),
        }
    }

    /// Returns how many values have been dropped.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl<T: Clone> Clone for Counted<T> {
    fn clone(&self) -> Self {
        self.drops.counted(self.value.clone())
    }
}

impl<T> Drop for Counted<T> {
    fn drop(&mut self) {
        self.drops.0.fetch_add(1, Ordering::SeqCst);
    }
}
