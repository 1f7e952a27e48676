//! The facts of a task's header that its record reads.

use blitz_io_observe::{TaskReading, TaskState};

use super::header::Header;
use super::state::{JOIN_INTEREST, NOTIFIED, REF_ONE, RUNNING};

impl Header {
    /// Returns the state of the task, which is not complete, the number of its wakers and abort handles, and its scope. These
    /// are the references beside its own, its join handle's and those of its scope's handles.
    pub(crate) fn inspect(&self) -> TaskReading {
        let (word, handles) = self.of_scope.with_handles(|| self.state.load().0);
        let state = match word & (RUNNING | NOTIFIED) {
            0 => TaskState::Idle,
            NOTIFIED => TaskState::Scheduled,
            _ => TaskState::Running,
        };
        let own = 1 + usize::from(word & JOIN_INTEREST != 0) + handles;
        TaskReading {
            state,
            wakers: (word / REF_ONE).saturating_sub(own),
            scope: self.of_scope.facts(),
        }
    }
}
