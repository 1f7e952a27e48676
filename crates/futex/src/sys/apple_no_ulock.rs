//! Stands in for `apple_ulock.rs` where private functions are not allowed, and provides
//! none.

use std::convert::Infallible;
use std::time::Duration;

use libc::c_int;

use crate::Scope;

/// An uninhabited type.
pub(super) struct Calls(Infallible);

pub(super) fn find() -> Option<Calls> {
    None
}

impl Calls {
    pub(super) fn name(&self) -> &'static str {
        match self.0 {}
    }

    /// # Safety
    ///
    /// Cannot be called.
    pub(super) unsafe fn wait(
        &self,
        _address: *const (),
        _expected: u32,
        _timeout: Option<Duration>,
        _scope: Scope,
    ) -> Result<(), c_int> {
        match self.0 {}
    }

    pub(super) fn wake_one(&self, _address: *const (), _scope: Scope) -> bool {
        match self.0 {}
    }

    pub(super) fn wake_all(&self, _address: *const (), _scope: Scope) {
        match self.0 {}
    }
}
