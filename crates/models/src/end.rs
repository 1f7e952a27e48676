//! An end of a channel, or another value whose drop is a step.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// An end that is not dropped when a model has failed: that would be a step in a
/// run that is over.
pub struct End<T>(ManuallyDrop<T>);

impl<T> End<T> {
    /// Wraps an end.
    pub fn new(end: T) -> Self {
        Self(ManuallyDrop::new(end))
    }
}

impl<T: Clone> Clone for End<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Drop for End<T> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: this is the only place, and the last.
            unsafe { ManuallyDrop::drop(&mut self.0) };
        }
    }
}

impl<T> Deref for End<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for End<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
