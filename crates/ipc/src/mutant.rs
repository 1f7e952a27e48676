//! Named mistakes. A model switches one on and expects to fail.

blitz_sync::mutants! {
    /// A waiter looks again without a fence after its announcement.
    NoFenceAfterPrepare,
    /// A notifier looks for waiters without a fence after its change.
    NoFenceBeforeNotify,
    /// A notification clears the flags and leaves the epoch as it was.
    NotifyKeepsEpoch,
    /// A notifier wakes threads by the flags before it clears them.
    WakesByFirstLook,
    /// A sender does not help to advance the tail past the claim of another.
    NobodyHelps,
    /// A sender publishes by a relaxed store.
    RelaxedPublish,
    /// A sender does not look at the cursors before it reuses a place.
    IgnoresCursors,
    /// A receiver that joins does not look at the tail a second time.
    JoinsWithOldTail,
    /// The bytes of a dead sender's claim are published.
    DeadClaimPublished,
    /// What a dead receiver had taken counts as consumed.
    DeadTakeConsumed,
    /// What a dead receiver had taken is put back, and nobody is told.
    RestoredSilently,
    /// A receiver that copies does not look at the stamp again.
    NoSecondLook,
    /// A receiver takes a message of a queue without a compare-and-swap.
    TakesByStore,
    /// A publisher looks for cursors that are one further.
    WakesOneTooEarly,
    /// A receiver wakes senders only if they wait for the next place.
    WakesOneTooLate,
    /// A notifier of an event counts without a read-modify-write.
    CountsByStore,
    /// A permit is acquired without a compare-and-swap.
    AcquiresByStore,
    /// The permits of a dead participant stay with it.
    DeadPermitKept,
    /// An arrival at a barrier that timed out stays counted.
    TimesOutArrived,
    /// An arrival is taken back from a later generation.
    WithdrawsBlindly,
    /// A dead participant does not break the barrier.
    DeadPartyIgnored,
}
