//! Named mistakes. A model switches one on and expects to fail.

blitz_io_sync::mutants! {
    /// A waiter looks again without a fence after its announcement.
    NoFenceAfterPrepare,
    /// A notifier looks for waiters without a fence after its change.
    NoFenceBeforeNotify,
    /// A notification clears the flags and does not advance the epoch.
    NotifyKeepsEpoch,
    /// A notifier decides by the flags of its first look whether to wake threads.
    WakesByFirstLook,
    /// A sender does not help to advance the tail past another sender's claim.
    NobodyHelps,
    /// A sender publishes by a relaxed store.
    RelaxedPublish,
    /// A sender does not look at the cursors before it reuses a place.
    IgnoresCursors,
    /// A receiver that joins does not look at the tail a second time.
    JoinsWithOldTail,
    /// The bytes of a dead sender's claim are published.
    DeadClaimPublished,
    /// A message that a dead receiver had taken counts as consumed.
    DeadTakeConsumed,
    /// A message that a dead receiver had taken is put back without notifying other
    /// receivers.
    RestoredSilently,
    /// A receiver that copies does not look at the stamp again.
    NoSecondLook,
    /// A receiver takes a message of a queue without a compare-and-swap.
    TakesByStore,
    /// A queue counts as drained while a receiver has a message of it.
    EndsWhileTaken,
    /// A receiver without senders sleeps until there is a message.
    WaitsForNoSender,
    /// A sender that joins wakes no receiver.
    JoinsSilently,
    /// A sender writes plain bytes while a receiver may copy them.
    IgnoresCopiers,
    /// A receiver with history is counted before its cursor is there.
    CountsBeforeCursor,
    /// A publisher looks for receivers whose cursors are one further.
    WakesOneTooEarly,
    /// A receiver wakes senders only if they wait for the next place.
    WakesOneTooLate,
    /// A notifier of an event counts without a read-modify-write.
    CountsByStore,
    /// A permit is acquired without a compare-and-swap.
    AcquiresByStore,
    /// The permits of a dead participant are not freed.
    DeadPermitKept,
    /// An arrival at a barrier that timed out stays counted.
    TimesOutArrived,
    /// An arrival is taken back from a later generation.
    WithdrawsBlindly,
    /// A dead participant does not break the barrier.
    DeadPartyIgnored,
}
