//! `Kept`: a registration that lives as long as its owner.

use std::any::Any;
use std::fmt;
use std::sync::OnceLock;

/// A place for a registration, which is dropped with it.
#[derive(Default)]
pub struct Kept(OnceLock<Box<dyn Any + Send + Sync>>);

impl Kept {
    /// Creates an empty place.
    #[must_use]
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Keeps the registration; the first one, if there are several.
    pub fn keep(&self, registration: impl Any + Send + Sync) {
        _ = self.0.set(Box::new(registration));
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}
