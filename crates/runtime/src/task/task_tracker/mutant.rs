//! Deliberate mistakes for the model checker: see `blitz_io_core::mutant`.

blitz_io_core::mutants! {
    /// The last task to end wakes no waiter.
    EndsSilently,
    /// A task does not publish its writes when it ends.
    EndsRelaxed,
    /// Closing a tracker without tasks wakes no waiter.
    ClosesSilently,
}
