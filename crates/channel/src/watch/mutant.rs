//! Deliberate mistakes for the model checker.

blitz_sync::mutants! {
    /// Who waits does not say so.
    SilentWait,
    /// Who waits looks at the word before saying so, and not after.
    LooksFirst,
    /// Who changes the word looks for waiters first.
    LooksForWaitersFirst,
    /// The last sender wakes nobody.
    SilentClose,
    /// The last receiver wakes nobody.
    SilentLeave,
}

/// Whether this thread unwinds because a model has failed: the model checker is
/// not to be used any more then. Outside of it, never.
#[inline(always)]
pub(super) fn model_has_failed() -> bool {
    cfg!(loom) && std::thread::panicking()
}
