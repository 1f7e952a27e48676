//! Deliberate mistakes in the life of a task, for the model checker.

blitz_io_core::mutants! {
    /// A wake-up that finds the task notified only looks, and does not write.
    LazyWake,
    /// A wake-up of a running task queues it, too.
    WakeQueuesRunning,
    /// A waker by value gives up the reference, then uses the task's scheduler.
    WakesAfterRelease,
    /// The end of a poll overlooks a wake-up.
    EndForgetsNotified,
    /// The end of a poll publishes nothing.
    EndRelaxed,
    /// The start of a poll sees nothing of the last one.
    StartRelaxed,
    /// An abort of a running task leaves no token.
    CancelWithoutToken,
    /// A shut-down takes tasks that are queued, too.
    ShutDownTakesQueued,
    /// Completion does not look whether the join handle has changed its mind.
    CompleteBlindly,
    /// Completion publishes nothing.
    CompleteRelaxed,
    /// A task leaves its list after it has given up its own reference.
    LeavesListLate,
    /// A task that ends elsewhere goes to its list's owner without a reference.
    FreesRemotelyWithoutReference,
    /// The join handle leaves its waker without looking whether it is too late.
    GivesWakerBlindly,
    /// The join handle changes its waker without taking it back.
    ChangesWakerInPlace,
    /// The join handle leaves without looking whether there is an output.
    DropsJoinBlindly,
    /// A reference is released without publishing what its holder did.
    ReleaseRelaxed,
    /// The holder of the last reference does not acquire what other holders did.
    UniqueRelaxed,
}
