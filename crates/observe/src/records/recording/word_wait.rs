//! `WordWait`: a thread waits until a word of the program's, a futex, changes.

use super::caller::Caller;
use super::clock::coarse;
use super::wait::next_id;

/// A wait, during which the thread may sleep several times.
pub struct WordWait {
    pub(super) id: u64,
    pub(super) caller: Caller,
    pub(super) is_timed: bool,
    /// Nanoseconds of the monotonic clock.
    pub(super) since: u64,
}

impl WordWait {
    /// Begins now. `is_timed`: the wait has a deadline.
    #[must_use]
    pub fn new(caller: Caller, is_timed: bool) -> Self {
        Self {
            id: next_id(),
            caller,
            is_timed,
            since: coarse(),
        }
    }
}
