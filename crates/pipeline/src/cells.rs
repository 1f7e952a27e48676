//! `Cells`: values that the scheduler hands from worker to worker.
//!
//! The scheduler gives a cell to one worker at a time: a slot's part to the worker that reads
//! it and then to the one that processes the item; the slot's results to that one, and then
//! to the one that writes them; a source or a sink to the worker that uses it. Each of these
//! workers passes the scheduler's lock before and after. So a cell needs no lock of its own.

use std::cell::UnsafeCell;

use crossbeam_utils::CachePadded;

pub struct Cells<T>(Box<[CachePadded<UnsafeCell<T>>]>);

// SAFETY: only one worker at a time uses a cell, and the value may go from thread to thread.
unsafe impl<T: Send> Sync for Cells<T> {}

impl<T> Cells<T> {
    /// Cells with these values. If `n` shall go round and round, there is a power of two of
    /// them.
    pub fn new(values: impl IntoIterator<Item = T>) -> Self {
        let cell = |value| CachePadded::new(UnsafeCell::new(value));
        Self(values.into_iter().map(cell).collect())
    }

    /// Returns the cell of this number, counted round and round.
    ///
    /// # Safety
    ///
    /// The caller holds the step that this cell belongs to, and no other reference to it.
    #[inline]
    #[allow(
        clippy::mut_from_ref,
        reason = "the scheduler gives it to one worker at a time"
    )]
    pub unsafe fn get(&self, n: u64) -> &mut T {
        let index = n as usize & (self.0.len().next_power_of_two() - 1);
        // SAFETY: the caller promises that nobody else uses it.
        unsafe { &mut *self.0[index].get() }
    }
}
