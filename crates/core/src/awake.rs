//! How many workers of runtimes are awake in this process.
//!
//! A fork-join pool in the same program takes that into account. It cannot depend on the
//! runtime, nor the runtime on it, so they meet here.

use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::PerProcess;

/// A runtime, or another scheduler with threads of its own.
pub trait Workers: Sync {
    /// Returns the number of its workers that are awake now.
    fn awake(&self) -> usize;
}

/// `true` once a runtime has existed. Most programs with a pool have none.
static ANY: AtomicBool = AtomicBool::new(false);
static RUNTIMES: PerProcess<Mutex<Vec<&dyn Workers>>> = PerProcess::new(Mutex::default);

fn runtimes() -> MutexGuard<'static, Vec<&'static dyn Workers>> {
    RUNTIMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts a runtime's workers until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Registered(usize);

/// Counts these workers until the result is dropped.
///
/// # Safety
///
/// `workers` lives until then, at the same address.
pub unsafe fn register(workers: &dyn Workers) -> Registered {
    // SAFETY: only the lifetime changes, and the list is left before the caller's ends.
    let workers: &'static dyn Workers = unsafe { std::mem::transmute(workers) };
    runtimes().push(workers);
    ANY.store(true, Ordering::Relaxed);
    Registered(address(workers))
}

fn address(workers: &dyn Workers) -> usize {
    ptr::from_ref(workers).cast::<()>() as usize
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut runtimes = runtimes();
        let this = (runtimes.iter()).position(|workers| address(*workers) == self.0);
        if let Some(index) = this {
            runtimes.swap_remove(index);
        }
    }
}

/// Returns how many workers are awake in all runtimes.
pub fn awake() -> usize {
    if !ANY.load(Ordering::Relaxed) {
        return 0;
    }
    runtimes().iter().map(|workers| workers.awake()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Three;

    impl Workers for Three {
        fn awake(&self) -> usize {
            3
        }
    }

    #[test]
    fn runtimes_are_counted_until_they_are_dropped() {
        let (one, other) = (Three, Three);
        assert_eq!(awake(), 0);
        // SAFETY: they live to the end of this function.
        let (first, second) = unsafe { (register(&one), register(&other)) };
        // Both have no size, so they may share an address. The count must still be two.
        assert_eq!(awake(), 6);
        drop(first);
        assert_eq!(awake(), 3);
        drop(second);
        assert_eq!(awake(), 0);
    }
}
