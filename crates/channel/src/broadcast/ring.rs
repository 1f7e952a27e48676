//! The places for the last values, and the cells that are in them. `mod.rs` has the rules for the
//! use of a cell.

use std::ptr;

use blitz_io_core::{Lock, Panics, fences};
use blitz_io_futex::atomic::{AtomicPtr, AtomicU8, Ordering};

use super::cell::ValueCell;

/// Whether a value has ever been overwritten before all had got it. From then on
/// the last receiver takes its value under the lock, like all others.
pub(super) struct Lag(AtomicU8);

const NEVER_LAGGED: u8 = 0;
/// A sender is about to overwrite a value. Receivers may not know yet.
const SAID: u8 = 1;
/// All threads know: no receiver takes a value without the lock any more, except those that
/// said before that they do.
const KNOWN: u8 = 2;

impl Lag {
    pub(super) fn new() -> Self {
        Self(AtomicU8::new(NEVER_LAGGED))
    }

    #[inline]
    pub(super) fn is_unheard_of(&self) -> bool {
        self.0.load(Ordering::Relaxed) == NEVER_LAGGED
    }

    /// The same after a store that every sender sees which overwrites.
    #[inline]
    pub(super) fn is_unheard_of_after(&self, byte: &AtomicU8, value: u8) -> bool {
        fences::publish(byte, value, &self.0) == NEVER_LAGGED
    }

    /// Lets all threads know, once in the life of a channel.
    pub(super) fn announce(&self) {
        if self.0.load(Ordering::Acquire) != KNOWN {
            self.0.store(SAID, Ordering::SeqCst);
            fences::heavy();
            self.0.store(KNOWN, Ordering::Release);
        }
    }
}

/// One place of the ring.
struct Slot<T> {
    own: ValueCell<T>,
    /// The cell that is in this place instead of the slot's own; null if none is.
    replacement: AtomicPtr<ValueCell<T>>,
}

/// Cells beside those of the slots. All of them live as long as the ring, so that a
/// receiver may look at a cell that is not in its place any more.
struct Cells<T> {
    /// Cells that are in no place.
    free: Vec<*const ValueCell<T>>,
    /// Cells that are no slot's own.
    allocated: Vec<*mut ValueCell<T>>,
}

pub(super) struct Ring<T> {
    /// As many as a power of two.
    slots: Box<[Slot<T>]>,
    pub(super) lag: Lag,
    cells: Lock<Cells<T>>,
}

impl<T> Ring<T> {
    /// A ring of `capacity` places, rounded up to a power of two.
    pub(super) fn new(capacity: usize) -> Self {
        let slots = (0..capacity.next_power_of_two()).map(|_| Slot {
            own: ValueCell::new(),
            replacement: AtomicPtr::new(ptr::null_mut()),
        });
        Self {
            slots: slots.collect(),
            lag: Lag::new(),
            cells: Lock::new(Cells {
                free: Vec::new(),
                allocated: Vec::new(),
            }),
        }
    }

    #[inline]
    pub(super) fn capacity(&self) -> u64 {
        self.slots.len() as u64
    }

    #[inline]
    fn slot(&self, position: u64) -> &Slot<T> {
        // The remainder fits into a `usize`, even if the cast cuts off high bits first.
        let index = position as usize & (self.slots.len() - 1);
        // SAFETY: there is a slot at least, and as many as a power of two.
        unsafe { self.slots.get_unchecked(index) }
    }

    /// The cell that is in the place of this position.
    #[inline]
    pub(super) fn cell(&self, position: u64) -> &ValueCell<T> {
        let slot = self.slot(position);
        let replacement = slot.replacement.load(Ordering::Acquire);
        if replacement.is_null() {
            return &slot.own;
        }
        // SAFETY: it is one of the ring's cells, which live as long as the ring does.
        unsafe { &*replacement }
    }

    /// A cell that is in no place, and spent.
    pub(super) fn free_cell(&self) -> &ValueCell<T> {
        let free = self.cells.lock().free.pop();
        let cell = free.unwrap_or_else(|| {
            let cell = Box::into_raw(Box::new(ValueCell::new()));
            self.cells.lock().allocated.push(cell);
            cell
        });
        // SAFETY: all cells live as long as the ring does.
        unsafe { &*cell }
    }

    /// Takes back a cell that is spent and in no place.
    pub(super) fn give_back(&self, cell: &ValueCell<T>) {
        self.cells.lock().free.push(cell);
    }

    /// Puts `cell` in the place of this position. The caller holds the tail's lock.
    pub(super) fn replace(&self, position: u64, cell: &ValueCell<T>) {
        let cell = ptr::from_ref(cell).cast_mut();
        self.slot(position)
            .replacement
            .store(cell, Ordering::Release);
    }

    /// To be called after a cell has been unlocked. Retires it if it has been replaced.
    #[inline]
    pub(super) fn after_use(&self, cell: &ValueCell<T>) {
        if cell.is_replaced() {
            self.retire(cell);
        }
    }

    /// Retires a cell that has been replaced, unless it is in use; then the thread that uses
    /// it does so.
    #[cold]
    #[inline(never)]
    pub(super) fn retire(&self, cell: &ValueCell<T>) {
        let mut panics = Panics::new();
        loop {
            let Some(lock) = cell.try_lock() else {
                break;
            };
            // SAFETY: it is locked.
            let retired = unsafe { cell.retire() };
            drop(lock);
            if let Some(value) = retired {
                self.give_back(cell);
                panics.put_off(|| drop(value));
            }
            if !cell.is_replaced() {
                break;
            }
        }
        panics.go_on();
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        for &cell in &self.cells.get_mut().allocated {
            // SAFETY: it came from a box, and is not used any more. All values have
            // gone with the receivers that had yet to get them.
            drop(unsafe { Box::from_raw(cell) });
        }
    }
}
