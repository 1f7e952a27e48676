//! `Cells`: values that the scheduler passes from worker to worker.
//!
//! At any time, the scheduler gives a cell to at most one worker:
//!
//! * a slot's part: to the worker that reads it, then to the worker that processes the item;
//! * a slot's results: to the worker that processes the item, then to the worker that writes
//!   them;
//! * a source or a sink: to the worker that uses it.
//!
//! Each of these workers passes the scheduler's lock before and after. So a cell needs no
//! lock of its own.

use std::cell::UnsafeCell;

use blitz_io_core::CachePadded;

pub struct Cells<T>(Box<[CachePadded<UnsafeCell<T>>]>);

// SAFETY: the scheduler gives a cell to at most one worker at any time, and the value may go
// from thread to thread.
unsafe impl<T: Send> Sync for Cells<T> {}

impl<T> Cells<T> {
    /// Creates cells with these values. To be used cyclically, their number must be a power
    /// of two.
    pub fn new(values: impl IntoIterator<Item = T>) -> Self {
        let cell = |value| CachePadded::new(UnsafeCell::new(value));
        Self(values.into_iter().map(cell).collect())
    }

    /// Returns the cell with this number, counted cyclically.
    ///
    /// # Safety
    ///
    /// The caller holds the step to which this cell belongs, and no other reference to the
    /// cell.
    #[inline]
    #[allow(
        clippy::mut_from_ref,
        reason = "the scheduler gives it to one worker at a time"
    )]
    pub unsafe fn get(&self, n: u64) -> &mut T {
        let index = n as usize & (self.0.len().next_power_of_two() - 1);
        // SAFETY: by this function's contract, the caller holds the cell's step, so no other worker uses it.
        unsafe { &mut *self.0[index].get() }
    }
}
