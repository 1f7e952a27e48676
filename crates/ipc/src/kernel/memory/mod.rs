//! The memory that participants share: its words, and the bytes of messages.
//!
//! The protocols see the same interface in a program (`mapped.rs`: words in a mapped file)
//! and under the model checker (`model.rs`: loom's words). Each change of a word passes
//! [`step::point`] first, so that a test can kill the process there.

use blitz_io_futex::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::kernel::step;

#[cfg_attr(loom, path = "model.rs")]
mod mapped;

pub use mapped::*;

/// A 64-bit word of shared memory. Another process may change it at any time, to anything.
#[derive(Clone, Copy)]
pub struct Word<'a>(&'a AtomicU64);

impl Word<'_> {
    #[inline]
    pub fn load(self, order: Ordering) -> u64 {
        self.0.load(order)
    }

    #[inline]
    pub fn store(self, value: u64, order: Ordering) {
        step::point();
        self.0.store(value, order);
    }

    #[inline]
    pub fn swap(self, value: u64) -> u64 {
        step::point();
        self.0.swap(value, Ordering::SeqCst)
    }

    #[inline]
    pub(crate) fn add(self, value: u64) -> u64 {
        step::point();
        self.0.fetch_add(value, Ordering::SeqCst)
    }

    /// Replaces `current` by `new`. Returns `true` if the word held `current`.
    #[inline]
    pub fn replace(self, current: u64, new: u64) -> bool {
        step::point();
        self.0
            .compare_exchange(current, new, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
    }
}

/// A 32-bit word of shared memory that participants sleep on.
#[derive(Clone, Copy)]
pub struct SleepWord<'a>(&'a AtomicU32);

impl<'a> SleepWord<'a> {
    #[inline]
    pub fn load(self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }

    pub fn or(self, bits: u32) -> u32 {
        step::point();
        self.0.fetch_or(bits, Ordering::SeqCst)
    }

    pub fn and(self, bits: u32) -> u32 {
        step::point();
        self.0.fetch_and(bits, Ordering::SeqCst)
    }

    pub(crate) fn add(self, value: u32) -> u32 {
        step::point();
        self.0.fetch_add(value, Ordering::SeqCst)
    }

    /// Returns the word itself, to sleep on.
    pub fn get(self) -> &'a AtomicU32 {
        self.0
    }
}
