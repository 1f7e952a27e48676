//! What a history keeps of an operation.

use blitz_io_observe::ThreadId;

use super::operations::Operation;
use crate::sim::notes::Moment;

/// The task or the thread that has begun an operation.
#[derive(Clone, Copy)]
pub(super) enum By {
    /// The number of the task in its run.
    Task(u64),
    Thread(ThreadId),
}

/// The begin or the end of an operation.
#[derive(Clone, Copy)]
pub(super) struct Event {
    /// Its place among all begins and ends.
    pub(super) number: u64,
    /// The moment of the run; `None` outside of a simulation.
    pub(super) moment: Option<Moment>,
}

/// An operation that has begun.
pub(super) struct Recorded<O: Operation> {
    pub(super) operation: O,
    pub(super) by: By,
    pub(super) began: Event,
    /// Its end, and its result. `None` if it is pending: it may have happened, or not.
    pub(super) ended: Option<(Event, O::Output)>,
}

impl<O: Operation> Recorded<O> {
    /// Returns `true` if the operation has this result, or is pending.
    pub(super) fn may_return(&self, output: &O::Output) -> bool {
        self.ended.as_ref().is_none_or(|(_, own)| own == output)
    }
}
