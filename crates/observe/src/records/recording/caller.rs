//! A location in the user's code, which is nothing without the feature `inspect`.

use std::panic::Location;

use super::local::LOCAL;
use super::source_file::is_adapter;

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
    pub const fn here() -> Self {
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
    pub(crate) fn of_call() -> Self {
        Self(LOCAL.with(|local| local.caller.get()))
    }

    /// Returns the location if it is in the program itself. Code of this library or of the standard library that calls for the
    /// program says nothing of the program: an adapter such as `&mut F` polls the future that it wraps.
    pub(super) fn of_program(self) -> Self {
        Self(self.0.filter(|location| !is_adapter(location.file())))
    }

    /// Returns the location if it is an `.await` of the program, or else that of the method of a source which awaits.
    pub(super) fn of_await(self) -> Self {
        Self(self.of_program().0.or(Self::of_call().0))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_this_library_is_none_of_the_program() {
        let here = Caller::here();
        assert!(here.location().is_some() && here.of_program().location().is_none());
    }
}
