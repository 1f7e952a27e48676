//! Deliberate mistakes for the model checker: see `blitz_sync::mutant`.

blitz_sync::mutants! {
    /// The last task to end wakes no waiter.
    EndsSilently,
    /// What a task did is not published when it ends.
    EndsRelaxed,
    /// Closing a tracker without tasks wakes no waiter.
    ClosesSilently,
}
