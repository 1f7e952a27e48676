//! Deliberate mistakes for the model checker.

blitz_sync::mutants! {
    /// A waiter does not announce itself.
    SilentWait,
    /// A waiter looks at the word before it announces itself, and not after.
    LooksFirst,
    /// A thread that changes the word looks for waiters first.
    LooksForWaitersFirst,
    /// The last sender wakes no waiter.
    SilentClose,
    /// The last receiver wakes no waiter.
    SilentLeave,
}
