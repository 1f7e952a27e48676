//! Stacks as `corosensei` gets them from the system.

use std::io;
use std::num::NonZeroUsize;

#[cfg(windows)]
use corosensei::stack::StackTebFields;
use corosensei::stack::{DefaultStack, Stack};

/// The system's guard is part of its stacks.
pub(super) const GUARD: usize = 16 * 1024;

pub(super) struct Region(DefaultStack);

impl Region {
    pub(super) fn base(&self) -> NonZeroUsize {
        self.0.base()
    }

    pub(super) fn limit(&self) -> NonZeroUsize {
        self.0.limit()
    }

    #[cfg(windows)]
    pub(super) fn teb_fields(&self) -> StackTebFields {
        self.0.teb_fields()
    }

    #[cfg(windows)]
    pub(super) fn update_teb_fields(&mut self, limit: usize, guaranteed: usize) {
        self.0.update_teb_fields(limit, guaranteed);
    }

    pub(super) fn guard(&self) -> usize {
        GUARD
    }

    /// The system keeps the memory of a stack.
    pub(super) fn forget_contents(&self) {}
}

/// Makes one stack. Its guard is not larger: the compilers of Windows probe each page of a stack.
pub(super) fn map(size: usize, _beyond: usize, free: &mut Vec<Region>) -> io::Result<()> {
    free.push(Region(DefaultStack::new(size)?));
    Ok(())
}
