//! No ring: other systems and processors, and models that are not about the ring.

use crate::kernel::wakers::Wakers;

/// Nothing is ever queued.
#[derive(Default)]
pub struct Ring(());

/// Nothing ever completes.
#[derive(Default)]
pub struct Turn(());

impl Ring {
    pub fn allow(&self, _is_allowed: bool) {}

    #[inline]
    pub fn is_idle(&self) -> bool {
        true
    }

    #[inline]
    pub fn has_queued(&self) -> bool {
        false
    }

    #[inline]
    pub fn close(&self) -> bool {
        false
    }
}

impl Turn {
    #[inline]
    pub fn submit(&mut self, _ring: &Ring, _wakers: &mut Wakers) -> bool {
        true
    }

    #[inline]
    pub fn complete(&mut self, _ring: &Ring, _wakers: &mut Wakers) -> usize {
        0
    }

    pub fn end(&mut self, _ring: &Ring, _wakers: &mut Wakers) {}
}
