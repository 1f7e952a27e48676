//! The same names without the feature `inspect`: nothing is registered.

#[cfg(unix)]
use blitz_io_observe::Acquirer;
use blitz_io_observe::Object;

use crate::api::segment::Segment;

/// See `end.rs`.
pub(super) struct RegisteredEnd;

impl RegisteredEnd {
    /// Does nothing.
    #[inline(always)]
    pub(super) fn used(&self) {}

    /// Does nothing.
    #[cfg(unix)]
    #[inline(always)]
    pub(super) fn used_by(&self, _by: Acquirer) {}
}

/// Returns the empty registration.
///
/// # Safety
///
/// See `end.rs`.
#[inline(always)]
pub(super) unsafe fn register(_segment: &Segment, _me: usize, _object: &Object) -> RegisteredEnd {
    RegisteredEnd
}
