//! `Lock`: one lock, and how it is taken.

use std::panic::Location;
use std::sync::atomic::Ordering;

use crate::Kind;
use crate::records::recording::block::Block;

/// A location in the program, if it is known.
pub(super) type At = Option<&'static Location<'static>>;

/// One lock, and how it is taken.
#[derive(Clone, Copy)]
pub(in crate::records::recording) struct Lock {
    pub(super) block: &'static Block,
    pub(super) generation: u32,
    pub(super) kind: Kind,
    pub(super) made_at: At,
}

impl Lock {
    /// Returns the lock with this block.
    pub(in crate::records::recording) fn new(
        block: &'static Block,
        kind: Kind,
        made_at: At,
    ) -> Self {
        Self {
            block,
            generation: block.generation(),
            kind,
            made_at,
        }
    }

    /// Returns the name that the program gave it.
    pub(super) fn name(&self) -> Option<&'static str> {
        // SAFETY: names are never freed.
        unsafe { self.block.name.load(Ordering::Acquire).as_ref() }.copied()
    }

    /// Identifies the lock among all that the process has had.
    pub(super) fn id(&self) -> (u64, u32) {
        (self.block.id(), self.generation)
    }

    /// Returns `true` if the lock has one holder when it is taken so.
    pub(super) fn is_exclusive(&self) -> bool {
        !matches!(
            self.kind,
            Kind::Read | Kind::ThreadRead | Kind::ThreadReadAgain
        )
    }

    /// Returns `true` if it is taken beside other readers, and waits behind a writer that waits.
    pub(super) fn is_read(&self) -> bool {
        matches!(self.kind, Kind::Read | Kind::ThreadRead)
    }

    /// Returns `true` if it is taken as the lock's writer.
    pub(super) fn is_write(&self) -> bool {
        matches!(self.kind, Kind::Write | Kind::ThreadWrite)
    }

    /// Returns `true` if a wait for the lock blocks the thread.
    pub(super) fn is_of_threads(&self) -> bool {
        !matches!(self.kind, Kind::Mutex | Kind::Read | Kind::Write)
    }
}
