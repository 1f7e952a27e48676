//! Deliberate mistakes for the model checker; see [`blitz_sync::mutants`].

blitz_sync::mutants! {
    /// The receiver sleeps although a value before it is being written.
    SleepsBesideClaim,
    /// The receiver asks for a wake-up when a slot is filled, without a fence.
    NoFenceBesideClaim,
    /// The sender that owes the receiver a wake-up forgets it.
    SendForgetsReceiver,
    /// The last sender leaves without waking the receiver.
    LastSenderLeavesQuietly,
    /// The receiver counts the senders after it has looked for values.
    SendersAskedLate,
    /// A permit that comes back is not passed on.
    PermitForgetsWaiters,
    /// A permit that comes back to a closed channel does not wake the receiver.
    PermitForgetsReceiver,
    /// A sender that was chosen and gives up keeps its permit.
    ChosenKeepsPermit,
    /// A sender at the head of the queue gives up and does not serve the others.
    LeavesWithoutServing,
    /// A sender goes to sleep without making the receiver's stores visible.
    NoFenceBeforeWait,
    /// In contended mode the receiver looks for waiting senders without a fence.
    NoFenceInContendedMode,
    /// The receiver ends contended mode without another look.
    QuietWithoutLook,
    /// The last slot of a block is claimed before the next block is linked.
    ClaimsBeforeLink,
    /// The address of the last block is published without release.
    LinksRelaxed,
    /// A block that is used again keeps its stamps.
    StampsStay,
    /// A value is published without release.
    PublishRelaxed,
    /// Closing does not tell the senders that wait for room.
    CloseForgetsWaiters,
    /// The slot for a thread's value is claimed after the thread has been chosen.
    ClaimsAfterSignal,
}
