//! What callers and the table tell each other.

/// A value that a thread leaves in its queue, for the filter of [`unpark_filter`](super::unpark_filter).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParkToken(pub usize);

/// A value that an unparked thread gets from the thread that unparked it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnparkToken(pub usize);

/// The token of a thread that needs none.
pub const DEFAULT_PARK_TOKEN: ParkToken = ParkToken(0);

/// The token of an unpark that needs none.
pub const DEFAULT_UNPARK_TOKEN: UnparkToken = UnparkToken(0);

/// The way in which [`park`](super::park) ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParkResult {
    /// Another thread unparked this one, with this token.
    Unparked(UnparkToken),
    /// The validation returned `false`: the thread did not park.
    Invalid,
    /// The deadline passed.
    TimedOut,
}

impl ParkResult {
    /// Returns `true` if another thread unparked this one.
    #[inline]
    pub fn is_unparked(self) -> bool {
        matches!(self, Self::Unparked(_))
    }
}

/// The outcome of an unpark operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnparkResult {
    /// Number of threads that are unparked.
    pub unparked_threads: usize,
    /// Number of threads that were moved to the other queue.
    pub requeued_threads: usize,
    /// `true` if threads remain in the queue. Always `false` if no thread was unparked or moved, unless a
    /// filter skipped one.
    pub have_more_threads: bool,
    /// `true` about once in half a millisecond of unparks. A lock should then hand itself to the unparked
    /// thread, so that newcomers do not overtake it for ever.
    pub be_fair: bool,
}

/// The operation that [`unpark_requeue`](super::unpark_requeue) performs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequeueOp {
    /// Do nothing.
    Abort,
    /// Unpark the first thread, and move the others.
    UnparkOneRequeueRest,
    /// Move all threads.
    RequeueAll,
    /// Unpark the first thread, and leave the others.
    UnparkOne,
    /// Move the first thread, and leave the others.
    RequeueOne,
}

/// The decision of a filter about one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterOp {
    /// Unpark the thread, and go on to the next.
    Unpark,
    /// Leave the thread, and go on to the next.
    Skip,
    /// Leave the thread and all that come after it.
    Stop,
}
