//! Helpers that the models share: those of all crates, and tokens that stand for tasks.

pub use blitz_io_models::*;

use std::ptr::{self, NonNull};

use blitz_io_runtime::kernel::token::Token;

/// A task that is only a number, which is not 0: in some models a bit.
pub type Number = usize;

/// The token of a task that is only a number.
#[derive(Clone, Copy)]
pub struct Numbered(pub Number);

// SAFETY: the pointer is the number.
unsafe impl Token for Numbered {
    fn into_raw(self) -> NonNull<()> {
        NonNull::new(ptr::without_provenance_mut(self.0)).unwrap()
    }

    unsafe fn from_raw(raw: NonNull<()>) -> Self {
        Self(raw.addr().get())
    }
}

/// The token of something that lives longer than the queues.
pub struct Pointer<T>(pub NonNull<T>);

impl<T> Clone for Pointer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Pointer<T> {}

// SAFETY: the models say which thread uses what it points to.
unsafe impl<T> Send for Pointer<T> {}

// SAFETY: the pointer is the same.
unsafe impl<T> Token for Pointer<T> {
    fn into_raw(self) -> NonNull<()> {
        self.0.cast()
    }

    unsafe fn from_raw(raw: NonNull<()>) -> Self {
        Self(raw.cast())
    }
}
