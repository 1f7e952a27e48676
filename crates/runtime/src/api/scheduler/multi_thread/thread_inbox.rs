//! The inbox of a worker's thread, and the wake-up of its owner.

use super::shared::Shared;
use crate::kernel::inbox::{Inbox, Sleeps};
use crate::kernel::task::Notified;
use blitz_io_core::Parker;

/// The inbox of a thread that is, or was, a worker.
pub(super) struct ThreadInbox {
    pub(super) tasks: Inbox<Notified>,
    /// The parker of a thread that has no core.
    pub(super) apart: Parker,
}

impl ThreadInbox {
    pub(super) fn new() -> Self {
        Self {
            tasks: Inbox::new(),
            apart: Parker::new(),
        }
    }

    /// Wakes the owner.
    pub(super) fn wake(&self, shared: &Shared, place: Sleeps) {
        match place {
            Sleeps::At(place) => shared.wake(place),
            Sleeps::Apart => self.apart.unpark(),
        }
    }
}
