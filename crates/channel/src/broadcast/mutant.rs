//! Deliberate mistakes in `broadcast`, for the model checker.

blitz_sync::mutants! {
    /// A receiver that is done with a cell says so with a relaxed store.
    RelaxedUnread,
    /// A value is announced with a relaxed store.
    RelaxedStamp,
    /// A receiver that got a cell's lock does not look at the stamp again.
    TrustsFirstLook,
    /// A sender overwrites an unread value without the lock of its cell.
    OverwritesUnlocked,
    /// A sender that overwrites does not look whether the place is still its own.
    TrustsOldTail,
    /// A sender that overwrites says so, and makes sure of nothing.
    LagsWithoutFence,
    /// Lag is said to be known to all before the fence that makes it so.
    KnowsBeforeFence,
    /// A sender overwrites what a receiver takes without a lock.
    IgnoresTaker,
    /// A receiver takes a value without a lock although values are overwritten.
    TakesInSpiteOfLag,
    /// A receiver that has used a cell does not look whether it has been replaced.
    ForgetsReplaced,
    /// A thread that has used a cell looks whether it has been replaced, without a fence.
    LooksWithoutFence,
    /// A sender takes an unread value out before it knows that there are receivers.
    EvictsForNobody,
    /// A value is announced before the tail is moved on.
    StampsFirst,
    /// A receiver joins the queue without looking at the tail again.
    JoinsBlindly,
    /// A receiver that is dropped does not give up what it has not read.
    KeepsUnread,
    /// The last sender says that it has gone, and wakes no receiver.
    SilentClose,
    /// A sender that waits for the last receiver looks for it before it joins the queue.
    LooksForReceiversFirst,
}
