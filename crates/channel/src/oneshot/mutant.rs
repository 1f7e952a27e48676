//! Deliberate mistakes for the model checker.

blitz_sync::mutants! {
    /// The value is published by a relaxed step.
    RelaxedSend,
    /// A sender that has yet to take the receiver's waker says that it is gone.
    GoneTooEarly,
    /// An end that leaves its waker does not look whether it is too late.
    LeavesWakerBlindly,
    /// A poll with another waker keeps the old one.
    KeepsOldWaker,
    /// A thread sleeps without having announced it.
    SilentSleep,
    /// A receiver that closes does not wake the sender.
    SilentClose,
    /// A receiver that leaves does not look whether the sender left before.
    LeavesBlindly,
}
