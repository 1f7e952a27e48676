//! Deliberate mistakes for the model checker; see [`blitz_sync::mutants`].

blitz_sync::mutants! {
    /// A receiver goes to sleep although a message before it is being written.
    SleepsBesideClaim,
    /// Who takes the duty to wake the receiver forgets it.
    SendForgetsReceiver,
    /// The last sender leaves without waking the receiver.
    LastSenderLeavesQuietly,
    /// The receiver asks for the senders after it has looked for messages.
    SendersAskedLate,
    /// A permit that comes back is not handed on.
    PermitForgetsWaiters,
    /// A permit that comes back to a closed channel does not wake the receiver.
    PermitForgetsReceiver,
    /// A sender that was chosen and gives up keeps its permit.
    ChosenKeepsPermit,
    /// A sender at the head of the queue gives up and does not serve the others.
    LeavesWithoutServing,
    /// A sender goes to sleep without making the receiver's stores visible.
    NoFenceBeforeWait,
    /// The receiver looks for waiting senders without a fence in a spell of waiting.
    NoFenceInSpell,
    /// The receiver ends a spell of waiting without another look.
    SpellEndsBlindly,
    /// Senders may claim slots while the next block is being linked.
    NoGate,
    /// A message is published without release.
    PublishRelaxed,
    /// Closing does not tell the senders that wait for room.
    CloseForgetsWaiters,
    /// A thread that was granted a block claims without saying that it does.
    InsideUnannounced,
    /// A grant is revoked without making the favourite's stores visible.
    RevokesWithoutFence,
    /// Who serves claims the slot for a thread's value after it has been chosen.
    ClaimsAfterSignal,
}

/// Whether a model is being given up: what it leaves behind may not be touched.
#[inline(always)]
pub(crate) fn model_failed() -> bool {
    cfg!(loom) && std::thread::panicking()
}
