//! A location in the user's code, which is nothing without the feature `inspect`.

use std::panic::Location;

use super::local::LOCAL;

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

    /// Begins a call of a method of a source of the operating system, which does not know its callers. While the result
    /// lives, waits of this thread for sources have this location, or that of the outermost call.
    #[inline]
    #[must_use]
    pub fn calls(self) -> Calls {
        Calls(LOCAL.with(|local| {
            let outer = local.caller.get();
            if outer.is_none() {
                local.caller.set(self.0);
            }
            outer
        }))
    }

    /// Returns the location at which this thread has called a method of a source.
    #[inline]
    pub(super) fn of_call() -> Self {
        Self(LOCAL.with(|local| local.caller.get()))
    }

    /// Returns the location, if it is known.
    #[inline]
    pub(super) const fn location(self) -> Option<&'static Location<'static>> {
        self.0
    }
}

/// A call of a method of a source; see [`Caller::calls`].
pub struct Calls(Option<&'static Location<'static>>);

impl Drop for Calls {
    #[inline]
    fn drop(&mut self) {
        LOCAL.with(|local| local.caller.set(self.0));
    }
}
