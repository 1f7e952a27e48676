//! Where started runtimes are kept.

use std::sync::{Mutex, PoisonError};

/// Runtimes of one kind, by the number of their workers.
#[derive(Debug)]
pub struct Shelf<R>(Mutex<Vec<Place<R>>>);

#[derive(Debug)]
struct Place<R> {
    workers: usize,
    /// Tells apart those with as many workers.
    which: usize,
    runtime: R,
}

impl<R: Copy> Shelf<R> {
    /// A shelf with nothing on it.
    pub const fn new() -> Shelf<R> {
        Shelf(Mutex::new(Vec::new()))
    }

    /// The `which`th runtime with so many workers, made by `start` if it is
    /// not there yet.
    pub(super) fn get(&self, workers: usize, which: usize, start: fn(usize) -> R) -> R {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept
            .iter()
            .find(|place| place.workers == workers && place.which == which);
        if let Some(place) = found {
            return place.runtime;
        }
        let runtime = start(workers);
        kept.push(Place {
            workers,
            which,
            runtime,
        });
        runtime
    }
}

impl<R: Copy> Default for Shelf<R> {
    fn default() -> Shelf<R> {
        Shelf::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_started_is_kept() {
        let shelf = Shelf::new();
        assert_eq!(shelf.get(2, 0, |workers| workers * 10), 20);
        assert_eq!(shelf.get(2, 0, |_| panic!("it is there")), 20);
        assert_eq!(shelf.get(2, 1, |_| 21), 21);
        assert_eq!(shelf.get(3, 0, |_| 30), 30);
    }
}
