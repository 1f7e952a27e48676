//! A location in the user's code, which is nothing without the feature `inspect`.

use std::panic::Location;

/// A location in the user's code.
#[derive(Clone, Copy, Debug)]
pub struct Caller(pub(super) Option<&'static Location<'static>>);

impl Caller {
    /// An unknown location.
    pub const UNKNOWN: Self = Self(None);

    /// Returns the location of the caller.
    #[track_caller]
    #[inline(always)]
    #[must_use]
    pub fn here() -> Self {
        Self(Some(Location::caller()))
    }

    /// Returns a location that is known.
    #[must_use]
    pub const fn at(location: &'static Location<'static>) -> Self {
        Self(Some(location))
    }

    /// Returns the location, if it is known.
    #[inline]
    pub(super) const fn location(self) -> Option<&'static Location<'static>> {
        self.0
    }
}
