//! The facts of a task's header that its record reads.

use blitz_io_observe::TaskState;

use super::header::Header;
use super::state::{JOIN_INTEREST, NOTIFIED, REF_ONE, RUNNING};

impl Header {
    /// Returns the state of the task, which is not complete, and the number of its wakers and abort handles:
    /// the references beside its own and its join handle's.
    pub(crate) fn inspect(&self) -> (TaskState, usize) {
        let word = self.state.load().0;
        let state = match word & (RUNNING | NOTIFIED) {
            0 => TaskState::Idle,
            NOTIFIED => TaskState::Scheduled,
            _ => TaskState::Running,
        };
        let own = 1 + usize::from(word & JOIN_INTEREST != 0);
        (state, (word / REF_ONE).saturating_sub(own))
    }
}
